/* SPDX-License-Identifier: MIT
 * Events into columns. Runs on the monitor's drain thread, so it must be quick and never touches
 * the disk. Room for the worst case of a whole block is reserved once: no check per byte. */
#include "host/trace/encode.h"

#include <stdlib.h>
#include <string.h>

#include "format/tracefile.h"
#include "host/trace/predict.h"
#include "host/trace/reuse.h"

/* Most bytes that one event can add to each column. */
static const u8 column_room[HW_COLUMNS] = {
	[HW_COLUMN_HEAD] = 1,     [HW_COLUMN_MORE] = 1,          [HW_COLUMN_TICK] = 1,
	[HW_COLUMN_TICKS] = 10,   [HW_COLUMN_CONTEXT] = 5,       [HW_COLUMN_PLACE] = 1,
	[HW_COLUMN_ADDRESS] = 10, [HW_COLUMN_SIZE] = 10,         [HW_COLUMN_FREED] = 10,
	[HW_COLUMN_CLASS] = 1,    [HW_COLUMN_RARE] = 5 + 3 + 20,
};
enum {
	EVENT_ROOM = 78,
	HEAD_ROOM = (2 + HW_COLUMNS) * HW_VARINT_MAX,
};
_Static_assert(EVENT_ROOM *HW_BLOCK_EVENTS_MAX + HEAD_ROOM <= HW_BLOCK_RAW_MAX, "a block fits");
_Static_assert((int)HW_COLUMNS <= COLUMNS_MAX, "a parcel has a part for each column");

struct encoder {
	struct fixed_columns columns;
	u32 count;        /* events in the block */
	u32 thread;       /* of the last event */
	u32 told_context; /* the last that was not predicted */
	u64 ticks;        /* of the last event */
	u64 first_ticks, first_chunk;
	u64 next_chunk;
	struct predict predict; /* without its reuse, which is below */
	struct reuse reuse;
};

static void start_block(struct encoder *encoder)
{
	fixed_columns_clear(&encoder->columns);
	encoder->count = 0;
	encoder->thread = 0;
	encoder->told_context = 0;
	encoder->first_chunk = encoder->next_chunk;
	predict_reset(&encoder->predict);
	memset(&encoder->reuse, 0, sizeof(encoder->reuse));
	encoder->predict.freed = encoder->first_chunk;
}

struct encoder *encoder_new(void)
{
	struct encoder *encoder = calloc(1, sizeof(*encoder));

	if (!encoder ||
	    !fixed_columns_init(&encoder->columns, column_room, HW_COLUMNS, HW_BLOCK_EVENTS_MAX)) {
		free(encoder);
		return NULL;
	}
	start_block(encoder);
	return encoder;
}

void encoder_free(struct encoder *encoder)
{
	if (!encoder)
		return;
	fixed_columns_release(&encoder->columns);
	free(encoder);
}

void encoder_start_image(struct encoder *encoder)
{
	encoder->next_chunk = 0;
	start_block(encoder);
}

static inline void put(struct encoder *encoder, u32 column, u64 value)
{
	fixed_columns_put(&encoder->columns, column, value);
}

static inline void put_byte(struct encoder *encoder, u32 column, u32 value)
{
	fixed_columns_put_byte(&encoder->columns, column, value);
}

/* Writes in any case, and keeps it if `want`: a branch that follows no pattern takes longer. */
static inline void put_byte_if(struct encoder *encoder, u32 column, u32 value, bool want)
{
	*encoder->columns.at[column] = (u8)value;
	encoder->columns.at[column] += want;
}

/* As put, of values whose lengths follow no pattern. */
static inline void put_any(struct encoder *encoder, u32 column, u64 value)
{
	u8 **at = &encoder->columns.at[column];

	*at = likely(value < HW_VARINT_SHORT) ? *at + hw_varint_put_short(*at, (u32)value)
					      : hw_varint_put(*at, value);
}

/* Returns the bits of HW_COLUMN_MORE that time, thread and flags call for. */
static inline u32 encode_when(struct encoder *encoder, const struct event *e)
{
	u32 more = e->flags & HW_MORE_FLAGS;
	u64 step = e->ticks - encoder->ticks;
	bool other;

	if (unlikely((i64)step < 0)) {
		step = 0 - step;
		more |= HW_MORE_LATE;
	}
	encoder->ticks = e->ticks;
	put_byte(encoder, HW_COLUMN_TICK, (u8)step);
	put(encoder, HW_COLUMN_TICKS, step >> 8);
	other = e->thread != encoder->thread;
	encoder->thread = e->thread;
	if (likely(e->thread < 0x80))
		put_byte_if(encoder, HW_COLUMN_RARE, e->thread, other);
	else if (other)
		put(encoder, HW_COLUMN_RARE, e->thread);
	more |= other ? HW_MORE_THREAD : 0;
	if (unlikely(e->aux)) {
		put(encoder, HW_COLUMN_RARE, e->aux);
		more |= HW_MORE_AUX;
	}
	return more;
}

static inline enum hw_context_code encode_context(struct encoder *encoder, const struct event *e,
						  struct predict_thread *t)
{
	u32 *pair = predict_pair(&encoder->predict, t, e->kind);
	u32 *next = predict_next(&encoder->predict, t, e->kind);
	bool not_two = *pair != e->context, told = not_two & (*next != e->context);

	if (e->context == 0)
		return HW_CONTEXT_NONE;
	if (unlikely(told)) {
		put(encoder, HW_COLUMN_CONTEXT,
		    (u32)hw_zigzag((i32)(e->context - encoder->told_context)));
		encoder->told_context = e->context;
	}
	predict_context(t, pair, next, e->context);
	return HW_CONTEXT_AFTER_TWO + not_two + told; /* AFTER_ONE and TOLD are one and two more */
}

