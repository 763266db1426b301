/* SPDX-License-Identifier: MIT
 * Queues of waiting records; see waiting.h. Runs on the drain thread. Never looks at what lives:
 * that is the correlator's. */
#include "live/drain/waiting.h"

#include <string.h>

/* How far a stamp may be behind the truth: the recorder estimates some of them, and a thread that
 * lost the CPU in between is then late by that. */
enum { ESTIMATE_TICKS = 1 << 28 };

bool waiting_init(struct waiting *self)
{
	memset(self, 0, sizeof(*self));
	if (vec_extend(&self->waiters, 1) && vec_extend(&self->queues, 1))
		return true;
	waiting_release(self);
	return false;
}

void waiting_release(struct waiting *self)
{
	vec_release(&self->waiters);
	vec_release(&self->queues);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static u32 waiter_new(struct waiting *self, const struct told_record *told, u64 now_ns)
{
	u32 index = self->free_waiter;
	struct waiter *waiter;

	if (index) {
		self->free_waiter = self->waiters.data[index].newer;
	} else {
		index = (u32)self->waiters.count;
		if (!vec_extend(&self->waiters, self->waiters.count + 1))
			return 0;
	}
	waiter = &self->waiters.data[index];
	memset(waiter, 0, sizeof(*waiter));
	waiter->told = *told;
	waiter->since_ns = now_ns;
	waiter->older = self->newest;
	*(self->newest ? &self->waiters.data[self->newest].newer : &self->oldest) = index;
	self->newest = index;
	if (!self->unrelaxed)
		self->unrelaxed = index;
	self->count++;
	return index;
}

static void waiter_drop(struct waiting *self, u32 index)
{
	struct waiter *all = self->waiters.data, *waiter = &all[index];

	if (self->unrelaxed == index)
		self->unrelaxed = waiter->newer;
	*(waiter->older ? &all[waiter->older].newer : &self->oldest) = waiter->newer;
	*(waiter->newer ? &all[waiter->newer].older : &self->newest) = waiter->older;
	waiter->newer = self->free_waiter;
	waiter->queue = 0;
	self->free_waiter = index;
	self->count--;
}

u32 waiting_open(struct waiting *self, u32 birth)
{
	u32 index = self->free_queue;

	if (index) {
		self->free_queue = self->queues.data[index].next_free;
	} else {
		index = (u32)self->queues.count;
		if (!vec_extend(&self->queues, self->queues.count + 1))
			return 0;
	}
	self->queues.data[index] = (struct wait_queue){.birth = birth};
	return index;
}

/* Whether `a`, which arrived later, happened before `b`. One thread's records come in order. */
static bool happened_before(const struct told_record *a, const struct told_record *b)
{
	return a->thread != b->thread && a->record.ticks < b->record.ticks;
}

bool waiting_add(struct waiting *self, u32 queue_index, const struct told_record *told, u64 now_ns)
{
	u32 index = waiter_new(self, told, now_ns), after;
	struct wait_queue *queue = &self->queues.data[queue_index];
	struct waiter *all = self->waiters.data;

	if (!index)
		return false;
	/* From the end: at a busy address the queue may be long, and most records belong there. */
	for (after = queue->last; after && happened_before(told, &all[after].told);
	     after = all[after].prev) {
	}
	all[index].queue = queue_index;
	all[index].prev = after;
	all[index].next = after ? all[after].next : queue->first;
	*(after ? &all[after].next : &queue->first) = index;
	*(all[index].next ? &all[all[index].next].prev : &queue->last) = index;
	return true;
}

bool waiting_take(struct waiting *self, u32 index)
{
	struct waiter *all = self->waiters.data, *waiter = &all[index];
	u32 queue_index = waiter->queue;
	struct wait_queue *queue = &self->queues.data[queue_index];

	*(waiter->prev ? &all[waiter->prev].next : &queue->first) = waiter->next;
	*(waiter->next ? &all[waiter->next].prev : &queue->last) = waiter->prev;
	waiter_drop(self, index);
	if (queue->first)
		return false;
	queue->next_free = self->free_queue;
	self->free_queue = queue_index;
	return true;
}

/* ---- choices --------------------------------------------------------------------------------- */

/* How far a search goes: longer queues come only from losses, where no order is to be found. */
enum { LOOK_MAX = 64 };

static bool is_birth(const struct waiter *waiter)
{
	return hw_kind_allocates(waiter->told.record.kind);
}

/* Whether a record of the same thread waits before this one. */
static bool has_elder(const struct waiter *all, u32 index)
{
	for (u32 at = all[index].prev; at; at = all[at].prev) {
		if (all[at].told.thread == all[index].told.thread)
			return true;
	}
	return false;
}

u32 waiting_next(const struct waiting *self, u32 queue_index, bool alive)
{
	const struct wait_queue *queue = &self->queues.data[queue_index];
	const struct waiter *all = self->waiters.data;
	u64 first_ticks = all[queue->first].told.record.ticks;

	for (u32 at = queue->first, look = 0; at && look < LOOK_MAX; at = all[at].next, look++) {
		if (!queue->relaxed && all[at].told.record.ticks != first_ticks)
			return 0;
		if (is_birth(&all[at]) != alive && !has_elder(all, at))
			return at;
	}
	return 0;
}

/* The thread's next record after `index`, if that is a death; else 0. */
static u32 death_after(const struct waiter *all, u32 index)
{
	u32 at = all[index].next;

	for (u32 look = 0; at && look < LOOK_MAX; at = all[at].next, look++) {
		if (all[at].told.thread == all[index].told.thread)
			return is_birth(&all[at]) ? 0 : at;
	}
	return 0;
}

u32 waiting_life(const struct waiting *self, u32 queue_index, bool near, u32 *death)
{
	const struct wait_queue *queue = &self->queues.data[queue_index];
	const struct waiter *all = self->waiters.data;

	for (u32 at = queue->first, look = 0; at && look < LOOK_MAX; at = all[at].next, look++) {
		u32 distance = (u32)all[at].told.record.ticks - queue->birth;

		if (distance && (!near || distance + ESTIMATE_TICKS > 2u * ESTIMATE_TICKS))
			return 0;
		if (!is_birth(&all[at]) || has_elder(all, at))
			continue;
		*death = death_after(all, at);
		if (*death)
			return at;
	}
	return 0;
}

u32 waiting_birth(const struct waiting *self, u32 queue_index)
{
	const struct waiter *all = self->waiters.data;
	u32 at = self->queues.data[queue_index].first;

	for (u32 look = 0; at && look < LOOK_MAX; at = all[at].next, look++) {
		if (is_birth(&all[at]))
			return at;
	}
	return 0;
}

u32 waiting_birth_by(const struct waiting *self, u32 queue, u32 thread)
{
	for (u32 i = self->queues.data[queue].last; i; i = self->waiters.data[i].prev) {
		const struct told_record *told = &self->waiters.data[i].told;

		if (told->thread == thread && hw_kind_allocates(told->record.kind))
			return i;
	}
	return 0;
}

u32 waiting_relax(struct waiting *self, u64 before_ns)
{
	while (self->unrelaxed) {
		u32 index = self->unrelaxed;
		struct waiter *waiter = &self->waiters.data[index];
		struct wait_queue *queue = &self->queues.data[waiter->queue];

		if (waiter->since_ns >= before_ns)
			return 0;
		self->unrelaxed = waiter->newer;
		if (queue->relaxed)
			continue;
		queue->relaxed = true;
		return index;
	}
	return 0;
}
