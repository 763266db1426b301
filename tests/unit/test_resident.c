/* SPDX-License-Identifier: MIT
 * The account of resident memory, on memory whose parts are known by reading. */
#include "study/analysis/resident/arenas.h"
#include "study/analysis/resident/by_size.h"
#include "study/analysis/resident/cut.h"
#include "study/analysis/resident/looks.h"
#include "study/analysis/resident/series.h"
#include "study/analysis/resident/thread_caches.h"
#include "test_analysis.h"

enum { PAGE = 4096 };
#define HEAP 0x100000ull
#define MAPPED 0x900000ull

static struct resident_account account_of(struct feed *feed)
{
	struct resident_account account;
	const struct model_memory *last = resident_last(feed->model);

	tell_end(feed, IMAGE_EXITED);
	last = resident_last(feed->model);
	if (!last || resident_account(feed->model, last, &account, &feed->err) < 0)
		FAIL("there is no account");
	return account;
}

TEST(parts, "live blocks, slack, pinned bytes and cache are counted by page")
{
	struct feed feed = feed_new();
	const struct stream_resident rows[] = {
		{HEAP, 4 * PAGE, 4 * PAGE, MEMORY_BREAK, 0},
	};
	struct resident_account account;

	tell_thread(&feed, 0);
	tell_block(&feed, 0, HEAP + 16, 100);        /* of glibc: 112 bytes, 8 before it */
	tell_block(&feed, 0, HEAP + 2 * PAGE, 1000); /* 1008 */
	tell_block(&feed, 0, HEAP + 3 * PAGE, 64);
	tell_block_end(&feed, 2, HEAP + 3 * PAGE, 64);
	tell_memory(&feed, rows, 1);
	account = account_of(&feed);
	CHECK_EQ(account.bytes[PART_REQUESTED], 1100);
	CHECK_EQ(account.bytes[PART_SLACK],
		 12 + 8); /* the head of the second lies on the page before */
	CHECK_EQ(account.bytes[PART_CACHED], 1 * PAGE); /* freed, and no block on it */
	CHECK_EQ(account.bytes[PART_PINNED], 3 * PAGE - 1100 - 20);
	CHECK_EQ(account.sum_bytes, 4 * PAGE);
	CHECK_EQ(account.absent_bytes, 0);
	model_free(feed.model);
}

static const struct bill_line *line_of(const struct bill *bill, u32 context)
{
	return &bill->lines[model_point_of(bill->model, context).index];
}

TEST(bill, "free bytes of a page go to those who hold it, and to whose blocks lay there last")
{
	struct feed feed = feed_new();
	const struct stream_resident rows[] = {
		{HEAP, 4 * PAGE, 4 * PAGE, MEMORY_BREAK, 0},
	};
	struct bill bill;
	u64 first, second;

	tell_thread(&feed, 0);
	tell_functions(&feed, 4);
	tell_block(&feed, 1, HEAP + 16, 104); /* 112 bytes from 8 on */
	tell_block(&feed, 2, HEAP + 144, 104);
	first = tell_block(&feed, 3, HEAP + 1024, 1016);
	tell_block_end(&feed, first, HEAP + 1024, 1016);
	second = tell_block(&feed, 2, HEAP + 1024, 504); /* in the same place */
	tell_block_end(&feed, second, HEAP + 1024, 504);
	tell_block(&feed, 1, HEAP + PAGE + 16, 24);
	first = tell_block(&feed, 3, HEAP + 2 * PAGE + 16, PAGE - 24);
	tell_block_end(&feed, first, HEAP + 2 * PAGE + 16, PAGE - 24);
	tell_memory(&feed, rows, 1);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(bill_make(&bill, feed.model, resident_last(feed.model), &feed.err), 0);
	CHECK_EQ(line_of(&bill, 1)->requested_bytes, 128);
	CHECK_EQ(line_of(&bill, 1)->slack_bytes, 16);
	CHECK_EQ(line_of(&bill, 1)->pinned_bytes, (PAGE - 224) / 2 + PAGE - 32);
	CHECK_EQ(line_of(&bill, 1)->alone_pages, 1);
	CHECK_EQ(line_of(&bill, 2)->pinned_bytes, (PAGE - 224) / 2);
	CHECK_EQ(line_of(&bill, 2)->left_bytes, 512);
	CHECK_EQ(line_of(&bill, 3)->left_bytes, 512);
	CHECK_EQ(line_of(&bill, 3)->cached_bytes, PAGE - 16);
	CHECK_EQ(line_of(&bill, 1)->pinned_bytes + line_of(&bill, 2)->pinned_bytes,
		 bill.account.bytes[PART_PINNED]);
	CHECK_EQ(bill.unused_bytes[0], PAGE + 16);
	bill_release(&bill);
	model_free(feed.model);
}

