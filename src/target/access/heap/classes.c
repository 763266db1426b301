/* SPDX-License-Identifier: MIT
 * Size classes; see classes.h. Runs in the target. */
#include "target/access/heap/classes.h"

enum {
	SMALL_CLASSES = 4, /* 16, 32, 48, 64 */
	FIRST_BITS = 6,    /* the others begin above 2^6 */
	QUARTERS = 4,
};

struct hwr_class hwr_classes[HWR_CLASSES];

static u64 class_bytes(u32 number)
{
	u32 bits, quarter;

	if (number < SMALL_CLASSES)
		return 16ull * (number + 1);
	bits = FIRST_BITS + (number - SMALL_CLASSES) / QUARTERS;
	quarter = (number - SMALL_CLASSES) % QUARTERS;
	return (1ull << bits) + ((u64)(quarter + 1) << (bits - 2));
}

void hwr_classes_init(void)
{
	u64 records = HW_HEAP_CHUNKS;

	for (u32 i = 0; i < HWR_CLASSES; i++) {
		u64 bytes = class_bytes(i);
		u32 shift = HWR_CLASS_SHIFT;

		while (i >= HWR_CLASS_HUGE && bytes >> shift > 14)
			shift++;
		hwr_classes[i] = (struct hwr_class){
			.inverse = ~0ull / (bytes >> shift) + 1,
			.chunks = records,
			.slot_bytes = bytes,
			.shift = shift,
			.unit_shift = i >= HWR_CLASS_HUGE ? 8 : 0,
		};
		records += ((1ull << HWR_CLASS_BITS) / bytes + 1) * sizeof(struct hwr_chunk);
	}
}

u64 hwr_classes_record_bytes(void)
{
	const struct hwr_class *last = &hwr_classes[HWR_CLASSES - 1];

	return last->chunks + 2 * sizeof(struct hwr_chunk) - HW_HEAP_CHUNKS;
}

u32 hwr_class_of(size_t size)
{
	u32 bits, quarter;

	if (size <= 64)
		return size ? (u32)((size + 15) / 16 - 1) : 0;
	if (size > 1ull << HWR_CLASS_BITS)
		return HWR_CLASSES;
	bits = 63 - (u32)__builtin_clzll(size - 1);
	quarter = (u32)((size - 1) >> (bits - 2)) & 3;
	return SMALL_CLASSES + (bits - FIRST_BITS) * QUARTERS + quarter;
}

/* Regions begin at multiples of any alignment. */
u32 hwr_class_aligned(u32 number, size_t alignment)
{
	while (number < HWR_CLASSES && hwr_classes[number].slot_bytes & (alignment - 1))
		number++;
	return number;
}
