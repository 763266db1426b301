/* SPDX-License-Identifier: MIT
 * Payloads into facts and contexts. Runs on the host. Never allocates by a length that the
 * payload does not back; strings live as long as the call that tells them. */
#include <stdlib.h>
#include <string.h>

#include "host/base/arena.h"
#include "host/trace/cursor.h"
#include "host/trace/decode.h"
#include "host/trace/facts.h"

static const u8 *get_bytes(struct cursor *in, u64 *count)
{
	const u8 *bytes;

	*count = cursor_get(in);
	if (in->bad || *count > (u64)(in->end - in->at)) {
		in->bad = true;
		*count = 0;
		return in->end;
	}
	bytes = in->at;
	in->at += *count;
	return bytes;
}

static const char *get_text(struct cursor *in, struct arena *arena)
{
	u64 count;
	const u8 *bytes = get_bytes(in, &count);
	const char *text = arena_copy_text(arena, (const char *)bytes, count);

	return text ? text : "";
}

/* What telling one record needs. */
struct teller {
	const struct stream_sink *sink;
	struct scan_gather *gather;
	struct arena arena;
	struct err *err;
};

static int tell_image(struct teller *teller, struct cursor *in)
{
	struct stream_image image = {0};

	image.pid = cursor_get_u32(in);
	image.parent_pid = cursor_get_u32(in);
	image.number = cursor_get_u32(in);
	image.arch = cursor_get_u32(in);
	image.start_ticks = cursor_get(in);
	image.start_ns = cursor_get(in);
	image.sample_bytes = cursor_get(in);
	image.flags = cursor_get_u32(in);
	image.program = get_text(in, &teller->arena);
	image.command = get_text(in, &teller->arena);
	if (in->at < in->end) /* older traces end before it */
		image.access = cursor_get_u32(in);
	if (in->bad || !teller->sink->image)
		return 0;
	return teller->sink->image(teller->sink->self, &image, teller->err);
}

static int tell_module(struct teller *teller, struct cursor *in)
{
	struct stream_module module = {0};
	u64 build_id_bytes;

	module.id = cursor_get_u32(in);
	module.generation = cursor_get_u32(in);
	module.base = cursor_get(in);
	module.start = cursor_get(in);
	module.end = cursor_get(in);
	module.loaded_ticks = cursor_get(in);
	module.unloaded_ticks = cursor_get(in);
	module.path = get_text(in, &teller->arena);
	module.build_id = get_bytes(in, &build_id_bytes);
	module.build_id_bytes = (u32)build_id_bytes;
	if (in->bad || !teller->sink->module)
		return 0;
	return teller->sink->module(teller->sink->self, &module, teller->err);
}

static int tell_thread(struct teller *teller, struct cursor *in)
{
	struct stream_thread thread = {0};
	const u8 *name;
	u64 count;

	thread.index = cursor_get_u32(in);
	thread.tid = cursor_get_u32(in);
	thread.start_ticks = cursor_get(in);
	name = get_bytes(in, &count);
	memcpy(thread.name, name, count < sizeof(thread.name) ? count : sizeof(thread.name) - 1);
	if (in->bad || !teller->sink->thread)
		return 0;
	return teller->sink->thread(teller->sink->self, &thread, teller->err);
}

static int tell_clock(struct teller *teller, struct cursor *in)
{
	struct stream_clock clock = {0};

	clock.ticks = cursor_get(in);
	clock.ns = cursor_get(in);
	if (in->bad || !teller->sink->clock)
		return 0;
	return teller->sink->clock(teller->sink->self, &clock, teller->err);
}

static int tell_usage(struct teller *teller, struct cursor *in)
{
	struct stream_usage usage = {0};

	usage.ticks = cursor_get(in);
	usage.rss_bytes = cursor_get(in);
	usage.virtual_bytes = cursor_get(in);
	if (in->bad || !teller->sink->usage)
		return 0;
	return teller->sink->usage(teller->sink->self, &usage, teller->err);
}

