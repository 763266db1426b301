/* SPDX-License-Identifier: MIT
 * Applies events to the model: the hot loop of a load.
 * Host. An event that names what cannot be (a chunk far beyond all others, a free of a dead chunk)
 * is counted and skipped: the trace may be damaged, the model stays consistent. */
#include "format/tracefile.h"
#include "host/base/keyed.h"
#include "host/base/order.h"
#include "study/model/durations.h"
#include "study/model/each.h"
#include "study/model/fill.h"

/* A damaged stretch may hide so many chunks; a larger jump is nonsense. */
#define CHUNK_JUMP_MAX ((u64)1 << 32)
enum { THREAD_LIMIT = 1 << 24, SNAPSHOT_POINTS_MAX = 1 << 20 };

static int point_make(struct model *self, u32 context, u8 kind, u32 *point, struct err *err)
{
	struct frame_id frame;
	u32 *known;
	int status = context_table_place(&self->contexts, context, &frame, err);

	if (status < 0)
		return status;
	if (!vec_extend(&self->frame_points, (u64)frame.index + 1))
		return err_memory_for(err, "the model");
	known = &self->frame_points.data[frame.index];
	if (*known == 0) {
		struct model_point fresh = {.frame = frame,
					    .kind = kind,
					    .peak_number = self->totals.peak_number};

		if (!vec_push(&self->points, fresh))
			return err_memory_for(err, "the model");
		*known = (u32)self->points.count;
	}
	*point = *known - 1;
	return 0;
}

int model_find_point(struct model *self, u32 context, u8 kind, u32 *point, struct err *err)
{
	int status;

	if (likely(context < self->context_points.count && self->context_points.data[context])) {
		*point = self->context_points.data[context] - 1;
		return 0;
	}
	status = point_make(self, context, kind, point, err);
	if (status < 0)
		return status;
	if (!vec_extend(&self->context_points, (u64)context + 1))
		return err_memory_for(err, "the model");
	self->context_points.data[context] = *point + 1;
	return 0;
}

static struct model_thread *thread_find(struct model *self, u32 index)
{
	if (likely(index < self->threads.count))
		return &self->threads.data[index];
	if (index >= THREAD_LIMIT || !vec_extend(&self->threads, (u64)index + 1))
		return NULL;
	return &self->threads.data[index];
}

static void new_peak(struct model_totals *totals, u64 ticks)
{
	totals->peak_bytes = totals->live_bytes;
	totals->peak_chunks = totals->live_chunks;
	totals->peak_ticks = ticks;
	totals->peak_number++;
}

/* Made if it is new; NULL without memory. */
static struct model_size *size_of_chunks(struct model *self, u64 size)
{
	enum { SIZES_MAX = 1 << 16 };
	const u64 *known;

	if (unlikely(!self->sizes.count)) {
		if (!vec_extend(&self->sizes, MODEL_SIZES_EXACT + 1))
			return NULL;
		for (u64 i = 0; i <= MODEL_SIZES_EXACT; i++)
			self->sizes.data[i].size = i;
	}
	if (likely(size <= MODEL_SIZES_EXACT))
		return &self->sizes.data[size];
	known = map_find(&self->size_numbers, size);
	if (likely(known))
		return &self->sizes.data[*known - 1];
	if (self->sizes.count >= SIZES_MAX)
		size = 1ull << (63 - __builtin_clzll(size));
	return vec_at_key(&self->sizes, &self->size_numbers, size,
			  (struct model_size){.size = size});
}

int model_count_allocation(struct model *self, struct model_point *point, const struct event *event)
{
	struct model_totals *totals = &self->totals;
	struct model_size *same = size_of_chunks(self, event->size);
	u32 class = model_size_class(event->size);
	u64 units, bytes;

	if (!same)
		return ERR_MEMORY;
	model_weigh(self, event->size, &units, &bytes);
	same->units += units;
	same->bytes += bytes;
	same->live_units += units;
	same->live_bytes += bytes;
	point->class_bytes[class] += bytes;
	point->class_live[class] += bytes;
	point_remember_peak(point, totals->peak_number);
	point->allocations += units;
	point->bytes += bytes;
	point->live_chunks += units;
	point->live_bytes += bytes;
	if (point->live_bytes > point->peak_bytes) {
		point->peak_bytes = point->live_bytes;
		point->peak_chunks = point->live_chunks;
		point->peak_ticks = event->ticks;
	}
	totals->allocations += units;
	totals->bytes += bytes;
	totals->live_chunks += units;
	totals->live_bytes += bytes;
	self->kinds[event->kind] += units;
	if (totals->live_bytes > totals->peak_bytes)
		new_peak(totals, event->ticks);
	self->recorded_allocations++;
	self->recorded_bytes += event->size;
	return 0;
}