TEST(caches, "free blocks in caches of threads are neither pinned nor cached, and who freed them last has them")
{
	struct feed feed = feed_new();
	const struct stream_resident rows[] = {{HEAP, 3 * PAGE, 3 * PAGE, MEMORY_BREAK, 0}};
	const struct stream_cached cached[] = {
		{HEAP + 144, 112, 7},         /* freed, on a page that a live block holds */
		{HEAP + 256, 112, 7},         /* live again: taken meanwhile */
		{HEAP + PAGE + 16, 208, 8},   /* on a free page */
		{HEAP + 2 * PAGE, 32, 7},     /* on two pages, and nobody knows it */
		{HEAP + 64 * PAGE, 4096, 7},  /* nowhere */
	};
	struct resident_looks looks = {0};
	struct bill bill;
	struct arenas arenas;
	u64 first;

	tell_thread(&feed, 0);
	tell_functions(&feed, 4);
	tell_block(&feed, 1, HEAP + 16, 104);
	first = tell_block(&feed, 2, HEAP + 144, 104);
	tell_block_end(&feed, first, HEAP + 144, 104);
	first = tell_block(&feed, 3, HEAP + 144, 100); /* in the same place */
	tell_block_end(&feed, first, HEAP + 144, 100);
	tell_block(&feed, 1, HEAP + 256, 104);
	first = tell_block(&feed, 2, HEAP + PAGE + 16, 200);
	tell_block_end(&feed, first, HEAP + PAGE + 16, 200);
	tell_caches(&feed, rows, cached, 5);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(bill_make(&bill, feed.model, resident_last(feed.model), &feed.err), 0);
	CHECK_EQ(bill.account.sum_bytes, 3 * PAGE);
	CHECK_EQ(bill.account.bytes[PART_THREAD_CACHES], 112 + 208 + 32);
	CHECK_EQ(bill.account.bytes[PART_PINNED], PAGE - 2 * 112 - 112);
	CHECK_EQ(bill.account.bytes[PART_CACHED], 2 * PAGE - 208 - 32);
	CHECK_EQ(line_of(&bill, 1)->pinned_bytes, bill.account.bytes[PART_PINNED]);
	CHECK_EQ(line_of(&bill, 1)->caches_bytes, 0);
	CHECK_EQ(line_of(&bill, 2)->caches_bytes, 208);
	CHECK_EQ(line_of(&bill, 2)->cached_bytes, 0);
	CHECK_EQ(line_of(&bill, 3)->caches_bytes, 112);
	CHECK_EQ(line_of(&bill, 3)->left_bytes, 0);
	CHECK_EQ(bill.strange_bytes, 32);
	arenas = arenas_find(&bill);
	CHECK_EQ(arenas.count, 0);
	CHECK_EQ(resident_looks_make(&looks, feed.model, &feed.err), 0);
	for (u32 part = 0; part < PARTS; part++)
		CHECK_EQ(looks.rows.data[0].account.bytes[part], bill.account.bytes[part]);
	resident_looks_release(&looks);
	bill_release(&bill);
	model_free(feed.model);
}

TEST(caches_sum, "what was freed and what was never used are all of the free pages that no cache of a thread has")
{
	enum { BLOCKS = PAGE / 32 };
	const struct stream_resident rows[] = {{HEAP, PAGE, PAGE, MEMORY_BREAK, 0}};
	struct stream_cached cached[BLOCKS / 2];
	struct feed feed = feed_new();
	struct bill bill;

	tell_thread(&feed, 0);
	tell_functions(&feed, 1);
	for (u32 i = 0; i < BLOCKS - 1; i++) {
		u64 freed = tell_block(&feed, 1, HEAP + 16 + i * 32, 24);

		tell_block_end(&feed, freed, HEAP + 16 + i * 32, 24);
		cached[i / 2] = (struct stream_cached){HEAP + 16 + i / 2 * 64, 32, 7};
	}
	tell_caches(&feed, rows, cached, BLOCKS / 2);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(bill_make(&bill, feed.model, resident_last(feed.model), &feed.err), 0);
	CHECK_EQ(line_of(&bill, 1)->caches_bytes, PAGE / 2);
	CHECK_EQ(bill.account.bytes[PART_CACHED], PAGE / 2);
	CHECK_EQ(line_of(&bill, 1)->cached_bytes + bill.unused_bytes[0], PAGE / 2);
	bill_release(&bill);
	model_free(feed.model);
}

