/* SPDX-License-Identifier: MIT
 * The correlator; see correlate.h. Runs on the drain thread. Never reads a clock, a file or shared
 * memory: the same records in the same order give the same events. */
#include "live/drain/correlate.h"

#include <stdlib.h>
#include <string.h>

#include "live/drain/correlate_state.h"

enum {
	AHEAD = 16,            /* records between prefetch and use of a place in the table */
	WAITING_MAX = 1 << 20, /* records that may wait; then the oldest are given up early */
};

struct correlator *correlator_new(const struct stream_sink *sink, bool drop_unknown)
{
	struct correlator *self = calloc(1, sizeof(*self));

	if (!self)
		return NULL;
	self->sink = *sink;
	self->drop_unknown = drop_unknown;
	if (!live_init(&self->live) || !waiting_init(&self->waiting)) {
		correlator_free(self);
		return NULL;
	}
	return self;
}

void correlator_expect_strangers(struct correlator *self) { self->strangers = true; }

void correlator_free(struct correlator *self)
{
	if (!self)
		return;
	live_release(&self->live);
	waiting_release(&self->waiting);
	aggregates_release(&self->aggregates);
	access_rows_release(&self->accesses);
	type_rows_release(&self->types);
	free(self);
}

/* ---- telling --------------------------------------------------------------------------------- */

int correlator_flush(struct correlator *self, struct err *err)
{
	u32 count = self->out_count;
	int status = rows_flush_accesses(self, err);

	self->out_count = 0;
	self->out_first = self->next_chunk;
	if (status == 0 && count && self->sink.events)
		status = self->sink.events(self->sink.self, self->out, count, err);
	return status < 0 ? status : rows_flush_types(self, err);
}

struct about_chunk { /* that an event begins or ends */
	u64 size, chunk;
	u32 context; /* that allocated it */
	u8 flags;    /* EVENT_* */
};

static inline int tell(struct correlator *self, const struct told_record *told,
		       const struct about_chunk *about, struct err *err)
{
	const struct hw_record *record = &told->record;
	struct event *event;

	self->events++;
	if (unlikely(self->aggregating))
		return 0;
	event = &self->out[self->out_count++];
	event->ticks = record->ticks;
	event->address = hw_kind_is_pool(record->kind) ? record->address & ~HW_POOL_ADDRESS
						       : record->address;
	event->size = about->size;
	event->chunk = about->chunk;
	event->context = record->context;
	event->thread = told->thread;
	event->kind = record->kind;
	event->flags = about->flags | (record->flags & HW_RECORD_NESTED ? EVENT_NESTED : 0);
	event->aux = record->aux;
	return likely(self->out_count < OUT_EVENTS) ? 0 : correlator_flush(self, err);
}

static inline void count_birth(struct correlator *self, u64 size, u64 ticks)
{
	struct stream_totals *totals = &self->totals;

	totals->allocations++;
	totals->bytes += size;
	self->live_chunks++;
	self->live_bytes += size;
	if (self->live_bytes > totals->peak_bytes) {
		totals->peak_bytes = self->live_bytes;
		totals->peak_chunks = self->live_chunks;
		totals->peak_ticks = ticks;
	}
}

static inline void count_death(struct correlator *self, u64 size)
{
	self->totals.frees++;
	self->totals.freed_bytes += size;
	self->live_chunks--;
	self->live_bytes -= size;
}

/* The chunk next_chunk is born. */
static inline int tell_new(struct correlator *self, const struct told_record *told, struct err *err)
{
	const struct about_chunk born = {told->record.size, self->next_chunk++,
					 told->record.context, 0};

	count_birth(self, born.size, told->record.ticks);
	if (unlikely(self->aggregating) &&
	    !aggregates_birth(&self->aggregates, born.context, born.size))
		return correlate_no_memory(err);
	return tell(self, told, &born, err);
}