/* What was told of a chunk that is not looked at any more joins the sums. */
static bool told_add(struct model *self, const struct chunk_page *page, u64 row)
{
	static const struct type_cell nothing;
	u32 k = (u32)(row % CHUNK_PAGE);
	struct type_cell *cell = type_table_cell(&self->type_table, row);
	struct model_told told = {0}, *sum;

	if (likely(!cell || !(cell->kinds[0] | cell->kinds[1])))
		return true;
	told.point = model_point_of(self, page->alloc_context[k]).index;
	told.size = page->size[k];
	told.cell = *cell;
	sum = vec_at_key(&self->told, &self->told_numbers,
			 hash_u64(hash_u64((u64)told.point << 32 | cell->kinds[0]) ^
				  ((u64)cell->kinds[1] << 32 ^ told.size)),
			 told);
	if (!sum)
		return false;
	sum->chunks++;
	if (self->forgets)
		*cell = nothing;
	return true;
}

static int told_order(const void *a, const void *b)
{
	const struct model_told *x = a, *y = b;

	return rising(x->point, y->point) ?: rising(x->size, y->size)
		       ?: rising(x->cell.kinds[0], y->cell.kinds[0])
		       ?: rising(x->cell.kinds[1], y->cell.kinds[1]);
}

bool model_sum_types(struct model *self)
{
	if (self->type_table.chunks[0] || self->type_table.chunks[1])
		EACH_CHUNK (chunk, self, .kept = self->forgets)
			if (!told_add(self, chunk.page, chunk.number))
				return false;
	vec_sort(&self->told, told_order);
	map_release(&self->told_numbers);
	return true;
}

/* What it was is in the sums. */
static bool row_forget(struct model *self, struct model_ended ended)
{
	struct chunk_page *page = chunk_at(&self->chunks, ended.row);
	u32 k = ended.row % CHUNK_PAGE;

	if (!told_add(self, page, ended.row))
		return false;
	page->end[k] = CHUNK_ABSENT;
	page->free_ticks[k] = 0;
	page->chunk_class[k] = CLASS_UNKNOWN;
	rows_remove(&self->rows, ended.chunk);
	return vec_push(&self->free_rows, ended.row);
}

bool model_forget_ended(struct model *self)
{
	bool ok = true;

	for (u64 i = 0; i < self->ended.count && ok; i++)
		ok = row_forget(self, self->ended.data[i]);
	vec_release(&self->ended);
	self->next_ended = 0;
	return ok;
}

/* A chunk has ended. Where there are types, its own may be told a while after that; elsewhere the
 * row is better used again at once. */
static bool row_end(struct model *self, struct model_ended ended)
{
	enum { ENDED_KEPT = 2 * HW_BLOCK_EVENTS_MAX, UNTYPED_EVENTS = 1 << 20 };
	bool typed = self->type_table.kinds.count || self->kinds[HW_NEW] ||
		     self->kinds[HW_NEW_ARRAY] || self->events < UNTYPED_EVENTS;

	if (!typed)
		return (!self->ended.count || model_forget_ended(self)) && row_forget(self, ended);
	if (self->ended.count < ENDED_KEPT)
		return vec_push(&self->ended, ended);
	if (!row_forget(self, self->ended.data[self->next_ended]))
		return false;
	self->ended.data[self->next_ended++] = ended;
	self->next_ended %= ENDED_KEPT;
	return true;
}

/* Where the columns of a new chunk are to be, if chunks that have ended are forgotten; ROW_NONE
 * without memory. */
static u64 row_take(struct model *self, u64 chunk)
{
	u64 row = self->free_rows.count ? self->free_rows.data[--self->free_rows.count]
					: self->chunks.count;

	return row < UINT32_MAX && rows_put(&self->rows, chunk, (u32)row) ? row : ROW_NONE;
}

