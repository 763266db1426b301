/* SPDX-License-Identifier: MIT
 * Routines into columns and back. The first half runs on the monitor's drain thread: room for the
 * worst case of a whole block is reserved once. The second runs on the host; it never reads past a
 * column and allocates nothing by what the payload says. */
#include "host/trace/routines.h"

#include <assert.h>
#include <stdlib.h>

#include "host/base/map.h"
#include "host/trace/cursor.h"
#include "host/trace/guard.h"
#include "host/trace/walk.h"

enum {
	HEAD_ROOM = (1 + HW_ROUTINE_COLUMNS) * HW_VARINT_MAX,
	ROW_ROOM = 62,
	ROW_BATCH = 1024,
	NUMBERS = 1 << 17, /* places in the table of routines: at most half are taken */
};
_Static_assert(ROW_ROOM *HW_BLOCK_ROUTINES_MAX + HEAD_ROOM <= HW_BLOCK_RAW_MAX, "a block fits");
_Static_assert((int)HW_ROUTINE_COLUMNS <= COLUMNS_MAX, "a parcel has a part for each column");
_Static_assert(NUMBERS >= 2 * HW_BLOCK_ROUTINES_MAX, "the table of routines cannot be full");

/* Most bytes that one row can add to each column. */
static const u8 column_room[HW_ROUTINE_COLUMNS] = {
	[HW_ROUTINE_COLUMN_HEAD] = 1,     [HW_ROUTINE_COLUMN_TICK] = 1,
	[HW_ROUTINE_COLUMN_TICKS] = 9,    [HW_ROUTINE_COLUMN_ROUTINE] = 3,
	[HW_ROUTINE_COLUMN_ADDRESS] = 10, [HW_ROUTINE_COLUMN_CALL] = 10,
	[HW_ROUTINE_COLUMN_SIZE] = 10,    [HW_ROUTINE_COLUMN_BLOCK] = 10,
	[HW_ROUTINE_COLUMN_RARE] = 5 + 3,
};

/* stream_routine.how where nothing is told. */
static const u16 usual_how[ROUTINE_STEPS] = {
	[ROUTINE_ALLOCATION] = HW_MALLOC,
	[ROUTINE_FREE] = HW_FREE,
};

/* ---- writing ---- */

struct number {    /* a routine's, in the table */
	u32 block; /* that it was told in: others need not be cleared */
	u32 number;
};

struct routines {
	struct fixed_columns columns;
	u32 count;  /* rows in the block */
	u32 thread; /* of the last row */
	u64 ticks;  /* of the last row */
	u64 first_ticks;
	u64 told_call, told_block;                /* the last that were not predicted */
	u32 block;                                /* counted from 1 */
	u32 known;                                /* routines with a number */
	u64 addresses[HW_BLOCK_ROUTINES_MAX + 1]; /* by number */
	struct number numbers[NUMBERS];           /* by address */
	struct walks walks;
};

static void start_block(struct routines *self)
{
	fixed_columns_clear(&self->columns);
	self->count = self->thread = self->known = 0;
	self->told_call = self->told_block = 0;
	if (++self->block == 0) { /* after 2^32 blocks old entries would look new */
		memset(self->numbers, 0, sizeof(self->numbers));
		self->block = 1;
	}
	walks_reset(&self->walks);
}

struct routines *routines_new(void)
{
	struct routines *self = calloc(1, sizeof(*self));

	if (!self || !fixed_columns_init(&self->columns, column_room, HW_ROUTINE_COLUMNS,
					 HW_BLOCK_ROUTINES_MAX)) {
		free(self);
		return NULL;
	}
	start_block(self);
	return self;
}

void routines_free(struct routines *self)
{
	if (!self)
		return;
	fixed_columns_release(&self->columns);
	free(self);
}

static inline void put(struct routines *self, enum hw_routine_column column, u64 value)
{
	fixed_columns_put(&self->columns, column, value);
}

static inline void put_byte(struct routines *self, enum hw_routine_column column, u32 value)
{
	fixed_columns_put_byte(&self->columns, column, value);
}

