/* SPDX-License-Identifier: MIT
 * The account of resident memory of traces that say what no recording says, or what few do. */
#include "host/trace/block.h"
#include "host/trace/facts.h"
#include "host/trace/guard.h"
#include "format/varint.h"
#include "study/analysis/resident/by_size.h"
#include "study/analysis/resident/cut.h"
#include "study/analysis/resident/looks.h"
#include "study/model/index_io.h"
#include "test_analysis.h"

enum { PAGE = 4096 };
#define HEAP 0x100000ull
#define FAR 0x900000000ull

static struct feed feed_begin(void)
{
	struct feed feed = feed_new();

	tell_thread(&feed, 0);
	tell_functions(&feed, 4);
	return feed;
}

/* ---- what the reader lets through ---- */

/* Rows that came out of a payload whose only record is this memory. */
static u64 rows_read(struct feed *feed, const u64 *numbers, u64 count)
{
	u8 body[256], payload[300], *at = body, *end = payload;
	struct guard *guard;

	for (u64 i = 0; i < count; i++)
		at = hw_varint_put(at, numbers[i]);
	*end++ = HW_FACT_MEMORY;
	end = hw_varint_put(end, (u64)(at - body));
	memcpy(end, body, (u64)(at - body));
	end += at - body;
	guard = guard_new(&feed->sink);
	if (!guard || !guard_enter(guard, 0))
		FAIL("out of memory");
	told(feed, guard_fact(guard, HW_FACT_IMAGE, &(struct stream_image){.program = "p", .command = "p"}, &feed->err));
	facts_tell(guard, &(struct block){payload, (u64)(end - payload), 1}, &(struct scan_gather){0}, &feed->err);
	guard_free(guard);
	return feed->model->residents.count;
}

TEST(reader, "rows of memory that are not whole pages, or not one after the other, are damage")
{
	static const struct {
		const char *what;
		u64 rows[8]; /* start less that before, bytes, absent, kind */
		u64 good;
	} cases[] = {
		{"two that touch", {HEAP, 2 * PAGE, 0, MEMORY_BREAK << 1, 2 * PAGE, PAGE, 0, MEMORY_BREAK << 1}, 2},
		{"a part of a page", {HEAP, 100, 0, MEMORY_BREAK << 1, PAGE, PAGE, 0, MEMORY_BREAK << 1}, 0},
		{"from within a page", {HEAP + 8, PAGE, 0, MEMORY_BREAK << 1, 2 * PAGE, PAGE, 0, MEMORY_BREAK << 1}, 0},
		{"two that overlap", {HEAP, 2 * PAGE, 0, MEMORY_BREAK << 1, PAGE, PAGE, 0, MEMORY_BREAK << 1}, 0},
		{"backwards", {HEAP, PAGE, 0, MEMORY_BREAK << 1, -(u64)PAGE, PAGE, 0, MEMORY_BREAK << 1}, 0},
		{"beyond the end", {HEAP, PAGE, 0, MEMORY_BREAK << 1, PAGE, -(u64)PAGE, 0, MEMORY_BREAK << 1}, 0},
		{"more absent than there are", {HEAP, PAGE, 2 * PAGE, MEMORY_BREAK << 1, PAGE, PAGE, 0, MEMORY_BREAK << 1}, 0},
		{"of no kind", {HEAP, PAGE, 0, MEMORY_KINDS << 1, PAGE, PAGE, 0, MEMORY_BREAK << 1}, 0},
	};

	for (u32 i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct feed feed = {.model = model_new()};
		u64 numbers[5 + 8] = {2000, PAGE, PAGE, MEMORY_NOW, 2}, got;

		feed.sink = model_sink(feed.model);
		memcpy(numbers + 5, cases[i].rows, sizeof cases[i].rows);
		got = rows_read(&feed, numbers, 13);
		if (got != cases[i].good)
			FAIL("%s: %u rows", cases[i].what, (unsigned)got);
		model_free(feed.model);
	}
}

