/* SPDX-License-Identifier: MIT
 * Page monitoring: which memory the program still touches, without instrumenting it. Runs in the
 * target, in libheapwise-watch.so only.
 *
 * The monitor asks for units (units.h) to be armed through a ring of commands, which a helper
 * thread serves (helper.c); no allocator call waits for anybody. The fault of who touches an armed
 * unit opens it and is recorded (fault.c). The program's own handling of SIGSEGV stays as it was
 * (signals.c), and memory that it gives to system calls is open before and while they use it
 * (calls.c). */
#ifndef TARGET_ACCESS_PAGES_PAGES_H
#define TARGET_ACCESS_PAGES_PAGES_H

#include <signal.h>

#include "format/session.h"
#include "format/types.h"
#include "target/access/heap/chunk.h"

struct hwr_thread;

/* Who allocates next in this thread: set by the hooks, used by slots.c. */
struct hwr_pages_site {
	u32 number;   /* hash of where the allocator is called and how deep in the stack */
	bool library; /* the C library itself or the loader allocates */
	bool alone;   /* the class was chosen for a page of its own */
	u32 untimed;  /* calls until one is timed */
	u32 timing;   /* enum hwr_timing of the call in progress */
	u32 turn;     /* decides which chunks get a page of their own */
	u64 began;    /* ticks, if it is timed */
	u64 opened;   /* page of the unit that was opened last for the allocator */
};
extern __thread struct hwr_pages_site hwr_pages_site __attribute__((tls_model("initial-exec")));

/* Some allocator calls are timed, so that the monitor can state what all of them cost. A call that
 * ends elsewhere is not counted. */
enum hwr_timing { HWR_TIMES_NOTHING, HWR_TIMES_BIRTH, HWR_TIMES_END };
void hwr_pages_time(enum hwr_timing timing);
static inline void hwr_pages_call_begins(enum hwr_timing timing)
{
	hwr_pages_site.timing = HWR_TIMES_NOTHING;
	if (unlikely(!hwr_pages_site.untimed--))
		hwr_pages_time(timing);
}

void hwr_pages_timed(void);
static inline void hwr_pages_call_ends(enum hwr_timing timing)
{
	if (unlikely(hwr_pages_site.timing == timing))
		hwr_pages_timed();
}

/* Who allocates: a number for where the allocator is called and how deep in the stack, as the memo
 * of unwind/ has it. */
static inline u32 hwr_pages_number(u64 pc, u64 sp)
{
	return (u32)((pc ^ sp << 20) * 0x9e3779b97f4a7c15ull >> 40);
}

/* Where the C library is, and the loader. */
extern struct hw_range hwr_pages_library HWR_OWN;

/* Whether this process may arm, open and record: attached, and not a forked child. */
bool hwr_pages_on(void);

/* Opens an address of the heap that the program is about to give away, until hwr_pages_unpin. */
void hwr_pages_pin(u64 address);
void hwr_pages_unpin(u64 address);

/* The same of what a call was given, wherever it lies. */
static inline void hwr_pages_hold(const void *p)
{
	if (hwr_heap_has((u64)p))
		hwr_pages_pin((u64)p);
}

static inline void hwr_pages_let_go(const void *p)
{
	if (hwr_heap_has((u64)p))
		hwr_pages_unpin((u64)p);
}

/* quick.c: once, before hwr_own_slots_open. */
void hwr_quick_open(void);
/* slots.c: gives the calling thread free slots of its own, which it then has; none without
 * memory. */
void hwr_own_slots_open(struct hwr_thread *t);

/* fault.c: takes SIGSEGV over and measures what a fault costs. */
bool hwr_fault_attach(void);
/* Counts the time of a hit or an opening, and opens all if that is as much as the monitor allows,
 * or if it has died. */
void hwr_pages_spent(u64 since_ticks);
/* Whether it is. */
bool hwr_pages_flooded(void);
/* Opens a unit for the allocator: no hit. */
void hwr_pages_open(u64 address);
/* around.c: a unit was hit. If hits come one after the other in the order of addresses, opens some
 * of those that are next and records that. */
struct hwr_call;
void hwr_pages_around(struct hwr_call *call, u64 address);
enum { HWR_FAULT_STACK = 65536 };
/* Gives the calling thread, which this is, its fault_stack for the handler, if it has no stack. */
struct hwr_thread;
void hwr_fault_thread(struct hwr_thread *t);

/* SIGSEGV in a mask; libc's functions for that are no part of what the recorder may call. */
#define HWR_SEGV_BIT (1ull << (SIGSEGV - 1))
static inline void hwr_mask_remove(sigset_t *mask) { *(u64 *)mask &= ~HWR_SEGV_BIT; }
static inline void hwr_mask_add(sigset_t *mask) { *(u64 *)mask |= HWR_SEGV_BIT; }
static inline bool hwr_mask_has(const sigset_t *mask) { return *(const u64 *)mask & HWR_SEGV_BIT; }

/* signals.c: what the program has set for SIGSEGV. */
void hwr_signals_init(const struct sigaction *action);
void hwr_signals_get(struct sigaction *action);
void hwr_signals_reset(void); /* SA_RESETHAND */
bool hwr_signals_blocked(void);

extern u32 hwr_helper_arms; /* helper.c: 1 while it may arm something */
enum { HWR_HELPER_STACK = 65536 };
extern u8 *hwr_helper_stack; /* by which it is told from others */
/* helper.c: false if it cannot be started. */
bool hwr_helper_start(void);
bool hwr_helper_monitor_lives(void);

#endif
