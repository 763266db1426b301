/* SPDX-License-Identifier: MIT
 * Reads the rings of an image's threads in one pass, merged by stamp. Runs on the drain thread.
 * Never waits for a ring, and never lets one ring wait for another.
 *
 * A cycle reads the counter, then every ring's head. What was stamped before that reading is
 * processed now: whatever was published before such a record was stamped lies below the heads, so
 * that no event is told before its cause. What is younger stays for the next cycle, where it is
 * processed whatever its stamp says: a stamp that makes no sense holds nothing up. */
#include "monitor/image.h"

#include <limits.h>

#include "format/atomics.h"
#include "format/ticks.h"
#include "monitor/futex.h"

/* ---- cursors --------------------------------------------------------------------------------- */

static void ring_look(struct image *self, struct ring_cursor *ring, u64 head, u64 window)
{
	u64 known = ring->seen;

	if (unlikely(head - ring->tail > ring->mask + 1)) {
		/* A counter that ran backwards or too far: go on where the ring says it is. */
		self->damaged++;
		ring->tail = head;
		known = head;
	}
	ring->seen = head;
	ring->limit = head;
	while (ring->limit > ring->tail && ring->limit > known &&
	       ring->records[(ring->limit - 1) & ring->mask].ticks >= window)
		ring->limit--;
}

static bool slots_extend(struct image *self, u32 used)
{
	for (u32 i = (u32)self->slots.count; i < used; i++) {
		struct slot_cursor slot = { .thread = NO_THREAD };

		slot.ring.records = berth_ring(&self->berth, i);
		slot.ring.mask = self->berth.layout.ring_records - 1;
		slot.nested.records = berth_nested(&self->berth, i);
		slot.nested.mask = self->berth.layout.nested_records - 1;
		if (!vec_push(&self->slots, slot))
			return false;
	}
	return true;
}

static inline struct ring_cursor *source_ring(struct image *self, const struct merge_source *source)
{
	struct slot_cursor *slot = &self->slots.data[source->slot];

	return source->nested ? &slot->nested : &slot->ring;
}

static inline u64 ring_next_ticks(const struct ring_cursor *ring)
{
	return ring->records[ring->tail & ring->mask].ticks;
}

/* Gives the space back. The fence orders the new tail before the look at `waiting`; the recorder
 * sets `waiting` before it looks at the tail a last time, so that one of the two sees the other. */
static void ring_publish(struct image *self, u32 slot, bool nested)
{
	struct hw_slot *shared = berth_slot(&self->berth, slot);
	struct slot_cursor *cursor = &self->slots.data[slot];

	if (nested) {
		cursor->nested.published = cursor->nested.tail;
		store_release(&shared->nested_tail, cursor->nested.tail);
		return;
	}
	cursor->ring.published = cursor->ring.tail;
	store_release(&shared->tail, cursor->ring.tail);
	fence_seq_cst();
	if (load_relaxed(&shared->waiting)) {
		add_acq_rel(&shared->tail_bell, 1);
		futex_wake(&shared->tail_bell, INT_MAX);
	}
}

/* ---- heap of sources ------------------------------------------------------------------------- */