TEST(cached_reader, "cached blocks that no allocator keeps are damage")
{
	static const struct {
		const char *what;
		u64 rows[6]; /* address less that before and bytes, in 16, thread */
		u64 good;
	} cases[] = {
		{"two that touch", {HEAP / 16, 2, 7, 2, 2, 7}, 2},
		{"the largest", {HEAP / 16, STREAM_CACHED_MAX / 16, 7, STREAM_CACHED_MAX / 16, 1, 7}, 2},
		{"larger than any", {HEAP / 16, STREAM_CACHED_MAX / 16 + 1, 7, STREAM_CACHED_MAX, 1, 7}, 0},
		{"4 GiB", {HEAP / 16, UINT32_MAX / 16, 7, 1ull << 28, 1, 7}, 0},
		{"nothing", {HEAP / 16, 0, 7, 2, 2, 7}, 0},
		{"two that overlap", {HEAP / 16, 2, 7, 1, 2, 7}, 0},
	};

	for (u32 i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct feed feed = {.model = model_new()};
		u64 numbers[9 + 6] = {2000, PAGE, PAGE, MEMORY_NOW, 0, 0, 1, 0, 2};

		feed.sink = model_sink(feed.model);
		memcpy(numbers + 9, cases[i].rows, sizeof cases[i].rows);
		rows_read(&feed, numbers, 15);
		if (feed.model->cached.count != cases[i].good)
			FAIL("%s: %u blocks", cases[i].what, (unsigned)feed.model->cached.count);
		model_free(feed.model);
	}
}

TEST(cached_index, "an index with cached blocks that no allocator keeps is not used")
{
	static const struct stream_cached rows[] = {
		{HEAP + 16, 32, 7}, {HEAP + 16, 7, 7}, {HEAP + 16, 24, 7}, {HEAP + 8, 32, 7}, {HEAP + 16, STREAM_CACHED_MAX + 16, 7}};
	const struct stream_resident row = {HEAP, PAGE, PAGE, MEMORY_BREAK, 0};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct feed feed = feed_begin();

		tell_caches(&feed, &row, &rows[i], 1);
		tell_end(&feed, IMAGE_EXITED);
		CHECK_EQ(index_is_sound(feed.model), i == 0);
		model_free(feed.model);
	}
}

/* ---- mappings ---- */

/* The same by itself and among all looks. */
static struct resident_account account_of(struct feed *feed)
{
	struct resident_looks looks = {0};
	struct resident_account account;

	tell_end(feed, IMAGE_EXITED);
	CHECK_EQ(resident_account(feed->model, resident_last(feed->model), &account, &feed->err), 0);
	CHECK_EQ(resident_looks_make(&looks, feed->model, &feed->err), 0);
	for (u32 part = 0; part < PARTS && looks.rows.count; part++)
		CHECK_EQ(looks.rows.data[looks.rows.count - 1].account.bytes[part], account.bytes[part]);
	resident_looks_release(&looks);
	return account;
}

TEST(recorder, "memory of the recorder in the midst of a mapping does not divide it")
{
	const struct stream_resident rows[] = {
		{FAR, PAGE, PAGE, MEMORY_ANONYMOUS, 0},
		{FAR + 2 * PAGE, PAGE, PAGE, MEMORY_RECORDER, 0},
		{FAR + 3 * PAGE, 2 * PAGE, 2 * PAGE, MEMORY_ANONYMOUS, 1},
		{FAR + 8 * PAGE, PAGE, PAGE, MEMORY_RECORDER, 0},
		{FAR + 16 * PAGE, PAGE, PAGE, MEMORY_ANONYMOUS, 0}, /* another one */
	};

	for (u32 second = 0; second < 2; second++) {
		struct feed feed = feed_begin();
		struct resident_account account;

		tell_block(&feed, 1, FAR + second * 3 * PAGE + 16, 24);
		tell_memory(&feed, rows, 5);
		account = account_of(&feed);
		CHECK_EQ(account.bytes[PART_CACHED], 2 * PAGE);
		CHECK_EQ(account.bytes[PART_MAPPINGS], PAGE);
		CHECK_EQ(account.bytes[PART_RECORDER], 2 * PAGE);
		CHECK_EQ(account.sum_bytes, 6 * PAGE);
		model_free(feed.model);
	}
}

