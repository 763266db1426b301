/* SPDX-License-Identifier: MIT
 * Slots: which are free, and where the next new one is. Runs in the target. No locks. */
#ifndef TARGET_ACCESS_HEAP_CLASSES_H
#define TARGET_ACCESS_HEAP_CLASSES_H

#include "target/access/heap/chunk.h"

void hwr_classes_init(void);

/* Bytes of address space that the records of all classes take. */
u64 hwr_classes_record_bytes(void);

/* The class that serves a size; HWR_CLASSES if none does. */
u32 hwr_class_of(size_t size);

/* The smallest class from this one on whose slots are aligned so. */
u32 hwr_class_aligned(u32 number, size_t alignment);

/* Where a chunk of this size goes: slots.c, or access/pages/slots.c. Plain: as far as its size
 * alone says. */
u32 hwr_class_plain(size_t size);
u32 hwr_class_for(size_t size);
/* Whether a chunk of that class may stay when its size becomes this. */
bool hwr_slot_fits(u32 number, size_t size);

/* 1 + index of a slot, 0 if the region is full. */
u64 hwr_slot_take(u32 number);
void hwr_slot_give(u32 number, u64 index);

/* Slots that were ever handed out, and the address of one. */
u64 hwr_slots_used(u32 number);
static inline u64 hwr_slot_address(u32 number, u64 index)
{
	return HW_HEAP_START + ((u64)number << HWR_CLASS_BITS) +
	       index * hwr_classes[number].slot_bytes;
}

static inline struct hwr_chunk *hwr_slot_record(u32 number, u64 index)
{
	return (struct hwr_chunk *)hwr_classes[number].chunks + index;
}

static inline u64 hwr_slot_index(u32 number, const struct hwr_chunk *record)
{
	return (u64)(record - hwr_slot_record(number, 0));
}

#endif