static void heap_sift_down(struct merge_source *heap, u64 count, u64 i)
{
	struct merge_source moving = heap[i];

	for (;;) {
		u64 child = 2 * i + 1;

		if (child >= count)
			break;
		if (child + 1 < count && heap[child + 1].ticks < heap[child].ticks)
			child++;
		if (heap[child].ticks >= moving.ticks)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moving;
}

static bool source_add(struct image *self, u32 slot, bool nested)
{
	struct merge_source source = { .slot = slot, .nested = nested };
	const struct ring_cursor *ring = source_ring(self, &source);

	if (ring->tail == ring->limit)
		return true;
	source.ticks = ring_next_ticks(ring);
	return vec_push(&self->sources, source);
}

/* Looks at all heads, and makes the heap of rings that have something to read. */
static bool sources_collect(struct image *self, u64 window)
{
	u32 used = load_acquire(&self->berth.control->slots_used);

	if (used > self->berth.layout.slots_max)
		used = self->berth.layout.slots_max;
	if (!slots_extend(self, used))
		return false;
	vec_clear(&self->sources);
	for (u32 i = 0; i < self->slots.count; i++) {
		struct hw_slot *shared = berth_slot(&self->berth, i);
		struct slot_cursor *slot = &self->slots.data[i];

		/* Acquire: pairs with the recorder's release of head, records below it are
		 * whole. */
		ring_look(self, &slot->ring, load_acquire(&shared->head), window);
		ring_look(self, &slot->nested, load_acquire(&shared->nested_head), window);
		if (!source_add(self, i, false) || !source_add(self, i, true))
			return false;
	}
	for (u64 i = self->sources.count / 2; i-- > 0;)
		heap_sift_down(self->sources.data, self->sources.count, i);
	return true;
}

static u64 heap_second_ticks(const struct image *self)
{
	const struct merge_source *heap = self->sources.data;

	if (self->sources.count < 2)
		return UINT64_MAX;
	if (self->sources.count < 3 || heap[1].ticks < heap[2].ticks)
		return heap[1].ticks;
	return heap[2].ticks;
}

/* ---- the cycle ------------------------------------------------------------------------------- */

/* Whether the record is to be used: the end of a chunk may take back the record of its birth until here. */
static inline bool record_take(const struct ring_cursor *ring, struct hw_record *to)
{
	struct hw_record *from = (struct hw_record *)&ring->records[ring->tail & ring->mask];

	/* A copy: the program could change the record between check and use. */
	*to = *from;
	__asm__ volatile("" : : : "memory"); /* checks look at the copy */
	if (!(to->address & HW_RECORD_UNREAD) || !hw_kind_allocates(to->kind) || hw_kind_is_pool(to->kind))
		return true;
	to->address = exchange_acq_rel(&from->address, 0) & ~HW_RECORD_UNREAD;
	return to->address != 0;
}

/* Takes records of the first source until another one is due. */
static int run_take(struct image *self, struct merge_source *source, u64 until, struct err *err)
{
	struct ring_cursor *ring = source_ring(self, source);
	u64 publish_at = ring->published + (ring->mask + 1) / 8;
	int status = 0;

	do {
		struct told_record *told = image_next(self);
		bool taken = record_take(ring, &told->record);

		ring->tail++;
		if (taken)
			status = image_add(self, source->slot, source->nested, told, err);
		if (unlikely(ring->tail >= publish_at)) {
			ring_publish(self, source->slot, source->nested);
			publish_at = ring->published + (ring->mask + 1) / 8;
		}
	} while (likely(status == 0) && ring->tail < ring->limit && ring_next_ticks(ring) <= until);
	return status;
}

static int sources_merge(struct image *self, struct err *err)
{
	int status = 0;

	while (self->sources.count && status == 0) {
		struct merge_source *first = &self->sources.data[0];
		struct ring_cursor *ring = source_ring(self, first);

		status = run_take(self, first, heap_second_ticks(self), err);
		if (ring->tail < ring->limit) {
			first->ticks = ring_next_ticks(ring);
		} else {
			ring_publish(self, first->slot, first->nested);
			*first = self->sources.data[--self->sources.count];
		}
		if (self->sources.count)
			heap_sift_down(self->sources.data, self->sources.count, 0);
	}
	return status;
}

/* After a failure: space is given back unread, so that the program goes on. */
static void sources_discard(struct image *self)
{
	for (u32 i = 0; i < self->slots.count; i++) {
		struct slot_cursor *slot = &self->slots.data[i];

		slot->ring.tail = slot->ring.limit;
		slot->nested.tail = slot->nested.limit;
		ring_publish(self, i, false);
		ring_publish(self, i, true);
	}
}

static u64 sources_available(const struct image *self)
{
	u64 count = 0;

	for (u32 i = 0; i < self->slots.count; i++) {
		const struct slot_cursor *slot = &self->slots.data[i];

		count += slot->ring.limit - slot->ring.tail;
		count += slot->nested.limit - slot->nested.tail;
	}
	return count;
}

u64 merge_cycle(struct image *self, bool last, struct err *err)
{
	u64 now = hw_ticks(), available;

	/* The counter is read before any head: the fence keeps the processor from doing
	 * otherwise. */
	fence_seq_cst();
	if (!sources_collect(self, last ? UINT64_MAX : now - self->margin_ticks))
		err_set(err, ERR_MEMORY, "out of memory while reading the rings");
	available = sources_available(self);
	if (!self->failed && !err->code && modlog_read(self, err) == 0 &&
	    sources_merge(self, err) == 0 && image_feed(self, err) == 0)
		return available;
	sources_discard(self);
	return available;
}

bool image_pressed(const struct image *self)
{
	for (u32 i = 0; i < self->slots.count; i++) {
		const struct hw_slot *shared = berth_slot(&self->berth, i);

		if (load_relaxed(&shared->head) - self->slots.data[i].ring.tail >
		    self->slots.data[i].ring.mask / 2)
			return true;
	}
	return load_relaxed(&self->berth.control->slots_used) > self->slots.count &&
	       self->slots.count < self->berth.layout.slots_max;
}
