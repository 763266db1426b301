/* SPDX-License-Identifier: MIT
 * The rare half of the rings: room, waiting, losing, waking the monitor. Runs in the target.
 * Waits in a raw futex: not a cancellation point, errno untouched. */
#include "target/recorder/state/ring.h"

#include "target/recorder/state/self.h"
#include "target/recorder/state/sys.h"

enum { WAIT_NS = 50 * 1000 * 1000 };
/* Without progress, before the ring turns lossy: a busy disk was seen to hold a monitor up for
 * three seconds. */
static const u64 patience_ns = 10000000000;

void hwr_bell(void)
{
	if (!hwr_lobby || !load_relaxed(&hwr_lobby->monitor_sleeps))
		return;
	add_acq_rel(&hwr_lobby->bell, 1);
	hwr_futex_wake(&hwr_lobby->bell);
}

void hwr_ring_open(struct hwr_thread *t, struct hw_slot *slot, u32 slot_number, bool nested)
{
	struct hw_record *records =
		(struct hw_record *)(hwr_rings + hw_ring_start(hwr_control->ring_stride,
							       hwr_control->ring_extra,
							       slot_number));
	u32 size = hw_ring_size(hwr_control->ring_records, hwr_control->ring_extra, slot_number);

	t->slot = slot;
	t->slot_number = slot_number;
	t->is_nested = nested;
	t->ring = nested ? records + size : records;
	t->marks = (u8 *)(records + size + hwr_control->nested_records) + (nested ? size : 0);
	t->mask = (nested ? hwr_control->nested_records : size) - 1;
	t->shared_head = nested ? &slot->nested_head : &slot->head;
	t->head = *t->shared_head;
	t->limit = t->head; /* the first record looks */
	t->ring_lossy = false;
}

static u64 ring_tail(const struct hwr_thread *t)
{
	/* Pairs with the monitor's release: it has read the records before. */
	return load_acquire(t->is_nested ? &t->slot->nested_tail : &t->slot->tail);
}

static bool ring_has_room(const struct hwr_thread *t) { return t->head - ring_tail(t) <= t->mask; }

/* Waits for room; false if there will be none soon. */
static bool wait_for_room(struct hwr_thread *t)
{
	struct hw_slot *slot = t->slot;
	u64 tail = ring_tail(t);
	u64 waited = 0, now = hwr_monotonic_ns();

	/* By the clock, not by counting waits: signals may end each of them at once. A wait that
	 * took longer than it should have tells of a machine with no time for us, nor for the
	 * monitor: it counts as one. */
	while (waited < patience_ns) {
		u32 bell = load_acquire(&slot->tail_bell);
		u64 before = now;

		if (!load_relaxed(&hwr_token.alive))
			return false; /* forked by a handler in the middle of this hook */
		store_relaxed(&slot->waiting, 1);
		/* pairs with the monitor's between its tail and its look at waiting */
		fence_seq_cst();
		if (!ring_has_room(t)) {
			hwr_bell();
			hwr_futex_wait(&slot->tail_bell, bell, WAIT_NS);
		}
		store_relaxed(&slot->waiting, 0);
		if (ring_has_room(t))
			return true;
		if (!hwr_session_watched())
			return false;
		now = hwr_monotonic_ns();
		waited += now - before < WAIT_NS ? now - before : WAIT_NS;
		if (ring_tail(t) != tail)
			waited = 0;
		tail = ring_tail(t);
	}
	t->ring_lossy = true;
	return false;
}

static bool drop_record(struct hwr_thread *t)
{
	if (!load_relaxed(&hwr_token.alive))
		/* a forked child in its parent's hook: nothing of the parent's is lost */
		return false;
	t->lost++;
	add_relaxed(&t->slot->lost, 1);
	hwr_fault(t->is_nested ? HW_FAULT_NESTED_FULL : HW_FAULT_RING_FULL);
	return false;
}

/* How far the thread may write until the next look. */
static void set_limit(struct hwr_thread *t)
{
	u64 room = ring_tail(t) + t->mask + 1 - t->head;
	u64 step = t->is_nested ? HWR_LOOK_EVERY / 8 : HWR_LOOK_EVERY;

	t->limit = t->head + (room < step ? room : step);
	/* Every few hundred events one call is timed; the low bits decide, so it cannot beat with
	 * a regular pattern of the program. */
	t->random = t->random * 6364136223846793005ull + 1442695040888963407ull;
	if (hwr_control->flags & HW_RUN_DURATIONS && t->random >> 61 == 0 &&
	    !(t->state & HWR_SAMPLING))
		t->state |= HWR_TIME_CALL;
	if (t->peek_count)
		t->state |= HWR_PEEK;
	if (hw_ring_pressed(t->head - ring_tail(t), t->mask, load_relaxed(&hwr_control->flags)))
		hwr_bell();
}

/* The loss is told in its place in the ring as soon as there is room for two records. */
static void tell_loss(struct hwr_thread *t)
{
	if (ring_tail(t) + t->mask - t->head < 2)
		return;
	hwr_ring_unmark(t);
	t->ring[t->head & t->mask] = (struct hw_record){
		.ticks = hw_ticks(),
		.size = t->lost,
		.kind = HW_LOST,
	};
	t->head++;
	t->lost = 0;
	store_release(t->shared_head, t->head);
}

bool hwr_ring_look(struct hwr_thread *t)
{
	hwr_session_obey();
	hwr_self_drain(t->slot);
	if (!ring_has_room(t)) {
		bool may_wait =
			!t->is_nested && !t->ring_lossy && !(hwr_control->flags & HW_RUN_LOSSY);

		if (!may_wait || !wait_for_room(t))
			return drop_record(t);
	}
	t->ring_lossy = false;
	if (unlikely(t->lost))
		tell_loss(t);
	set_limit(t);
	return true;
}