TEST(cache_table, "each thread's cache is a row, and so is each size of it")
{
	struct feed feed = feed_new();
	const struct stream_resident rows[] = {{HEAP, 3 * PAGE, 3 * PAGE, MEMORY_BREAK, 0}};
	const struct stream_cached cached[] = {{HEAP + 16, 32, 7}, {HEAP + 48, 32, 7}, {HEAP + 96, 48, 7}, {HEAP + 512, 208, 8}};
	struct result *table, *sizes;
	struct bill bill;

	tell_thread(&feed, 0);
	tell_functions(&feed, 1);
	tell_caches(&feed, rows, cached, 4);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(bill_make(&bill, feed.model, resident_last(feed.model), &feed.err), 0);
	table = thread_caches_table(&bill, 0, &feed.err);
	sizes = thread_cache_sizes_table(&bill, 2, &feed.err);
	CHECK_EQ(result_rows(table), 2);
	CHECK_EQ(cell(table, 0, "tid")->number, 8);
	CHECK_EQ(cell(table, 1, "blocks")->number, 3);
	CHECK_EQ(cell(table, 1, "bytes")->number, 112);
	CHECK_EQ(cell(table, 1, "usable_bytes")->number, 112 - 3 * 8);
	CHECK_EQ(result_rows(sizes), 2); /* of three */
	CHECK_EQ(cell(sizes, 0, "bytes")->number, 208);
	CHECK_EQ(cell(sizes, 1, "size")->number, 32);
	CHECK_EQ(cell(sizes, 1, "blocks")->number, 2);
	result_free(table);
	result_free(sizes);
	bill_release(&bill);
	model_free(feed.model);
}

/* A small block of the first point in each of 64 pages, one of the second in some of them; a freed
 * one of a third point, or of the first, in the rest of each page. Caches have blocks on the last pages. */
static struct cut cut_of_comb_cached(u32 pages_of_second, u32 burst, u32 pages_of_caches)
{
	struct stream_cached cached[64];
	struct feed feed = feed_new();
	const struct stream_resident rows[] = {
		{HEAP, 64 * PAGE, 64 * PAGE, MEMORY_BREAK, 0},
	};
	struct bill bill;
	struct cut cut;

	tell_thread(&feed, 0);
	tell_functions(&feed, 4);
	for (u32 i = 0; i < 64; i++) {
		u64 freed = tell_block(&feed, burst, HEAP + i * PAGE + 2560, 1016);

		tell_block_end(&feed, freed, HEAP + i * PAGE + 2560, 1016);
		tell_block(&feed, 1, HEAP + i * PAGE + 1024, 24);
		if (i < pages_of_second)
			tell_block(&feed, 2, HEAP + i * PAGE + 2048, 24);
		cached[i] = (struct stream_cached){HEAP + i * PAGE + 512, 32, 7};
	}
	tell_caches(&feed, rows, cached + 64 - pages_of_caches, pages_of_caches);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(bill_make(&bill, feed.model, resident_last(feed.model), &feed.err), 0);
	CHECK_EQ(cut_find(&cut, &bill, &feed.err), 0);
	CHECK_EQ(cut.bound_bytes, bill.account.bytes[PART_PINNED]);
	if (cut.count)
		CHECK_EQ(cut.points[0].index, model_point_of(feed.model, 1).index);
	bill_release(&bill);
	model_free(feed.model);
	return cut;
}

static struct cut cut_of_comb(u32 pages_of_second, u32 burst)
{
	return cut_of_comb_cached(pages_of_second, burst, 0);
}