/* The routine's number in this block, 0 if it has none yet; *place is where it belongs. */
static inline u32 number_find(const struct routines *self, u64 address, u64 *place)
{
	u64 at = hash_u64(address) % NUMBERS;

	while (self->numbers[at].block == self->block) {
		if (self->addresses[self->numbers[at].number] == address)
			break;
		at = (at + 1) % NUMBERS;
	}
	*place = at;
	return self->numbers[at].block == self->block ? self->numbers[at].number : 0;
}

/* The number of a routine that was not predicted, which is told. */
static u32 tell_routine(struct routines *self, u64 address)
{
	u64 place;
	u32 number = number_find(self, address, &place);

	put(self, HW_ROUTINE_COLUMN_ROUTINE, number);
	if (number)
		return number;
	number = ++self->known;
	put(self, HW_ROUTINE_COLUMN_ADDRESS,
	    hw_zigzag((i64)(address - self->addresses[number - 1])));
	self->addresses[number] = address;
	self->numbers[place] = (struct number){self->block, number};
	return number;
}

/* Whether the predicted number is one and means the address. */
static inline bool is_predicted(const struct routines *self, u32 number, u64 address)
{
	return number && self->addresses[number] == address;
}

/* These return the bits of the head that the step calls for. */
static inline u32 encode_enter(struct routines *self, struct walk *walk,
			       const struct stream_routine *row)
{
	u32 *next = &self->walks.next[walk_place(walk)], head = 0;
	u64 *call;

	if (!is_predicted(self, *next, row->address)) {
		*next = tell_routine(self, row->address);
		head |= HW_ROUTINE_TOLD;
	}
	call = &self->walks.call[walk_call_place(walk, *next)];
	if (*call != row->value) {
		*call = row->value;
		put(self, HW_ROUTINE_COLUMN_CALL, hw_zigzag((i64)(row->value - self->told_call)));
		self->told_call = row->value;
		head |= HW_ROUTINE_CALL;
	}
	walk_enter(walk, *next);
	return head;
}

static inline u32 encode_leave(struct routines *self, struct walk *walk,
			       const struct stream_routine *row)
{
	u32 routine = walk_innermost(walk), head = 0;

	if (!is_predicted(self, routine, row->address)) {
		routine = tell_routine(self, row->address);
		head |= HW_ROUTINE_TOLD;
	}
	walk_leave(walk, routine);
	return head;
}

static inline u32 encode_block(struct routines *self, struct walk *walk,
			       const struct stream_routine *row)
{
	u64 *block = &self->walks.block[walk_place(walk)];

	if (*block == row->address)
		return 0;
	*block = row->address;
	put(self, HW_ROUTINE_COLUMN_BLOCK, hw_zigzag((i64)(row->address - self->told_block)));
	self->told_block = row->address;
	return HW_ROUTINE_CALL;
}

static inline u32 encode_allocation(struct routines *self, struct walk *walk,
				    const struct stream_routine *row)
{
	u64 *size = &self->walks.size[walk_place(walk)];
	u32 head = encode_block(self, walk, row);

	if (*size == row->value)
		return head;
	*size = row->value;
	put(self, HW_ROUTINE_COLUMN_SIZE, row->value);
	return head | HW_ROUTINE_TOLD;
}

/* Time, thread and how. */
static inline u32 encode_when(struct routines *self, const struct stream_routine *row)
{
	u64 step = row->ticks - self->ticks;
	u32 head = row->step;

	if (unlikely((i64)step < 0)) {
		step = 0 - step;
		head |= HW_ROUTINE_LATE;
	}
	self->ticks = row->ticks;
	put_byte(self, HW_ROUTINE_COLUMN_TICK, (u8)step);
	put(self, HW_ROUTINE_COLUMN_TICKS, step >> 8);
	if (unlikely(row->thread != self->thread)) {
		self->thread = row->thread;
		put(self, HW_ROUTINE_COLUMN_RARE, row->thread);
		head |= HW_ROUTINE_THREAD;
	}
	if (unlikely(row->how != usual_how[row->step])) {
		put(self, HW_ROUTINE_COLUMN_RARE, row->how);
		head |= HW_ROUTINE_HOW;
	}
	return head;
}

