/* SPDX-License-Identifier: MIT
 * Size classes and their slots; see classes.h. Runs in the target.
 * Free slots of a class are in a few stacks, so that threads seldom meet at one; each is a word with
 * the first slot's index and a count of changes, which tells a stack that only looks the same. */
#include "recorder/heap/classes.h"

#include "recorder/access/clock.h"
#include "recorder/sys.h"

enum {
	STACKS = 8,
	INDEX_BITS = 40,
	BATCH_BYTES = 4096, /* neighbours are one thread's, so that threads share few cache lines */
	SMALL_CLASSES = 4,  /* 16, 32, 48, 64 */
	FIRST_BITS = 6,     /* the others begin above 2^6 */
	QUARTERS = 4,
};
static const u64 large_page = 2 << 20;
#define INDEX_MASK ((1ull << INDEX_BITS) - 1)

struct stack {
	_Alignas(HW_CACHE_LINE)
		u64 head; /* 1 + index of the first, 0 = empty; above it the changes */
};

struct hwr_class hwr_classes[HWR_CLASSES];
static struct stack stacks[HWR_CLASSES][STACKS];
static u64 used[HWR_CLASSES]; /* slots that were handed out */

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

static struct hwr_chunk *record_of(u32 number, u64 index)
{
	return (struct hwr_chunk *)hwr_classes[number].chunks + index;
}

/* 1 + index of a slot, 0 if the stack is empty. */
static u64 pop(u32 number, struct stack *stack)
{
	u64 head =
		load_acquire(&stack->head); /* pairs with the release in push: the link is there */
	u64 next;

	do {
		if (!(head & INDEX_MASK))
			return 0;
		/* May be no link any more if another thread was faster; then the count has changed. */
		next = load_relaxed(&record_of(number, (head & INDEX_MASK) - 1)->first) &
		       INDEX_MASK;
		next |= ((head >> INDEX_BITS) + 1) << INDEX_BITS;
	} while (!__atomic_compare_exchange_n(&stack->head, &head, next, 0, __ATOMIC_ACQUIRE,
					      __ATOMIC_ACQUIRE));
	return head & INDEX_MASK;
}

/* Pushes the chain of slots from first to last. */
static void push(u32 number, struct stack *stack, u64 first, u64 last)
{
	u64 head = load_relaxed(&stack->head);
	u64 next;

	do {
		store_relaxed(&record_of(number, last)->first, head & INDEX_MASK);
		next = (first + 1) | ((head >> INDEX_BITS) + 1) << INDEX_BITS;
	} while (!cas_acq_rel(&stack->head, &head, next));
}

/* Records of a class that has many chunks are worth large pages: most of the cost of recording an access is
 * to reach the record. A class with few must not take much. */
static void enlarge_pages(u32 number, u64 index, u64 count)
{
	u64 from = (u64)record_of(number, index), to = (u64)record_of(number, index + count);
	u64 first = to & ~(large_page - 1);

	if (first <= from || index * sizeof(struct hwr_chunk) < 4 * large_page)
		return;
	hwr_madvise((void *)first, large_page, MADV_HUGEPAGE);
}

/* A batch of new slots, of which all but the first become free ones. */
static u64 take_new(u32 number, struct stack *stack)
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
		store_relaxed(&record_of(number, i)->first, i + 2);
	if (count > 1)
		push(number, stack, index + 1, index + count - 1);
	return index + 1;
}

u64 hwr_slot_take(u32 number)
{
	u32 own = hwr_clock_thread() % STACKS;
	u64 found = pop(number, &stacks[number][own]);

	for (u32 i = 1; i < STACKS && !found; i++)
		found = pop(number, &stacks[number][(own + i) % STACKS]);
	if (!found)
		found = take_new(number, &stacks[number][own]);
	return found ? hwr_slot_address(number, found - 1) : 0;
}

void hwr_slot_give(u32 number, u64 address)
{
	u64 start = HW_HEAP_START + ((u64)number << HWR_CLASS_BITS);
	u64 index = (address - start) / hwr_classes[number].slot_bytes;

	push(number, &stacks[number][hwr_clock_thread() % STACKS], index, index);
}

u64 hwr_slots_used(u32 number) { return load_relaxed(&used[number]); }
