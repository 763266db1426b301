/* SPDX-License-Identifier: MIT
 * Reads the rings of an image's threads in one pass, merged by stamp. Runs on the drain thread.
 * Never waits for a ring, and never lets one ring wait for another.
 *
 * A cycle reads the counter, then every ring's head. What was stamped before that reading is
 * processed now: whatever was published before such a record was stamped lies below the heads, so
 * that no event is told before its cause. What is younger stays for the next cycle, where it is
 * processed whatever its stamp says: a stamp that makes no sense holds nothing up. */
#include "live/drain/image.h"

#include <limits.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/atomics.h"
#include "format/ticks.h"
#include "live/drain/futex.h"
#include "live/drain/image_tap.h"

/* With HW_RUN_LASTING, the longer the record of a birth waits to be read the more likely it is that
 * its chunk ends first, and that nothing has to be done about either. So what is read is what was
 * there so long ago, if the program has run for a while since then; on a busy machine it may not
 * have. */
static const u64 HOLD_NS = 50000000, HOLD_CPU_NS = 25000000, HOLD_NS_MAX = 100000000;

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
		struct slot_cursor slot = {.thread = NO_THREAD};

		slot.ring.records = berth_ring(&self->berth, i);
		slot.ring.mask = hw_ring_size(self->berth.layout.ring_records,
					      self->berth.layout.ring_extra, i) -
				 1;
		slot.ring.marks = berth_marks(&self->berth, i);
		slot.nested.records = berth_nested(&self->berth, i);
		slot.nested.marks = slot.ring.marks + slot.ring.mask + 1;
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

/* ---- records that were taken back ------------------------------------------------------------ */

static const u64 EIGHT = 0x0101010101010101ull;

static void count_marked(struct image *self, u64 marks)
{
	u32 count = (u32)__builtin_popcountll(marks & EIGHT * HW_MARK_ENDED);
	u32 reallocs = (u32)__builtin_popcountll(marks & EIGHT * HW_MARK_OF_REALLOC);

	self->unread.mallocs += count - reallocs;
	self->unread.reallocs += reallocs;
	self->unread.moved += (u32)__builtin_popcountll(marks & EIGHT * HW_MARK_BY_REALLOC);
}

/* Goes on to the next record that is not marked. The records that are were of births, and their
 * lines stay in the program's cache. */