static inline void encode_row(struct routines *self, const struct stream_routine *row)
{
	struct walk *walk = walks_of(&self->walks, row->thread);
	u32 head = encode_when(self, row);

	if (row->step == ROUTINE_ENTER)
		head |= encode_enter(self, walk, row);
	else if (row->step == ROUTINE_LEAVE)
		head |= encode_leave(self, walk, row);
	else if (row->step == ROUTINE_ALLOCATION)
		head |= encode_allocation(self, walk, row);
	else
		head |= encode_block(self, walk, row);
	put_byte(self, HW_ROUTINE_COLUMN_HEAD, head);
}

u64 routines_add(struct routines *self, const struct stream_routine *rows, u64 count)
{
	if (count > HW_BLOCK_ROUTINES_MAX - self->count)
		count = HW_BLOCK_ROUTINES_MAX - self->count;
	if (self->count == 0 && count)
		self->first_ticks = self->ticks = rows[0].ticks;
	for (u64 i = 0; i < count; i++) {
		assert(rows[i].step < ROUTINE_STEPS);
		encode_row(self, &rows[i]);
	}
	self->count += (u32)count;
	return count;
}

u32 routines_count(const struct routines *self) { return self->count; }

struct parcel *routines_take(struct routines *self)
{
	struct parcel *parcel = fixed_columns_take(&self->columns, &self->first_ticks, 1);

	if (!parcel)
		return NULL;
	parcel->raw.items = self->count;
	start_block(self);
	return parcel;
}

/* ---- reading ---- */

struct routine_reader {
	struct cursor columns[HW_ROUTINE_COLUMNS];
	u32 thread;
	u32 known;
	u64 ticks;
	u64 told_call, told_block;
	u64 addresses[HW_BLOCK_ROUTINES_MAX + 1];
	struct stream_routine batch[ROW_BATCH];
	struct walks walks;
};

struct routine_reader *routine_reader_new(void) { return calloc(1, sizeof(struct routine_reader)); }

void routine_reader_free(struct routine_reader *self) { free(self); }

static inline u32 get_byte(struct cursor *in)
{
	if (unlikely(in->at == in->end)) {
		in->bad = true;
		return 0;
	}
	return *in->at++;
}

static inline u64 get(struct routine_reader *self, enum hw_routine_column column)
{
	return cursor_get(&self->columns[column]);
}

/* A number that is told; 0 if it cannot be. */
static u32 get_routine(struct routine_reader *self)
{
	u64 number = get(self, HW_ROUTINE_COLUMN_ROUTINE);

	if (number)
		return number <= self->known ? (u32)number : 0;
	if (self->known == HW_BLOCK_ROUTINES_MAX)
		return 0;
	number = ++self->known;
	self->addresses[number] = self->addresses[number - 1] +
				  (u64)hw_unzigzag(get(self, HW_ROUTINE_COLUMN_ADDRESS));
	return (u32)number;
}

/* These return false if the payload makes no sense. */
static inline bool decode_enter(struct routine_reader *self, struct walk *walk,
				struct stream_routine *row, u32 head)
{
	u32 *next = &self->walks.next[walk_place(walk)];
	u64 *call;

	if (head & HW_ROUTINE_TOLD)
		*next = get_routine(self);
	if (unlikely(!*next))
		return false;
	call = &self->walks.call[walk_call_place(walk, *next)];
	if (head & HW_ROUTINE_CALL) {
		self->told_call += (u64)hw_unzigzag(get(self, HW_ROUTINE_COLUMN_CALL));
		*call = self->told_call;
	}
	row->address = self->addresses[*next];
	row->value = *call;
	walk_enter(walk, *next);
	return true;
}

static inline bool decode_leave(struct routine_reader *self, struct walk *walk,
				struct stream_routine *row, u32 head)
{
	u32 routine = head & HW_ROUTINE_TOLD ? get_routine(self) : walk_innermost(walk);

