/* SPDX-License-Identifier: MIT
 * What state/access.h asks for, where pages are monitored. Runs in the target. */
#include <link.h>
#include <linux/membarrier.h>
#include <string.h>

#include "target/access/heap/asks.h"
#include "target/access/heap/guard.h"
#include "target/access/heap/heap.h"
#include "target/access/pages/births.h"
#include "target/access/pages/gates.h"
#include "target/access/pages/pages.h"
#include "target/access/pages/units.h"
#include "target/access/pages/userfault.h"
#include "target/recorder/hooks/call.h"
#include "target/recorder/state/event.h"
#include "target/recorder/state/access.h"
#include "target/recorder/state/caller.h"
#include "target/recorder/state/loader.h"
#include "target/recorder/state/real.h"
#include "target/recorder/state/stamp.h"
#include "target/recorder/state/state.h"
#include "target/recorder/state/sys.h"
#include "target/recorder/unwind/modules.h"

__thread struct hwr_pages_site hwr_pages_site;
struct hwr_real hwr_libc;

enum {
	HELPER_TRIES = 100000, /* to wait for what takes microseconds */
	TIMED_EVERY = 1021,    /* calls; odd, so that births and ends take turns */
	TIMED_MAX = 1 << 16,   /* ticks; in a longer call another thread had the CPU */
};

/* Functions of libc that allocate for the program, not for libc. */
static const char *const givers[] = {"strdup",   "strndup",  "wcsdup",
				     "getdelim", "realpath", "getcwd"};
enum { GIVERS = sizeof(givers) / sizeof(givers[0]) };
static struct hw_range giving[GIVERS];
struct hw_range hwr_pages_library;

static bool on; /* of this image; a forked child has a copy */

bool hwr_pages_on(void) { return load_relaxed(&on) && load_relaxed(&hwr_token.alive); }

/* ---- who allocates ---- */

static bool is_within(u64 pc, const struct hw_range *range)
{
	return pc - range->start < range->bytes;
}

static void find_library(void)
{
	const struct link_map *map = hwr_loader() ? hwr_loader()->r_map : NULL;
	u64 start = 0, end = 0;

	hwr_real_symbol("strdup", &start, &end);
	for (; map; map = map->l_next)
		for (u32 i = 0; i < GIVERS; i++) {
			struct hw_range found;

			if (hwr_real_function_in(map, givers[i], &found.start, &found.bytes) &&
			    found.start - start < end - start)
				giving[i] = found;
		}
	hwr_pages_library = (struct hw_range){start, end - start};
}

static bool is_library(u64 pc)
{
	if (likely(!is_within(pc, &hwr_pages_library)))
		return pc - hwr_loader_start < hwr_loader_bytes;
	for (u32 i = 0; i < GIVERS; i++)
		if (is_within(pc, &giving[i]))
			return false;
	return true;
}

void hwr_pages_time(enum hwr_timing timing)
{
	hwr_pages_site.untimed = TIMED_EVERY;
	if (load_relaxed(&hwr_token.on) != HWR_RECORDS || !hwr_pages_on())
		return; /* the counter may be forbidden */
	hwr_pages_site.timing = timing;
	hwr_pages_site.began = hw_ticks();
}

void hwr_pages_timed(void)
{
	u64 ticks = hw_ticks() - hwr_pages_site.began;
	u32 which = hwr_pages_site.timing == HWR_TIMES_END;

	hwr_pages_site.timing = HWR_TIMES_NOTHING;
	if (!hwr_pages_on() || ticks > TIMED_MAX)
		return;
	add_relaxed(&hwr_control->pages.timed[which], 1);
	add_relaxed(&hwr_control->pages.timed_ticks[which],
		    ticks > hwr_stamp_cost ? ticks - hwr_stamp_cost : 0);
}

void hwr_access_site(const struct hwr_caller *caller)
{
	hwr_pages_call_begins(HWR_TIMES_BIRTH);
	hwr_pages_site.number = hwr_pages_number(caller->pc, caller->sp);
	hwr_pages_site.library = is_library(caller->pc);
}

/* The record of the chunk that begins at an address of the heap. */
static inline struct hwr_chunk *chunk_at(u64 address)
{
	u64 offset;

	return hwr_heap_find(address, &offset);
}

