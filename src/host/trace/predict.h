/* SPDX-License-Identifier: MIT
 * The model of what an event is likely to be, given those before it in the same block. The
 * encoder and the decoder run it in step, so that what was predicted need not be stored. It
 * starts anew in each block. Nothing here may depend on what a reader could miss, such as the
 * address of a chunk that was born in another block: such addresses are only passed through, as
 * reuse entries. */
#ifndef HOST_TRACE_PREDICT_H
#define HOST_TRACE_PREDICT_H

#include <string.h>

#include "format/tracefile.h"

struct predict_thread {
	u32 last, before; /* contexts of its last two events */
	u64 fresh;        /* its last block at an address that was not reused */
	u64 fresh_end;    /* where that ends, as glibc lays out blocks */
};

struct predict {
	u32 pair[HW_PAIR_SLOTS];
	u32 next[HW_NEXT_SLOTS];
	u64 size[HW_SIZE_SLOTS];
	u64 reuse[HW_REUSE_SLOTS][HW_REUSE_DEPTH]; /* rings of freed addresses, 0 = none */
	u8 top[HW_REUSE_SLOTS];                    /* place of the latest */
	struct predict_thread threads[HW_THREAD_SLOTS];
	u64 freed; /* chunk of the last free */
};

static inline void predict_reset(struct predict *self) { memset(self, 0, sizeof(*self)); }

static inline struct predict_thread *predict_thread(struct predict *self, u32 thread)
{
	return &self->threads[thread % HW_THREAD_SLOTS];
}

static inline u32 predict_hash(u32 a, u32 b, u32 kind)
{
	return (a * 0x9e3779b1u) ^ (b * 0x85ebca77u) ^ (kind * 0xc2b2ae3du);
}

static inline u32 *predict_pair(struct predict *self, const struct predict_thread *t, u32 kind)
{
	return &self->pair[predict_hash(t->last, t->before, kind) >> 19];
}

static inline u32 *predict_next(struct predict *self, const struct predict_thread *t, u32 kind)
{
	return &self->next[predict_hash(t->last, 0, kind) >> 20];
}

static inline u64 *predict_size(struct predict *self, u32 context, u32 kind)
{
	return &self->size[predict_hash(context, 0, kind) >> 20];
}
_Static_assert(HW_PAIR_SLOTS == 1 << (32 - 19), "pair shift");
_Static_assert(HW_NEXT_SLOTS == 1 << (32 - 20) && HW_SIZE_SLOTS == HW_NEXT_SLOTS, "next shift");

/* glibc's bins up to 1 KiB, then two per power of two. */
static inline u32 predict_class(u64 size)
{
	u32 log, class;

	if (size <= 1024)
		return (u32)(size + 23) / 16;
	log = 63 - (u32)__builtin_clzll(size);
	class = 66 + (log - 10) * 2 + (u32)(size >> (log - 1) & 1);
	return class < HW_CLASSES ? class : HW_CLASSES - 1;
}

static inline u32 predict_reuse_slot(u32 thread, u32 class)
{
	return (thread % 8) * HW_CLASSES + class;
}
_Static_assert(HW_REUSE_SLOTS == 8 * HW_CLASSES, "reuse slots");

static inline void predict_push(struct predict *self, u32 slot, u64 address)
{
	u32 top = (self->top[slot] + 1u) % HW_REUSE_DEPTH;

	self->top[slot] = (u8)top;
	self->reuse[slot][top] = address;
}

/* Takes out the entry that is `depth` below the latest; those above it move down. */
static inline u64 predict_pop(struct predict *self, u32 slot, u32 depth)
{
	u64 *ring = self->reuse[slot];
	u32 top = self->top[slot];
	u64 address = ring[(top - depth) % HW_REUSE_DEPTH];

	for (u32 i = depth; i > 0; i--)
		ring[(top - i) % HW_REUSE_DEPTH] = ring[(top - i + 1) % HW_REUSE_DEPTH];
	ring[top] = 0;
	self->top[slot] = (u8)((top - 1) % HW_REUSE_DEPTH);
	return address;
}

static inline void predict_fresh(struct predict_thread *t, u64 address, u64 size)
{
	u64 block = (size + 23) & ~15ull;

	t->fresh = address;
	t->fresh_end = address + (block < 32 ? 32 : block);
}

static inline void predict_context(struct predict_thread *t, u32 *pair, u32 *next, u32 context)
{
	*pair = context;
	*next = context;
	t->before = t->last;
	t->last = context;
}

#endif