TEST(gone, "blocks on pages that are gone make what is left of their mapping the allocator's")
{
	const struct stream_resident whole[] = {{FAR, 12 * PAGE, 12 * PAGE, MEMORY_ANONYMOUS, 0}};
	const struct stream_resident rows[] = {
		{FAR, PAGE, PAGE, MEMORY_ANONYMOUS, 0},
		{FAR + 4 * PAGE, 2 * PAGE, 2 * PAGE, MEMORY_ANONYMOUS, 1},
		{FAR + 16 * PAGE, PAGE, PAGE, MEMORY_ANONYMOUS, 0}, /* another one */
	};

	for (u32 earlier = 0; earlier < 2; earlier++) { /* whether the page was ever resident */
		struct feed feed = feed_begin();
		struct resident_account account;

		tell_block_end(&feed, tell_block(&feed, 1, FAR + 2 * PAGE + 16, 24), FAR + 2 * PAGE + 16, 24);
		tell_block(&feed, 1, FAR + 8 * PAGE, 24); /* behind all rows: it may be in either */
		if (earlier)
			tell_memory(&feed, whole, 1);
		tell_memory(&feed, rows, 3);
		account = account_of(&feed);
		CHECK_EQ(account.bytes[PART_CACHED], 3 * PAGE);
		CHECK_EQ(account.bytes[PART_MAPPINGS], PAGE);
		model_free(feed.model);
	}
}

TEST(file, "a large file of which little is resident takes nothing from what lies behind it")
{
	const u64 tib = 1ull << 40;
	const struct stream_resident rows[] = {
		{FAR, tib, PAGE, MEMORY_FILE, 0},
		{FAR + tib, 2 * PAGE, 2 * PAGE, MEMORY_ANONYMOUS, 0},
	};
	struct feed feed = feed_begin();
	struct resident_account account;

	tell_block(&feed, 1, FAR + tib + 16, 24);
	tell_memory(&feed, rows, 2);
	account = account_of(&feed);
	CHECK_EQ(account.bytes[PART_REQUESTED], 24);
	CHECK_EQ(account.bytes[PART_PINNED], PAGE - 32);
	CHECK_EQ(account.bytes[PART_CACHED], PAGE);
	model_free(feed.model);
}

TEST(many_looks, "of many looks those that are shown include the first and the last")
{
	const struct stream_resident rows[] = {{HEAP, PAGE, PAGE, MEMORY_BREAK, 0}};
	struct feed feed = feed_begin();
	struct resident_looks looks = {0};
	u64 first, last;

	for (u64 i = 0; i < 3 * LOOKS_MAX + 7; i++) {
		tell_block(&feed, 1, HEAP, 8);
		tell_memory(&feed, rows, 1);
	}
	tell_end(&feed, IMAGE_EXITED);
	first = feed.model->memory.data[0].ticks;
	last = resident_last(feed.model)->ticks;
	CHECK_EQ(resident_looks_make(&looks, feed.model, &feed.err), 0);
	CHECK_EQ(looks.rows.count, LOOKS_MAX);
	CHECK_EQ(looks.rows.data[0].memory->ticks, first);
	CHECK_EQ(looks.rows.data[LOOKS_MAX - 1].memory->ticks, last);
	CHECK_EQ(resident_looks_shown(feed.model), LOOKS_MAX);
	for (u64 i = 0; i < LOOKS_MAX; i++) /* as the report has them */
		CHECK(resident_look_shown(feed.model, i, LOOKS_MAX) == looks.rows.data[i].memory);
	resident_looks_release(&looks);
	model_free(feed.model);
}

