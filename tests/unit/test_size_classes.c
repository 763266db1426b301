/* SPDX-License-Identifier: MIT
 * Size classes by the rules of allocators, and by the addresses of blocks. tests/run/resident.sh
 * compares the rules with what the allocators say. */
#include "study/analysis/resident/cut.h"
#include "study/analysis/resident/neighbours.h"
#include "test_analysis.h"

enum { PAGE = 4096, SLICE = 64 << 10 };
#define HEAP 0x10000000ull

static struct feed feed_with(const char *library)
{
	struct feed feed = feed_new();

	tell_thread(&feed, 0);
	tell_functions(&feed, 4);
	tell_module(&feed, 2, 0x300000, 0, library);
	return feed;
}

static struct size_classes classes_of(struct feed *feed) { return size_classes_of(feed->model); }

TEST(rules, "sizes take what the rules of the allocator say")
{
	static const struct {
		const char *library;
		u64 size, bytes, span_bytes;
	} rows[] = {
		{"/lib/libc.so.6", 1, 32, 0},
		{"/lib/libc.so.6", 24, 32, 0},
		{"/lib/libc.so.6", 25, 48, 0},
		{"/lib/libjemalloc.so.2", 1, 8, PAGE},
		{"/lib/libjemalloc.so.2", 65, 80, 5 * PAGE},
		{"/lib/libjemalloc.so.2", 1000, 1024, PAGE},
		{"/lib/libjemalloc.so.2", 1025, 1280, 5 * PAGE},
		{"/lib/libjemalloc.so.2", 14337, 16384, 0},
		{"/lib/libtcmalloc.so.4", 1000, 1024, 2 * PAGE},
		{"/lib/libtcmalloc.so.4", 9, 16, 2 * PAGE},
		{"/lib/libtcmalloc.so.4", 300 << 10, 304 << 10, 0},
		{"/lib/libmimalloc.so.2", 33, 48, SLICE},
		{"/lib/libmimalloc.so.2", 20000, 20480, 8 * SLICE},
		{"/lib/libmimalloc.so.2", 140000, 143360, 0},
		{"/lib/libsnmalloc.so.2", 100, 100, 0},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct feed feed = feed_with(rows[i].library);
		struct size_classes classes = classes_of(&feed);
		struct size_class class = size_classes_find(&classes, rows[i].size);

		CHECK_EQ(class.bytes, rows[i].bytes);
		CHECK_EQ(class.span_bytes, rows[i].span_bytes);
		size_classes_release(&classes);
		model_free(feed.model);
	}
}

TEST(span, "a block's span is found by where a block of its size can lie")
{
	struct feed feed = feed_with("/lib/libjemalloc.so.2");
	struct size_classes classes = classes_of(&feed);
	struct class_extent span = size_classes_span(&classes, HEAP + 7 * 1280, 1200);

	CHECK_EQ(span.start, HEAP); /* of five pages, for 16 blocks */
	CHECK_EQ(span.end, HEAP + 5 * PAGE);
	span = size_classes_span(&classes, HEAP + 7 * 1280 + 16, 1200); /* none has a block there */
	CHECK_EQ(span.start, HEAP + 2 * PAGE);
	CHECK_EQ(span.end, HEAP + 3 * PAGE);
	size_classes_release(&classes);
	model_free(feed.model);

	feed = feed_with("/lib/libtcmalloc.so.4");
	classes = classes_of(&feed);
	CHECK_EQ(size_classes_find(&classes, 2048).span_bytes, 4 * PAGE);
	span = size_classes_span(&classes, HEAP + 2048, 2048); /* of two pairs of pages */
	CHECK_EQ(span.start, HEAP);
	CHECK_EQ(span.end, HEAP + 2 * PAGE);
	size_classes_release(&classes);
	model_free(feed.model);
}

/* Blocks of these two sizes in turn, so far apart. */
static bool judge(struct size_classes *classes, u64 small, u64 large, u64 apart)
{
	struct neighbours seen = {.windows = 1};
	bool changed;

	for (u64 i = 0; i < 100; i++)
		CHECK(neighbours_add(&seen, 0, HEAP + i * apart, i % 2 ? small : large));
	changed = neighbours_judge(&seen, classes);
	neighbours_release(&seen);
	return changed;
}