static inline int tell_end(struct correlator *self, const struct told_record *told,
			   const struct about_chunk *ending, struct err *err)
{
	count_death(self, ending->size);
	if (unlikely(self->aggregating) &&
	    !aggregates_death(&self->aggregates, ending->context, ending->size))
		return correlate_no_memory(err);
	return tell(self, told, ending, err);
}

/* As tell_new, for a record in the spill. */
static int tell_birth(struct correlator *self, struct live_block *block,
		      const struct told_record *told, struct err *err)
{
	block->size = told->record.size;
	block->context = told->record.context;
	block_set_chunk(block, self->next_chunk);
	block_set_birth(self, block, (u32)told->record.ticks);
	return rows_settle_types(self, block, told, tell_new(self, told, err), err);
}

/* The chunk ends; its record stays in the spill, as one of nothing, for the caller to remove. */
static int tell_death(struct correlator *self, struct live_block *block,
		      const struct told_record *told, u8 flags, struct err *err)
{
	struct about_chunk ending = {block->size, block->chunk & ~LIVE_QUEUED, block->context,
				     flags};

	block_set_chunk(block, LIVE_NOTHING);
	return tell_end(self, told, &ending, err);
}

/* A record that waited ends the chunk. */
static int tell_waiting_death(struct correlator *self, struct live_block *block,
			      const struct told_record *death, struct err *err)
{
	int status = rows_tell_waiting_access(self, death, block->chunk & ~LIVE_QUEUED, err);

	return status < 0 ? status : tell_death(self, block, death, 0, err);
}

/* A life that was over before the chunk that lives now was born. */
static int tell_life(struct correlator *self, const struct told_record *birth,
		     const struct told_record *death, struct err *err)
{
	struct live_block block = {.address = birth->record.address, .chunk = LIVE_NOTHING};
	int status = tell_birth(self, &block, birth, err);

	return status < 0 ? status : tell_waiting_death(self, &block, death, err);
}

static int tell_unknown_free(struct correlator *self, const struct told_record *told,
			     struct err *err)
{
	int status = rows_tell_waiting_access(self, told, NO_CHUNK, err);

	if (status < 0 || self->drop_unknown)
		return status;
	self->totals.frees++;
	self->totals.unknown_frees++;
	return tell(self, told, &(struct about_chunk){.chunk = NO_CHUNK}, err);
}

