/* SPDX-License-Identifier: MIT
 * The arithmetic of the heap for recorded accesses: classes, and which slot an address is in. No memory of
 * the heap is touched. */
#define HWR_ALONE
#include "lib/test.h"
#include "target/access/heap/classes.c"
#include "target/access/shadow/slots.c"

/* What slots.c needs of its room. */
__thread struct hwr_clock hwr_clock;
u32 hwr_clock_enter(void) { return 1; }
u64 hwr_heap_extent = HWR_HEAP_BYTES;

static const u64 region = 1ull << HWR_CLASS_BITS;

TEST(class_fits, "each size is served by the smallest slot that it fits into")
{
	hwr_classes_init();
	for (u32 i = 0; i < HWR_CLASSES; i++) {
		u64 bytes = hwr_classes[i].slot_bytes;

		CHECK_EQ(hwr_class_of(bytes), i);
		CHECK_EQ(hwr_class_of(bytes - 15), i);
		CHECK_EQ(hwr_class_of(bytes + 1), i + 1);
		CHECK_EQ(bytes % 16, 0);
		/* At most a fifth of a large slot is not used. */
		if (i > 4)
			CHECK(hwr_classes[i - 1].slot_bytes * 5 >= bytes * 4);
	}
	CHECK_EQ(hwr_class_of(0), 0);
	CHECK_EQ(hwr_classes[HWR_CLASSES - 1].slot_bytes, region);
	CHECK_EQ(hwr_class_of(SIZE_MAX), HWR_CLASSES);
}

TEST(aligned, "a class for an alignment has slots that are aligned so")
{
	hwr_classes_init();
	for (u64 alignment = 32; alignment <= 1 << 30; alignment *= 2)
		for (u32 i = 0; i < HWR_CLASSES; i++) {
			u32 found = hwr_class_aligned(i, alignment);

			if (found == HWR_CLASSES)
				continue;
			CHECK_EQ(hwr_slot_address(found, 1) % alignment, 0);
			CHECK(hwr_classes[found].slot_bytes >= alignment);
		}
	CHECK_EQ(hwr_classes[hwr_class_aligned(0, 4096)].slot_bytes, 4096);
}

/* The slot and the place in it, of an address, against a division. */
static void check_address(u32 number, u64 at)
{
	const struct hwr_class *class = &hwr_classes[number];
	u64 address = HW_HEAP_START + ((u64)number << HWR_CLASS_BITS) + at, offset = 0;
	const struct hwr_chunk *chunk = hwr_heap_find(address, &offset);

	CHECK(hwr_heap_has(address));
	CHECK_EQ(hwr_heap_class(address), number);
	CHECK_EQ((u64)(chunk - (const struct hwr_chunk *)class->chunks), at / class->slot_bytes);
	CHECK_EQ(offset, at % class->slot_bytes);
}

TEST(owner, "any address of a region is found in its slot")
{
	u64 random = 12345;

	hwr_classes_init();
	for (u32 i = 0; i < HWR_CLASSES; i++) {
		u64 bytes = hwr_classes[i].slot_bytes, slots = region / bytes;
		const u64 edges[] = {
			0, 1, bytes - 1, (slots - 1) * bytes, slots * bytes - 1, slots / 2 * bytes};

		for (u32 k = 0; k < 6; k++)
			check_address(i, edges[k]);
		for (u32 k = 0; k < 2000; k++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			check_address(i, random % (slots * bytes));
			check_address(i, (random >> 20) % slots * bytes);
			check_address(i, (random >> 20) % slots * bytes + bytes - 1);
		}
	}
	CHECK(!hwr_heap_has(HW_HEAP_START - 1));
	CHECK(!hwr_heap_has(HW_HEAP_START + HWR_HEAP_BYTES));
	hwr_heap_extent = 0; /* not there yet */
	CHECK(!hwr_heap_has(HW_HEAP_START));
	hwr_heap_extent = HWR_HEAP_BYTES;
}

TEST(records, "records of different slots are apart, and so is what lies beside them")
{
	hwr_classes_init();
	for (u32 i = 1; i < HWR_CLASSES; i++) {
		const struct hwr_class *before = &hwr_classes[i - 1];
		u64 last =
			before->chunks + (region / before->slot_bytes) * sizeof(struct hwr_chunk);

		CHECK(last <= hwr_classes[i].chunks);
	}
	CHECK(hwr_classes_record_bytes() <= 1ull << 40);
	CHECK(HW_HEAP_CHUNKS + (7ull << 38) <= HW_HEAP_START || HW_HEAP_CHUNKS > HW_HEAP_START);
	CHECK(HW_HEAP_COVERAGE + HWR_HEAP_BYTES / 4 <= HW_HEAP_CHUNKS);
	CHECK((u64)hw_shadow_of(0) >= HW_BOARD_ADDRESS + HW_BOARD_BYTES);
}