static int allocate(struct model *self, const struct event *event, struct err *err)
{
	u64 row = event->chunk;
	u32 point, k;
	u32 context = model_known_context(self, event->context);
	struct model_thread *thread = thread_find(self, event->thread);
	struct chunk_page *page;
	int status;

	if (!thread || (self->forgets ? rows_find(&self->rows, row) != ROW_NONE
				      : row > self->chunks.count + CHUNK_JUMP_MAX)) {
		self->strange_events++;
		return 0;
	}
	if (self->forgets)
		row = row_take(self, row);
	k = (u32)(row % CHUNK_PAGE);
	page = row == ROW_NONE ? NULL : chunk_table_add(&self->chunks, row);
	if (!page)
		return err_memory_for(err, "the model");
	if (page->end[k] != CHUNK_ABSENT) {
		self->strange_events++;
		return 0;
	}
	status = model_find_point(self, context, event->kind, &point, err);
	if (status < 0)
		return status;
	thread->made++;
	thread->allocations++;
	thread->bytes += event->size;
	page->address[k] = event->address;
	page->size[k] = event->size;
	page->alloc_ticks[k] = event->ticks;
	page->alloc_context[k] = context;
	page->alloc_thread[k] = event->thread;
	page->others[k] = thread->made;
	page->kind[k] = event->kind;
	page->end[k] = CHUNK_LIVE;
	if (model_count_allocation(self, &self->points.data[point], event) < 0)
		return err_memory_for(err, "the model");
	return self->follower ? self->follower->born(self->follower->self, page, k, row, err) : 0;
}

void model_count_free(struct model *self, struct model_point *point, u64 size, bool temporary)
{
	struct model_totals *totals = &self->totals;
	struct model_size *same = size_of_chunks(self, size); /* there since its birth */
	u32 class = model_size_class(size);
	u64 units, bytes;

	model_weigh(self, size, &units, &bytes);
	same->live_units -= units;
	same->live_bytes -= bytes;
	point->class_live[class] -= bytes;
	point_remember_peak(point, totals->peak_number);
	point->frees += units;
	point->freed_bytes += bytes;
	point->live_chunks -= units;
	point->live_bytes -= bytes;
	totals->frees += units;
	totals->freed_bytes += bytes;
	totals->live_chunks -= units;
	totals->live_bytes -= bytes;
	self->recorded_frees++;
	if (!temporary)
		return;
	point->temporary += units;
	point->temporary_bytes += bytes;
	totals->temporary += units;
	totals->temporary_bytes += bytes;
}

/* The free as a call of its own, whatever became of its chunk. */
static void count_free_call(struct model *self, const struct event *event)
{
	u64 units = 1ull << self->count_shift, bytes;

	if (event->flags & EVENT_IMPLIED) {
		self->implied_frees++;
		return;
	}
	if (event->chunk != NO_CHUNK)
		model_weigh(self, event->size, &units, &bytes);
	self->kinds[event->kind] += units;
	if (event->kind == HW_REALLOC_FREE && event->aux != 1)
		self->realloc_frees_alone += units;
}

/* A block that ends by another family than it began; an implied free has no family, and one by a
 * function that is free and delete at once has all. */
static void check_family(struct model *self, const struct event *event,
			 const struct chunk_page *page, u32 k)
{
	struct misfit_pair pair = {.alloc_context = page->alloc_context[k],
				   .free_context = event->context,
				   .alloc_kind = page->kind[k],
				   .free_kind = event->kind};

	if (!(event->flags & EVENT_IMPLIED) &&
	    !(event->kind == HW_FREE && event->aux == HW_FREE_ANY_FORM))
		misfits_mismatch(&self->misfits, &pair, event, page->size[k]);
}