TEST(cut, "points are moved together if only then their pages go")
{
	struct cut cut = cut_of_comb(0, 3);

	CHECK_EQ(cut.count, 1);
	CHECK_EQ(cut.pages, 64);
	CHECK_EQ(cut.live_bytes, 64 * 32);
	CHECK_EQ(cut.most_bytes, 64 * PAGE - 64 * 32);
	CHECK_EQ(cut.least_bytes, cut.most_bytes); /* nothing is left behind it */

	cut = cut_of_comb(32, 3);
	CHECK_EQ(cut.count, 2);
	CHECK_EQ(cut.pages, 64);
	CHECK_EQ(cut.most_bytes, 64 * PAGE - 96 * 32);

	cut = cut_of_comb(8, 3); /* eight pages are not worth a second point */
	CHECK_EQ(cut.count, 1);
	CHECK_EQ(cut.pages, 56);
	CHECK_EQ(cut.most_bytes, 56 * PAGE - 64 * 32);
	CHECK_EQ(cut.least_bytes, 56 * PAGE - 64 * 32); /* they lie at the end */

	cut = cut_of_comb(0, 1); /* a quarter of each page would be free in any heap */
	CHECK_EQ(cut.count, 1);
	CHECK_EQ(cut.most_bytes, 64 * PAGE - 64 * 32 - 64 * 1024);
}

TEST(cut_caches, "pages with a block in a cache of a thread stay")
{
	struct cut cut = cut_of_comb_cached(0, 3, 8);

	CHECK_EQ(cut.count, 1);
	CHECK_EQ(cut.pages, 56);
	CHECK_EQ(cut.most_bytes, 56 * PAGE - 64 * 32);
	CHECK_EQ(cut.least_bytes, 0); /* they lie at the end of the heap */
	CHECK_EQ(cut_of_comb_cached(0, 3, 64).count, 0);
}

/* A number that looks like chance, the same in each run. */
static u64 chance(u64 *state, u64 below)
{
	*state = *state * 6364136223846793005 + 1442695040888963407;
	return (*state >> 33) % below;
}

TEST(looks, "what all looks have at once is what each of them has alone")
{
	enum { STEPS = 4000, SLOTS = 96, SLOT = 1024 };
	struct feed feed = feed_new();
	struct resident_looks looks = {0};
	u64 state = 1, live[SLOTS] = {0}, sizes[SLOTS] = {0};

	tell_thread(&feed, 0);
	for (u64 i = 1; i <= STEPS; i++) {
		u64 slot = chance(&state, SLOTS), address = (slot % 2 ? MAPPED : HEAP) + slot * SLOT + 16;

		if (live[slot]) {
			tell_block_end(&feed, live[slot] - 1, address, sizes[slot]);
			live[slot] = 0;
		} else {
			sizes[slot] = chance(&state, SLOT - 32);
			live[slot] = feed.chunks + 1;
			tell_block(&feed, 0, address, sizes[slot]);
		}
		if (i % 100 == 0) {
			u64 pages = 8 + chance(&state, 16);
			const struct stream_resident rows[] = {
				{HEAP, pages * PAGE, pages * PAGE, MEMORY_BREAK, 0},
				{MAPPED, 3 * PAGE, i % 300 ? 3 * PAGE : 2 * PAGE, MEMORY_ANONYMOUS, 0},
				{MAPPED + 4 * PAGE, pages * PAGE, pages * PAGE, MEMORY_ANONYMOUS, 1},
				{2 * MAPPED, PAGE, PAGE, MEMORY_ANONYMOUS, 0},
				{3 * MAPPED, 2 * PAGE, 2 * PAGE, MEMORY_GUARDED, 0},
				{4 * MAPPED, PAGE, PAGE, MEMORY_MODULE, 0},
				{1ull << 40, 1ull << 38, PAGE, MEMORY_RECORDER, 0},
			};

			tell_memory(&feed, rows, sizeof rows / sizeof *rows);
		}
	}
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(resident_looks_make(&looks, feed.model, &feed.err), 0);
	CHECK_EQ(looks.rows.count, STEPS / 100);
	for (u64 i = 0; i < looks.rows.count; i++) {
		struct resident_account alone;

		CHECK_EQ(resident_account(feed.model, looks.rows.data[i].memory, &alone, &feed.err), 0);
		CHECK(alone.bytes[PART_PINNED] && alone.bytes[PART_CACHED]);
		for (u32 part = 0; part < PARTS; part++) {
			u64 a = looks.rows.data[i].account.bytes[part], b = alone.bytes[part];

			/* each rounds bytes of a row that is not known page by page */
			CHECK((a > b ? a - b : b - a) <= (i % 3 == 2 ? 64 : 0));
		}
		CHECK_EQ(looks.rows.data[i].account.sum_bytes, alone.sum_bytes);
	}
	resident_looks_release(&looks);
	model_free(feed.model);
}

