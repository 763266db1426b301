/* SPDX-License-Identifier: MIT
 * Publishing event records. Runs in the target. */
#ifndef TARGET_RECORDER_STATE_RING_H
#define TARGET_RECORDER_STATE_RING_H

#include "format/ticks.h"
#include "target/recorder/state/thread.h"

enum {
	HWR_LOOK_EVERY = 64, /* records between two looks at what the monitor has read */
	HWR_RING_AHEAD = 6,  /* records from the one that is written to the one that is fetched */
};

/* Makes room, waits if the run may not lose anything. False: the record must be dropped
 * (counted). */
bool hwr_ring_look(struct hwr_thread *t);

/* The place of the record that t writes next may still be marked: only watched programs mark
 * any. */
#ifdef HWR_PAGES
static inline void hwr_ring_unmark(struct hwr_thread *t)
{
	store_relaxed(&t->marks[t->head & t->mask], 0);
}
#else
static inline void hwr_ring_unmark(struct hwr_thread *t) { (void)t; }
#endif

/* Where the next record goes; NULL, counted, if it must be dropped. It is filled in place: built on
 * the stack and copied, its narrow stores stall the wide loads of the copy. */
static inline struct hw_record *hwr_ring_next(struct hwr_thread *t)
{
	if (unlikely(!load_relaxed(&hwr_token.alive)))
		/* a handler forked in the middle of this hook, and this is the child */
		return NULL;
	if (unlikely(t->head == t->limit) && !hwr_ring_look(t))
		return NULL;
	hwr_ring_unmark(t);
	return &t->ring[t->head & t->mask];
}

/* Makes the record visible. */
static inline void hwr_ring_publish(struct hwr_thread *t)
{
	if (unlikely(!load_relaxed(&hwr_token.alive)))
		return; /* as above: the ring is the parent's */
	t->head++;
	store_release(t->shared_head, t->head); /* pairs with the monitor's acquire of head */
	/* The monitor's CPU has the line that will be written soon; stores of the program would
	 * queue up behind it. */
	hwr_prefetch_to_write(&t->ring[(t->head + HWR_RING_AHEAD) & t->mask]);
}

/* Both, for a record that is not on the fast path. */
static inline void hwr_ring_put(struct hwr_thread *t, const struct hw_record *record)
{
	struct hw_record *to = hwr_ring_next(t);

	if (!to)
		return;
	*to = *record;
	hwr_ring_publish(t);
}

/* Tells the monitor to look, if it sleeps. */
void hwr_bell(void);

/* Prepares t for the ring of its slot. */
void hwr_ring_open(struct hwr_thread *t, struct hw_slot *slot, u32 slot_number, bool nested);

#endif