TEST(neighbours, "addresses confirm rules, contradict them, or give the classes")
{
	struct feed feed = feed_with("/lib/libjemalloc.so.2");
	struct size_classes classes = classes_of(&feed);

	CHECK(!judge(&classes, 100, 112, 112));
	CHECK_EQ(classes.basis, CLASSES_RULES);
	CHECK(judge(&classes, 100, 112, 128)); /* none is as close as it may be */
	CHECK_EQ(classes.basis, CLASSES_INFERRED);
	CHECK_EQ(size_classes_find(&classes, 100).bytes, 128);
	CHECK_EQ(size_classes_find(&classes, 112).bytes, 128);
	CHECK_EQ(size_classes_find(&classes, 8).bytes, 8);     /* nothing is known of it */
	CHECK_EQ(size_classes_find(&classes, 113).bytes, 113); /* nor of larger ones */
	size_classes_release(&classes);

	classes = classes_of(&feed);
	CHECK(judge(&classes, 97, 98, 99)); /* each reaches into the next */
	CHECK_EQ(classes.basis, CLASSES_INFERRED);
	CHECK_EQ(size_classes_find(&classes, 97).bytes, 99);
	CHECK(size_classes_allocator(&classes) == NULL);
	size_classes_release(&classes);

	classes = (struct size_classes){0};
	judge(&classes, 100, 100, 1000); /* too far apart */
	CHECK_EQ(classes.basis, CLASSES_UNKNOWN);
	CHECK_EQ(size_classes_find(&classes, 100).bytes, 100);
	model_free(feed.model);
}

TEST(held, "a block holds all pages that go with it, and shares them with other points")
{
	struct feed feed = feed_with("/lib/libmimalloc.so.2");
	const struct stream_resident rows[] = {
		{HEAP, 4 * SLICE, 4 * SLICE, MEMORY_ANONYMOUS, 0},
	};
	struct bill bill;
	struct cut cut;

	for (u32 i = 0; i < 3; i++)
		tell_event(&feed, (struct event){.kind = HW_MALLOC,
						 .context = 1,
						 .size = 1000,
						 .chunk = feed.chunks++,
						 .address = HEAP + i * SLICE + 5 * 1024});
	tell_event(&feed, (struct event){.kind = HW_MALLOC,
					 .context = 2,
					 .size = 1000,
					 .chunk = feed.chunks++,
					 .address = HEAP + 2 * SLICE + 40 * 1024});
	tell_memory(&feed, rows, 1);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(bill_make(&bill, feed.model, resident_last(feed.model), &feed.err), 0);
	CHECK(bill.allocator && strcmp(bill.allocator, "mimalloc") == 0);
	CHECK_EQ(bill.account.bytes[PART_SLACK], 4 * 24);
	CHECK_EQ(bill.account.bytes[PART_PINNED], 3 * SLICE - 4 * 1024);
	CHECK_EQ(bill.account.bytes[PART_CACHED], SLICE);
	CHECK_EQ(bill.lines[model_point_of(bill.model, 1).index].pinned_bytes,
		 2 * (SLICE - 1024) + (SLICE - 2048) / 2);
	CHECK_EQ(bill.lines[model_point_of(bill.model, 1).index].alone_pages, 2 * SLICE / PAGE);
	CHECK_EQ(bill.lines[model_point_of(bill.model, 2).index].pinned_bytes, (SLICE - 2048) / 2);
	CHECK_EQ(cut_find(&cut, &bill, &feed.err), 0);
	CHECK_EQ(cut.count, 1);
	CHECK_EQ(cut.pages, 2 * SLICE / PAGE);
	CHECK_EQ(cut.most_bytes, 2 * SLICE - 3 * 1024);
	CHECK_EQ(cut.least_bytes, 0);
	bill_release(&bill);
	model_free(feed.model);
}