	if (unlikely(!routine || head & HW_ROUTINE_CALL))
		return false;
	row->address = self->addresses[routine];
	row->value = 0;
	walk_leave(walk, routine);
	return true;
}

static inline void decode_block(struct routine_reader *self, struct walk *walk,
				struct stream_routine *row, u32 head)
{
	u64 *block = &self->walks.block[walk_place(walk)];

	if (head & HW_ROUTINE_CALL) {
		self->told_block += (u64)hw_unzigzag(get(self, HW_ROUTINE_COLUMN_BLOCK));
		*block = self->told_block;
	}
	row->address = *block;
	row->value = 0;
}

static inline bool decode_allocation(struct routine_reader *self, struct walk *walk,
				     struct stream_routine *row, u32 head)
{
	u64 *size = &self->walks.size[walk_place(walk)];

	decode_block(self, walk, row, head);
	if (head & HW_ROUTINE_TOLD)
		*size = get(self, HW_ROUTINE_COLUMN_SIZE);
	row->value = *size;
	return true;
}

static inline bool decode_when(struct routine_reader *self, struct stream_routine *row, u32 head)
{
	u64 step, how = usual_how[head & HW_ROUTINE_STEP];

	step = get_byte(&self->columns[HW_ROUTINE_COLUMN_TICK]);
	step |= get(self, HW_ROUTINE_COLUMN_TICKS) << 8;
	self->ticks += head & HW_ROUTINE_LATE ? 0 - step : step;
	if (head & HW_ROUTINE_THREAD)
		self->thread = cursor_get_u32(&self->columns[HW_ROUTINE_COLUMN_RARE]);
	if (head & HW_ROUTINE_HOW)
		how = get(self, HW_ROUTINE_COLUMN_RARE);
	row->ticks = self->ticks;
	row->thread = self->thread;
	row->how = (u16)how;
	row->step = head & HW_ROUTINE_STEP;
	return how <= UINT16_MAX;
}

static inline bool decode_row(struct routine_reader *self, struct stream_routine *row)
{
	u32 head = get_byte(&self->columns[HW_ROUTINE_COLUMN_HEAD]);
	struct walk *walk;

	if (unlikely(head & ~(u32)HW_ROUTINE_HEAD_ALL || !decode_when(self, row, head)))
		return false;
	walk = walks_of(&self->walks, row->thread);
	switch (row->step) {
	case ROUTINE_ENTER: return decode_enter(self, walk, row, head);
	case ROUTINE_LEAVE: return decode_leave(self, walk, row, head);
	case ROUTINE_ALLOCATION: return decode_allocation(self, walk, row, head);
	}
	decode_block(self, walk, row, head);
	return !(head & HW_ROUTINE_TOLD);
}

static bool start_reading(struct routine_reader *self, const struct block *block)
{
	struct cursor in = block_cursor(block);

	self->ticks = cursor_get(&in);
	self->thread = self->known = 0;
	self->told_call = self->told_block = 0;
	walks_reset(&self->walks);
	return cursor_split(&in, self->columns, HW_ROUTINE_COLUMNS);
}

int routines_tell(struct routine_reader *self, const struct block *block, struct guard *to,
		  struct err *err)
{
	if (block->items > HW_BLOCK_ROUTINES_MAX || !start_reading(self, block))
		return BLOCK_CONTENT;
	for (u32 items = block->items; items;) {
		u32 some = items < ROW_BATCH ? items : ROW_BATCH, good = 0;
		int status = 0;

		while (good < some && decode_row(self, &self->batch[good]) &&
		       !cursors_bad(self->columns, HW_ROUTINE_COLUMNS))
			good++;
		if (good)
			status = guard_routines(to, self->batch, good, err);
		if (status < 0)
			return status;
		if (good < some)
			return BLOCK_CONTENT;
		items -= some;
	}
	return cursors_at_end(self->columns, HW_ROUTINE_COLUMNS) ? 0 : BLOCK_CONTENT;
}
