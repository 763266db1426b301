/* SPDX-License-Identifier: MIT
 * Fuzz entry of the account of resident memory: the input is an allocator, blocks, and looks with rows of memory, as a trace may claim
 * them. The parts must add up to what is resident, alone and among all looks, and the bill must charge no more than there is. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "study/analysis/resident/arenas.h"
#include "study/analysis/resident/by_size.h"
#include "study/analysis/resident/cut.h"
#include "study/analysis/resident/looks.h"
#include "study/analysis/resident/series.h"

enum { BLOCKS_MAX = 256, ROWS_MAX = 64, LOOKS = 4, POINTS = 4, CACHED_MAX = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- input ---- */

struct input {
	const uint8_t *data;
	size_t left;
};

/* Small numbers and huge ones: how many bytes, then these. */
static u64 take(struct input *self)
{
	u64 value = 0;
	u8 bytes;

	if (!self->left)
		return 0;
	bytes = self->data[0] % 9;
	self->data++;
	self->left--;
	for (; bytes && self->left; bytes--, self->left--)
		value = value << 8 | *self->data++;
	return value;
}

static void feed_block(const struct stream_sink *sink, struct input *input, u64 number)
{
	struct event event = {.kind = HW_MALLOC, .chunk = number, .ticks = 10 * number + 10, .context = (u32)(1 + number % POINTS)};
	struct err err = {0};
	u64 life;

	event.address = take(input);
	event.size = take(input);
	life = take(input);
	if (sink->events(sink->self, &event, 1, &err) < 0 || !life)
		return;
	event.kind = HW_FREE;
	event.ticks += life % 100000;
	sink->events(sink->self, &event, 1, &err);
}

static void feed_cached(struct input *input, struct stream_memory *memory, struct stream_cached *rows)
{
	u64 count = take(input) % CACHED_MAX, at = 0;

	for (; memory->cached_count < count; memory->cached_count++) {
		struct stream_cached *row = &rows[memory->cached_count];

		*row = (struct stream_cached){.address = at + take(input) / 16 * 16, .bytes = (u32)(take(input) % STREAM_CACHED_MAX / 16 * 16)};
		if (!stream_cached_fits(row, at))
			break;
		at = row->address + row->bytes;
	}
}

/* Rows are what the reader of traces lets through. */
static int feed_look(const struct stream_sink *sink, struct input *input, bool last)
{
	struct stream_resident rows[ROWS_MAX];
	struct stream_cached cached[CACHED_MAX];
	struct stream_memory memory = {.rows = rows, .cached = cached, .moment = last ? MEMORY_END : MEMORY_NOW, .ticks = take(input)};
	u64 count = take(input) % ROWS_MAX, at = 0;
	struct err err = {0};

	memory.rss_bytes = take(input);
	memory.huge_bytes = take(input);
	memory.libc_huge_bytes = take(input);
	for (; memory.count < count; memory.count++) {
		struct stream_resident *row = &rows[memory.count];

		*row = (struct stream_resident){.start = (at + take(input)) & -(u64)STREAM_PAGE, .bytes = take(input) & -(u64)STREAM_PAGE};
		row->resident_bytes = row->bytes ? row->bytes - take(input) % row->bytes : 0;
		row->kind = (u32)(take(input) % MEMORY_KINDS);
		row->goes_on = take(input) % 2;
		if (!stream_resident_fits(row, at))
			break;
		at = row->start + row->bytes;
	}
	feed_cached(input, &memory, cached);
	return sink->memory(sink->self, &memory, &err);
}