static void look_for(struct feed *feed, u64 ticks, u32 moment, u32 why)
{
	const struct stream_resident row = {HEAP, PAGE, PAGE, MEMORY_BREAK, 0};
	struct stream_memory memory = {
		.ticks = ticks, .rss_bytes = PAGE, .moment = moment, .why = why, .rows = &row, .count = 1};

	told(feed, feed->sink.memory(feed->sink.self, &memory, &feed->err));
}

static void look_at(struct feed *feed, u64 ticks, u32 moment)
{
	look_for(feed, ticks, moment, MEMORY_UNTOLD);
}

struct shown_look {
	const char *kind, *mark;
};

static void check_look_kinds(struct feed *feed, const struct shown_look *expected, u64 count)
{
	struct result *table;

	tell_end(feed, IMAGE_EXITED);
	table = resident_looks_result(feed->model, &feed->err);
	CHECK_EQ(result_rows(table), count);
	for (u64 i = 0; i < result_rows(table); i++) {
		CHECK_STR(cell(table, i, "kind")->text, expected[i].kind);
		CHECK_EQ(cell(table, i, "mark")->known, expected[i].mark != NULL);
		if (expected[i].mark)
			CHECK_STR(cell(table, i, "mark")->text, expected[i].mark);
	}
	result_free(table);
	model_free(feed->model);
}

TEST(look_kinds, "a look soon after a mark is of that mark, and the last one of the end")
{
	enum { MS = 1000000 };
	static const struct shown_look expected[] = {
		{"periodic", NULL}, {"mark", "mark"}, {"periodic", NULL}, {"snapshot", "snapshot"}, {"periodic", NULL}, {"end", NULL}};
	struct feed feed = feed_new();

	tell_thread(&feed, 0);
	tell_block(&feed, 0, HEAP + 16, 100);
	look_at(&feed, 10 * MS, MEMORY_NOW);
	tell_event(&feed, (struct event){.ticks = 20 * MS, .kind = HW_MARK});
	look_at(&feed, 30 * MS, MEMORY_NOW);
	look_at(&feed, 40 * MS, MEMORY_NOW);
	tell_event(&feed,
		   (struct event){.ticks = 50 * MS, .kind = HW_MARK, .aux = HW_MARK_SNAPSHOT, .address = 1});
	look_at(&feed, 51 * MS, MEMORY_NOW);
	/* too long ago */
	tell_event(&feed, (struct event){.ticks = 60 * MS, .kind = HW_MARK});
	look_at(&feed, 900 * MS, MEMORY_NOW);
	look_at(&feed, 950 * MS, MEMORY_END);
	check_look_kinds(&feed, expected, sizeof expected / sizeof *expected);
}

TEST(look_reasons, "a look is of a mark if it was made for one, whenever it is")
{
	enum { MS = 1000000 };
	static const struct shown_look expected[] = {{"periodic", NULL}, {"snapshot", "snapshot"}, {"mark", "mark"}, {"end", NULL}};
	struct feed feed = feed_new();

	tell_thread(&feed, 0);
	tell_block(&feed, 0, HEAP + 16, 100);
	tell_event(&feed, (struct event){.ticks = 20 * MS, .kind = HW_MARK, .aux = HW_MARK_SNAPSHOT, .address = 1});
	look_for(&feed, 21 * MS, MEMORY_NOW, MEMORY_REGULAR); /* begun before the mark was seen */
	look_for(&feed, 300 * MS, MEMORY_NOW, MEMORY_SNAPSHOT);
	tell_event(&feed, (struct event){.ticks = 310 * MS, .kind = HW_MARK});
	look_for(&feed, 900 * MS, MEMORY_NOW, MEMORY_MARK);
	look_for(&feed, 950 * MS, MEMORY_END, MEMORY_LAST);
	check_look_kinds(&feed, expected, sizeof expected / sizeof *expected);
}

