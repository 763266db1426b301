/* SPDX-License-Identifier: MIT
 * Facts into payloads and back, by one description of their fields. The first half runs on the
 * monitor's drain thread; it never touches the disk, and want of memory is remembered and asked for
 * once per block. The second runs on the host; it never allocates by a length that the payload does
 * not back, and strings live as long as the call that tells them. */
#include "host/trace/facts.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "host/trace/cursor.h"
#include "host/trace/decode.h"
#include "host/trace/guard.h"
#include "host/trace/memory_rows.h"

enum { TEXT_MAX = 1 << 20 }; /* longer strings are cut: a block must hold them */

/* ---- fields ---- */

enum field_kind {
	U32,
	U64,
	I32,
	U64_LIST, /* their number first; a reader takes those that it has room for */
	TEXT,
	NAME, /* an array of characters */
	/* of later versions: older traces end before it */
	LATER_U32,
	LATER_U64,
};

struct field {
	u16 at;    /* in the struct */
	u16 count; /* U64_LIST, NAME: how many there is room for */
	u8 kind, tag;
};

#define IN_STRUCT(name, member) offsetof(struct stream_##name, member)
#define ROOM(name, member)                                                                         \
	(sizeof(((struct stream_##name *)0)->member) / sizeof(*((struct stream_##name *)0)->member))
#define FIELD(kind, tag, name, member)                                                             \
	{                                                                                          \
		IN_STRUCT(name, member), 0, kind, HW_FACT_##tag                                    \
	}
#define ARRAY(kind, tag, name, member)                                                             \
	{                                                                                          \
		IN_STRUCT(name, member), ROOM(name, member), kind, HW_FACT_##tag                   \
	}

/* Those of each fact in the order of its record. */
static const struct field fields[] = {
	FIELD(U32, IMAGE, image, pid),
	FIELD(U32, IMAGE, image, parent_pid),
	FIELD(U32, IMAGE, image, number),
	FIELD(U32, IMAGE, image, arch),
	FIELD(U64, IMAGE, image, start_ticks),
	FIELD(U64, IMAGE, image, start_ns),
	FIELD(U64, IMAGE, image, sample_bytes),
	FIELD(U32, IMAGE, image, flags),
	FIELD(TEXT, IMAGE, image, program),
	FIELD(TEXT, IMAGE, image, command),
	FIELD(LATER_U32, IMAGE, image, access),
	FIELD(U32, MODULE, module, id),
	FIELD(U32, MODULE, module, generation),
	FIELD(U64, MODULE, module, base),
	FIELD(U64, MODULE, module, start),
	FIELD(U64, MODULE, module, end),
	FIELD(U64, MODULE, module, loaded_ticks),
	FIELD(U64, MODULE, module, unloaded_ticks),
	FIELD(TEXT, MODULE, module, path), /* then the build-id */
	FIELD(U32, THREAD, thread, index),
	FIELD(U32, THREAD, thread, tid),
	FIELD(U64, THREAD, thread, start_ticks),
	ARRAY(NAME, THREAD, thread, name),
	FIELD(U64, CLOCK, clock, ticks),
	FIELD(U64, CLOCK, clock, ns),
	FIELD(U64, USAGE, usage, ticks),
	FIELD(U64, USAGE, usage, rss_bytes),
	FIELD(U64, USAGE, usage, virtual_bytes),
	FIELD(U64, MEMORY, memory, ticks),
	FIELD(U64, MEMORY, memory, rss_bytes),
	FIELD(U64, MEMORY, memory, high_bytes),
	FIELD(U32, MEMORY, memory, moment), /* then the rows */
	FIELD(U32, NAME, name, id),
	FIELD(TEXT, NAME, name, text),
	FIELD(U64, SCAN, scan, ticks),
	FIELD(U32, SCAN, scan, state),
	FIELD(TEXT, SCAN, scan, reason),
	FIELD(U64, SCAN, scan, roots_bytes),
	FIELD(U64, SCAN, scan, chunks),
	FIELD(U64, SCAN, scan, scan_ns),            /* then the classes */
	FIELD(U32, AGGREGATES, aggregate, context), /* of each row */
	FIELD(U64, AGGREGATES, aggregate, allocations),
	FIELD(U64, AGGREGATES, aggregate, bytes),
	FIELD(U64, AGGREGATES, aggregate, frees),
	FIELD(U64, AGGREGATES, aggregate, freed_bytes),
	FIELD(U64, IMAGE_END, image_end, ticks),
	FIELD(U32, IMAGE_END, image_end, how),
	FIELD(I32, IMAGE_END, image_end, value),
	FIELD(U64, IMAGE_END, image_end, totals.allocations),
	FIELD(U64, IMAGE_END, image_end, totals.frees),
	FIELD(U64, IMAGE_END, image_end, totals.bytes),
	FIELD(U64, IMAGE_END, image_end, totals.freed_bytes),
	FIELD(U64, IMAGE_END, image_end, totals.peak_bytes),
	FIELD(U64, IMAGE_END, image_end, totals.peak_chunks),
	FIELD(U64, IMAGE_END, image_end, totals.peak_ticks),
	FIELD(U64, IMAGE_END, image_end, totals.kept_chunks),
	FIELD(U64, IMAGE_END, image_end, totals.kept_bytes),
	FIELD(U64, IMAGE_END, image_end, totals.unknown_frees),
	FIELD(U64, IMAGE_END, image_end, totals.implied_frees),
	FIELD(U64, IMAGE_END, image_end, totals.lost_events),
	FIELD(U64, IMAGE_END, image_end, totals.durations),
	FIELD(U64, IMAGE_END, image_end, totals.duration_ticks),
	FIELD(U64, IMAGE_END, image_end, totals.aggregated_from_ticks),
	ARRAY(U64_LIST, IMAGE_END, image_end, totals.faults),
	FIELD(LATER_U64, IMAGE_END, image_end, cpu_ns),
};
enum { FIELDS = sizeof(fields) / sizeof(*fields) };

/* ---- writing ---- */

static void put_text(struct strbuf *buf, const char *text)
{
	bytes_add(buf, text ? text : "", text ? strnlen(text, TEXT_MAX) : 0);
}

static void put_field(struct strbuf *body, const struct field *field, const void *at)
{
	switch ((enum field_kind)field->kind) {
	case U32:
	case LATER_U32: varint_add(body, *(const u32 *)at); break;
	case U64:
	case LATER_U64: varint_add(body, *(const u64 *)at); break;
	case I32: varint_add(body, hw_zigzag(*(const i32 *)at)); break;
	case U64_LIST:
		varint_add(body, field->count);
		for (u32 i = 0; i < field->count; i++)
			varint_add(body, ((const u64 *)at)[i]);
		break;
	case TEXT: put_text(body, *(const char *const *)at); break;
	case NAME: bytes_add(body, at, strnlen(at, field->count)); break;
	}
}

static void put_fields(struct strbuf *body, enum hw_fact tag, const void *fact)
{
	for (u32 i = 0; i < FIELDS; i++)
		if (fields[i].tag == tag)
			put_field(body, &fields[i], (const char *)fact + fields[i].at);
}

/* The record that was built in body goes to the payload. */
static void add_record(struct facts *facts, enum hw_fact tag)
{
	strbuf_add_char(&facts->payload, (char)tag);
	bytes_add(&facts->payload, strbuf_text(&facts->body), facts->body.count);
	facts->payload.failed |= facts->body.failed;
	strbuf_clear(&facts->body);
	facts->items++;
}

static void put_build_id(struct strbuf *body, const struct stream_module *module)
{
	u32 bytes = module->build_id ? module->build_id_bytes : 0;

	bytes_add(body, module->build_id, bytes < TEXT_MAX ? bytes : 0);
}

void facts_add(struct facts *facts, enum hw_fact tag, const void *fact)
{
	put_fields(&facts->body, tag, fact);
	if (tag == HW_FACT_MODULE)
		put_build_id(&facts->body, fact);
	if (tag == HW_FACT_MEMORY)
		memory_rows_put(&facts->body, fact);
	add_record(facts, tag);
}

void facts_add_aggregates(struct facts *facts, const struct stream_aggregate *rows, u64 count)
{
	varint_add(&facts->body, count);
	for (u64 i = 0; i < count; i++)
		put_fields(&facts->body, HW_FACT_AGGREGATES, &rows[i]);
	add_record(facts, HW_FACT_AGGREGATES);
}

void facts_add_scan(struct facts *facts, const struct stream_scan *scan,
		    const struct scan_piece *piece)
{
	struct strbuf *body = &facts->body;
	u64 next = 0;

	put_fields(body, HW_FACT_SCAN, scan);
	varint_add(body, CLASS_COUNT);
	for (u32 i = 0; i < CLASS_COUNT; i++) {
		varint_add(body, scan->class_chunks[i]);
		varint_add(body, scan->class_bytes[i]);
	}
	varint_add(body, piece->total);
	varint_add(body, piece->first);
	varint_add(body, piece->count);
	for (u64 i = 0; i < piece->count; i++) {
		varint_add(body,
			   (piece->rows[i].chunk - next) << 3 | (piece->rows[i].chunk_class & 7));
		next = piece->rows[i].chunk + 1;
	}
	add_record(facts, HW_FACT_SCAN);
}

void facts_add_note(struct facts *facts, const char *key, const char *value)
{
	put_text(&facts->body, key);
	put_text(&facts->body, value);
	add_record(facts, HW_FACT_NOTE);
}

struct parcel *facts_take(struct facts *facts)
{
	struct parcel *parcel = facts->payload.failed ? NULL : parcel_new(facts->payload.count);

	if (!parcel)
		return NULL;
	memcpy(parcel->payload, strbuf_text(&facts->payload), facts->payload.count);
	parcel->raw.items = facts->items;
	strbuf_clear(&facts->payload);
	facts->items = 0;
	return parcel;
}

void facts_release(struct facts *facts)
{
	strbuf_release(&facts->payload);
	strbuf_release(&facts->body);
}

/* ---- reading ---- */

/* What telling one record needs. */
struct teller {
	struct guard *guard;
	struct scan_gather *gather;
	struct arena arena;
	struct err *err;
};

static const char *get_text(struct cursor *in, struct arena *arena)
{
	const char *text = cursor_text(in, arena);

	return text ? text : "";
}

static void get_list(struct cursor *in, u64 *list, u32 room)
{
	u64 count = cursor_get(in);

	for (u64 i = 0; i < count && !in->bad; i++) {
		u64 value = cursor_get(in);

		if (i < room)
			list[i] = value;
	}
}

static void get_field(struct teller *teller, struct cursor *in, const struct field *field, void *at)
{
	const u8 *bytes;
	u64 count;

	if (field->kind >= LATER_U32 && in->at >= in->end)
		return;
	switch ((enum field_kind)field->kind) {
	case U32:
	case LATER_U32: *(u32 *)at = cursor_get_u32(in); break;
	case U64:
	case LATER_U64: *(u64 *)at = cursor_get(in); break;
	case I32: *(i32 *)at = (i32)hw_unzigzag(cursor_get(in)); break;
	case U64_LIST: get_list(in, at, field->count); break;
	case TEXT: *(const char **)at = get_text(in, &teller->arena); break;
	case NAME:
		bytes = cursor_bytes(in, &count);
		memcpy(at, bytes, count < field->count ? count : field->count - 1u);
		break;
	}
}

/* False if the fact has none: it is of a later minor version. */
static bool get_fields(struct teller *teller, struct cursor *in, u32 tag, void *fact)
{
	bool any = false;

	for (u32 i = 0; i < FIELDS; i++) {
		if (fields[i].tag != tag)
			continue;
		get_field(teller, in, &fields[i], (char *)fact + fields[i].at);
		any = true;
	}
	return any;
}

/* A struct that holds one fact; the largest first, so that {0} is all of it. */
union fact {
	struct stream_image_end image_end;
	struct stream_image image;
	struct stream_module module;
	struct stream_thread thread;
	struct stream_clock clock;
	struct stream_usage usage;
	struct stream_memory memory;
	struct stream_name name;
};

static void get_build_id(struct cursor *in, struct stream_module *module)
{
	u64 bytes;

	module->build_id = cursor_bytes(in, &bytes);
	module->build_id_bytes = (u32)bytes;
}

static int tell_aggregates(struct teller *teller, struct cursor *in)
{
	u64 count = cursor_get(in);
	struct stream_aggregate *rows = cursor_rows(in, &teller->arena, count, 5, sizeof(*rows));

	for (u64 i = 0; i < count && rows; i++)
		get_fields(teller, in, HW_FACT_AGGREGATES, &rows[i]);
	if (in->bad || !rows)
		return in->bad ? 0 : err_memory(teller->err);
	return guard_aggregates(teller->guard, rows, count, teller->err);
}

static int tell_note(struct teller *teller, struct cursor *in)
{
	const char *key = get_text(in, &teller->arena), *value = get_text(in, &teller->arena);

	return in->bad ? 0 : guard_note(teller->guard, key, value, teller->err);
}

/* ---- scans ---- */

static void get_scan(struct teller *teller, struct cursor *in, struct stream_scan *scan)
{
	u64 classes;

	get_fields(teller, in, HW_FACT_SCAN, scan);
	classes = cursor_get(in);
	for (u64 i = 0; i < classes && !in->bad; i++) {
		u64 chunks = cursor_get(in), bytes = cursor_get(in);

		if (i < CLASS_COUNT) {
			scan->class_chunks[i] = chunks;
			scan->class_bytes[i] = bytes;
		}
	}
	in->bad |= scan->state > SCAN_FAILED;
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

/* Tells what was gathered, if anything, though pieces may be missing. */
static int gather_tell(struct teller *teller)
{
	struct scan_gather *self = teller->gather;
	int status = 0;

	if (self->open) {
		self->open = false;
		renumber(self);
		status = guard_scan(teller->guard, &self->scan, self->rows.data, self->rows.count,
				    teller->err);
	}
	free(self->reason);
	self->reason = NULL;
	vec_clear(&self->rows);
	return status;
}

static int tell_scan(struct teller *teller, struct cursor *in)
{
	struct scan_gather *gather = teller->gather;
	struct stream_scan scan = {0};
	u64 total, first, count;
	int status = 0;

	get_scan(teller, in, &scan);
	total = cursor_get(in);
	first = cursor_get(in);
	count = cursor_get(in);
	in->bad |= count > (u64)(in->end - in->at);
	if (in->bad)
		return 0;
	if (first == 0 || !gather->open) {
		status = gather_tell(teller);
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
	return gather->rows.count >= gather->total ? gather_tell(teller) : 0;
}

void scan_gather_release(struct scan_gather *self)
{
	free(self->reason);
	vec_release(&self->rows);
	*self = (struct scan_gather){0};
}

/* ---- records ---- */

static int tell_record(struct teller *teller, u32 tag, struct cursor *in)
{
	union fact fact = {0};
	int status = 0;

	switch (tag) {
	case HW_FACT_AGGREGATES: return tell_aggregates(teller, in);
	case HW_FACT_NOTE: return tell_note(teller, in);
	case HW_FACT_SCAN: return tell_scan(teller, in);
	}
	if (tag == HW_FACT_IMAGE_END)
		status = gather_tell(teller);
	if (status < 0 || !get_fields(teller, in, tag, &fact))
		return status;
	if (tag == HW_FACT_MODULE)
		get_build_id(in, &fact.module);
	if (tag == HW_FACT_MEMORY)
		status = memory_rows_get(&fact.memory, in, &teller->arena, teller->err);
	in->bad |= tag == HW_FACT_IMAGE_END && fact.image_end.how > IMAGE_DETACHED;
	if (in->bad || status < 0)
		return status;
	return guard_fact(teller->guard, tag, &fact, teller->err);
}

int facts_tell(struct guard *guard, const struct block *block, struct scan_gather *gather,
	       struct err *err)
{
	struct cursor in = block_cursor(block);
	struct teller teller = {.guard = guard, .gather = gather, .err = err};
	int status = 0;

	while (in.at < in.end && status == 0) {
		u32 tag = *in.at++;
		u64 count;
		const u8 *body = cursor_bytes(&in, &count);
		struct cursor record = {body, body + count, in.bad};

		status = tell_record(&teller, tag, &record);
		if (status == 0 && record.bad)
			status = BLOCK_CONTENT;
		arena_release(&teller.arena);
	}
	return status;
}