static void feed(const struct stream_sink *sink, struct input *input)
{
	static const char *const libraries[] = {"libc.so.6", "libjemalloc.so.2", "libtcmalloc.so.4", "libmimalloc.so.2", "libother.so"};
	struct stream_image image = {.program = "fuzz", .command = "fuzz"};
	struct stream_module module = {.base = 0x1000, .start = 0x1000, .end = 0x9000};
	struct stream_thread thread = {.tid = 1};
	struct stream_image_end end = {.ticks = UINT32_MAX};
	struct err err = {0};
	u64 blocks;

	module.path = libraries[take(input) % (sizeof libraries / sizeof *libraries)];
	if (sink->image(sink->self, &image, &err) < 0 || sink->module(sink->self, &module, &err) < 0 ||
	    sink->thread(sink->self, &thread, &err) < 0)
		return;
	for (u32 i = 1; i <= POINTS; i++)
		sink->contexts(sink->self, &(struct stream_context){.id = i, .pc = 0x1000 + 64 * i}, 1, &err);
	blocks = take(input) % BLOCKS_MAX;
	for (u64 i = 0; i < blocks; i++)
		feed_block(sink, input, i);
	for (u32 i = 0; i < LOOKS && input->left; i++)
		if (feed_look(sink, input, i + 1 == LOOKS) < 0)
			return;
	sink->image_end(sink->self, &end, &err);
}

/* ---- what must hold ---- */

static u64 resident_of(const struct model *model, const struct model_memory *memory)
{
	u64 bytes = 0;

	for (u64 i = 0; i < memory->count; i++)
		bytes += model->residents.data[memory->first + i].resident_bytes;
	return bytes;
}

/* A gap is a part of what was resident, and within the run. */
static void check_series(const struct model *model)
{
	struct resident_series series = {0};
	struct resident_gap gap;
	struct err err = {0};

	if (resident_series_make(&series, model, &err) == 0 && resident_gap_find(&gap, model, &series, 0, &err) == 0 &&
	    (gap.bytes > gap.rss_bytes || gap.rss_bytes > series.peak_bytes || gap.from_ns > gap.to_ns))
		abort();
	resident_series_release(&series);
}

/* Each granule of the allocator's pages is charged once at most. */
static void check_bill(const struct bill *bill)
{
	u64 pages = (u64)bill->page_count * RESIDENT_PAGE, pinned = 0, caches = bill->strange_bytes, others = bill->unused_bytes[0] + bill->unused_bytes[1];

	for (u32 i = 0; i < bill->model->points.count; i++) {
		pinned += bill->lines[i].pinned_bytes;
		caches += bill->lines[i].caches_bytes;
		others += bill->lines[i].left_bytes + bill->lines[i].cached_bytes;
	}
	if (pinned > pages || others > pages || caches > pages)
		abort();
	for (u32 i = 0; i < bill->page_count; i++)
		if (bill->page_used[i] > RESIDENT_PAGE || bill->page_span[i] > i)
			abort();
}

static void check_look(const struct model *model, const struct model_memory *memory)
{
	struct resident_account account;
	struct bill bill = {0};
	struct err err = {0};
	struct cut cut;

	if (resident_account(model, memory, &account, &err) == 0 && account.sum_bytes != resident_of(model, memory))
		abort();
	if (bill_make(&bill, model, memory, &err) == 0) {
		check_bill(&bill);
		if (cut_find(&cut, &bill, &err) == 0 && (cut.count > CUT_POINTS_MAX || cut.least_bytes > cut.most_bytes))
			abort();
		result_free(arenas_table(&bill, 0, &err));
	}
	bill_release(&bill);
	result_free(resident_by_size_result(model, memory, &err));
}

static void check_looks(const struct model *model)
{
	struct resident_looks looks = {0};
	struct err err = {0};

	if (resident_looks_make(&looks, model, &err) == 0)
		for (u64 i = 0; i < looks.rows.count; i++)
			if (looks.rows.data[i].account.sum_bytes != resident_of(model, looks.rows.data[i].memory))
				abort();
	resident_looks_release(&looks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	struct model *model = model_new();
	struct stream_sink sink;

	if (!model)
		return 0;
	sink = model_sink(model);
	feed(&sink, &input);
	for (u64 i = 0; i < model->memory.count; i++)
		check_look(model, &model->memory.data[i]);
	check_looks(model);
	check_series(model);
	model_free(model);
	return 0;
}