/* ---- births that are taken back ---- */

static u64 page_of(u64 address) { return address & ~(u64)(HWR_PAGE - 1); }

static u32 images; /* the last one's number; inherited by forked children */

/* The monitor reads marks after a barrier that reaches those only who have asked for it. */
static void births_attach(void)
{
	if (images < HWR_BIRTH_IMAGES)
		images++;
	if (hwr_ask3(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) != 0)
		images = HWR_BIRTH_IMAGES;
}

static u64 births_of(u32 slot)
{
	return images < HWR_BIRTH_IMAGES && slot < HWR_BIRTH_SLOTS
		       ? (u64)images << HWR_BIRTH_IMAGE | (u64)slot << HWR_BIRTH_SLOT
		       : 0;
}

/* From the chunk's birth the monitor learns that a unit was opened for it: that one is not taken
 * back. The page may have been opened long ago; then one more is recorded, which does no harm. */
void hwr_access_birth(struct hwr_thread *t, u32 kind, u64 address)
{
	hwr_pages_call_ends(HWR_TIMES_BIRTH);
	if (hwr_heap_has(address) && hwr_pages_site.opened != page_of(address))
		chunk_at(address)->birth = hwr_births_next(t, kind);
}

void hwr_births_unsure(struct hwr_thread *t, u32 kind, u64 address)
{
	hwr_ring_put(t, &(struct hw_record){
				.ticks = hwr_stamp_now(t),
				.address = address,
				.kind = (u8)kind,
				.flags = HW_RECORD_UNSURE,
			});
}

bool hwr_access_unborn(struct hwr_thread *t, u32 kind, u64 address, const struct hwr_caller *caller)
{
	u64 birth;
	bool open;

	hwr_pages_call_begins(HWR_TIMES_END);
	if (!hwr_heap_has(address))
		return false;
	hwr_note_begin(t, caller);
	birth = chunk_at(address)->birth;
	open = hwr_birth_is_open(birth, t);
	if (open)
		hwr_birth_take_back(t, kind, address, birth);
	hwr_note_end(t);
	return open;
}

void hwr_access_settle(u64 address)
{
	if (hwr_heap_has(address))
		store_relaxed(&chunk_at(address)->birth, 0);
}

/* ---- access.h ---- */

void hwr_access_allocator(struct hwr_real *real)
{
	hwr_libc = *real; /* every thread finds the same */
	/* nothing is of the heap before there are units */
	if (!hwr_units_open() || !hwr_heap_open())
		return;
	find_library();
	hwr_quick_open();
	hwr_heap_replace(real);
	hwr_guard_libc();
}

static bool start(void)
{
	return hwr_control->flags & HW_RUN_PAGES_WRITES ? hwr_userfault_start()
							: hwr_helper_start();
}

void hwr_access_attach(void)
{
	hwr_control->access = HW_ACCESS_NONE;
	if (hwr_control->flags & HW_RUN_LASTING)
		births_attach();
	if (!(hwr_control->flags & HW_RUN_PAGES))
		return;
	if (!hwr_heap_open() || !hwr_units_open()) {
		hwr_fault(HW_FAULT_NO_HEAP);
		return;
	}
	if (on) /* a forked child begins a recording of its own */
		hwr_units_open_all(true);
	/* by userfaultfd a system call waits as all others do */
	if (!(hwr_control->flags & HW_RUN_PAGES_WRITES))
		hwr_gates_open();
	store_release(&on, true);
	if (!hwr_fault_attach() || !start())
		store_release(&on, false);
	hwr_control->pages.units_max = hwr_units_limit();
}

/* The handler's stack is part of the slot and recycled with it. */
void hwr_access_thread(struct hwr_thread *t)
{
	hwr_own_slots_open(t);
	t->births = births_of(t->slot_number);
	if (!load_relaxed(&on))
		return;
	if (!t->fault_stack)
		t->fault_stack = hwr_map_private(HWR_FAULT_STACK);
	if (t->fault_stack)
		hwr_fault_thread(t);
}