static int release(struct model *self, const struct event *event, struct err *err)
{
	u64 row = model_row(self, event->chunk);
	u32 k = (u32)(row % CHUNK_PAGE), point;
	struct model_thread *thread;
	struct chunk_page *page;

	count_free_call(self, event);
	if (row >= self->chunks.count || chunk_end(&self->chunks, row) != CHUNK_LIVE) {
		self->unknown_frees++;
		if (event->chunk == NO_CHUNK)
			misfits_unknown(&self->misfits, event);
		return 0;
	}
	page = chunk_at(&self->chunks, row);
	thread = &self->threads.data[page->alloc_thread[k]];
	page->others[k] = thread->made - page->others[k];
	page->free_ticks[k] = event->ticks;
	page->free_context[k] = event->context;
	page->free_thread[k] = event->thread;
	page->end[k] = event->flags & EVENT_IMPLIED ? CHUNK_IMPLIED : CHUNK_FREED;
	if (unlikely(!misfits_match(page->kind[k], event->kind)))
		check_family(self, event, page, k);
	point = self->context_points.data[page->alloc_context[k]] - 1;
	model_count_free(self, &self->points.data[point], page->size[k], page->others[k] == 0);
	thread = thread_find(self, event->thread);
	if (thread)
		thread->frees++;
	if (!self->follower)
		return 0;
	if (self->follower->ended(self->follower->self, page, k, row, err) < 0)
		return ERR_MEMORY;
	if (!self->forgets)
		return 0;
	return row_end(self, (struct model_ended){event->chunk, (u32)row})
		       ? 0
		       : err_memory_for(err, "the model");
}

/* Programs that take snapshots all the time keep the points of the first ones only. */
int model_add_snapshot(struct model *self, u64 mark, struct err *err)
{
	struct model_snapshot snapshot = {.mark = mark, .first = self->snapshot_points.count};

	if (self->snapshot_points.count > SNAPSHOT_POINTS_MAX) {
		self->snapshots_without_points++;
		return 0;
	}
	for (u32 i = 0; i < self->points.count; i++) {
		const struct model_point *point = &self->points.data[i];
		struct model_snapshot_point live = {{i}, point->live_bytes, point->live_chunks};

		if (point->live_chunks && !vec_push(&self->snapshot_points, live))
			return err_memory_for(err, "the model");
	}
	snapshot.count = self->snapshot_points.count - snapshot.first;
	return vec_push(&self->snapshots, snapshot) ? 0 : err_memory_for(err, "the model");
}

static int add_mark(struct model *self, const struct event *event, struct err *err)
{
	struct model_mark mark = {.ticks = event->ticks,
				  .number = event->size,
				  .kind = event->aux,
				  .name = "",
				  .live_bytes = self->totals.live_bytes,
				  .live_chunks = self->totals.live_chunks};

	if (hw_mark_is_named(mark.kind) && event->address < self->names.count &&
	    self->names.data[event->address])
		mark.name = self->names.data[event->address];
	/* Traces of the first version tell a snapshot by its address alone. */
	if (mark.kind == HW_MARK_NUMBER && event->address == 1)
		mark.kind = HW_MARK_SNAPSHOT;
	self->pauses += mark.kind == HW_MARK_PAUSED || mark.kind == HW_MARK_RESUMED;
	if (!vec_push(&self->marks, mark))
		return err_memory_for(err, "the model");
	return mark.kind == HW_MARK_SNAPSHOT ? model_add_snapshot(self, self->marks.count - 1, err)
					     : 0;
}

static struct model_latest *latest_of(struct model *self, u64 address)
{
	return &self->latest[(address >> 4) % MODEL_LATEST];
}

/* In a run that records all each timed call stands for one: they come by chance. In one that
 * samples they come by chance after events that come by size. */
static void add_duration(struct model *self, const struct event *event, u32 call)
{
	const struct model_latest *latest = latest_of(self, event->address);
	u64 units = 1ull << self->count_shift, bytes;

	self->duration_calls[call]++;
	self->duration_ticks[call] += event->size;
	if (event->address && latest->address != event->address)
		return;
	if (event->address)
		model_weigh(self, latest->size, &units, &bytes);
	duration_bins_add(self->duration_bins[call], event->size,
			  units << (DURATION_WEIGHT_SHIFT - self->count_shift));
}

static int other_event(struct model *self, const struct event *event, struct err *err)
{
	u32 call = event->aux < HW_KIND_COUNT ? event->aux : HW_NONE;

	if (event->kind >= HW_KIND_COUNT || event->kind == HW_NONE) {
		self->strange_events++;
		return 0;
	}
	self->kinds[event->kind]++;
	if (event->kind == HW_FAILED) {
		self->failed[call]++;
	} else if (event->kind == HW_DURATION) {
		add_duration(self, event, call);
	} else if (event->kind == HW_LOST) {
		self->lost_events += event->size;
	} else if (event->kind == HW_MMAP) {
		self->mapped_bytes += event->size;
	} else if (event->kind == HW_MUNMAP) {
		self->unmapped_bytes += event->size;
	} else if (event->kind == HW_MARK) {
		return add_mark(self, event, err);
	}
	return 0;
}

