/* SPDX-License-Identifier: MIT
 * The model of what a row of routines is likely to be, given those before it in the same block: a
 * routine that ends is the one that began last, and after the same two routines comes what came
 * before. Encoder and decoder run it in step; it starts anew in each block. Routines are numbered
 * 1, 2, 3 … in the order in which the block names them, 0 = none. */
#ifndef HOST_TRACE_WALK_H
#define HOST_TRACE_WALK_H

#include <string.h>

#include "format/tracefile.h"

struct walk {                        /* of one thread */
	u32 stack[HW_ROUTINE_DEPTH]; /* a ring: deeper than this the outermost are forgotten */
	u32 top;                     /* place of the innermost, wraps */
	u32 depth;                   /* how many are known */
	u32 last;                    /* routine of the last step << 1, | 1 if it ended */
};

struct walks {
	struct walk threads[HW_ROUTINE_THREADS];
	u32 next[HW_ROUTINE_SLOTS];  /* routine that began after (innermost, last) */
	u64 call[HW_ROUTINE_SLOTS];  /* where it returned to */
	u64 size[HW_ROUTINE_SLOTS];  /* that was allocated after (innermost, last) */
	u64 block[HW_ROUTINE_SLOTS]; /* that was allocated or freed there */
};

static inline void walks_reset(struct walks *self) { memset(self, 0, sizeof(*self)); }

static inline struct walk *walks_of(struct walks *self, u32 thread)
{
	return &self->threads[thread % HW_ROUTINE_THREADS];
}

static inline u32 walk_innermost(const struct walk *self)
{
	return self->depth ? self->stack[self->top % HW_ROUTINE_DEPTH] : 0;
}

static inline u32 walk_hash(u32 a, u32 b, u32 c)
{
	return (a * 0x9e3779b1u ^ b * 0x85ebca77u ^ c * 0xc2b2ae3du) >> 19;
}
_Static_assert(HW_ROUTINE_SLOTS == 1 << (32 - 19), "slots fit the hash");

/* Place of what follows in next[], size[] and block[]. */
static inline u32 walk_place(const struct walk *self)
{
	return walk_hash(walk_innermost(self), self->last, 0);
}

/* Place in call[] of the routine that is about to begin. */
static inline u32 walk_call_place(const struct walk *self, u32 routine)
{
	return walk_hash(walk_innermost(self), self->last, routine);
}

static inline void walk_enter(struct walk *self, u32 routine)
{
	self->stack[++self->top % HW_ROUTINE_DEPTH] = routine;
	if (self->depth < HW_ROUTINE_DEPTH)
		self->depth++;
	self->last = routine << 1;
}

/* Those that it called end with it; one that is not known changes nothing. */
static inline void walk_leave(struct walk *self, u32 routine)
{
	for (u32 i = 0; i < self->depth; i++) {
		if (self->stack[(self->top - i) % HW_ROUTINE_DEPTH] != routine)
			continue;
		self->top -= i + 1;
		self->depth -= i + 1;
		break;
	}
	self->last = routine << 1 | 1;
}

#endif
