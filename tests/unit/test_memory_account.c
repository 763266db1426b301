/* SPDX-License-Identifier: MIT
 * The picture of resident memory by account, and its pages, against the account itself. */
#include "study/analysis/resident/resident.h"
#include "study/layout/memory_account.h"
#include "test_analysis.h"

#define HEAP 0x100000ull
enum { SLOTS = 96, SLOT = 1024, PAGE = 4096, PAGES = SLOTS * SLOT / PAGE, STEPS = 600 };

struct slots {
	struct feed feed;
	u64 state;
	u64 chunk[SLOTS], size[SLOTS]; /* chunk + 1; 0 = free */
};

static u64 chance(struct slots *self, u64 below)
{
	self->state = self->state * 6364136223846793005 + 1442695040888963407;
	return (self->state >> 33) % below;
}

/* A block comes to a place that was free, or goes from one that was not; most go. */
static void step(struct slots *self)
{
	u64 slot = chance(self, SLOTS), address = HEAP + slot * SLOT + 16;
	u32 context = 1 + (u32)chance(self, 3);

	if (self->chunk[slot]) {
		tell_event(&self->feed, (struct event){.kind = HW_FREE,
						       .size = self->size[slot],
						       .chunk = self->chunk[slot] - 1,
						       .address = address});
		self->chunk[slot] = 0;
	} else if (slot % 8 == 0 || chance(self, 3)) {
		self->size[slot] = chance(self, SLOT - 32);
		self->chunk[slot] = self->feed.chunks + 1;
		tell_event(&self->feed, (struct event){.kind = HW_MALLOC,
						       .context = context,
						       .size = self->size[slot],
						       .chunk = self->feed.chunks++,
						       .address = address});
	}
}

static const struct model_memory *fill(struct slots *self, u64 pages)
{
	const struct stream_resident rows[] = {{HEAP, pages * PAGE, pages * PAGE, MEMORY_BREAK, 0}};
	struct stream_cached cached[SLOTS];
	u64 count = 0;

	*self = (struct slots){.feed = feed_new(), .state = 7};
	tell_thread(&self->feed, 0);
	for (u32 i = 1; i <= 3; i++)
		tell_context(&self->feed, i, 0, 0x1000 + i);
	for (u32 i = 0; i < STEPS; i++)
		step(self);
	for (u64 i = 0; i < SLOTS; i++) /* pages without a live block, and with a small one */
		if (i % 16 < 8 && self->chunk[i])
			tell_block_end(&self->feed, self->chunk[i] - 1, HEAP + i * SLOT + 16, self->size[i]);
	tell_block(&self->feed, 1, HEAP + 2 * SLOT + 16, 24);
	for (u64 i = 0; i < SLOTS; i++) /* some of what is free, and one that was taken since */
		if (i == 2 || (i % 16 < 8 ? i % 3 == 0 : i % 2 && !self->chunk[i]))
			cached[count++] = (struct stream_cached){HEAP + i * SLOT + 16, 208, 7};
	tell_caches(&self->feed, rows, cached, count);
	tell_end(&self->feed, IMAGE_EXITED);
	return resident_last(self->feed.model);
}

static u64 pixels_of(const struct memory_view *view, u64 pixels, enum memory_account account)
{
	u64 count = 0;

	for (u64 i = 0; i < pixels; i++)
		count += view->pixels[i] == account + 1;
	return count;
}