TEST(by_size, "blocks on pages that are not known one by one use no more than they hold")
{
	const struct stream_resident rows[] = {{FAR, 8 * PAGE, 4 * PAGE, MEMORY_ANONYMOUS, 0}};
	struct feed feed = feed_begin();
	struct result *table;

	tell_block(&feed, 1, FAR + 16, 6 * PAGE);
	tell_memory(&feed, rows, 1);
	tell_end(&feed, IMAGE_EXITED);
	table = resident_by_size_result(feed.model, resident_last(feed.model), &feed.err);
	CHECK(table != NULL);
	CHECK_EQ(result_rows(table), 1);
	CHECK_EQ(cell(table, 0, "live_bytes")->number, 3 * PAGE);
	CHECK(cell(table, 0, "held_bytes")->number >= 3 * PAGE);
	result_free(table);
	model_free(feed.model);
}

/* ---- the bill ---- */

TEST(untouched, "a live block without a resident page holds the pages of its span")
{
	/* of tcmalloc: four blocks of 6 KiB in a span of 24 KiB; nothing of the live one was touched */
	enum { SIZE = 6144 };
	const struct stream_resident rows[] = {{FAR + 4 * PAGE, PAGE, PAGE, MEMORY_ANONYMOUS, 0}};
	struct feed feed = feed_begin();
	struct bill bill;
	u64 freed;

	tell_module(&feed, 2, 0x7000000, 0, "/usr/lib/libtcmalloc.so.4");
	freed = tell_block(&feed, 2, FAR + 2 * SIZE, SIZE);
	tell_block_end(&feed, freed, FAR + 2 * SIZE, SIZE);
	freed = tell_block(&feed, 2, FAR + 3 * SIZE, SIZE);
	tell_block_end(&feed, freed, FAR + 3 * SIZE, SIZE);
	tell_block(&feed, 1, FAR, SIZE);
	tell_memory(&feed, rows, 1);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(bill_make(&bill, feed.model, resident_last(feed.model), &feed.err), 0);
	CHECK_EQ(bill.basis, CLASSES_RULES);
	CHECK_STR(bill.allocator, "tcmalloc");
	CHECK_EQ(bill.account.bytes[PART_PINNED], PAGE);
	CHECK_EQ(bill.lines[model_point_of(feed.model, 1).index].pinned_bytes, PAGE);
	CHECK_EQ(bill.lines[model_point_of(feed.model, 2).index].left_bytes, PAGE);
	CHECK_EQ(bill.lines[model_point_of(feed.model, 2).index].cached_bytes, 0);
	bill_release(&bill);
	model_free(feed.model);
}

TEST(covered, "blocks that were freed in the same place do not take time each for all of its pages")
{
	enum { MIB = 1 << 20, PLACES = 100000 };
	const struct stream_resident rows[] = {{FAR, 4096ull * MIB, 4096ull * MIB, MEMORY_BREAK, 0}};
	struct feed feed = feed_begin();
	struct bill bill;

	for (u32 i = 0; i < PLACES; i++) {
		u64 freed = tell_block(&feed, 1 + i % 2, FAR + 16, 4095ull * MIB);

		tell_block_end(&feed, freed, FAR + 16, 4095ull * MIB);
	}
	tell_memory(&feed, rows, 1);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(bill_make(&bill, feed.model, resident_last(feed.model), &feed.err), 0);
	CHECK_EQ(bill.lines[model_point_of(feed.model, 2).index].cached_bytes, 4095ull * MIB + 16);
	CHECK_EQ(bill.lines[model_point_of(feed.model, 1).index].cached_bytes, 0);
	bill_release(&bill);
	model_free(feed.model);
}

/* ---- cached blocks ---- */

