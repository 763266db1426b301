/* SPDX-License-Identifier: MIT
 * Births that are taken back: a chunk that ends before the monitor has read of it is only counted
 * (HW_RUN_LASTING). Runs in the target.
 *
 * hwr_chunk.birth is the number of the record of the chunk's birth, and which ring that is in: its
 * slot, and which of the images this is that the process and those it was forked from have been, as
 * a forked child has its parent's chunks. 0 = it stays. */
#ifndef TARGET_ACCESS_PAGES_BIRTHS_H
#define TARGET_ACCESS_PAGES_BIRTHS_H

#include "target/access/heap/heap.h"
#include "target/recorder/state/thread.h"

enum {
	HWR_BIRTH_NUMBER_BITS = 43,
	HWR_BIRTH_OF_REALLOC = HWR_BIRTH_NUMBER_BITS, /* a bit */
	HWR_BIRTH_SLOT = 44,
	HWR_BIRTH_IMAGE = 56,
	HWR_BIRTH_SLOTS = 1 << (HWR_BIRTH_IMAGE - HWR_BIRTH_SLOT),
	HWR_BIRTH_IMAGES = 1 << (64 - HWR_BIRTH_IMAGE),
};

/* The monitor ends it when a tool joins that is to see every allocation. */
static inline bool hwr_births_are_taken_back(void)
{
	return load_relaxed(&hwr_control->flags) & HW_RUN_LASTING;
}

/* Of a chunk whose record t writes next. */
static inline u64 hwr_births_next(const struct hwr_thread *t, u32 kind)
{
	if (!t->births || !hwr_births_are_taken_back() ||
	    unlikely(t->head >> HWR_BIRTH_NUMBER_BITS))
		return 0;
	return t->births | (u64)(kind == HW_REALLOC) << HWR_BIRTH_OF_REALLOC | t->head;
}

static inline u64 hwr_birth_number(u64 birth)
{
	return birth & ((1ull << HWR_BIRTH_NUMBER_BITS) - 1);
}

/* Whether it is of t's ring. */
static inline bool hwr_birth_is_of(u64 birth, const struct hwr_thread *t)
{
	return birth && !((birth ^ t->births) >> HWR_BIRTH_SLOT);
}

/* Records that t has written since then; ~0 if that is not known. */
static inline u64 hwr_birth_age(u64 birth, const struct hwr_thread *t)
{
	return t && hwr_birth_is_of(birth, t) ? t->head - hwr_birth_number(birth) : ~0ull;
}

static inline bool hwr_birth_is_open(u64 birth, const struct hwr_thread *t)
{
	return hwr_birth_is_of(birth, t) &&
	       load_relaxed(&t->slot->claimed) <= hwr_birth_number(birth) &&
	       hwr_births_are_taken_back() && likely(load_relaxed(&hwr_token.alive));
}

/* The monitor claimed the record when it was being marked: it knows whether it has seen the mark,
 * and what to do with this. */
void hwr_births_unsure(struct hwr_thread *t, u32 kind, u64 address);

/* The chunk ends, and its birth is open: marks its record, so that no end is left to be recorded.
 * The caller has marked t as busy. A thread does this in its own ring only: nobody but itself could
 * overwrite the record between the look and the mark. */
static inline void hwr_birth_take_back(struct hwr_thread *t, u32 kind, u64 address, u64 birth)
{
	u64 number = hwr_birth_number(birth);

	store_relaxed(&t->marks[number & t->mask],
		      (u8)(HW_MARK_ENDED |
			   (birth >> HWR_BIRTH_OF_REALLOC & 1) * HW_MARK_OF_REALLOC |
			   (kind == HW_REALLOC_FREE) * HW_MARK_BY_REALLOC));
	/* the monitor's barrier is the processor's part of this */
	__asm__ volatile("" : : : "memory");
	if (unlikely(load_relaxed(&t->slot->claimed) > number))
		hwr_births_unsure(t, kind, address);
}

#endif
