/* SPDX-License-Identifier: MIT
 * Columns into events. Runs on the host. Never reads past a column, whatever the payload holds, and
 * never lets a bad payload make it allocate more than one table entry per event. */
#include "host/trace/decode.h"

#include <stdlib.h>

#include "host/base/search.h"
#include "host/base/vec.h"
#include "format/tracefile.h"
#include "format/varint.h"
#include "host/trace/chunks.h"
#include "host/trace/predict.h"

struct column {
	const u8 *at, *end;
};

/* Chunks from `told` on, as the file counts, are numbered from `number` on here. */
struct segment {
	u64 told, number;
};

struct decoder {
	struct column columns[HW_COLUMNS];
	u32 left; /* events of the block still to come */
	u32 thread;
	u32 told_context;
	u64 ticks;
	u64 told_next;  /* as the file counts: number of the next chunk */
	u64 told_first; /* first that is born in this block */
	u64 lost_chunks;
	VEC(struct segment) segments;
	struct chunks chunks;
	struct predict predict;
};

struct decoder *decoder_new(void) { return calloc(1, sizeof(struct decoder)); }

void decoder_free(struct decoder *decoder)
{
	if (!decoder)
		return;
	vec_release(&decoder->segments);
	chunks_release(&decoder->chunks);
	free(decoder);
}

void decoder_start_image(struct decoder *decoder)
{
	decoder->left = 0;
	decoder->told_next = 0;
	vec_clear(&decoder->segments);
	chunks_reset(&decoder->chunks);
}

u64 decoder_lost_chunks(const struct decoder *decoder) { return decoder->lost_chunks; }

static inline bool get(struct column *column, u64 *value)
{
	const u8 *p = column->at;

	if (likely(p < column->end && *p < 0x80)) {
		*value = *p;
		column->at = p + 1;
		return true;
	}
	p = hw_varint_get(p, column->end, value);
	if (unlikely(!p))
		return false;
	column->at = p;
	return true;
}

static inline bool get_byte(struct column *column, u32 *value)
{
	if (unlikely(column->at == column->end))
		return false;
	*value = *column->at++;
	return true;
}

static bool start_columns(struct decoder *decoder, const struct block *block, u64 *first_chunk)
{
	struct column head = {block->payload, block->payload + block->bytes};
	u64 length[HW_COLUMNS];

	if (!get(&head, &decoder->ticks) || !get(&head, first_chunk))
		return false;
	for (u32 i = 0; i < HW_COLUMNS; i++) {
		if (!get(&head, &length[i]))
			return false;
	}
	for (u32 i = 0; i < HW_COLUMNS; i++) {
		if (length[i] > (u64)(head.end - head.at))
			return false;
		decoder->columns[i] = (struct column){head.at, head.at + length[i]};
		head.at += length[i];
	}
	return head.at == head.end;
}

enum block_status decoder_start_block(struct decoder *decoder, const struct block *block)
{
	u64 first_chunk;

	decoder->left = 0;
	if (block->items > HW_BLOCK_EVENTS_MAX || !start_columns(decoder, block, &first_chunk))
		return BLOCK_CONTENT;
	if (first_chunk < decoder->told_next || first_chunk > UINT64_MAX / 4)
		return BLOCK_CONTENT;
	if (first_chunk > decoder->told_next || decoder->segments.count == 0) {
		struct segment segment = {first_chunk, decoder->chunks.next};

		if (!vec_push(&decoder->segments, segment))
			return BLOCK_MEMORY;
	}
	decoder->told_next = decoder->told_first = first_chunk;
	decoder->left = block->items;
	decoder->thread = 0;
	decoder->told_context = 0;
	predict_reset(&decoder->predict);
	decoder->predict.freed = first_chunk;
	return BLOCK_OK;
}