TEST(cached_parts, "of a cached block on memory that is resident in part, its share counts once")
{
	const struct stream_resident row = {HEAP, 5 * PAGE, 3 * PAGE, MEMORY_BREAK, 0};
	const struct stream_cached cached = {HEAP + PAGE, 32, 7};
	struct feed feed = feed_begin();

	tell_caches(&feed, &row, &cached, 1); /* 8 bytes on the first page, 24 on the second */
	CHECK_EQ(account_of(&feed).bytes[PART_THREAD_CACHES], 32 * 3 / 5);
	model_free(feed.model);
}

/* ---- more than there can be ---- */

TEST(huge_caches, "cached blocks on memory that no machine has do not take time for each of its pages")
{
	enum { COUNT = 1 << 15 };
	const struct stream_resident row = {FAR, 1ull << 47, 1ull << 46, MEMORY_BREAK, 0};
	struct stream_cached *cached = calloc(COUNT, sizeof *cached);
	struct feed feed = feed_begin();
	struct resident_account account;

	for (u64 i = 0; i < COUNT; i++)
		cached[i] = (struct stream_cached){FAR + 16 + (i << 32), UINT32_MAX - 15, 7};
	tell_caches(&feed, &row, cached, COUNT);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(resident_account(feed.model, resident_last(feed.model), &account, &feed.err), 0);
	CHECK_EQ(account.bytes[PART_THREAD_CACHES], COUNT * (((u64)UINT32_MAX - 15) / 2));
	model_free(feed.model);
	free(cached);
}


TEST(overlap, "live blocks that overlap, on memory that no machine has, take neither long nor much memory")
{
	enum { BLOCKS = 8000, LOOKS = 10 };
	const u64 tib = 1ull << 40;
	const struct stream_resident rows[] = {
		{FAR, 8ull << 30, 8ull << 30, MEMORY_BREAK, 0},
		{FAR + tib, 1000 * tib, 1000 * tib, MEMORY_ANONYMOUS, 0},
	};
	struct feed feed = feed_begin();
	struct resident_looks looks = {0};
	struct resident_account account;
	struct result *table;
	struct bill bill;
	struct cut cut;

	for (u64 i = 0; i < BLOCKS; i++)
		tell_block(&feed, 1 + i % 2, FAR + 16 * i + 16, (i % 3 ? 1ull << 36 : tib) + (tib >> 6) * (i % 50));
	for (u32 i = 0; i < LOOKS; i++) {
		tell_block(&feed, 3, FAR + 16, 100);
		tell_memory(&feed, rows, 2);
	}
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(resident_account(feed.model, resident_last(feed.model), &account, &feed.err), 0);
	CHECK_EQ(account.sum_bytes, (8ull << 30) + 1000 * tib);
	CHECK_EQ(bill_make(&bill, feed.model, resident_last(feed.model), &feed.err), 0);
	CHECK(bill.page_count <= accounting_pages_max(feed.model));
	CHECK_EQ(cut_find(&cut, &bill, &feed.err), 0);
	bill_release(&bill);
	CHECK_EQ(resident_looks_make(&looks, feed.model, &feed.err), 0);
	for (u64 i = 0; i < looks.rows.count; i++)
		CHECK_EQ(looks.rows.data[i].account.sum_bytes, account.sum_bytes);
	resident_looks_release(&looks);
	table = resident_by_size_result(feed.model, resident_last(feed.model), &feed.err);
	CHECK(table != NULL);
	result_free(table);
	model_free(feed.model);
}

