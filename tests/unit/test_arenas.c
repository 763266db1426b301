/* SPDX-License-Identifier: MIT
 * glibc's arenas: what each has, whose it is, and when they are the cause. */
#include "study/analysis/resident/arenas.h"
#include "study/analysis/resident/bill_result.h"
#include "test_analysis.h"

enum { PAGE = 4096, HEAPS = 6 };
#define MAIN 0x100000ull
#define ARENA (64ull << 20)

/* Of the thread of the first arena: what lies behind the last one, and what is mapped alone. */
static void tell_elsewhere(struct feed *feed)
{
	feed->thread = 1;
	for (u64 i = 0; i < 8; i++)
		tell_block(feed, 1, (HEAPS + 15 + i % 2) * ARENA + (i + 100) * PAGE * 64 + 16,
			   i % 2 ? 1000 : 200000);
}

/* A large block is there for some time, in no arena. */
static void tell_mapped(struct feed *feed)
{
	u64 address = 9 * ARENA + 16, chunk = tell_block(feed, 1, address, ARENA);

	feed->ticks += 1 << 16;
	tell_block_end(feed, chunk, address, ARENA);
	feed->ticks += 1 << 16;
}

struct arenas_how {
	bool in_turn, elsewhere, mapped;
};

/* Arena i: a block that stays, and one of nine pages that is freed, before the next one is made
 * (in_turn) or after all were. */
static struct feed arenas_feed(struct arenas_how how)
{
	struct feed feed = feed_new();
	struct stream_resident rows[HEAPS + 1] = {{MAIN, PAGE, PAGE, MEMORY_BREAK, 0}};

	tell_functions(&feed, 2);
	for (u32 thread = 0; thread <= HEAPS; thread++)
		tell_thread(&feed, thread);
	if (how.mapped)
		tell_mapped(&feed);
	for (u32 i = 0; i < HEAPS; i++) {
		u64 start = (i + 16) * ARENA, chunk = feed.chunks;

		rows[i + 1] =
			(struct stream_resident){start, 10 * PAGE, 10 * PAGE, MEMORY_ANONYMOUS, 0};
		feed.thread = i + 1;
		for (u32 k = 0; k < 2; k++)
			tell_block(&feed, 1 + k, start + 16 + k * PAGE, k ? 9 * PAGE - 24 : 1000);
		if (how.in_turn)
			tell_block_end(&feed, chunk + 1, start + 16 + PAGE, 9 * PAGE - 24);
	}
	if (how.elsewhere)
		tell_elsewhere(&feed);
	for (u32 i = 0; i < HEAPS && !how.in_turn; i++)
		tell_block_end(&feed, 2 * i + 1 + how.mapped, (i + 16) * ARENA + 16 + PAGE,
			       9 * PAGE - 24);
	tell_memory(&feed, rows, HEAPS + 1);
	tell_end(&feed, IMAGE_EXITED);
	return feed;
}

static enum bill_cause cause_of(struct feed *feed, struct bill *bill)
{
	struct cut cut;

	CHECK_EQ(bill_make(bill, feed->model, resident_last(feed->model), &feed->err), 0);
	CHECK_EQ(cut_find(&cut, bill, &feed->err), 0);
	return bill_cause(bill, &cut);
}

TEST(cause, "many arenas are the cause only if one would have less")
{
	struct feed feed = arenas_feed((struct arenas_how){.in_turn = true});
	struct bill bill;

	CHECK_EQ(cause_of(&feed, &bill), BILL_ARENAS);
	CHECK_EQ(arenas_find(&bill).count, HEAPS);
	bill_release(&bill);
	model_free(feed.model);
	feed = arenas_feed((struct arenas_how){0});
	CHECK_EQ(cause_of(&feed, &bill), BILL_NOT_GIVEN_BACK);
	bill_release(&bill);
	model_free(feed.model);
}

TEST(mapped, "a large block that is mapped alone, and gone, does not hide that arenas are the cause")
{
	struct feed feed = arenas_feed((struct arenas_how){.in_turn = true, .mapped = true});
	struct bill bill;

	CHECK_EQ(cause_of(&feed, &bill), BILL_ARENAS);
	bill_release(&bill);
	model_free(feed.model);
	feed = arenas_feed((struct arenas_how){.mapped = true});
	CHECK_EQ(cause_of(&feed, &bill), BILL_NOT_GIVEN_BACK);
	bill_release(&bill);
	model_free(feed.model);
}

TEST(table, "each arena has its bytes, and the thread that allocates there")
{
	struct feed feed = arenas_feed((struct arenas_how){.in_turn = true, .elsewhere = true});
	struct bill bill;
	struct result *table;

	cause_of(&feed, &bill);
	table = arenas_table(&bill, 0, &feed.err);
	CHECK(table && !table->hidden_in_text);
	CHECK_EQ(result_rows(table), HEAPS + 1);
	for (u32 i = 0; i < HEAPS; i++) {
		CHECK_EQ(cell(table, i, "start")->number, (i + 16) * ARENA);
		CHECK_EQ(cell(table, i, "live_bytes")->number, 1008);
		CHECK_EQ(cell(table, i, "pinned_bytes")->number, PAGE - 1008);
		CHECK_EQ(cell(table, i, "cached_bytes")->number, 9 * PAGE);
		CHECK_EQ(cell(table, i, "threads")->number, 1);
		CHECK_EQ(cell(table, i, "tid")->number, feed.model->threads.data[i + 1].tid);
	}
	CHECK_EQ(cell(table, HEAPS, "start")->number, 0);
	/* what lies behind all heaps is the main arena's, and what is mapped alone is nobody's */
	CHECK_EQ(cell(table, HEAPS, "threads")->number, 1);
	CHECK_EQ(cell(table, HEAPS, "tid")->number, feed.model->threads.data[1].tid);
	result_free(table);
	bill_release(&bill);
	model_free(feed.model);
}
