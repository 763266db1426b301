/* SPDX-License-Identifier: MIT
 * What the index has of the order of events is what sorting all events gives. */
#include "host/base/map.h"
#include "study/model/order.h"
#include "unit/test_index.h"
#include "unit/test_trace.h"

struct moment {
	u64 ticks;
	u32 code;
	i64 bytes, units;
	u32 point;
};

struct naive {
	struct moment *moments;
	u64 count;
};

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	if ((x->code & 1) != (y->code & 1))
		return x->code & 1 ? -1 : 1;
	return x->code < y->code ? -1 : x->code > y->code;
}

static struct naive naive_of(const struct model *model)
{
	struct naive self = {.moments = calloc(2 * model->chunks.count + 1, sizeof(struct moment))};

	for (u64 i = 0; i < model->chunks.count; i++) {
		const struct chunk_page *page = chunk_at(&model->chunks, i);
		u32 k = (u32)(i % CHUNK_PAGE);
		u64 units, bytes;
		struct moment moment;
		bool freed;

		if (chunk_end(&model->chunks, i) == CHUNK_ABSENT)
			continue;
		freed = page->end[k] == CHUNK_FREED || page->end[k] == CHUNK_IMPLIED;
		if (freed && page->free_ticks[k] <= page->alloc_ticks[k])
			continue; /* never live */
		model_weigh(model, page->size[k], &units, &bytes);
		moment = (struct moment){page->alloc_ticks[k], (u32)i << 1, (i64)bytes, (i64)units,
					 model_point_of(model, page->alloc_context[k]).index};
		self.moments[self.count++] = moment;
		if (!freed)
			continue;
		moment.ticks = page->free_ticks[k];
		moment.code |= 1;
		moment.bytes = -moment.bytes;
		moment.units = -moment.units;
		self.moments[self.count++] = moment;
	}
	qsort(self.moments, self.count, sizeof *self.moments, by_time);
	return self;
}

static struct order_range naive_range(const struct naive *self, u64 first, u64 end)
{
	struct order_range range = {0};
	i64 bytes = 0, units = 0;

	for (u64 i = 0; i < first; i++) {
		bytes += self->moments[i].bytes;
		units += self->moments[i].units;
	}
	range = (struct order_range){bytes, units, 0, 0, bytes, bytes, units, units};
	for (u64 i = first; i < end; i++) {
		bytes += self->moments[i].bytes;
		units += self->moments[i].units;
		range.low_bytes = bytes < range.low_bytes ? bytes : range.low_bytes;
		range.high_bytes = bytes > range.high_bytes ? bytes : range.high_bytes;
		range.low_units = units < range.low_units ? units : range.low_units;
		range.high_units = units > range.high_units ? units : range.high_units;
	}
	range.last_bytes = bytes;
	range.last_units = units;
	return range;
}

static void check_points(const struct model *model, const struct naive *naive, u64 event)
{
	struct point_live *got = calloc(model->points.count + 1, sizeof *got);
	struct point_live *want = calloc(model->points.count + 1, sizeof *want);

	order_points(model, event, ORDER_NONE, got);
	for (u64 i = 0; i < event; i++) {
		want[naive->moments[i].point].bytes += naive->moments[i].bytes;
		want[naive->moments[i].point].units += naive->moments[i].units;
	}
	CHECK(memcmp(got, want, model->points.count * sizeof *got) == 0);
	/* to events before and after it, and back */
	for (u64 i = 0; i < 4; i++) {
		u64 other = hash_u64(event + i) % (naive->count + 1);

		order_points(model, other, event, got);
		order_points(model, event, other, got);
		CHECK(memcmp(got, want, model->points.count * sizeof *got) == 0);
	}
	free(got);
	free(want);
}

static void check_peaks(const struct model *model, const struct naive *naive)
{
	i64 *live = calloc(model->points.count + 1, sizeof *live);
	i64 *peaks = calloc(model->points.count + 1, sizeof *peaks);
	i64 all = 0, highest = 0;
	u64 when = 0;

	for (u64 i = 0; i < naive->count; i++) {
		u32 point = naive->moments[i].point;

		live[point] += naive->moments[i].bytes;
		peaks[point] = live[point] > peaks[point] ? live[point] : peaks[point];
		all += naive->moments[i].bytes;
		if (all > highest) {
			highest = all;
			when = i;
		}
	}
	CHECK(memcmp(peaks, model->order.peaks, model->points.count * sizeof *peaks) == 0);
	if (highest > 0)
		CHECK_EQ(order_reaches(model, 0, naive->count, highest), when);
	free(live);
	free(peaks);
}

