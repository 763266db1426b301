/* SPDX-License-Identifier: MIT
 * Which code changes memory by one atomic operation. A function's beginning stands for the place behind a check: what it does first to
 * memory that may be the heap is what counts. */
#include "lib/test.h"
#include "target/access/shadow/sites.c"
#if defined(__x86_64__)
#include "target/access/shadow/arch/x86_64/update_arch.c"
#include "target/recorder/pool/arch/x86_64/instruction.c"
#else
#include "target/access/shadow/arch/aarch64/update_arch.c"
#endif

#ifdef __clang__
#define CODE __attribute__((noinline, used, no_sanitize("address", "undefined")))
#else
#define CODE __attribute__((noinline, noclone, used, no_sanitize("address", "undefined")))
#endif

struct counts {
	long sum, spare;
	int number;
	short bits;
	char flags;
};
static long elsewhere;

CODE static long add(struct counts *p, long by) { return __atomic_fetch_add(&p->sum, by, __ATOMIC_SEQ_CST); }
CODE static void add_only(struct counts *p, long by) { __atomic_fetch_add(&p->sum, by, __ATOMIC_RELAXED); }
CODE static int swap(struct counts *p, int to) { return __atomic_exchange_n(&p->number, to, __ATOMIC_ACQ_REL); }
CODE static short mask(struct counts *p, short by) { return __atomic_fetch_and(&p->bits, by, __ATOMIC_SEQ_CST); }
CODE static char set(struct counts *p, char by) { return __atomic_or_fetch(&p->flags, by, __ATOMIC_RELEASE); }
CODE static int compare(struct counts *p, int to)
{
	int expected = 5;

	return __atomic_compare_exchange_n(&p->number, &expected, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

CODE static void store(struct counts *p, long value) { *(volatile long *)&p->sum = value; }
CODE static long load(struct counts *p) { return *(volatile long *)&p->sum; }
CODE static void release(struct counts *p, long value) { __atomic_store_n(&p->sum, value, __ATOMIC_RELEASE); }
CODE static void store_then_add(struct counts *p, long by)
{
	*(volatile long *)&p->sum = by;
	__atomic_fetch_add(&p->spare, by, __ATOMIC_SEQ_CST);
}
CODE static void store_byte_then_add(struct counts *p, long by)
{
	*(volatile char *)&p->flags = 1;
	__atomic_fetch_add(&p->spare, by, __ATOMIC_SEQ_CST);
}
CODE static void store_then_add_elsewhere(struct counts *p, long by)
{
	*(volatile long *)&p->sum = by;
	__atomic_fetch_add(&elsewhere, by, __ATOMIC_SEQ_CST);
}

#define CHECK_UPDATES(function, wanted)                                                                  \
	do {                                                                                       \
		CHECK(hwr_code_updates((u64)(uintptr_t)(function)) == (wanted));                   \
		CHECK(hwr_site_updates((u64)(uintptr_t)(function)) == (wanted));                   \
		CHECK(hwr_site_is_plain((u64)(uintptr_t)(function)) == !(wanted));                 \
		CHECK(hwr_site_updates((u64)(uintptr_t)(function)) == (wanted));                   \
	} while (0)

TEST(updates, "an atomic operation reads and writes")
{
	CHECK_UPDATES(add, true);
	CHECK_UPDATES(add_only, true);
	CHECK_UPDATES(swap, true);
	CHECK_UPDATES(mask, true);
	CHECK_UPDATES(set, true);
	CHECK_UPDATES(compare, true);
}

TEST(stores, "a store only writes, whatever follows it")
{
	CHECK_UPDATES(store, false);
	CHECK_UPDATES(load, false);
	CHECK_UPDATES(release, false);
	CHECK_UPDATES(store_then_add, false);
	CHECK_UPDATES(store_byte_then_add, false);
	CHECK_UPDATES(store_then_add_elsewhere, false);
}
