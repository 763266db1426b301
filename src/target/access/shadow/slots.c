/* SPDX-License-Identifier: MIT
 * Slots of programs whose accesses are recorded by instrumentation; see classes.h. Runs in the
 * target. Free slots of a class are in a few stacks, so that threads seldom meet at one. */
#include "target/access/heap/slots.h"
#include "target/access/shadow/clock.h"
#include "target/recorder/state/sys.h"

enum {
	STACKS = 8,
	BATCH_BYTES = 4096, /* neighbours are one thread's, so that threads share few cache lines */
};
static const u64 large_page = 2 << 20;

static struct hwr_slots stacks[HWR_CLASSES][STACKS];
static u64 used[HWR_CLASSES]; /* slots that were handed out */

/* Records of a class that has many chunks are worth large pages: most of the cost of recording an
 * access is to reach the record. A class with few must not take much. */
static void enlarge_pages(u32 number, u64 index, u64 count)
{
	u64 from = (u64)hwr_slot_record(number, index),
	    to = (u64)hwr_slot_record(number, index + count);
	u64 first = to & ~(large_page - 1);

	if (first <= from || index * sizeof(struct hwr_chunk) < 4 * large_page)
		return;
	hwr_madvise((void *)first, large_page, MADV_HUGEPAGE);
}

/* A batch of new slots, of which all but the first become free ones. */
static u64 take_new(u32 number, struct hwr_slots *stack)
{
	u64 bytes = hwr_classes[number].slot_bytes;
	u64 limit = (1ull << HWR_CLASS_BITS) / bytes;
	u64 count = bytes < BATCH_BYTES ? BATCH_BYTES / bytes : 1;
	u64 index = load_relaxed(&used[number]);

	do {
		if (index >= limit)
			return 0;
		if (count > limit - index)
			count = limit - index;
	} while (!cas_acq_rel(&used[number], &index, index + count));
	enlarge_pages(number, index, count);
	for (u64 i = index + 1; i + 1 < index + count; i++)
		store_relaxed(&hwr_slot_record(number, i)->first, i + 2);
	if (count > 1)
		hwr_slots_push(number, stack, index + 1, index + count - 1);
	return index + 1;
}

u64 hwr_slot_take(u32 number)
{
	u32 own = hwr_clock_thread() % STACKS;
	u64 found = hwr_slots_pop(number, &stacks[number][own]);

	for (u32 i = 1; i < STACKS && !found; i++)
		found = hwr_slots_pop(number, &stacks[number][(own + i) % STACKS]);
	if (!found)
		found = take_new(number, &stacks[number][own]);
	return found;
}

void hwr_slot_give(u32 number, u64 index)
{
	hwr_slots_push(number, &stacks[number][hwr_clock_thread() % STACKS], index, index);
}

u64 hwr_slots_used(u32 number) { return load_relaxed(&used[number]); }

/* ---- where chunks go ---- */

u32 hwr_class_plain(size_t size) { return hwr_class_of(size); }
u32 hwr_class_for(size_t size) { return hwr_class_of(size); }
bool hwr_slot_fits(u32 number, size_t size) { return hwr_class_of(size) == number; }
