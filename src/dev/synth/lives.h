/* SPDX-License-Identifier: MIT
 * Chunks that are live, in the order in which they will die: a hierarchical timing wheel. Time is
 * the number of allocations. And where they lie: addresses as an allocator with size classes hands
 * them out. */
#ifndef DEV_SYNTH_LIVES_H
#define DEV_SYNTH_LIVES_H

#include "dev/synth/limits.h"
#include "format/types.h"
#include "host/base/vec.h"

struct life {
	u64 due; /* LIFE_KEPT: never */
	u64 chunk, address, size;
	u64 born_ticks;
	u32 point;
	u32 made; /* allocations of its thread, this one included */
	u16 thread;
	u32 next; /* in its slot, or of the unused; number + 1, 0 = none */
};

#define LIFE_KEPT UINT64_MAX

enum { WHEEL_BITS = 8, WHEEL_SLOTS = 1 << WHEEL_BITS, WHEEL_LEVELS = 6, PLACE_CLASSES = 192 };

struct lives {
	VEC(struct life) pool;
	u32 unused; /* number + 1 */
	u32 kept;   /* list, number + 1 */
	u32 slots[WHEEL_LEVELS][WHEEL_SLOTS];
	u64 now;
};

/* A new life; NULL without memory. Valid until the next one. due is not before now. */
struct life *lives_add(struct lives *self, const struct life *life);

/* Takes out one whose time has come by `now`, which never goes back; false if there is none. */
bool lives_next(struct lives *self, u64 now, struct life *life);

/* Takes out one of those that are kept. */
bool lives_next_kept(struct lives *self, struct life *life);

void lives_release(struct lives *self);

struct addresses {
	u64 top[SYNTH_THREADS_MAX]; /* first address that was never used */
	VEC(u64) free[SYNTH_THREADS_MAX][PLACE_CLASSES];
};

/* 0 without memory, or if a thread has used up its addresses. */
u64 addresses_take(struct addresses *self, u32 thread, u64 size);
bool addresses_give(struct addresses *self, u32 thread, u64 address, u64 size);
void addresses_release(struct addresses *self);

#endif