static bool get_resident(struct cursor *in, u64 *at, struct stream_resident *row)
{
	u64 absent, kind;

	row->start = *at += cursor_get(in);
	row->bytes = cursor_get(in);
	absent = cursor_get(in);
	kind = cursor_get(in);
	row->resident_bytes = row->bytes - absent;
	row->goes_on = kind & 1;
	row->kind = (u32)(kind >> 1);
	return !in->bad && absent <= row->bytes && kind >> 1 < MEMORY_KINDS;
}

static int tell_memory(struct teller *teller, struct cursor *in)
{
	struct stream_memory memory = {0};
	struct stream_resident *rows;
	u64 at = 0, end = 0;

	memory.ticks = cursor_get(in);
	memory.rss_bytes = cursor_get(in);
	memory.high_bytes = cursor_get(in);
	memory.moment = cursor_get_u32(in);
	memory.count = cursor_get(in);
	/* a row takes at least a byte per field */
	if (in->bad || memory.moment > MEMORY_END || memory.count > (u64)(in->end - in->at) / 4) {
		in->bad = true;
		return 0;
	}
	rows = arena_new_array(&teller->arena, struct stream_resident, memory.count);
	if (!rows)
		return err_memory(teller->err);
	for (u64 i = 0; i < memory.count && !in->bad; i++) {
		if (!get_resident(in, &at, &rows[i]) || !facts_resident_fits(&rows[i], end))
			in->bad = true;
		end = rows[i].start + rows[i].bytes;
	}
	memory.rows = rows;
	if (in->bad || !teller->sink->memory)
		return 0;
	return teller->sink->memory(teller->sink->self, &memory, teller->err);
}

static int tell_aggregates(struct teller *teller, struct cursor *in)
{
	u64 count = cursor_get(in);
	struct stream_aggregate *rows;

	/* a row takes at least a byte per field */
	if (in->bad || count > (u64)(in->end - in->at) / 5) {
		in->bad = true;
		return 0;
	}
	rows = arena_new_array(&teller->arena, struct stream_aggregate, count);
	if (!rows)
		return err_memory(teller->err);
	for (u64 i = 0; i < count; i++) {
		rows[i].context = cursor_get_u32(in);
		rows[i].allocations = cursor_get(in);
		rows[i].bytes = cursor_get(in);
		rows[i].frees = cursor_get(in);
		rows[i].freed_bytes = cursor_get(in);
	}
	if (in->bad || !teller->sink->aggregates)
		return 0;
	return teller->sink->aggregates(teller->sink->self, rows, count, teller->err);
}

static void get_totals(struct cursor *in, struct stream_totals *totals)
{
	const u64 fault_count = sizeof(totals->faults) / sizeof(totals->faults[0]);
	u64 count;

	totals->allocations = cursor_get(in);
	totals->frees = cursor_get(in);
	totals->bytes = cursor_get(in);
	totals->freed_bytes = cursor_get(in);
	totals->peak_bytes = cursor_get(in);
	totals->peak_chunks = cursor_get(in);
	totals->peak_ticks = cursor_get(in);
	totals->kept_chunks = cursor_get(in);
	totals->kept_bytes = cursor_get(in);
	totals->unknown_frees = cursor_get(in);
	totals->implied_frees = cursor_get(in);
	totals->lost_events = cursor_get(in);
	totals->durations = cursor_get(in);
	totals->duration_ticks = cursor_get(in);
	totals->aggregated_from_ticks = cursor_get(in);
	count = cursor_get(in);
	for (u64 i = 0; i < count && !in->bad; i++) {
		u64 fault = cursor_get(in);

		if (i < fault_count)
			totals->faults[i] = fault;
	}
}

/* ---- scans ---- */