TEST(absent, "what a block asked for and nobody touched is absent, not resident")
{
	struct feed feed = feed_new();
	const struct stream_resident rows[] = {
		{HEAP, 2 * PAGE, 2 * PAGE, MEMORY_ANONYMOUS, 0},
		{HEAP + 6 * PAGE, PAGE, PAGE, MEMORY_ANONYMOUS, 1},
	};
	struct resident_account account;

	tell_thread(&feed, 0);
	tell_block(&feed, 0, HEAP, 8 * PAGE);
	tell_memory(&feed, rows, 2);
	account = account_of(&feed);
	CHECK_EQ(account.bytes[PART_REQUESTED], 3 * PAGE);
	CHECK_EQ(account.absent_bytes, 5 * PAGE);
	CHECK_EQ(account.sum_bytes, 3 * PAGE);
	model_free(feed.model);
}

TEST(kinds, "memory without blocks is what the kernel says that it is")
{
	struct feed feed = feed_new();
	const struct stream_resident rows[] = {
		{HEAP, PAGE, PAGE, MEMORY_MODULE, 0},
		{HEAP + 2 * PAGE, PAGE, PAGE, MEMORY_FILE, 0},
		{HEAP + 4 * PAGE, PAGE, PAGE, MEMORY_STACK, 0},
		{HEAP + 6 * PAGE, PAGE, PAGE, MEMORY_GUARDED, 0},
		{HEAP + 8 * PAGE, PAGE, PAGE, MEMORY_RECORDER, 0},
		{MAPPED, 8 * PAGE, 2 * PAGE, MEMORY_ANONYMOUS,
		 0}, /* which of its pages is not known */
	};
	struct resident_account account;

	tell_thread(&feed, 0);
	tell_memory(&feed, rows, sizeof rows / sizeof *rows);
	account = account_of(&feed);
	CHECK_EQ(account.bytes[PART_CODE], PAGE);
	CHECK_EQ(account.bytes[PART_FILES], PAGE);
	CHECK_EQ(account.bytes[PART_STACKS], 2 * PAGE);
	CHECK_EQ(account.bytes[PART_RECORDER], PAGE);
	CHECK_EQ(account.bytes[PART_MAPPINGS], 2 * PAGE);
	CHECK_EQ(account.sum_bytes, 7 * PAGE);
	model_free(feed.model);
}

TEST(mapping, "a block in one row makes all rows of its mapping the allocator's")
{
	struct feed feed = feed_new();
	const struct stream_resident rows[] = {
		{MAPPED, PAGE, PAGE, MEMORY_ANONYMOUS, 0},
		{MAPPED + 4 * PAGE, 2 * PAGE, 2 * PAGE, MEMORY_ANONYMOUS, 1},
		{MAPPED + 8 * PAGE, PAGE, PAGE, MEMORY_ANONYMOUS, 0},
	};
	struct resident_account account;

	tell_thread(&feed, 0);
	tell_block(&feed, 0, MAPPED + 4 * PAGE + 64, 100);
	tell_memory(&feed, rows, 3);
	account = account_of(&feed);
	CHECK_EQ(account.bytes[PART_CACHED],
		 2 * PAGE); /* the first row, and a page of the second */
	CHECK_EQ(account.bytes[PART_MAPPINGS], PAGE);
	CHECK_EQ(account.sum_bytes, 4 * PAGE);
	model_free(feed.model);
}

/* ---- over time ---- */

#define MIB (1ull << 20)
#define MS 1000000ull

/* A tick is a ns; times are from the start of the image. */
static struct feed feed_with_clock(void)
{
	struct feed feed = feed_new();

	tell_clock(&feed, 1000 + 1000 * MS, 5000 + 1000 * MS);
	tell_thread(&feed, 0);
	return feed;
}

static void tell_usage(struct feed *feed, u64 ns, u64 rss_bytes)
{
	struct stream_usage usage = {.ticks = 1000 + ns, .rss_bytes = rss_bytes};

	told(feed, feed->sink.usage(feed->sink.self, &usage, &feed->err));
}

static void tell_big(struct feed *feed, u64 ns, u64 address, u64 size)
{
	tell_event(feed, (struct event){.ticks = 1000 + ns,
					.kind = HW_MALLOC,
					.size = size,
					.chunk = feed->chunks++,
					.address = address});
}

static void tell_big_end(struct feed *feed, u64 ns, u64 chunk, u64 address)
{
	tell_event(feed, (struct event){.ticks = 1000 + ns,
					.kind = HW_FREE,
					.chunk = chunk,
					.address = address});
}