/* The number here of a chunk as the file counts, or NO_CHUNK if it was lost in a gap. */
static u64 chunk_number_before_gap(const struct decoder *decoder, u64 told)
{
	const struct segment *segments = decoder->segments.data;
	/* the first segment that starts after it */
	u64 low = bisect(at, decoder->segments.count - 1, segments[at].told <= told), number;

	if (low == 0)
		return NO_CHUNK;
	number = told - segments[low - 1].told + segments[low - 1].number;
	return number < segments[low].number ? number : NO_CHUNK;
}

static inline u64 chunk_number(const struct decoder *decoder, u64 told)
{
	const struct segment *last = &decoder->segments.data[decoder->segments.count - 1];

	if (likely(told >= last->told))
		return told - last->told + last->number;
	return chunk_number_before_gap(decoder, told);
}

static inline bool decode_context(struct decoder *decoder, struct event *e, u32 code,
				  struct predict_thread *t)
{
	u32 *pair = predict_pair(&decoder->predict, t, e->kind);
	u32 *next = predict_next(&decoder->predict, t, e->kind);
	u64 step;

	switch (code) {
	case HW_CONTEXT_AFTER_TWO: e->context = *pair; break;
	case HW_CONTEXT_AFTER_ONE: e->context = *next; break;
	case HW_CONTEXT_TOLD:
		if (!get(&decoder->columns[HW_COLUMN_CONTEXT], &step))
			return false;
		e->context = decoder->told_context + (u32)hw_unzigzag(step);
		decoder->told_context = e->context;
		break;
	default: e->context = 0; return true;
	}
	predict_context(t, pair, next, e->context);
	return true;
}

static inline bool decode_address(struct decoder *decoder, struct event *e, u32 code,
				  struct predict_thread *t)
{
	struct column *column = &decoder->columns[HW_COLUMN_ADDRESS];
	u64 value;

	if (code < HW_REUSE_DEPTH) {
		u32 slot = predict_reuse_slot(e->thread, predict_class(e->size));

		e->address = predict_pop(&decoder->predict, slot, code);
		return true;
	}
	if (code == HW_PLACE_NEXT) {
		e->address = t->fresh_end;
	} else {
		if (!get(column, &value))
			return false;
		if (code == HW_PLACE_STEP)
			e->address = t->fresh + (u64)hw_unzigzag(value) * 16;
		else if (code == HW_PLACE_ODD)
			e->address = value;
		else
			return false;
	}
	predict_fresh(t, e->address, e->size);
	return true;
}

static inline enum block_status decode_allocation(struct decoder *decoder, struct event *e,
						  struct predict_thread *t)
{
	u64 *size = predict_size(&decoder->predict, e->context, e->kind);
	u32 place;

	if (!get_byte(&decoder->columns[HW_COLUMN_PLACE], &place))
		return BLOCK_CONTENT;
	if (place & HW_PLACE_SIZE && !get(&decoder->columns[HW_COLUMN_SIZE], size))
		return BLOCK_CONTENT;
	e->size = *size;
	if (!decode_address(decoder, e, place & HW_PLACE_CODE, t))
		return BLOCK_CONTENT;
	e->chunk = decoder->chunks.next;
	if (!chunks_add(&decoder->chunks, e->address, e->size))
		return BLOCK_MEMORY;
	decoder->told_next++;
	return BLOCK_OK;
}

static inline enum block_status decode_free(struct decoder *decoder, struct event *e)
{
	u64 value, told;
	u32 class = HW_CLASSES;

	if (!get(&decoder->columns[HW_COLUMN_FREED], &value))
		return BLOCK_CONTENT;
	if (value & 1)
		told = decoder->predict.freed + (u64)hw_unzigzag(value >> 1);
	else
		told = decoder->told_next - 1 - (value >> 1);
	if (told >= decoder->told_next)
		return BLOCK_CONTENT;
	decoder->predict.freed = told;
	if (told < decoder->told_first &&
	    (!get_byte(&decoder->columns[HW_COLUMN_CLASS], &class) || class >= HW_CLASSES))
		return BLOCK_CONTENT;
	e->chunk = chunk_number(decoder, told);
	e->address = e->size = 0;
	if (e->chunk == NO_CHUNK ||
	    !chunks_take(&decoder->chunks, e->chunk, &e->address, &e->size)) {
		if (told >= decoder->told_first) /* nobody can free what this block has freed */
			return BLOCK_CONTENT;
		e->chunk = NO_CHUNK;
		decoder->lost_chunks++;
	}
	if (told >= decoder->told_first)
		class = predict_class(e->size);
	predict_push(&decoder->predict, predict_reuse_slot(e->thread, class), e->address);
	return BLOCK_OK;
}