static void get_scan(struct cursor *in, struct arena *arena, struct stream_scan *scan)
{
	u64 classes;

	scan->ticks = cursor_get(in);
	scan->state = cursor_get_u32(in);
	scan->reason = get_text(in, arena);
	scan->roots_bytes = cursor_get(in);
	scan->chunks = cursor_get(in);
	scan->scan_ns = cursor_get(in);
	classes = cursor_get(in);
	for (u64 i = 0; i < classes && !in->bad; i++) {
		u64 chunks = cursor_get(in), bytes = cursor_get(in);

		if (i < CLASS_COUNT) {
			scan->class_chunks[i] = chunks;
			scan->class_bytes[i] = bytes;
		}
	}
	if (scan->state > SCAN_FAILED)
		in->bad = true;
}

static bool get_classes(struct cursor *in, u64 count, struct scan_gather *gather)
{
	u64 chunk = 0;

	for (u64 i = 0; i < count; i++) {
		u64 value = cursor_get(in);
		struct stream_class row = {chunk + (value >> 3), (u8)(value & 7)};

		if (in->bad || row.chunk < chunk || row.chunk_class >= CLASS_COUNT ||
		    (i == 0 && gather->rows.count &&
		     row.chunk <= gather->rows.data[gather->rows.count - 1].chunk)) {
			in->bad = true;
			return true;
		}
		chunk = row.chunk + 1;
		if (!vec_push(&gather->rows, row))
			return false;
	}
	return true;
}

static int tell_scan(struct teller *teller, struct cursor *in)
{
	struct scan_gather *gather = teller->gather;
	struct stream_scan scan = {0};
	u64 total, first, count;
	int status = 0;

	get_scan(in, &teller->arena, &scan);
	total = cursor_get(in);
	first = cursor_get(in);
	count = cursor_get(in);
	if (in->bad || count > (u64)(in->end - in->at)) {
		in->bad = true;
		return 0;
	}
	if (first == 0 || !gather->open) {
		status = scan_gather_tell(gather, teller->sink, teller->err);
		if (status < 0)
			return status;
		gather->reason = strdup(scan.reason);
		gather->scan = scan;
		gather->scan.reason = gather->reason;
		gather->total = total;
		gather->open = true;
	}
	if (!gather->reason || !get_classes(in, count, gather))
		return err_memory(teller->err);
	/* A piece may be lost with its block: the end of the image tells what is there. */
	return gather->rows.count >= gather->total
		       ? scan_gather_tell(gather, teller->sink, teller->err)
		       : 0;
}

/* The reader numbers chunks without the gaps that damage leaves: so must the classes. */
static void renumber(struct scan_gather *self)
{
	u64 kept = 0;

	for (u64 i = 0; i < self->rows.count && self->decoder; i++) {
		struct stream_class row = self->rows.data[i];

		row.chunk = decoder_chunk(self->decoder, row.chunk);
		if (row.chunk != NO_CHUNK)
			self->rows.data[kept++] = row;
	}
	if (self->decoder)
		self->rows.count = kept;
}

int scan_gather_tell(struct scan_gather *self, const struct stream_sink *sink, struct err *err)
{
	int status = 0;

	if (self->open) {
		self->open = false;
		renumber(self);
		if (sink->scan)
			status = sink->scan(sink->self, &self->scan, self->rows.data,
					    self->rows.count, err);
	}
	free(self->reason);
	self->reason = NULL;
	vec_clear(&self->rows);
	return status;
}

void scan_gather_release(struct scan_gather *self)
{
	free(self->reason);
	vec_release(&self->rows);
	*self = (struct scan_gather){0};
}

static int tell_image_end(struct teller *teller, struct cursor *in)
{
	struct stream_image_end end = {0};
	int status = scan_gather_tell(teller->gather, teller->sink, teller->err);

	if (status < 0)
		return status;

	end.ticks = cursor_get(in);
	end.how = cursor_get_u32(in);
	end.value = (i32)hw_unzigzag(cursor_get(in));
	get_totals(in, &end.totals);
	if (in->at < in->end) /* older traces end before it */
		end.cpu_ns = cursor_get(in);
	if (end.how > IMAGE_DETACHED)
		in->bad = true;
	if (in->bad || !teller->sink->image_end)
		return 0;
	return teller->sink->image_end(teller->sink->self, &end, teller->err);
}