static int tell_implied_free(struct correlator *self, struct live_block *block,
			     const struct told_record *birth, struct err *err)
{
	struct told_record death = {.thread = birth->thread};

	death.record.ticks = birth->record.ticks;
	death.record.address = block->address;
	death.record.kind = block->address & HW_POOL_ADDRESS ? HW_POOL_FREE : HW_FREE;
	self->totals.implied_frees++;
	return tell_death(self, block, &death, EVENT_IMPLIED, err);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool queue_open(struct correlator *self, struct live_block *block)
{
	u32 queue;

	if (block_is_queued(block))
		return true;
	queue = waiting_open(&self->waiting, block->extra);
	if (!queue)
		return false;
	block->extra = queue;
	block->chunk |= LIVE_QUEUED;
	return true;
}

/* Takes a record out of the block's queue. */
static struct told_record queue_take(struct correlator *self, struct live_block *block, u32 index)
{
	struct told_record told = self->waiting.waiters.data[index].told;
	u32 birth = self->waiting.queues.data[block->extra].birth;

	if (waiting_take(&self->waiting, index)) {
		block->extra = birth;
		block->chunk &= ~LIVE_QUEUED;
	}
	return told;
}

/* A whole life that belongs before the chunk that lives now. */
static bool life_step(struct correlator *self, struct live_block *block, bool near, int *status,
		      struct err *err)
{
	struct told_record birth_told, death_told;
	u32 death, birth = waiting_life(&self->waiting, block->extra, near, &death);

	if (!birth)
		return false;
	birth_told = queue_take(self, block, birth);
	death_told = queue_take(self, block, death);
	*status = tell_life(self, &birth_told, &death_told, err);
	return true;
}

/* Tells one more event, or one more life, of those that wait; false if none fits. */
static bool queue_step(struct correlator *self, struct live_block *block, int *status,
		       struct err *err)
{
	u32 index = waiting_next(&self->waiting, block->extra, block_is_live(block));
	struct told_record told;

	if (!index)
		return block_is_live(block) && life_step(self, block, false, status, err);
	told = queue_take(self, block, index);
	*status = hw_kind_allocates(told.record.kind) ? tell_birth(self, block, &told, err)
						      : tell_waiting_death(self, block, &told, err);
	return true;
}

/* Nothing more will come: any order that makes births and deaths alternate is better than none, and
 * only where there is no such order was something never told. */
static int queue_force(struct correlator *self, struct live_block *block, struct err *err)
{
	bool alive = block_is_live(block);
	u32 birth = alive ? 0 : waiting_birth(&self->waiting, block->extra);
	u32 first = self->waiting.queues.data[block->extra].first;
	struct told_record told;
	int status = 0;

	/* Where events were lost, a free is most likely among them; else the order was
	 * misjudged. */
	if (alive && !self->totals.lost_events && life_step(self, block, true, &status, err))
		return status;
	if (alive)
		return tell_implied_free(self, block, &self->waiting.waiters.data[first].told, err);
	/* One thread's records are in order: what it freed before a birth was another block. With
	 * several, the death that was told last may have been the one to come after the birth. */
	if (birth && !self->threads)
		birth = 0;
	told = queue_take(self, block, birth ? birth : first);
	return birth ? tell_birth(self, block, &told, err) : tell_unknown_free(self, &told, err);
}

static int queue_step_all(struct correlator *self, struct live_block *block, struct err *err)
{
	int status = 0;

	while (block_is_queued(block) && status == 0 && queue_step(self, block, &status, err)) {
	}
	return status;
}

/* Tells what waits at the address as far as it goes. Removes the block's record if nothing is
 * left. */
static int queue_settle(struct correlator *self, struct live_block *block, struct err *err)
{
	int status = queue_step_all(self, block, err);

	if (!block_is_queued(block) && !block_is_live(block))
		spill_remove(&self->live.spill, block);
	return status;
}

static struct live_block *block_of(struct correlator *self, u32 waiter)
{
	return spill_find(&self->live.spill,
			  self->waiting.waiters.data[waiter].told.record.address);
}

/* Gives up on the oldest record that waits, and on what is before it at its address. */
static int give_up_oldest(struct correlator *self, struct err *err)
{
	u32 oldest = self->waiting.oldest;
	u32 queue = self->waiting.waiters.data[oldest].queue;
	int status = 0;

	self->waiting.queues.data[queue].relaxed = true;
	while (status == 0 && self->waiting.oldest == oldest) {
		struct live_block *block = block_of(self, oldest);

		if (!queue_step(self, block, &status, err))
			status = queue_force(self, block, err);
		if (status == 0)
			status = queue_settle(self, block, err);
	}
	return status;
}

int correlator_relax(struct correlator *self, u64 before_ns, struct err *err)
{
	int status = 0;
	u32 index;

	while (status == 0 && (index = waiting_relax(&self->waiting, before_ns)))
		status = queue_settle(self, block_of(self, index), err);
	return status;
}

int correlator_expire(struct correlator *self, u64 before_ns, struct err *err)
{
	const struct waiting *waiting = &self->waiting;
	int status = 0;

	while (status == 0 && waiting->oldest &&
	       waiting->waiters.data[waiting->oldest].since_ns < before_ns)
		status = give_up_oldest(self, err);
	return status;
}

void correlator_set_time(struct correlator *self, u64 now_ns) { self->now_ns = now_ns; }

/* An allocation at an address where a free waits that was made before it: if strangers are about,
 * the free was of one. (Else the free's own allocation may still come, from a thread that lost the
 * CPU.) */
static int strangers_settle(struct correlator *self, struct live_block *block,
			    const struct told_record *birth, struct err *err)
{
	int status = 0;

	while (status == 0 && block_is_queued(block) && !block_is_live(block)) {
		u32 first = self->waiting.queues.data[block->extra].first;
		const struct told_record *told = &self->waiting.waiters.data[first].told;
		struct told_record death;

		if (!hw_kind_frees(told->record.kind) ||
		    (told->thread != birth->thread && told->record.ticks >= birth->record.ticks))
			break;
		death = queue_take(self, block, first);
		status = tell_unknown_free(self, &death, err);
		if (status == 0)
			status = queue_step_all(self, block, err);
	}
	return status;
}

/* ---- feeding --------------------------------------------------------------------------------- */

static int wait_at(struct correlator *self, struct live_block *block,
		   const struct told_record *told, struct err *err)
{
	struct told_record waits = *told;
	int status;

	waits.serial = self->serial = self->serial == UINT32_MAX ? 1 : self->serial + 1;
	if (!block) {
		block = spill_add(&self->live.spill, told->record.address);
		if (!block)
			return correlate_no_memory(err);
		block->chunk = LIVE_NOTHING;
	}
	if (!queue_open(self, block) ||
	    !waiting_add(&self->waiting, block->extra, &waits, self->now_ns))
		return correlate_no_memory(err);
	status = queue_settle(self, block, err);
	while (status == 0 && self->waiting.count > WAITING_MAX)
		status = give_up_oldest(self, err);
	return status;
}

/* Something lives at the address, or the block is an odd one. */
static int feed_birth_slowly(struct correlator *self, const struct told_record *told,
			     struct err *err)
{
	bool failed;
	struct live_block *block = live_take_out(&self->live, told->record.address, &failed);

	if (block && self->strangers && strangers_settle(self, block, told, err) < 0)
		return err->code;
	if (block && (block_is_live(block) || block_is_queued(block)))
		return wait_at(self, block, told, err);
	if (!block && !failed)
		block = spill_add(&self->live.spill, told->record.address);
	if (!block)
		return correlate_no_memory(err);
	block->chunk = LIVE_NOTHING;
	return tell_birth(self, block, told, err);
}

static inline int feed_birth(struct correlator *self, const struct told_record *told, u32 *leaf,
			     struct err *err)
{
	const struct hw_record *record = &told->record;
	struct live_block block = {
		.address = record->address,
		.size = record->size,
		.chunk = self->next_chunk,
		.context = record->context,
		.extra = (u32)record->ticks,
	};

	if (unlikely(!live_add(&self->live, leaf, &block)))
		return feed_birth_slowly(self, told, err);
	return tell_new(self, told, err);
}

static int feed_death_slowly(struct correlator *self, const struct told_record *told,
			     struct err *err)
{
	struct live_block *block = spill_find(&self->live.spill, told->record.address);
	int status;

	if (!block && told->record.flags & HW_RECORD_UNSURE)
		return 0; /* neither is its birth told */
	if (!block || block_is_queued(block)) {
		struct told_record waits = *told;

		waits.record.size = access_rows_hold(&self->accesses, told);
		return wait_at(self, block, &waits, err);
	}
	status = tell_death(self, block, told, 0, err);
	spill_remove(&self->live.spill, block);
	return status;
}

static inline int feed_death(struct correlator *self, const struct told_record *told, u32 *leaf,
			     struct err *err)
{
	struct live_cell *cell = live_find_in(&self->live, leaf, told->record.address);
	u64 size, chunk;
	u32 context;

	if (unlikely(!cell))
		return feed_death_slowly(self, told, err);
	size = live_cell_size(cell);
	chunk = live_cell_chunk(cell);
	context = live_cell_context(cell);
	live_remove(&self->live, leaf, cell);
	return tell_end(self, told, &(struct about_chunk){size, chunk, context, 0}, err);
}

/* Not inlined, so that the loop over allocations and frees has the registers to itself. */
static __attribute__((noinline)) int feed_other(struct correlator *self,
						const struct told_record *told, struct err *err)
{
	const struct hw_record *record = &told->record;

	switch (record->kind) {
	case HW_NONE:
	case HW_THREAD: return 0;
	case HW_DURATION:
		self->totals.durations++;
		self->totals.duration_ticks += record->size;
		break;
	case HW_MARK:
		if (record->aux == HW_MARK_PAUSED)
			self->strangers = true;
		break;
	case HW_ACCESS: return rows_feed_access(self, told, err);
	case HW_TYPE:
		return (record->aux & HW_TYPE_PART) == HW_TYPE_VTABLE
			       ? rows_feed_vtable(self, record, err)
			       : rows_feed_type(self, told, err);
	case HW_LOST: self->totals.lost_events += record->size; break;
	}
	return tell(self, told, &(struct about_chunk){.size = record->size, .chunk = NO_CHUNK},
		    err);
}

static inline int feed_one(struct correlator *self, const struct told_record *told, u32 *leaf,
			   struct err *err)
{
	/* No allocator hands out address 0; a record that says so is damaged. */
	if (likely(told->record.address != 0)) {
		if (hw_kind_allocates(told->record.kind))
			return feed_birth(self, told, leaf, err);
		if (hw_kind_frees(told->record.kind))
			return feed_death(self, told, leaf, err);
	}
	return feed_other(self, told, err);
}

int correlator_feed(struct correlator *self, const struct told_record *records, u64 count,
		    struct err *err)
{
	u32 *leaves[AHEAD] = {NULL};

	for (u64 i = 0; i < count && i < AHEAD; i++)
		leaves[i] = live_prefetch(&self->live, records[i].record.address);
	for (u64 i = 0; i < count; i++) {
		u32 *leaf = leaves[i % AHEAD];
		int status;

		if (likely(i + AHEAD < count))
			leaves[i % AHEAD] =
				live_prefetch(&self->live, records[i + AHEAD].record.address);
		if (unlikely(!leaf)) /* the first block of its region may have come since */
			leaf = live_prefetch(&self->live, records[i].record.address);
		self->threads |= records[i].thread != 0;
		status = feed_one(self, &records[i], leaf, err);
		if (unlikely(status < 0))
			return status;
	}
	return 0;
}

int correlator_finish(struct correlator *self, struct err *err)
{
	int status = correlator_relax(self, UINT64_MAX, err);

	if (status == 0)
		status = correlator_expire(self, UINT64_MAX, err);
	if (status == 0)
		status = rows_finish_accesses(self, err);
	return status < 0 ? status : correlator_flush(self, err);
}

/* ---- totals ---------------------------------------------------------------------------------- */

int correlator_aggregate(struct correlator *self, u64 ticks, struct err *err)
{
	int status = correlator_flush(self, err);

	self->aggregating = true;
	self->totals.aggregated_from_ticks = ticks;
	return status;
}

int correlator_tell_aggregates(struct correlator *self, struct err *err)
{
	const struct aggregates *sums = &self->aggregates;

	if (!sums->rows.count || !self->sink.aggregates)
		return 0;
	return self->sink.aggregates(self->sink.self, sums->rows.data, sums->rows.count, err);
}

void correlator_totals(const struct correlator *self, struct stream_totals *totals)
{
	*totals = self->totals;
	totals->kept_chunks = self->live_chunks;
	totals->kept_bytes = self->live_bytes;
}

bool correlator_lives(struct correlator *self, u64 address)
{
	const struct live_block *block = spill_find(&self->live.spill, address);

	return live_find(&self->live, address) || (block && block_is_live(block));
}

u64 correlator_waiting(const struct correlator *self) { return self->waiting.count; }

u64 correlator_events(const struct correlator *self) { return self->events; }

u64 correlator_live_bytes(const struct correlator *self) { return self->live_bytes; }

bool correlator_has_strangers(const struct correlator *self) { return self->strangers; }

bool correlator_each_block(const struct correlator *self,
			   bool (*each)(void *data, const struct live_block *block), void *data)
{
	return live_each(&self->live, each, data);
}
