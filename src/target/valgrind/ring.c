/* SPDX-License-Identifier: GPL-2.0-or-later
 * Writes records into the rings; see ring.h. A ring belongs to a thread number of Valgrind's, and
 * its threads announce themselves one after the other. While one thread waits for room all of them
 * do: Valgrind runs one at a time. */
#include "target/valgrind/ring.h"

#include <pub_tool_libcproc.h>
#include <pub_tool_threadstate.h>
#include <pub_tool_vkiscnums.h>

#include "format/ticks.h"
#include "target/valgrind/state.h"

enum {
	WAIT_NS = 50 * 1000 * 1000,
	FUTEX_WAIT = 0,
	FUTEX_WAKE = 1,
};
static const u64 patience_ns = 10000000000; /* without progress, before the ring turns lossy */

struct ring {
	u32 thread;    /* number of the thread that runs under this ThreadId */
	u32 announced; /* number of the one that the ring's last HW_THREAD told of */
	Bool lossy;
	u64 lost; /* not yet told by a HW_LOST */
};

static struct ring *rings; /* by ThreadId */
static u32 threads;        /* ever started */

void hwv_futex_wait(u32 *word, u32 value, u64 timeout_ns)
{
	struct vki_timespec limit = {.tv_sec = (long)(timeout_ns / 1000000000),
				     .tv_nsec = (long)(timeout_ns % 1000000000)};

	VG_(do_syscall)(__NR_futex, (RegWord)word, FUTEX_WAIT, value, (RegWord)&limit, 0, 0, 0, 0);
}

void hwv_futex_wake(u32 *word)
{
	VG_(do_syscall)(__NR_futex, (RegWord)word, FUTEX_WAKE, INT32_MAX, 0, 0, 0, 0, 0);
}

/* ---- threads ---- */

static struct ring *ring_of(ThreadId tid)
{
	if (!rings)
		rings = VG_(calloc)("heapwise.rings", VG_N_THREADS, sizeof(*rings));
	return &rings[tid < VG_N_THREADS ? tid : 0];
}

void hwv_thread_started(ThreadId tid) { ring_of(tid)->thread = ++threads; }

u32 hwv_thread_number(ThreadId tid)
{
	struct ring *ring = ring_of(tid);

	if (!ring->thread)
		hwv_thread_started(tid);
	return ring->thread;
}

void hwv_rings_open(void)
{
	ring_of(0);
	for (u32 i = 0; i < VG_N_THREADS; i++) {
		rings[i].announced = 0;
		rings[i].lossy = False;
		rings[i].lost = 0;
	}
}

/* ---- records ---- */

static struct hw_slot *slot_of(ThreadId tid)
{
	u32 number = tid ? tid - 1 : 0;
	struct hw_slot *slots = (struct hw_slot *)((u8 *)hwv_control + hwv_control->slots_offset);

	if (number >= hwv_control->slots_mapped)
		return NULL;
	if (number >= hwv_control->slots_used)
		store_release(&hwv_control->slots_used, number + 1);
	return &slots[number];
}

void hwv_bell(void)
{
	if (!load_relaxed(&hwv_lobby->monitor_sleeps))
		return;
	add_acq_rel(&hwv_lobby->bell, 1);
	hwv_futex_wake(&hwv_lobby->bell);
}

static u64 room(const struct hw_slot *slot)
{
	/* Acquire: pairs with the monitor's release, it has read the records before. */
	return hwv_control->ring_records - (slot->head - load_acquire(&slot->tail));
}

/* Waits for room; False if there will be none soon. */
static Bool wait_for_room(struct hw_slot *slot)
{
	u64 since = hwv_monotonic_ns(), tail = load_relaxed(&slot->tail);

	while (hwv_monotonic_ns() - since < patience_ns) {
		u32 bell = load_acquire(&slot->tail_bell);

		store_relaxed(&slot->waiting, 1);
		/* pairs with the monitor's between its tail and its look at waiting */
		fence_seq_cst();
		if (!room(slot)) {
			hwv_bell();
			hwv_futex_wait(&slot->tail_bell, bell, WAIT_NS);
		}
		store_relaxed(&slot->waiting, 0);
		if (room(slot))
			return True;
		if (!hwv_wants_free())
			return False;
		if (load_relaxed(&slot->tail) != tail)
			since = hwv_monotonic_ns();
		tail = load_relaxed(&slot->tail);
	}
	return False;
}

static void slot_put(struct hw_slot *slot, u32 number, const struct hw_record *record)
{
	u8 *base =
		(u8 *)hwv_control + hwv_control->rings_offset + number * hwv_control->ring_stride;
	struct hw_record *records = (struct hw_record *)base;

	records[slot->head & (hwv_control->ring_records - 1)] = *record;
	store_release(&slot->head, slot->head + 1); /* pairs with the monitor's acquire */
}

/* Room for one record more than is needed, so that a loss can be told. */
static Bool ring_ready(struct ring *ring, struct hw_slot *slot, u32 number)
{
	Bool may_wait = !ring->lossy && !hwv_has_flag(HW_RUN_LOSSY);

	if (room(slot) < 2 && !(may_wait && wait_for_room(slot)) && hwv_control) {
		ring->lossy = True;
		ring->lost++;
		add_relaxed(&slot->lost, 1);
		hwv_fault(HW_FAULT_RING_FULL);
		return False;
	}
	if (!hwv_control)
		return False;
	if (room(slot) * 2 < hwv_control->ring_records)
		hwv_bell();
	if (ring->lost && room(slot) >= 2) {
		slot_put(slot, number,
			 &(struct hw_record){.ticks = hw_ticks(),
					     .size = ring->lost,
					     .kind = HW_LOST});
		ring->lost = 0;
	}
	ring->lossy = False;
	return True;
}

void hwv_put(ThreadId tid, const struct hw_record *record)
{
	struct ring *ring = ring_of(tid);
	u32 number = tid ? tid - 1 : 0, thread = hwv_thread_number(tid);
	struct hw_slot *slot = slot_of(tid);

	if (!slot) {
		hwv_fault(HW_FAULT_NO_SLOT);
		return;
	}
	if (ring->announced != thread && ring_ready(ring, slot, number)) {
		ring->announced = thread;
		store_relaxed(&slot->tid, (u32)VG_(gettid)());
		slot_put(slot, number,
			 &(struct hw_record){.ticks = record->ticks,
					     .address = slot->tid,
					     .kind = HW_THREAD});
	}
	if (hwv_control && ring_ready(ring, slot, number))
		slot_put(slot, number, record);
}
