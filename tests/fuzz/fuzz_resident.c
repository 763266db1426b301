/* SPDX-License-Identifier: MIT
 * Fuzz entry of the account of resident memory: the input is blocks and rows of memory, as a trace may claim them. The
 * parts must add up to what is resident. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "study/analysis/resident/series.h"

enum { BLOCKS_MAX = 256, ROWS_MAX = 64, CACHED_MAX = 16 };

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t left;
};

/* Small numbers and huge ones. */
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

static void feed(const struct stream_sink *sink, struct input *input)
{
	struct stream_image image = {.program = "fuzz", .command = "fuzz"};
	struct stream_thread thread = {.tid = 1};
	struct stream_resident rows[ROWS_MAX];
	struct stream_cached cached[CACHED_MAX];
	struct stream_memory memory = {.rows = rows, .moment = MEMORY_END, .cached = cached};
	struct stream_image_end end = {.ticks = UINT32_MAX};
	u64 blocks = take(input) % BLOCKS_MAX, at = 0;
	struct err err = {0};

	if (sink->image(sink->self, &image, &err) < 0 ||
	    sink->thread(sink->self, &thread, &err) < 0)
		return;
	for (u64 i = 0; i < blocks; i++) {
		struct event event = {.kind = HW_MALLOC, .chunk = i, .ticks = i + 1};

		event.address = take(input);
		event.size = take(input);
		if (sink->events(sink->self, &event, 1, &err) < 0)
			return;
	}
	memory.ticks = take(input);
	for (memory.count = 0; memory.count < ROWS_MAX && input->left > CACHED_MAX; memory.count++) {
		struct stream_resident *row = &rows[memory.count];

		/* As the reader of traces lets them through: one after the other. */
		row->start = at + take(input);
		row->bytes = take(input);
		if (row->start < at || row->start + row->bytes < row->start || !row->bytes)
			break;
		at = row->start + row->bytes;
		row->resident_bytes = row->bytes - take(input) % row->bytes;
		row->kind = (u32)(take(input) % MEMORY_KINDS);
		row->goes_on = memory.count && take(input) % 2;
	}
	at = 0;
	for (; memory.cached_count < CACHED_MAX && input->left; memory.cached_count++) {
		struct stream_cached *row = &cached[memory.cached_count];

		row->address = at + take(input) / 16 * 16;
		row->bytes = (u32)(take(input) / 16 * 16);
		if (row->address < at || !row->bytes || row->address + row->bytes < row->address)
			break;
		at = row->address + row->bytes;
	}
	if (sink->memory(sink->self, &memory, &err) == 0)
		sink->image_end(sink->self, &end, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	struct model *model = model_new();
	struct resident_account account;
	struct stream_sink sink;
	struct err err = {0};

	if (!model)
		return 0;
	sink = model_sink(model);
	feed(&sink, &input);
	for (u64 i = 0; i < model->memory.count; i++) {
		const struct model_memory *memory = &model->memory.data[i];
		u64 resident = 0;

		if (resident_account(model, memory, &account, &err) < 0)
			continue;
		for (u64 k = 0; k < memory->count; k++)
			resident += model->residents.data[memory->first + k].resident_bytes;
		if (account.sum_bytes != resident)
			abort();
	}
	check_series(model);
	model_free(model);
	return 0;
}