static int tell_note(struct teller *teller, struct cursor *in)
{
	const char *key = get_text(in, &teller->arena);
	const char *value = get_text(in, &teller->arena);

	if (in->bad || !teller->sink->note)
		return 0;
	return teller->sink->note(teller->sink->self, key, value, teller->err);
}

static int tell_name(struct teller *teller, struct cursor *in)
{
	struct stream_name name = {.id = cursor_get_u32(in)};

	name.text = get_text(in, &teller->arena);
	if (in->bad || !teller->sink->name)
		return 0;
	return teller->sink->name(teller->sink->self, &name, teller->err);
}

static int tell_record(struct teller *teller, u32 tag, struct cursor *body)
{
	switch (tag) {
	case HW_FACT_IMAGE: return tell_image(teller, body);
	case HW_FACT_MODULE: return tell_module(teller, body);
	case HW_FACT_THREAD: return tell_thread(teller, body);
	case HW_FACT_CLOCK: return tell_clock(teller, body);
	case HW_FACT_USAGE: return tell_usage(teller, body);
	case HW_FACT_MEMORY: return tell_memory(teller, body);
	case HW_FACT_AGGREGATES: return tell_aggregates(teller, body);
	case HW_FACT_IMAGE_END: return tell_image_end(teller, body);
	case HW_FACT_NOTE: return tell_note(teller, body);
	case HW_FACT_SCAN: return tell_scan(teller, body);
	case HW_FACT_NAME: return tell_name(teller, body);
	default: return 0; /* of a later minor version */
	}
}

int facts_tell(const u8 *payload, u64 bytes, const struct stream_sink *sink,
	       struct scan_gather *gather, struct err *err)
{
	struct cursor in = {payload, payload + bytes, false};
	struct teller teller = {.sink = sink, .gather = gather, .err = err};
	int status = 0;

	while (in.at < in.end && status == 0) {
		u32 tag = *in.at++;
		u64 count;
		const u8 *body = get_bytes(&in, &count);
		struct cursor record = {body, body + count, in.bad};

		status = tell_record(&teller, tag, &record);
		if (status == 0 && record.bad)
			status = BLOCK_CONTENT;
		arena_release(&teller.arena);
	}
	return status;
}

enum { CONTEXT_BATCH = 1024 };

static void get_context(struct cursor columns[], struct context_model *model,
			struct stream_context *context)
{
	u64 *next_pc = &model->next_pc[context_pc_slot(model->pc)];
	u64 flags;

	context->id = model->id + 1 + (u32)hw_unzigzag(cursor_get(&columns[0]));
	context->parent = context->id - (u32)hw_unzigzag(cursor_get(&columns[1]));
	flags = cursor_get(&columns[2]);
	context->flags = (u32)(flags >> 1);
	if (flags & 1)
		*next_pc = model->pc + (u64)hw_unzigzag(cursor_get(&columns[3]));
	context->pc = model->pc = *next_pc;
	model->id = context->id;
}

int contexts_tell(const u8 *payload, u64 bytes, u32 items, const struct stream_sink *sink,
		  struct err *err)
{
	struct cursor in = {payload, payload + bytes, false}, columns[CONTEXT_COLUMNS];
	struct stream_context batch[CONTEXT_BATCH];
	struct context_model model = {0};
	u32 count = 0;
	int status = 0;

	if (items > HW_BLOCK_CONTEXTS_MAX || !cursor_split(&in, columns, CONTEXT_COLUMNS))
		return BLOCK_CONTENT;
	for (u32 i = 0; i < items && status == 0; i++) {
		get_context(columns, &model, &batch[count]);
		if (cursors_bad(columns, CONTEXT_COLUMNS))
			return BLOCK_CONTENT;
		if (++count < CONTEXT_BATCH && i + 1 < items)
			continue;
		if (sink->contexts)
			status = sink->contexts(sink->self, batch, count, err);
		count = 0;
	}
	return status;
}