void hwr_access_begin(u64 address, u64 ticks, const struct hwr_caller *caller)
{
	(void)caller;
	if (hwr_heap_has(address))
		store_relaxed(&chunk_at(address)->last, ticks); /* its birth */
}

void hwr_access_end(struct hwr_thread *t, u64 address, u64 ticks)
{
	(void)t;
	(void)address;
	(void)ticks;
}

static void disarm(void)
{
	store_relaxed(&on, false);
	fence_seq_cst(); /* pairs with the helper's between its flag and its look at `on` */
	for (u32 i = 0; load_acquire(&hwr_helper_arms) && i < HELPER_TRIES; i++)
		hwr_yield();
	hwr_units_open_all(false);
}

bool hwr_access_faults_need(u32 number)
{
	return number == SYS_mprotect || number == SYS_rt_sigprocmask || number == SYS_rt_sigreturn;
}

/* Under userfaultfd it is the fault thread that opens, which a filter of this thread does not
 * hold. */
void hwr_access_faults_stop(void)
{
	if (!hwr_pages_on() || hwr_getpid() != hwr_pid || hwr_userfault_on())
		return;
	disarm();
	for (u32 i = 0; load_relaxed(&hwr_control->pages.armed) && i < HELPER_TRIES; i++)
		hwr_yield(); /* for others who are opening something */
	store_release(&hwr_control->pages.flood_ticks, hw_ticks());
}

/* The monitor will look at the program's memory, which it cannot where that is armed: from now on
 * nothing is. */
void hwr_access_leave(void)
{
	if (!hwr_pages_on() || hwr_getpid() != hwr_pid)
		return;
	store_relaxed(&hwr_control->pages.cpu_ns, hwr_cpu_ns(CLOCK_PROCESS_CPUTIME_ID));
	if (!(hwr_control->flags & HW_RUN_LEAK_SCAN) || hwr_userfault_on())
		return; /* nobody looks, or all can be read */
	disarm();
}

void hwr_access_aside_forget(void) {}

/* ---- what the heap asks for ---- */

void hwr_pages_open(u64 address)
{
	u64 start;

	if (likely(hwr_unit_is_open(address)))
		return;
	start = hw_ticks();
	if (!hwr_unit_open(address))
		return;
	hwr_pages_site.opened = page_of(address);
	add_relaxed(&hwr_control->pages.opened, 1);
	if (hwr_pages_on())
		hwr_pages_spent(start);
}

void hwr_access_open(const void *p)
{
	if (hwr_heap_has((u64)p))
		hwr_pages_open((u64)p);
}

/* A realloc copies or keeps, and what comes out of it is another chunk. */
void hwr_access_range(u64 address, u64 bytes, bool write)
{
	(void)bytes;
	(void)write;
	hwr_access_open((const void *)address);
}

void hwr_access_realloc(u64 from, u64 to, u64 bytes)
{
	(void)to;
	(void)bytes;
	hwr_access_open((const void *)from);
}

void hwr_access_copy(void *to, const void *from, u64 bytes) { memcpy(to, from, bytes); }

void hwr_chunk_begins(u64 address, struct hwr_chunk *chunk, u64 before)
{
	(void)address;
	(void)chunk;
	(void)before;
}

void hwr_chunk_put_aside(u64 address, struct hwr_chunk *chunk)
{
	(void)address;
	(void)chunk;
}

/* ---- for calls.c and signals.c ---- */

/* The kernel is about to touch it, which is an access by the program. */
void hwr_pages_pin(u64 address)
{
	struct hwr_call call;
	u64 start = hwr_unit_is_open(address) ? 0 : hw_ticks();

	if (!hwr_unit_pin(address) || !hwr_pages_on())
		return;
	start = start ? start : hw_ticks();
	call = (struct hwr_call){.caller = HWR_CALLER()};
	add_relaxed(&hwr_control->pages.kernel_hits, 1);
	hwr_call_begin(&call);
	hwr_call_hit(&call, HW_HIT_KERNEL, address);
	hwr_pages_spent(start);
}

void hwr_pages_unpin(u64 address) { hwr_unit_unpin(address); }

void hwr_access_pin(u64 address) { hwr_pages_hold((const void *)address); }

void hwr_access_unpin(u64 address) { hwr_pages_let_go((const void *)address); }