static inline void ring_pass_marked(struct image *self, struct ring_cursor *ring)
{
	while (ring->tail < ring->limit) {
		const u8 *mark = &ring->marks[ring->tail & ring->mask];
		u64 eight;

		if (!(load_relaxed(mark) & HW_MARK_ENDED))
			return;
		if (ring->tail % 8 == 0 && ring->limit - ring->tail >= 8 && ring->mask >= 7) {
			eight = load_relaxed((const u64 *)mark);
			if ((eight & EIGHT * HW_MARK_ENDED) == EIGHT * HW_MARK_ENDED) {
				count_marked(self, eight);
				ring->tail += 8;
				continue;
			}
		}
		count_marked(self, load_relaxed(mark));
		ring->tail++;
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
	struct merge_source source = {.slot = slot, .nested = nested};
	struct ring_cursor *ring = source_ring(self, &source);

	if (ring->tail == ring->limit)
		return true;
	ring_pass_marked(self, ring);
	if (ring->tail == ring->limit) {
		ring_publish(self, slot, nested);
		return true;
	}
	source.ticks = ring_next_ticks(ring);
	return vec_push(&self->sources, source);
}

/* Looks at all heads. */
static bool rings_look(struct image *self, u64 window)
{
	u32 used = load_acquire(&self->berth.control->slots_used);

	if (used > self->berth.layout.slots_max)
		used = self->berth.layout.slots_max;
	if (!slots_extend(self, used))
		return false;
	for (u32 i = 0; i < self->slots.count; i++) {
		struct hw_slot *shared = berth_slot(&self->berth, i);
		struct slot_cursor *slot = &self->slots.data[i];

		/* Acquire: pairs with the recorder's release of head, records below it are
		 * whole. */
		ring_look(self, &slot->ring, load_acquire(&shared->head), window);
		ring_look(self, &slot->nested, load_acquire(&shared->nested_head), window);
	}
	return true;
}

/* Makes the heap of rings that have something to read. */
static bool sources_collect(struct image *self)
{
	vec_clear(&self->sources);
	for (u32 i = 0; i < self->slots.count; i++)
		if (!source_add(self, i, false) || !source_add(self, i, true))
			return false;
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

/* Takes records of the first source until another one is due. */
static int run_take(struct image *self, struct merge_source *source, u64 until, struct err *err)
{
	struct ring_cursor *ring = source_ring(self, source);
	u64 publish_at = ring->published + (ring->mask + 1) / 8;
	int status = 0;

	do {
		struct told_record *told = image_next(self);

		/* A copy: the program could change the record between check and use. */
		told->record = ring->records[ring->tail & ring->mask];
		__asm__ volatile("" : : : "memory"); /* checks look at the copy */
		ring->tail++;
		status = image_add(self, source->slot, source->nested, told, err);
		ring_pass_marked(self, ring);
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
		u64 until = heap_second_ticks(self), mark = image_mark_ticks(self);

		if (unlikely(first->ticks > mark)) {
			status = image_marks_feed(self, first->ticks, err);
			continue;
		}
		status = run_take(self, first, until < mark ? until : mark, err);
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

/* ---- records that wait ----------------------------------------------------------------------- */

static bool image_holds(const struct image *self)
{
	return load_relaxed(&self->berth.control->flags) & HW_RUN_LASTING;
}

/* A moment that is over: what there was then is read together, in all rings, so that causes come
 * first. */
static void hold_note(struct image *self, u64 now_ticks, u64 cpu_ns)
{
	u32 at = (self->hold_newest + 1) % IMAGE_HOLDS;

	if (self->clock_ns - self->holds[self->hold_newest].ns < HOLD_NS_MAX / (IMAGE_HOLDS - 1))
		return;
	self->hold_newest = at;
	self->holds[at].ns = self->clock_ns;
	self->holds[at].cpu_ns = cpu_ns;
	self->holds[at].ticks = now_ticks;
	for (u64 i = 0; i < self->slots.count; i++) {
		self->slots.data[i].ring.held[at] = self->slots.data[i].ring.limit;
		self->slots.data[i].nested.held[at] = self->slots.data[i].nested.limit;
	}
}

/* Where reading ends if that moment counts. A slot that was not there then has nothing to read. */
static u64 held_limit(const struct ring_cursor *ring, u32 at)
{
	return ring->held[at] > ring->tail ? ring->held[at] : ring->tail;
}

static bool leaves_much(const struct image *self, u32 at)
{
	for (u64 i = 0; i < self->slots.count; i++) {
		const struct slot_cursor *slot = &self->slots.data[i];

		if (slot->ring.seen - held_limit(&slot->ring, at) > slot->ring.mask / 2 ||
		    slot->nested.seen - held_limit(&slot->nested, at) > slot->nested.mask / 2)
			return true;
	}
	return false;
}

static bool is_over(const struct image *self, u32 at, u64 cpu_ns)
{
	u64 passed = self->clock_ns - self->holds[at].ns;

	return passed >= HOLD_NS_MAX ||
	       (passed >= HOLD_NS && cpu_ns - self->holds[at].cpu_ns >= HOLD_CPU_NS);
}

/* Holds back what is too young, or less of it where rings would become full. */
static void hold_back(struct image *self, u64 now_ticks)
{
	u64 cpu_ns = image_cpu_ns(self);
	u32 age = 0, at;

	hold_note(self, now_ticks, cpu_ns);
	at = self->hold_newest;
	while (age < IMAGE_HOLDS - 1 && !is_over(self, at, cpu_ns)) {
		at = (at + IMAGE_HOLDS - 1) % IMAGE_HOLDS;
		age++;
	}
	for (; age && leaves_much(self, at); age--)
		at = (at + 1) % IMAGE_HOLDS;
	if (leaves_much(self, at))
		return;
	self->read_ticks = self->holds[at].ticks;
	for (u64 i = 0; i < self->slots.count; i++) {
		struct slot_cursor *slot = &self->slots.data[i];

		slot->ring.limit = held_limit(&slot->ring, at);
		slot->nested.limit = held_limit(&slot->nested, at);
	}
}

bool merge_can_claim(void)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return commands > 0 && commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED;
}

static bool ring_claim(struct ring_cursor *ring, u64 *shared)
{
	if (ring->claimed == ring->limit)
		return false;
	ring->claimed = ring->limit;
	store_relaxed(shared, ring->limit);
	return true;
}

/* What is to be read may be marked no longer. The barrier is in the program's threads: they mark,
 * and then look at what is claimed, without any of their own. */
static void rings_claim(struct image *self)
{
	bool any = false;

	for (u32 i = 0; i < self->slots.count; i++)
		any |= ring_claim(&self->slots.data[i].ring, &berth_slot(&self->berth, i)->claimed);
	if (any)
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

u64 merge_cycle(struct image *self, bool last, struct err *err)
{
	u64 now = hw_ticks(), available;
	bool seen;

	/* The counter is read before any head: the fence keeps the processor from doing
	 * otherwise. */
	fence_seq_cst();
	self->read_ticks = UINT64_MAX;
	seen = rings_look(self, last ? UINT64_MAX : now - self->margin_ticks);
	available = sources_available(self);
	if (seen && !last && image_holds(self))
		hold_back(self, now);
	if (self->claims)
		rings_claim(self);
	if (!seen || !sources_collect(self))
		err_set(err, ERR_MEMORY, "out of memory while reading the rings");
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

		if (hw_ring_pressed(load_relaxed(&shared->head) - self->slots.data[i].ring.tail,
				    self->slots.data[i].ring.mask,
				    load_relaxed(&self->berth.control->flags)))
			return true;
	}
	return load_relaxed(&self->berth.control->slots_used) > self->slots.count &&
	       self->slots.count < self->berth.layout.slots_max;
}