int model_fill_events(void *data, const struct event *events, u64 count, struct err *err)
{
	struct model *self = data;
	int status = 0;

	if (self->store)
		column_store_trim(self->store);
	for (u64 i = 0; i < count && status == 0; i++) {
		const struct event *event = &events[i];
		bool allocates = hw_kind_allocates(event->kind);

		if (unlikely(event->ticks > self->wake_ticks) && self->follower)
			status = self->follower->time(self->follower->self, event->ticks, err);
		if (status < 0)
			break;
		if (event->ticks > self->last_ticks)
			self->last_ticks = event->ticks;
		if (!allocates && !hw_kind_frees(event->kind)) {
			status = other_event(self, event, err);
			continue;
		}
		if (allocates)
			status = allocate(self, event, err);
		else
			status = release(self, event, err);
		if (self->count_shift)
			*latest_of(self, event->address) =
				(struct model_latest){event->address, event->size};
		timeline_put(&self->timeline, event->ticks, self->totals.live_bytes,
			     self->totals.live_chunks >> self->count_shift, allocates);
	}
	self->events += count;
	return status;
}

static u64 at_most(u64 value, u64 limit) { return value < limit ? value : limit; }

/* Sampled chunks were summed by the monitor without weights: the mean size tells the weight. */
static struct stream_aggregate weighted(const struct model *self,
					const struct stream_aggregate *row)
{
	struct stream_aggregate out = *row;
	u64 units, bytes;

	if (!self->count_shift)
		return out;
	if (row->allocations) {
		model_weigh(self, row->bytes / row->allocations, &units, &bytes);
		out.allocations = row->allocations * units;
		out.bytes = row->allocations * bytes;
	}
	if (row->frees) {
		model_weigh(self, row->freed_bytes / row->frees, &units, &bytes);
		out.frees = row->frees * units;
		out.freed_bytes = row->frees * bytes;
	}
	return out;
}

static void add_aggregate(struct model *self, struct model_point *point,
			  const struct stream_aggregate *row)
{
	struct model_totals *totals = &self->totals;
	u64 ended = at_most(row->frees, point->live_chunks + row->allocations);
	u64 ended_bytes = at_most(row->freed_bytes, point->live_bytes + row->bytes);

	point_remember_peak(point, totals->peak_number);
	point->allocations += row->allocations;
	point->bytes += row->bytes;
	point->frees += ended;
	point->freed_bytes += ended_bytes;
	point->live_chunks += row->allocations - ended;
	point->live_bytes += row->bytes - ended_bytes;
	totals->allocations += row->allocations;
	totals->bytes += row->bytes;
	totals->frees += ended;
	totals->freed_bytes += ended_bytes;
	totals->live_chunks += row->allocations - ended;
	totals->live_bytes += row->bytes - ended_bytes;
	if (point->live_bytes > point->peak_bytes) {
		/* A lower bound: what happened in between is not known. */
		point->peak_bytes = point->live_bytes;
		point->peak_chunks = point->live_chunks;
		point->peak_ticks = self->last_ticks;
	}
}

int model_fill_aggregates(void *data, const struct stream_aggregate *rows, u64 count,
			  struct err *err)
{
	struct model *self = data;

	self->aggregated = true;
	for (u64 i = 0; i < count; i++) {
		struct stream_aggregate row = weighted(self, &rows[i]);
		u32 point;
		int status = model_find_point(self, model_known_context(self, row.context), HW_NONE,
					      &point, err);

		if (status < 0)
			return status;
		add_aggregate(self, &self->points.data[point], &row);
		self->aggregated_allocations += rows[i].allocations;
		self->aggregated_frees += rows[i].frees;
		self->recorded_allocations += rows[i].allocations;
		self->recorded_bytes += rows[i].bytes;
		self->recorded_frees += rows[i].frees;
	}
	return 0;
}