static inline bool decode_rest(struct decoder *decoder, struct event *e)
{
	struct column *column = &decoder->columns[HW_COLUMN_RARE];

	e->chunk = NO_CHUNK;
	return get(column, &e->address) && get(column, &e->size);
}

/* Time, thread, flags and aux. */
static inline bool decode_when(struct decoder *decoder, struct event *e, u32 more)
{
	struct column *rare = &decoder->columns[HW_COLUMN_RARE];
	u64 high, value;
	u32 low;

	if (!get_byte(&decoder->columns[HW_COLUMN_TICK], &low) ||
	    !get(&decoder->columns[HW_COLUMN_TICKS], &high))
		return false;
	value = high << 8 | low;
	decoder->ticks += more & HW_MORE_LATE ? 0 - value : value;
	e->ticks = decoder->ticks;
	e->flags = (u8)(more & HW_MORE_FLAGS);
	if (more & HW_MORE_THREAD) {
		if (!get(rare, &value) || value > UINT32_MAX)
			return false;
		decoder->thread = (u32)value;
	}
	e->thread = decoder->thread;
	value = 0;
	if (more & HW_MORE_AUX && (!get(rare, &value) || value > UINT16_MAX))
		return false;
	e->aux = (u16)value;
	return true;
}

static enum block_status decode_event(struct decoder *decoder, struct event *e)
{
	struct predict_thread *t;
	u32 head, more = 0;

	if (!get_byte(&decoder->columns[HW_COLUMN_HEAD], &head))
		return BLOCK_CONTENT;
	if (head & HW_HEAD_MORE && !get_byte(&decoder->columns[HW_COLUMN_MORE], &more))
		return BLOCK_CONTENT;
	e->kind = head & HW_HEAD_KIND;
	if (e->kind >= HW_KIND_COUNT || !decode_when(decoder, e, more))
		return BLOCK_CONTENT;
	t = predict_thread(&decoder->predict, e->thread);
	if (!decode_context(decoder, e, head >> HW_HEAD_CONTEXT_SHIFT, t))
		return BLOCK_CONTENT;
	if (hw_kind_allocates(e->kind))
		return decode_allocation(decoder, e, t);
	if (hw_kind_frees(e->kind) && !(more & HW_MORE_UNKNOWN))
		return decode_free(decoder, e);
	return decode_rest(decoder, e) ? BLOCK_OK : BLOCK_CONTENT;
}

static enum block_status check_end(const struct decoder *decoder)
{
	for (u32 i = 0; i < HW_COLUMNS; i++) {
		if (decoder->columns[i].at != decoder->columns[i].end)
			return BLOCK_CONTENT;
	}
	return BLOCK_OK;
}

enum block_status decoder_next(struct decoder *decoder, struct event *events, u64 max, u64 *got)
{
	enum block_status status = BLOCK_OK;
	u64 count = decoder->left < max ? decoder->left : max, i;

	for (i = 0; i < count; i++) {
		status = decode_event(decoder, &events[i]);
		if (unlikely(status != BLOCK_OK))
			break;
	}
	*got = i;
	decoder->left -= (u32)i;
	if (status != BLOCK_OK)
		decoder->left = 0;
	else if (decoder->left == 0 && count)
		status = check_end(decoder);
	return status;
}

u64 decoder_chunk(const struct decoder *decoder, u64 told)
{
	if (told >= decoder->told_next || decoder->segments.count == 0)
		return NO_CHUNK;
	return chunk_number(decoder, told);
}
