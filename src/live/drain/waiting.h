/* SPDX-License-Identifier: MIT
 * Records that wait for another one of their address: a queue per address, and one list of all in
 * order of arrival. A part of the correlator, on the drain thread; tells nothing by itself. */
#ifndef LIVE_DRAIN_WAITING_H
#define LIVE_DRAIN_WAITING_H

#include "host/base/vec.h"
#include "live/drain/told.h"

/* A record that waits. Numbers are indexes into the pool; 0 is none. */
struct waiter {
	struct told_record told;
	u32 queue;
	u32 prev, next;   /* in its queue: by stamp, a thread's own records in their order */
	u32 older, newer; /* among all that wait; `newer` links free places, too */
	u64 since_ns;
};

/* What waits at one address. */
struct wait_queue {
	u32 first, last;
	u32 birth;    /* low bits of the ticks at which the live chunk, if any, was born */
	bool relaxed; /* has waited so long that stamps do not count any more */
	u32 next_free;
};

struct waiting {
	VEC(struct waiter) waiters;
	VEC(struct wait_queue) queues;
	u32 free_waiter, free_queue;
	u32 oldest, newest;
	u32 unrelaxed; /* oldest waiter that waiting_relax has not looked at */
	u64 count;
};

bool waiting_init(struct waiting *self);
void waiting_release(struct waiting *self);

/* A queue, empty; 0 without memory. Given back when its last record is taken. */
u32 waiting_open(struct waiting *self, u32 birth);

/* Puts a record in its place; false without memory. */
bool waiting_add(struct waiting *self, u32 queue, const struct told_record *told, u64 now_ns);

/* Takes a record out; true if it was the last one, and the queue is given back. */
bool waiting_take(struct waiting *self, u32 index);

/* The record that comes next where something lives (or not); 0 = it has not come yet. Equal stamps
 * say nothing, and in a relaxed queue no stamp does; but a record never overtakes an earlier one of
 * its thread. */
u32 waiting_next(const struct waiting *self, u32 queue, bool alive);

/* A whole life of one thread, birth and death, that was over before the live chunk was born: its
 * stamp is the same as the chunk's, and what was first was only a guess; or, `near`, it is not far
 * from it. Returns the birth, 0 = none. */
u32 waiting_life(const struct waiting *self, u32 queue, bool near, u32 *death);

/* Some birth, whatever waits before it; 0 = none. */
u32 waiting_birth(const struct waiting *self, u32 queue);

/* The last birth by the thread that waits in the queue; 0 = none. */
u32 waiting_birth_by(const struct waiting *self, u32 queue, u32 thread);

/* The next record whose queue is to be relaxed, having waited since before `before_ns`: the queue
 * has become relaxed, and may now go on. 0 = none. */
u32 waiting_relax(struct waiting *self, u64 before_ns);

#endif