static void tell_look(struct feed *feed, u64 ns, const struct stream_resident *rows, u64 count)
{
	struct stream_memory memory = {.ticks = 1000 + ns,
				       .high_bytes = 90 * MIB,
				       .rows = rows,
				       .count = count};

	for (u64 i = 0; i < count; i++)
		memory.rss_bytes += rows[i].resident_bytes;
	told(feed, feed->sink.memory(feed->sink.self, &memory, &feed->err));
}

static void tell_end_at(struct feed *feed, u64 ns)
{
	feed->ticks = 1000 + ns - 10;
	tell_end(feed, IMAGE_EXITED);
}

/* 80 MiB from 100 ms to 200 ms, of which 2 stay; 84 MiB are resident, 4 of them the recorder's, until 900 ms. */
static struct feed burst_begin(void)
{
	const struct stream_resident rows[] = {
		{HEAP, 80 * MIB, 80 * MIB, MEMORY_BREAK, 0},
		{HEAP + 100 * MIB, 4 * MIB, 4 * MIB, MEMORY_RECORDER, 0},
	};
	struct feed feed = feed_with_clock();

	tell_usage(&feed, 50 * MS, 6 * MIB);
	tell_big(&feed, 100 * MS, HEAP, 78 * MIB);
	tell_big(&feed, 100 * MS, HEAP + 78 * MIB, 2 * MIB);
	tell_usage(&feed, 150 * MS, 84 * MIB);
	tell_big_end(&feed, 200 * MS, 0, HEAP);
	tell_usage(&feed, 250 * MS, 84 * MIB);
	tell_look(&feed, 300 * MS, rows, 2);
	tell_usage(&feed, 500 * MS, 85 * MIB);
	tell_usage(&feed, 850 * MS, 84 * MIB);
	tell_usage(&feed, 900 * MS, 7 * MIB);
	return feed;
}

static struct feed burst(void)
{
	struct feed feed = burst_begin();

	tell_end_at(&feed, 1000 * MS);
	return feed;
}

TEST(series, "each sample and look has what was live then, and the kernel's mark is the peak")
{
	static const u64 live[] = {0, 80, 2, 2, 2, 2, 2};
	struct feed feed = burst();
	struct resident_series series = {0};

	CHECK_EQ(resident_series_make(&series, feed.model, &feed.err), 0);
	CHECK_EQ(series.points.count, 7);
	for (u64 i = 0; i < series.points.count; i++) {
		CHECK_EQ(series.points.data[i].live_bytes, live[i] * MIB);
		CHECK_EQ(series.points.data[i].recorder_bytes, 4 * MIB);
	}
	CHECK_EQ(series.peak_bytes, 90 * MIB);
	CHECK_EQ(series.seen_bytes, 85 * MIB);
	CHECK_EQ(series.seen_ticks, 1000 + 500 * MS);
	CHECK_EQ(resident_series_at(&series, 1000 + 499 * MS)->rss_bytes, 84 * MIB);
	CHECK(!resident_series_at(&series, 1000));
	resident_series_release(&series);
	model_free(feed.model);
}

static struct resident_gap gap_of_feed(struct feed *feed, u64 least_ns)
{
	struct resident_series series = {0};
	struct resident_gap gap;

	if (resident_series_make(&series, feed->model, &feed->err) < 0 ||
	    resident_gap_find(&gap, feed->model, &series, least_ns, &feed->err) < 0)
		FAIL("%s", feed->err.text);
	resident_series_release(&series);
	return gap;
}

TEST(gap, "the largest gap that lasted is found, with its time and its parts")
{
	struct feed feed = burst();
	struct resident_gap gap = gap_of_feed(&feed, 100 * MS);

	CHECK_EQ(gap.bytes, 78 * MIB);
	CHECK_EQ(gap.from_ns, 250 * MS);
	CHECK_EQ(gap.to_ns, 850 * MS);
	CHECK(!gap.to_end);
	CHECK_EQ(gap.live_bytes, 2 * MIB);
	CHECK_EQ(gap.rss_bytes, 84 * MIB);
	CHECK(gap.memory);
	CHECK_EQ(resident_cause_bytes(&gap.account, CAUSE_ALLOCATOR), 78 * MIB);
	CHECK_EQ(resident_cause_bytes(&gap.account, CAUSE_CODE), 0);
	model_free(feed.model);
}