TEST(picture, "with a pixel for each byte the picture has as many pixels of an account as it has bytes")
{
	struct memory_query query = {.base = HEAP, .bytes_per_pixel = 1, .width = PAGE, .height = PAGES};
	struct memory_view view = {0};
	struct resident_account account;
	struct slots slots;
	const struct model_memory *look = fill(&slots, PAGES);
	u64 all = (u64)PAGES * PAGE, pinned = 0, pins;

	CHECK_EQ(resident_account(slots.feed.model, look, &account, &slots.feed.err), 0);
	CHECK_EQ(memory_account_make(&view, slots.feed.model, look, &query, &slots.feed.err), 0);
	pins = pixels_of(&view, all, ACCOUNT_PINS);
	CHECK(pins != 0);
	CHECK_EQ(pins + pixels_of(&view, all, ACCOUNT_LIVE), account.bytes[PART_REQUESTED]);
	CHECK_EQ(pixels_of(&view, all, ACCOUNT_SLACK), account.bytes[PART_SLACK]);
	CHECK_EQ(pixels_of(&view, all, ACCOUNT_LEFT) + pixels_of(&view, all, ACCOUNT_PINNED),
		 account.bytes[PART_PINNED]);
	CHECK(pixels_of(&view, all, ACCOUNT_LEFT) && pixels_of(&view, all, ACCOUNT_PINNED));
	CHECK_EQ(pixels_of(&view, all, ACCOUNT_CACHED), account.bytes[PART_CACHED]);
	CHECK(account.bytes[PART_THREAD_CACHES] != 0);
	CHECK_EQ(pixels_of(&view, all, ACCOUNT_THREAD_CACHES), account.bytes[PART_THREAD_CACHES]);
	CHECK_EQ(view.pages.count, PAGES);
	CHECK(view.pages.data[0].pinned);
	CHECK_EQ(view.pages.data[0].chunk, slots.feed.chunks - 1);
	CHECK_EQ(view.pages.data[0].live_bytes, 32);
	for (u64 i = 0; i < view.pages.count; i++)
		pinned += view.pages.data[i].pinned;
	CHECK(pinned < PAGES);
	memory_view_release(&view);
	model_free(slots.feed.model);
}

TEST(coarse, "a pixel of several pages shows the account with most bytes, and one page of them")
{
	struct memory_query query = {.base = HEAP, .bytes_per_pixel = PAGES * PAGE, .width = 1, .height = 1};
	struct memory_view view = {0};
	struct slots slots;
	const struct model_memory *look = fill(&slots, PAGES);

	CHECK_EQ(memory_account_make(&view, slots.feed.model, look, &query, &slots.feed.err), 0);
	CHECK_EQ(view.pages.count, 1);
	CHECK(view.pages.data[0].pinned);
	CHECK(view.pixels[0] != 0 && view.pixels[0] != ACCOUNT_PINS + 1);
	memory_view_release(&view);
	model_free(slots.feed.model);
}

TEST(fit, "the picture is of the allocator's largest mapping, as large as the room allows")
{
	static const struct {
		u32 width, height, fitted;
		u64 bytes_per_pixel;
	} rows[] = {{PAGE, PAGES, PAGES, 1}, {PAGE, 4 * PAGES, PAGES, 1}, {PAGE / 2, PAGES, PAGES, 2},
		    {PAGES, 1, 1, PAGE}, {1, 1, 1, 32 * PAGE}};
	struct slots slots;
	const struct model_memory *look = fill(&slots, PAGES);

	for (u64 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct memory_query query = {.width = rows[i].width, .height = rows[i].height};

		CHECK_EQ(memory_account_fit(&query, slots.feed.model, look, &slots.feed.err), 0);
		CHECK_EQ(query.base, HEAP);
		CHECK_EQ(query.bytes_per_pixel, rows[i].bytes_per_pixel);
		CHECK_EQ(query.height, rows[i].fitted);
	}
	model_free(slots.feed.model);
}

TEST(fit_around, "the recorder's memory in the midst of a mapping does not end the picture")
{
	const struct stream_resident rows[] = {
		{HEAP, PAGE, PAGE, MEMORY_BREAK, 0},
		{HEAP + PAGE, PAGE, PAGE, MEMORY_RECORDER, 0},
		{HEAP + 2 * PAGE, 4 * PAGE, 4 * PAGE, MEMORY_BREAK, 1},
		{HEAP + 6 * PAGE, 8 * PAGE, 8 * PAGE, MEMORY_RECORDER, 0},
		{HEAP + 14 * PAGE, 9 * PAGE, 9 * PAGE, MEMORY_MODULE, 0},
	};
	struct memory_query query = {.width = PAGE, .height = 64};
	struct feed feed = feed_new();

	tell_thread(&feed, 0);
	tell_context(&feed, 1, 0, 0x1001);
	tell_event(&feed, (struct event){.kind = HW_MALLOC, .context = 1, .size = 24, .chunk = feed.chunks++, .address = HEAP + 16});
	tell_memory(&feed, rows, 5);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(memory_account_fit(&query, feed.model, resident_last(feed.model), &feed.err), 0);
	CHECK_EQ(query.base, HEAP);
	CHECK_EQ(query.bytes_per_pixel * query.width * query.height, 6 * PAGE);
	model_free(feed.model);
}