TEST(bytes_work, "what of a block is resident takes no more work than the pages and blocks there are")
{
	const struct stream_resident rows[] = {
		{HEAP, 2 * PAGE, PAGE, MEMORY_BREAK, 0},
		{HEAP + 2 * PAGE, PAGE, PAGE, MEMORY_BREAK, 1},
		{HEAP + 8 * PAGE, PAGE, PAGE, MEMORY_BREAK, 0},
	};
	struct feed feed = feed_begin();
	struct accounting pages;
	u64 work;

	tell_block(&feed, 1, HEAP, 6 * PAGE);
	tell_memory(&feed, rows, 3);
	tell_end(&feed, IMAGE_EXITED);
	pages = accounting_of(feed.model, resident_last(feed.model));
	CHECK_EQ(accounting_bytes(&pages, HEAP + PAGE, HEAP + 9 * PAGE), PAGE / 2 + 2 * PAGE);
	CHECK_EQ(accounting_make(&pages, &feed.err), 0);
	work = pages.work;
	CHECK(work > 1000);
	CHECK_EQ(accounting_bytes(&pages, HEAP, HEAP + 6 * PAGE), 2 * PAGE);
	CHECK_EQ(work - pages.work, 2);
	pages.work = 0;
	CHECK_EQ(accounting_bytes(&pages, HEAP, HEAP + 6 * PAGE), PAGE); /* no further than the first row */
	accounting_release(&pages);
	model_free(feed.model);
}

TEST(sparse_work, "live blocks on memory of which little is resident count whole, however large it is")
{
	const u64 tib = 1ull << 40;
	const struct stream_resident row = {FAR, tib, tib / 2, MEMORY_ANONYMOUS, 0};
	struct feed feed = feed_begin();
	struct resident_account account;

	tell_block(&feed, 1, FAR + 16, tib / 2 - 64);
	tell_block(&feed, 1, FAR + tib / 2, 4096);
	tell_memory(&feed, &row, 1);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(resident_account(feed.model, resident_last(feed.model), &account, &feed.err), 0);
	CHECK_EQ(account.bytes[PART_REQUESTED], tib / 4 - 32 + 2048);
	model_free(feed.model);
}

TEST(by_size_overlap, "sizes of live blocks that overlap do not take time each for all of their pages")
{
	enum { BLOCKS = 1000 };
	const struct stream_resident rows[] = {{FAR, 64ull << 30, 64ull << 30, MEMORY_BREAK, 0}};
	struct feed feed = feed_begin();
	struct result *table;

	for (u64 i = 0; i < BLOCKS; i++)
		tell_block(&feed, 1, FAR + 16 + i % 2 * 16, 63ull << 30);
	tell_block(&feed, 1, FAR + 16, 24);
	tell_memory(&feed, rows, 1);
	tell_end(&feed, IMAGE_EXITED);
	table = resident_by_size_result(feed.model, resident_last(feed.model), &feed.err);
	CHECK(table != NULL);
	CHECK_EQ(cell(table, 0, "blocks")->number, BLOCKS);
	CHECK(cell(table, 0, "held_bytes")->number <= 64ull << 30);
	CHECK_EQ(cell(table, 1, "blocks")->number, 1);
	CHECK_EQ(cell(table, 1, "held_bytes")->number, 0); /* no work is left for it */
	result_free(table);
	model_free(feed.model);
}

TEST(empty_rows, "rows of memory without a byte take work, too")
{
	struct stream_resident rows[100] = {{HEAP, PAGE, PAGE, MEMORY_BREAK, 0}};
	struct feed feed = feed_begin();
	struct accounting pages;
	u64 work;

	for (u32 i = 1; i < 100; i++)
		rows[i] = (struct stream_resident){HEAP + PAGE, 0, 0, MEMORY_BREAK, 1};
	tell_block(&feed, 1, HEAP, 6 * PAGE);
	tell_memory(&feed, rows, 100);
	tell_end(&feed, IMAGE_EXITED);
	pages = accounting_of(feed.model, resident_last(feed.model));
	CHECK_EQ(accounting_make(&pages, &feed.err), 0);
	work = pages.work;
	CHECK_EQ(accounting_bytes(&pages, HEAP, HEAP + 6 * PAGE), PAGE);
	CHECK_EQ(work - pages.work, 100);
	accounting_release(&pages);
	model_free(feed.model);
}
