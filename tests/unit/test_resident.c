/* SPDX-License-Identifier: MIT
 * The account of resident memory, on memory whose parts are known by reading. */
#include "analysis/resident.h"
#include "test_model.h"

enum { PAGE = 4096 };
#define HEAP 0x100000ull
#define MAPPED 0x900000ull

static void tell_block(struct feed *feed, u64 address, u64 size)
{
	tell_event(feed, (struct event){.kind = HW_MALLOC,
					.size = size,
					.chunk = feed->chunks++,
					.address = address});
}

static void tell_block_end(struct feed *feed, u64 chunk, u64 address, u64 size)
{
	tell_event(feed, (struct event){.kind = HW_FREE,
					.size = size,
					.chunk = chunk,
					.address = address});
}

static void tell_memory(struct feed *feed, const struct stream_resident *rows, u64 count)
{
	struct stream_memory memory = {.ticks = feed->ticks + 1,
				       .moment = MEMORY_END,
				       .rows = rows,
				       .count = count};

	for (u64 i = 0; i < count; i++)
		memory.rss_bytes += rows[i].resident_bytes;
	told(feed, feed->sink.memory(feed->sink.self, &memory, &feed->err));
}

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

TEST(parts, "live blocks, slack, fragmentation and cache are counted by page")
{
	struct feed feed = feed_new();
	const struct stream_resident rows[] = {
		{HEAP, 4 * PAGE, 4 * PAGE, MEMORY_BREAK, 0},
	};
	struct resident_account account;

	tell_thread(&feed, 0);
	tell_block(&feed, HEAP + 16, 100);        /* of glibc: 112 bytes, 8 before it */
	tell_block(&feed, HEAP + 2 * PAGE, 1000); /* 1008 */
	tell_block(&feed, HEAP + 3 * PAGE, 64);
	tell_block_end(&feed, 2, HEAP + 3 * PAGE, 64);
	tell_memory(&feed, rows, 1);
	account = account_of(&feed);
	CHECK_EQ(account.bytes[PART_REQUESTED], 1100);
	CHECK_EQ(account.bytes[PART_SLACK],
		 12 + 8); /* the head of the second lies on the page before */
	CHECK_EQ(account.bytes[PART_CACHED], 1 * PAGE); /* freed, and no block on it */
	CHECK_EQ(account.bytes[PART_FRAGMENTATION], 3 * PAGE - 1100 - 20);
	CHECK_EQ(account.sum_bytes, 4 * PAGE);
	CHECK_EQ(account.absent_bytes, 0);
	model_free(feed.model);
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
	tell_block(&feed, HEAP, 8 * PAGE);
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
	tell_block(&feed, MAPPED + 4 * PAGE + 64, 100);
	tell_memory(&feed, rows, 3);
	account = account_of(&feed);
	CHECK_EQ(account.bytes[PART_CACHED],
		 2 * PAGE); /* the first row, and a page of the second */
	CHECK_EQ(account.bytes[PART_MAPPINGS], PAGE);
	CHECK_EQ(account.sum_bytes, 4 * PAGE);
	model_free(feed.model);
}
