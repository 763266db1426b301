/* SPDX-License-Identifier: MIT
 * The wheel, and addresses.
 * Host. */
#include "dev/synth/lives.h"

/* Where a life waits: the level is that of the highest digit in which its time differs from now. */
static u32 *slot_of(struct lives *self, u64 due)
{
	u64 differs = due ^ self->now;
	u32 level = differs ? (63 - (u32)__builtin_clzll(differs)) / WHEEL_BITS : 0;

	if (level >= WHEEL_LEVELS)
		level = WHEEL_LEVELS - 1;
	return &self->slots[level][due >> (level * WHEEL_BITS) & (WHEEL_SLOTS - 1)];
}

static void put(struct lives *self, u32 number)
{
	struct life *life = &self->pool.data[number - 1];
	u32 *slot = life->due == LIFE_KEPT ? &self->kept : slot_of(self, life->due);

	life->next = *slot;
	*slot = number;
}

struct life *lives_add(struct lives *self, const struct life *life)
{
	u32 number = self->unused;

	if (number) {
		self->unused = self->pool.data[number - 1].next;
		self->pool.data[number - 1] = *life;
	} else {
		if (self->pool.count >= UINT32_MAX - 1 || !vec_push(&self->pool, *life))
			return NULL;
		number = (u32)self->pool.count;
	}
	put(self, number);
	return &self->pool.data[number - 1];
}

static void take(struct lives *self, u32 *slot, struct life *life)
{
	u32 number = *slot;

	*life = self->pool.data[number - 1];
	*slot = life->next;
	self->pool.data[number - 1].next = self->unused;
	self->unused = number;
}

/* Time goes on by one: where a digit begins anew, the slot above is dealt out below. */
static void step(struct lives *self)
{
	self->now++;
	for (u32 level = 1; level < WHEEL_LEVELS; level++) {
		u32 *slot, number;

		if (self->now & ((1ull << level * WHEEL_BITS) - 1))
			break;
		slot = &self->slots[level][self->now >> (level * WHEEL_BITS) & (WHEEL_SLOTS - 1)];
		number = *slot;
		*slot = 0;
		while (number) {
			u32 next = self->pool.data[number - 1].next;

			put(self, number);
			number = next;
		}
	}
}

bool lives_next(struct lives *self, u64 now, struct life *life)
{
	for (;;) {
		u32 *slot = &self->slots[0][self->now & (WHEEL_SLOTS - 1)];

		if (*slot) {
			take(self, slot, life);
			return true;
		}
		if (self->now >= now)
			return false;
		step(self);
	}
}

bool lives_next_kept(struct lives *self, struct life *life)
{
	if (!self->kept)
		return false;
	take(self, &self->kept, life);
	return true;
}

void lives_release(struct lives *self) { vec_release(&self->pool); }

/* Bytes that a block takes, and its class: steps of 16 up to 1 KiB, then four to each power of
 * two. */
static u64 block_bytes(u64 size, u32 *class)
{
	u64 bytes = (size + 8 + 15) / 16 * 16, step;
	u32 shift;

	if (bytes < 32)
		bytes = 32;
	if (bytes <= 1024) {
		*class = (u32)(bytes / 16);
		return bytes;
	}
	shift = 63 - (u32)__builtin_clzll(bytes - 1) - 2;
	step = 1ull << shift;
	bytes = (bytes + step - 1) / step * step;
	*class = 65 + (shift - 8) * 4 + (u32)((bytes - 1) >> shift & 3);
	return bytes;
}

u64 addresses_take(struct addresses *self, u32 thread, u64 size)
{
	const u64 arena = 0x100000000000 + ((u64)thread << 37);
	u64 address, bytes;
	u32 class;

	bytes = block_bytes(size, &class);
	if (class >= PLACE_CLASSES)
		return 0;
	if (self->free[thread][class].count)
		return self->free[thread][class].data[--self->free[thread][class].count];
	if (bytes > (1ull << 37) - 16 - self->top[thread])
		return 0;
	address = arena + 16 + self->top[thread];
	self->top[thread] += bytes;
	return address;
}

bool addresses_give(struct addresses *self, u32 thread, u64 address, u64 size)
{
	u32 class;

	block_bytes(size, &class);
	return vec_push(&self->free[thread][class], address);
}

void addresses_release(struct addresses *self)
{
	for (u32 i = 0; i < SYNTH_THREADS_MAX; i++)
		for (u32 k = 0; k < PLACE_CLASSES; k++)
			vec_release(&self->free[i][k]);
}