TEST(gap_short, "a gap that did not last is none")
{
	struct feed feed = burst();
	struct resident_gap gap = gap_of_feed(&feed, 700 * MS);

	/* that of 50 ms to 850 ms, in which nearly all was live once */
	CHECK_EQ(gap.bytes, 0);
	gap = gap_of_feed(&feed, 5000 * MS);
	CHECK_EQ(gap.bytes, 0);
	model_free(feed.model);
}

TEST(gap_none, "a trace without samples has no gap")
{
	struct feed feed = feed_with_clock();
	struct resident_gap gap;

	tell_end_at(&feed, 1000 * MS);
	gap = gap_of_feed(&feed, 100 * MS);
	CHECK_EQ(gap.bytes, 0);
	model_free(feed.model);
}

TEST(tables, "the tables have the moment far above live, and bars of live and resident bytes")
{
	const struct stream_resident late[] = {{HEAP, 86 * MIB, 86 * MIB, MEMORY_BREAK, 0}};
	struct feed feed = burst_begin();
	struct resident_series series = {0};
	struct result *memory, *drawn;

	tell_big(&feed, 910 * MS, HEAP, 70 * MIB);
	tell_look(&feed, 920 * MS, late, 1); /* most is resident here, and most of it is live */
	tell_end_at(&feed, 1000 * MS);
	CHECK_EQ(resident_series_make(&series, feed.model, &feed.err), 0);
	memory = analyse_resident(feed.model, &series, &feed.err);
	drawn = analyse_resident_drawn(feed.model, &series, &feed.err);
	CHECK(memory && drawn);
	CHECK_EQ(cell(memory, PART_CACHED, "gap_bytes")->number,
		 78 * MIB - PAGE); /* a block's head is on the last */
	CHECK_EQ(cell(memory, PART_REQUESTED, "most_bytes")->number, 72 * MIB);
	CHECK(!cell(memory, PART_CACHED, "end_bytes")->known);
	CHECK_EQ(result_rows(drawn), 7); /* of eight points, two are in one part of the time */
	CHECK_STR(cell(drawn, 2, "picture")->text, "#......................................");
	CHECK(!drawn->hidden_in_text);
	result_free(memory);
	result_free(drawn);
	resident_series_release(&series);
	model_free(feed.model);
}

TEST(classes, "each size class has its live bytes, and the pages that its blocks lie on")
{
	struct feed feed = feed_new();
	const struct stream_resident rows[] = {{HEAP, 8 * PAGE, 8 * PAGE, MEMORY_BREAK, 0}};
	struct result *table;

	tell_thread(&feed, 0);
	for (u32 i = 0; i < 4; i++) /* of glibc: 112 bytes each, on four pages */
		tell_block(&feed, 0, HEAP + i * PAGE + 16, 100);
	tell_block(&feed, 0, HEAP + 128 + 16, 104); /* 112 as well, on one of these pages */
	tell_block(&feed, 0, HEAP + 4 * PAGE + 16, 2000); /* 2016: of 1793 to 2048 */
	tell_block(&feed, 0, HEAP + 5 * PAGE + 16, 2 * PAGE); /* on three pages */
	tell_block(&feed, 0, HEAP + 512 + 16, 24);
	tell_block_end(&feed, 7, HEAP + 512 + 16, 24);
	tell_memory(&feed, rows, 1);
	tell_end(&feed, IMAGE_EXITED);
	table = resident_by_size_result(feed.model, resident_last(feed.model), &feed.err);
	CHECK(table != NULL);
	CHECK_EQ(result_rows(table), 3);
	CHECK_EQ(cell(table, 0, "size")->number, 112);
	CHECK_EQ(cell(table, 0, "blocks")->number, 5);
	CHECK_EQ(cell(table, 0, "live_bytes")->number, 504);
	CHECK_EQ(cell(table, 0, "held_bytes")->number, 4 * PAGE);
	CHECK_EQ(cell(table, 1, "size")->number, 10240);
	CHECK_EQ(cell(table, 1, "held_bytes")->number, 3 * PAGE);
	CHECK_EQ(cell(table, 2, "size")->number, 2048);
	CHECK_EQ(cell(table, 2, "live_bytes")->number, 2000);
	result_free(table);
	model_free(feed.model);
}