static inline u32 encode_address(struct encoder *encoder, const struct event *e,
				 struct predict_thread *t)
{
	struct reuse_slot *slot =
		&encoder->reuse.slots[predict_reuse_slot(e->thread, predict_class(e->size))];
	u32 code = reuse_find(slot, reuse_key(&encoder->reuse, e->address));
	i64 step;

	if (code != REUSE_NONE) {
		reuse_pop(slot, code);
		return code;
	}
	step = (i64)(e->address - t->fresh);
	if (e->address == t->fresh_end) {
		code = HW_PLACE_NEXT;
	} else if (step % 16 == 0) {
		code = HW_PLACE_STEP;
		put(encoder, HW_COLUMN_ADDRESS, hw_zigzag(step / 16));
	} else {
		code = HW_PLACE_ODD;
		put(encoder, HW_COLUMN_ADDRESS, e->address);
	}
	predict_fresh(t, e->address, e->size);
	return code;
}

static inline void encode_allocation(struct encoder *encoder, const struct event *e,
				     struct predict_thread *t)
{
	u64 *size = predict_size(&encoder->predict, e->context, e->kind);
	u32 place = encode_address(encoder, e, t);

	if (*size != e->size) {
		*size = e->size;
		put(encoder, HW_COLUMN_SIZE, e->size);
		place |= HW_PLACE_SIZE;
	}
	put_byte(encoder, HW_COLUMN_PLACE, place);
	encoder->next_chunk++;
}

/* Returns HW_MORE_UNKNOWN for a chunk that was never told. */
static inline u32 encode_free(struct encoder *encoder, const struct event *e)
{
	u32 class = predict_class(e->size);
	u64 age, shift;

	if (unlikely(e->chunk >= encoder->next_chunk)) {
		put(encoder, HW_COLUMN_RARE, e->address);
		put(encoder, HW_COLUMN_RARE, e->size);
		return HW_MORE_UNKNOWN;
	}
	age = encoder->next_chunk - 1 - e->chunk;
	shift = hw_zigzag((i64)(e->chunk - encoder->predict.freed));
	encoder->predict.freed = e->chunk;
	put_any(encoder, HW_COLUMN_FREED, age <= shift ? age << 1 : shift << 1 | 1);
	put_byte_if(encoder, HW_COLUMN_CLASS, class, e->chunk < encoder->first_chunk);
	reuse_push(&encoder->reuse.slots[predict_reuse_slot(e->thread, class)],
		   reuse_key(&encoder->reuse, e->address));
	return 0;
}

static inline void encode_event(struct encoder *encoder, const struct event *e)
{
	struct predict_thread *t = predict_thread(&encoder->predict, e->thread);
	u32 more = encode_when(encoder, e);
	u32 head = e->kind | (u32)encode_context(encoder, e, t) << HW_HEAD_CONTEXT_SHIFT;

	if (hw_kind_allocates(e->kind)) {
		encode_allocation(encoder, e, t);
	} else if (hw_kind_frees(e->kind)) {
		more |= encode_free(encoder, e);
	} else {
		put(encoder, HW_COLUMN_RARE, e->address);
		put(encoder, HW_COLUMN_RARE, e->size);
	}
	put_byte_if(encoder, HW_COLUMN_MORE, more, more != 0);
	put_byte(encoder, HW_COLUMN_HEAD, head | (more ? HW_HEAD_MORE : 0));
	encoder->count++;
}

/* One branch for all of it, see put_byte_if. */
static inline bool event_is_odd(const struct encoder *encoder, const struct event *e)
{
	return (e->kind >= HW_KIND_COUNT) | ((e->flags & ~HW_MORE_FLAGS) != 0) |
	       (hw_kind_allocates(e->kind) & (e->chunk != encoder->next_chunk));
}

static int refuse_event(const struct encoder *encoder, const struct event *e, struct err *err)
{
	if (e->kind >= HW_KIND_COUNT || e->flags & ~HW_MORE_FLAGS)
		return err_set(err, ERR_INPUT, "event of unknown kind %u, flags %u", e->kind,
			       e->flags);
	return err_set(err, ERR_INPUT, "chunk %llu is out of order; expected %llu",
		       (unsigned long long)e->chunk, (unsigned long long)encoder->next_chunk);
}

i64 encoder_add(struct encoder *encoder, const struct event *events, u64 count, struct err *err)
{
	u64 i;

	if (count > HW_BLOCK_EVENTS_MAX - encoder->count)
		count = HW_BLOCK_EVENTS_MAX - encoder->count;
	if (encoder->count == 0 && count) {
		encoder->first_ticks = encoder->ticks = events[0].ticks;
		encoder->first_chunk = encoder->predict.freed = encoder->next_chunk;
	}
	for (i = 0; i < count; i++) {
		if (unlikely(event_is_odd(encoder, &events[i])))
			return refuse_event(encoder, &events[i], err);
		encode_event(encoder, &events[i]);
	}
	return (i64)count;
}

u32 encoder_count(const struct encoder *encoder) { return encoder->count; }

bool encoder_full(const struct encoder *encoder) { return encoder->count == HW_BLOCK_EVENTS_MAX; }

struct parcel *encoder_take(struct encoder *encoder)
{
	const u64 numbers[] = {encoder->first_ticks, encoder->first_chunk};
	struct parcel *parcel = fixed_columns_take(&encoder->columns, numbers, 2);

	if (!parcel)
		return NULL;
	parcel->raw.items = encoder->count;
	start_block(encoder);
	return parcel;
}
