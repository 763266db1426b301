/* SPDX-License-Identifier: MIT
 * The encoder's form of predict.reuse, the addresses that each thread freed last, by size class.
 * The decoder is told how far below the latest an address lies; the encoder has to find that out,
 * for each allocation. So it keeps keys of 4 bytes instead of addresses, in the order latest first,
 * and looks at the eight of a slot at once. Depths mean the same on both sides: what is pushed and
 * taken out there is pushed and taken out here.
 *
 * Two addresses never have the same key; one that can have none has key 0 and is not found again,
 * which costs bytes only. */
#ifndef HOST_TRACE_REUSE_H
#define HOST_TRACE_REUSE_H

#include "format/tracefile.h"

enum {
	REUSE_UNIT_BITS = 4, /* addresses that have a key are multiples of 16 */
	/* the upper part of an address, of which a few at a time have a number */
	REUSE_WINDOW_BITS = 32,
	REUSE_WINDOWS = 16,
	REUSE_NONE = HW_REUSE_DEPTH,
};

typedef i32 reuse_half __attribute__((vector_size(16)));

struct reuse_slot {
	reuse_half near, far; /* keys: depths 0 to 3, 4 to 7 */
};

struct reuse {
	struct reuse_slot slots[HW_REUSE_SLOTS];
	/* upper part of their addresses + 1, by its low bits; 0 = free */
	u64 windows[REUSE_WINDOWS];
};
_Static_assert(HW_REUSE_DEPTH == 8, "two halves");

/* Four of the eight keys of two halves, by their numbers. Before version 12 gcc has a function of
 * its own for it. */
#if __has_builtin(__builtin_shufflevector)
#define REUSE_TAKE(a, b, ...) __builtin_shufflevector((a), (b), __VA_ARGS__)
#else
#define REUSE_TAKE(a, b, ...) __builtin_shuffle((a), (b), (reuse_half){__VA_ARGS__})
#endif

/* 4 bits of window, 28 bits within. 0 is the key of address 0 as well, which no block has. */
static inline u32 reuse_key(struct reuse *self, u64 address)
{
	u64 upper = address >> REUSE_WINDOW_BITS;
	u64 *window = &self->windows[upper % REUSE_WINDOWS];

	if (unlikely(*window != upper + 1)) {
		if (*window)
			return 0;
		*window = upper + 1;
	}
	if (unlikely(address % (1 << REUSE_UNIT_BITS)))
		return 0;
	return (u32)(upper % REUSE_WINDOWS) << 28 | (u32)address >> REUSE_UNIT_BITS;
}

/* Depth of a key, or REUSE_NONE. */
static inline u32 reuse_find(const struct reuse_slot *slot, u32 key)
{
	const reuse_half wanted = {(i32)key, (i32)key, (i32)key, (i32)key};
	const reuse_half near_bits = {1, 2, 4, 8}, far_bits = {16, 32, 64, 128};
	reuse_half found =
		((slot->near == wanted) & near_bits) | ((slot->far == wanted) & far_bits);
	u64 pairs[2];
	u32 bits;

	__builtin_memcpy(pairs, &found, sizeof(pairs));
	pairs[0] |= pairs[1];
	bits = (u32)(pairs[0] | pairs[0] >> 32) | 1u << REUSE_NONE;
	return (u32)__builtin_ctz(key ? bits : 1u << REUSE_NONE);
}

static inline void reuse_push(struct reuse_slot *slot, u32 key)
{
	const reuse_half latest = {(i32)key};
	reuse_half near = slot->near;

	slot->near = REUSE_TAKE(latest, near, 0, 4, 5, 6);
	slot->far = REUSE_TAKE(near, slot->far, 3, 4, 5, 6);
}

/* Takes out the key at a depth; those below it move up. */
static inline void reuse_pop(struct reuse_slot *slot, u32 depth)
{
	const reuse_half near_depths = {0, 1, 2, 3}, far_depths = {4, 5, 6, 7}, none = {0};
	const reuse_half at = {(i32)depth, (i32)depth, (i32)depth, (i32)depth};
	reuse_half keep_near = near_depths < at, keep_far = far_depths < at;
	reuse_half near = slot->near, far = slot->far;

	slot->near = (near & keep_near) | (REUSE_TAKE(near, far, 1, 2, 3, 4) & ~keep_near);
	slot->far = (far & keep_far) | (REUSE_TAKE(far, none, 1, 2, 3, 4) & ~keep_far);
}

#endif