static void check_by_point(const struct model *model)
{
	u64 known = 0;

	CHECK(model->by_point.chunks != NULL);
	for (u64 i = 0; i < model->points.count; i++)
		for (u64 k = model->by_point.first[i]; k < model->by_point.first[i + 1]; k++) {
			u32 chunk = model->by_point.chunks[k];
			const struct chunk_page *page = chunk_at(&model->chunks, chunk);

			CHECK(model_point_of(model, page->alloc_context[chunk % CHUNK_PAGE])
				      .index == i);
			CHECK(k == model->by_point.first[i] ||
			      model->by_point.chunks[k - 1] < chunk);
		}
	for (u64 i = 0; i < model->chunks.count; i++)
		known += chunk_end(&model->chunks, i) != CHUNK_ABSENT;
	CHECK_EQ(model->by_point.first[model->points.count], known);
}

static void check_order(const struct model *model, u64 seed, u32 rounds)
{
	struct naive naive = naive_of(model);

	CHECK_EQ(model->order.count, naive.count);
	for (u64 i = 0; i < naive.count; i++)
		if (model->order.codes[i] != naive.moments[i].code)
			FAIL("event %llu of %llu", (unsigned long long)i,
			     (unsigned long long)naive.count);
	for (u32 i = 0; i < rounds && naive.count; i++) {
		u64 a = hash_u64(seed + 3 * i) % (naive.count + 1);
		u64 b = hash_u64(seed + 3 * i + 1) % (naive.count + 1), ticks, found;
		struct order_range got, want;

		if (i % 3 == 0) /* both ends at a block */
			a = a / ORDER_BLOCK * ORDER_BLOCK, b = b / ORDER_BLOCK * ORDER_BLOCK;
		if (i % 5 == 0)
			b = naive.count;
		if (i % 7 == 0)
			a = 0;
		got = order_range(model, a < b ? a : b, a < b ? b : a);
		want = naive_range(&naive, a < b ? a : b, a < b ? b : a);
		CHECK(memcmp(&got, &want, sizeof got) == 0);
		ticks = naive.moments[a < naive.count ? a : 0].ticks + i % 2;
		for (found = 0; found < naive.count && naive.moments[found].ticks < ticks;)
			found++;
		CHECK_EQ(order_find(model, ticks), found);
		check_points(model, &naive, b);
	}
	check_peaks(model, &naive);
	CHECK_EQ(order_find(model, 0), 0);
	CHECK_EQ(order_find(model, UINT64_MAX), naive.count);
	free(naive.moments);
}

TEST(synthetic, "the order of a large trace has its events, sums and points at any moment")
{
	const char *path = index_trace("order.hwt", 300000);
	struct index_made made;
	struct model *model;

	build_index(path, TRACE_LAST_IMAGE, &made);
	model = open_by_index(path, TRACE_LAST_IMAGE);
	CHECK(model->order.snapshot_count > 2);
	check_order(model, 1, 60);
	check_by_point(model);
	model_free(model);
}

TEST(stories, "so has that of one with samples, strange frees and several images")
{
	for (u64 seed = 1; seed <= 8; seed++) {
		const char *path = test_path("order-story.hwt");
		LOG(told);

		write_story(path, 3, 2000 * seed, seed * 31, &told);
		for (int image = 0; image < 3; image++) {
			struct index_made made;
			struct model *model;

			build_index(path, image, &made);
			model = open_by_index(path, image);
			if (model->order.count)
				check_order(model, seed, 30);
			check_by_point(model);
			model_free(model);
		}
	}
}

TEST(none, "a model that was read has no order, and one without chunks neither")
{
	const char *path = index_trace("order-none.hwt", 100);
	struct model *model = open_by_trace(path, TRACE_LAST_IMAGE);

	CHECK(!model->order.count && !model->by_point.chunks);
	model_free(model);
}

/* Whoever makes up an index must not lead anywhere. */
TEST(made_up, "an index whose order names chunks that are not there is not used")
{
	const char *path = index_trace("order-bad.hwt", 5000);
	static const u32 wrong[] = {5000u << 1, UINT32_MAX, 1u << 31};
	struct index_made made;
	struct model *model;
	u64 order_at, chunks_at, count;
	u8 *bytes;

	build_index(path, TRACE_LAST_IMAGE, &made);
	count = read_index(made.path, &bytes);
	model = open_by_index(path, TRACE_LAST_IMAGE);
	CHECK(model->order.count > 0);
	order_at = (u64)((const u8 *)model->order.codes -
			 (const u8 *)column_store_at(model->store, 0, 1));
	chunks_at = (u64)((const u8 *)model->by_point.chunks -
			  (const u8 *)column_store_at(model->store, 0, 1));
	model_free(model);
	for (u32 i = 0; i < 6; i++) {
		u64 at = (i % 2 ? order_at : chunks_at) + 40;
		u32 before;

		memcpy(&before, bytes + at, 4);
		memcpy(bytes + at, &wrong[i / 2], 4);
		write_index(made.path, bytes, count);
		model = open_by_index(path, TRACE_LAST_IMAGE);
		CHECK(!model->store && model->chunks.count == 5000);
		model_free(model);
		memcpy(bytes + at, &before, 4);
	}
	free(bytes);
}
