/* SPDX-License-Identifier: MIT
 * Stacks of free slots. Runs in the target. A stack is a word with the first slot's index and a
 * count of changes, which tells a stack that only looks the same; the links are in the slots'
 * records. */
#ifndef TARGET_ACCESS_HEAP_SLOTS_H
#define TARGET_ACCESS_HEAP_SLOTS_H

#include "target/access/heap/classes.h"

enum { HWR_INDEX_BITS = 40 };
#define HWR_INDEX_MASK ((1ull << HWR_INDEX_BITS) - 1)

struct hwr_slots {
	_Alignas(HW_CACHE_LINE)
		u64 head; /* 1 + index of the first, 0 = empty; above it the changes */
};

/* 1 + index of a slot, 0 if the stack is empty. */
static inline u64 hwr_slots_pop(u32 number, struct hwr_slots *stack)
{
	u64 head =
		load_acquire(&stack->head); /* pairs with the release in push: the link is there */
	u64 next;

	do {
		if (!(head & HWR_INDEX_MASK))
			return 0;
		/* May be no link any more if another thread was faster; then the count has
		 * changed. */
		next = load_relaxed(&hwr_slot_record(number, (head & HWR_INDEX_MASK) - 1)->first) &
		       HWR_INDEX_MASK;
		next |= ((head >> HWR_INDEX_BITS) + 1) << HWR_INDEX_BITS;
	} while (!cas_acquire(&stack->head, &head, next));
	return head & HWR_INDEX_MASK;
}

/* Takes up to so many at once, which are linked as they were. The links of all slots must be links,
 * or 0, also while they are taken. */
static inline u64 hwr_slots_pop_some(u32 number, struct hwr_slots *stack, u32 most, u32 *count)
{
	u64 head = load_acquire(&stack->head), next; /* as above */

	do {
		next = head & HWR_INDEX_MASK;
		for (*count = 0; next && *count < most; (*count)++)
			next = load_relaxed(&hwr_slot_record(number, next - 1)->first) &
			       HWR_INDEX_MASK;
		if (!*count)
			return 0;
		next |= ((head >> HWR_INDEX_BITS) + 1) << HWR_INDEX_BITS;
	} while (!cas_acquire(&stack->head, &head, next));
	return head & HWR_INDEX_MASK;
}

/* Pushes the chain of slots from first to last. */
static inline void hwr_slots_push(u32 number, struct hwr_slots *stack, u64 first, u64 last)
{
	u64 head = load_relaxed(&stack->head);
	u64 next;

	do {
		store_relaxed(&hwr_slot_record(number, last)->first, head & HWR_INDEX_MASK);
		next = (first + 1) | ((head >> HWR_INDEX_BITS) + 1) << HWR_INDEX_BITS;
	} while (!cas_acq_rel(&stack->head, &head, next));
}

#endif