TEST(absent, "what is live on pages that are not resident is told apart")
{
	struct memory_query query = {.base = HEAP, .bytes_per_pixel = 1, .width = PAGE, .height = PAGES};
	struct memory_view view = {0};
	struct resident_account account;
	struct slots slots;
	const struct model_memory *look = fill(&slots, PAGES / 2);

	CHECK_EQ(resident_account(slots.feed.model, look, &account, &slots.feed.err), 0);
	CHECK_EQ(memory_account_make(&view, slots.feed.model, look, &query, &slots.feed.err), 0);
	CHECK(account.absent_bytes != 0);
	CHECK_EQ(pixels_of(&view, (u64)PAGES * PAGE, ACCOUNT_ABSENT), account.absent_bytes);
	CHECK_EQ(view.pages.count, PAGES / 2);
	memory_view_release(&view);
	model_free(slots.feed.model);
}

TEST(page, "the pages in detail add up to the account, and each byte has a point")
{
	struct resident_account account;
	u64 bytes[ACCOUNTS] = {0}, held = 0, left = 0, caches = 0;
	struct slots slots;
	const struct model_memory *look = fill(&slots, PAGES);

	CHECK_EQ(resident_account(slots.feed.model, look, &account, &slots.feed.err), 0);
	for (u64 i = 0; i < PAGES; i++) {
		struct memory_page_detail page = {0};

		CHECK_EQ(memory_page_make(&page, slots.feed.model, look, HEAP + i * PAGE + 99, &slots.feed.err), 0);
		CHECK(page.resident);
		CHECK_EQ(page.address, HEAP + i * PAGE);
		for (u32 k = 0; k < ACCOUNTS; k++)
			bytes[k] += page.bytes[k];
		for (u64 k = 0; k < page.holders.count; k++)
			held += page.holders.data[k].bytes;
		for (u64 k = 0; k < page.left.count; k++)
			left += page.holders.count ? page.left.data[k].bytes : 0;
		caches += page.holders.count ? page.bytes[ACCOUNT_THREAD_CACHES] : 0;
		memory_page_release(&page);
	}
	CHECK_EQ(bytes[ACCOUNT_LIVE], account.bytes[PART_REQUESTED]);
	CHECK_EQ(bytes[ACCOUNT_SLACK], account.bytes[PART_SLACK]);
	CHECK_EQ(bytes[ACCOUNT_LEFT] + bytes[ACCOUNT_PINNED], account.bytes[PART_PINNED]);
	CHECK_EQ(bytes[ACCOUNT_CACHED], account.bytes[PART_CACHED]);
	CHECK_EQ(bytes[ACCOUNT_THREAD_CACHES], account.bytes[PART_THREAD_CACHES]);
	CHECK_EQ(held, account.bytes[PART_REQUESTED] + account.bytes[PART_SLACK]);
	/* what is in caches was theirs, too, unless no block ever lay there */
	CHECK(left > bytes[ACCOUNT_LEFT] && left <= bytes[ACCOUNT_LEFT] + caches);
	model_free(slots.feed.model);
}

TEST(elsewhere, "of a page that is not the allocator's nothing is known")
{
	struct memory_page_detail page = {0};
	struct slots slots;
	const struct model_memory *look = fill(&slots, PAGES);

	CHECK_EQ(memory_page_make(&page, slots.feed.model, look, 0x10, &slots.feed.err), 0);
	CHECK(!page.resident && !page.holders.count && !page.left.count);
	memory_page_release(&page);
	model_free(slots.feed.model);
}
