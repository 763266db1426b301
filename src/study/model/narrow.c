/* SPDX-License-Identifier: MIT
 * Parts of models: the chosen chunks happen once more, in order of time.
 * Host. */
#include "study/model/narrow.h"

#include <string.h>
#include <sys/mman.h>

#include "study/model/each.h"
#include "study/model/fill.h"
#include "study/model/moments.h"

struct replay {
	struct model *self;
	const struct narrow_query *query;
	u64 next_mark;              /* that has not happened yet */
	bool opened;                /* the time in which peaks count has begun */
	bool closed;                /* and is over: */
	struct model_totals totals; /* the peak then */
	struct model_point *points;
};

/* ---- pages ---- */

static bool word_is_chosen(const struct narrow_query *query, u64 chunk)
{
	return !query->words || query->words[chunk / 64] >> (chunk % 64) & 1;
}

static bool page_has_any(const struct narrow_query *query, u64 page)
{
	const u64 *words = query->words ? query->words + page * (CHUNK_PAGE / 64) : NULL;
	bool any = !words;

	for (u32 i = 0; !any && i < CHUNK_PAGE / 64; i++)
		any = words[i] != 0;
	return any;
}

static struct chunk_page *page_copy(struct model *self, const struct chunk_page *from)
{
	struct chunk_page *page = NULL;

	if (self->whole->store)
		page = column_store_copy(self->whole->store, from, sizeof *page);
	if (page)
		return page;
	/* mapped as well, so that all are released in one way */
	page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	memcpy(page, from, sizeof *page);
	return page;
}

static int copy_pages(struct model *self, const struct narrow_query *query, struct err *err)
{
	const struct chunk_table *from = &self->whole->chunks;

	if (!vec_extend(&self->chunks.pages, from->pages.count))
		return err_memory_for(err, "a part of the model");
	self->chunks.count = from->count;
	for (u64 i = 0; i < from->pages.count; i++) {
		struct chunk_page *page;

		if (!from->pages.data[i] || !page_has_any(query, i))
			continue;
		page = page_copy(self, from->pages.data[i]);
		if (!page)
			return err_memory_for(err, "a part of the model");
		self->chunks.pages.data[i] = page;
		for (u32 k = 0; k < CHUNK_PAGE; k++)
			if (!word_is_chosen(query, i * CHUNK_PAGE + k))
				page->end[k] = CHUNK_ABSENT;
	}
	return 0;
}

/* ---- what happens ---- */

/* The time of peaks begins with what is live then. */
static void open_time(struct replay *self)
{
	struct model *model = self->self;
	u64 ticks = self->query->from_ticks;

	self->opened = true;
	model->totals.peak_bytes = model->totals.live_bytes;
	model->totals.peak_chunks = model->totals.live_chunks;
	model->totals.peak_ticks = ticks;
	model->totals.peak_number++;
	for (u64 i = 0; i < model->points.count; i++) {
		struct model_point *point = &model->points.data[i];

		point->peak_bytes = point->live_bytes;
		point->peak_chunks = point->live_chunks;
		point->peak_ticks = ticks;
	}
}

static void settle_peak(struct model *model)
{
	for (u64 i = 0; i < model->points.count; i++)
		point_remember_peak(&model->points.data[i], model->totals.peak_number);
}

static void close_time(struct replay *self)
{
	struct model *model = self->self;

	self->closed = true;
	settle_peak(model);
	self->totals = model->totals;
	memcpy(self->points, model->points.data, model->points.count * sizeof *self->points);
}

static void restore_peak(struct replay *self)
{
	struct model *model = self->self;

	model->totals.peak_bytes = self->totals.peak_bytes;
	model->totals.peak_chunks = self->totals.peak_chunks;
	model->totals.peak_ticks = self->totals.peak_ticks;
	for (u64 i = 0; i < model->points.count; i++) {
		struct model_point *point = &model->points.data[i];
		const struct model_point *then = &self->points[i];

		point->peak_bytes = then->peak_bytes;
		point->peak_chunks = then->peak_chunks;
		point->peak_ticks = then->peak_ticks;
		point->at_peak_bytes = then->at_peak_bytes;
		point->at_peak_chunks = then->at_peak_chunks;
	}
}

/* What happens besides chunks until `ticks`: marks, and the limits of the time of peaks. */
static int pass_time(struct replay *self, u64 ticks, struct err *err)
{
	struct model *model = self->self;
	const struct narrow_query *query = self->query;
	int status = 0;

	if (query->to_ticks && !self->opened && ticks >= query->from_ticks)
		open_time(self);
	if (query->to_ticks && !self->closed && ticks > query->to_ticks)
		close_time(self);
	while (status == 0 && self->next_mark < model->marks.count &&
	       model->marks.data[self->next_mark].ticks < ticks) {
		struct model_mark *mark = &model->marks.data[self->next_mark];

		mark->live_bytes = model->totals.live_bytes;
		mark->live_chunks = model->totals.live_chunks;
		if (mark->kind == HW_MARK_SNAPSHOT)
			status = model_add_snapshot(model, self->next_mark, err);
		self->next_mark++;
	}
	return status;
}

static struct model_point *point_of(struct model *model, const struct chunk_page *page, u32 k)
{
	return &model->points.data[model_point_of(model, page->alloc_context[k]).index];
}

static int happen(struct model *model, const struct moment *moment)
{
	u64 chunk = moment->code >> 1;
	const struct chunk_page *page = chunk_at(&model->chunks, chunk);
	u32 k = (u32)(chunk % CHUNK_PAGE);
	struct model_point *point = &model->points.data[moment->point];
	bool is_free = moment->code & 1;

	if (is_free) {
		model_count_free(model, point, page->size[k], page->others[k] == 0);
		if (page->end[k] == CHUNK_IMPLIED)
			model->implied_frees++;
		if (page->free_thread[k] < model->threads.count)
			model->threads.data[page->free_thread[k]].frees++;
	} else {
		struct event event = {.ticks = moment->ticks,
				      .size = page->size[k],
				      .kind = page->kind[k]};

		if (model_count_allocation(model, point, &event) < 0)
			return ERR_MEMORY;
		if (page->alloc_thread[k] < model->threads.count) {
			struct model_thread *thread = &model->threads.data[page->alloc_thread[k]];

			thread->made++;
			thread->allocations++;
			thread->bytes += page->size[k];
		}
	}
	timeline_put(&model->timeline, moment->ticks, model->totals.live_bytes,
		     model->totals.live_chunks >> model->count_shift, !is_free);
	return 0;
}

static int play_part(void *data, const struct moment *moments, u64 count, struct err *err)
{
	struct replay *self = data;
	int status = 0;

	for (u64 i = 0; i < count && status == 0; i++) {
		status = pass_time(self, moments[i].ticks, err);
		if (status == 0 && happen(self->self, &moments[i]) < 0)
			status = err_memory_for(err, "a part of the model");
	}
	return status;
}

static int play(struct model *self, const struct narrow_query *query, struct err *err)
{
	struct replay replay = {.self = self, .query = query};
	int status;

	replay.points = calloc(self->points.count + 1, sizeof *replay.points);
	if (!replay.points || !chunk_table_make_zones(&self->chunks))
		status = err_memory_for(err, "a part of the model");
	else
		status = moments_each(self, play_part, &replay, err);
	if (status == 0)
		status = pass_time(&replay, UINT64_MAX, err);
	settle_peak(self);
	if (replay.closed)
		restore_peak(&replay);
	free(replay.points);
	return status;
}

/* ---- accesses, classes ---- */

static void sum_chunk(struct model *self, const struct chunk_page *page, u32 k, u64 chunk)
{
	struct chunk_access access;
	u8 class = model_chunk_class(self, chunk);

	if (page->end[k] != CHUNK_FREED && page->end[k] != CHUNK_IMPLIED) {
		self->scan.class_chunks[class]++;
		self->scan.class_bytes[class] += page->size[k];
	}
	if (!self->has_access || !model_chunk_access(self, chunk, &access))
		return;
	access_sums_add(&self->access, &access, page->size[k], false);
	access_sums_add(&point_of(self, page, k)->access, &access, page->size[k], false);
}

static void sum_chunks(struct model *self)
{
	EACH_CHUNK (chunk, self)
		sum_chunk(self, chunk.page, chunk.at, chunk.number);
	for (u64 i = 0; i < self->points.count; i++) {
		struct model_point *point = &self->points.data[i];
		const struct model_point *all = &self->whole->points.data[i];

		if (point->access.chunks == all->access.chunks)
			point->map = all->map;
	}
}

/* Frees are counted as those of the family that began the chunk: what was called is not kept. */
static void guess_frees(struct model *self)
{
	static const u8 ended_by[HW_KIND_COUNT] = {
		[HW_MALLOC] = HW_FREE,    [HW_CALLOC] = HW_FREE, [HW_REALLOC] = HW_FREE,
		[HW_MEMALIGN] = HW_FREE,  [HW_NEW] = HW_DELETE,  [HW_NEW_ARRAY] = HW_DELETE_ARRAY,
		[HW_POOL] = HW_POOL_FREE,
	};

	EACH_CHUNK (chunk, self) {
		u8 ended = ended_by[chunk.page->kind[chunk.at]];
		u64 units, bytes;

		if (chunk.page->end[chunk.at] != CHUNK_FREED || !ended)
			continue;
		model_weigh(self, chunk.page->size[chunk.at], &units, &bytes);
		self->kinds[ended] += units;
	}
}

/* ---- life ---- */

/* Begins as the whole is, and owns what will differ. */
static int begin(struct model *self, const struct model *whole, struct err *err)
{
	*self = *whole;
	self->whole = whole;
	self->store = NULL;
	self->follower = NULL;
	memset(&self->usage_live, 0, sizeof self->usage_live);
	memset(&self->memory_live, 0, sizeof self->memory_live);
	memset(&self->arena, 0, sizeof self->arena);
	memset(&self->chunks, 0, sizeof self->chunks);
	memset(&self->told, 0, sizeof self->told);
	memset(&self->told_numbers, 0, sizeof self->told_numbers);
	memset(&self->points, 0, sizeof self->points);
	memset(&self->sizes, 0, sizeof self->sizes);
	memset(&self->size_numbers, 0, sizeof self->size_numbers);
	memset(&self->threads, 0, sizeof self->threads);
	memset(&self->marks, 0, sizeof self->marks);
	memset(&self->snapshots, 0, sizeof self->snapshots);
	memset(&self->snapshot_points, 0, sizeof self->snapshot_points);
	memset(&self->misfits, 0, sizeof self->misfits);
	memset(&self->totals, 0, sizeof self->totals);
	memset(&self->access, 0, sizeof self->access);
	memset(self->kinds, 0, sizeof self->kinds);
	memset(self->failed, 0, sizeof self->failed);
	memset(self->scan.class_chunks, 0, sizeof self->scan.class_chunks);
	memset(self->scan.class_bytes, 0, sizeof self->scan.class_bytes);
	self->snapshots_without_points = self->realloc_frees_alone = 0;
	self->unknown_frees = self->implied_frees = 0;
	self->mapped_bytes = self->unmapped_bytes = 0;
	self->recorded_allocations = self->recorded_bytes = self->recorded_frees = 0;
	self->aggregated_allocations = self->aggregated_frees = 0;
	timeline_start(&self->timeline, self->image.start_ticks);
	if (!vec_extend(&self->points, whole->points.count) ||
	    !vec_extend(&self->threads, whole->threads.count) ||
	    !vec_extend(&self->marks, whole->marks.count))
		return err_memory_for(err, "a part of the model");
	for (u64 i = 0; i < whole->points.count; i++)
		self->points.data[i] = (struct model_point){.frame = whole->points.data[i].frame,
							    .kind = whole->points.data[i].kind};
	for (u64 i = 0; i < whole->threads.count; i++) {
		const struct model_thread *from = &whole->threads.data[i];

		self->threads.data[i] =
			(struct model_thread){.tid = from->tid, .start_ticks = from->start_ticks};
		memcpy(self->threads.data[i].name, from->name, sizeof from->name);
	}
	for (u64 i = 0; i < whole->marks.count; i++)
		self->marks.data[i] = whole->marks.data[i];
	return 0;
}

/* Places are found in what both share, so it must be done before. */
static int place_contexts(const struct model *whole, struct err *err)
{
	int status = 0;

	for (u32 i = 1; i < whole->contexts.nodes.count && status == 0; i++) {
		struct frame_id frame;

		if (whole->contexts.nodes.data[i].told)
			status = model_place(whole, i, &frame, err);
	}
	return status;
}

struct model *model_narrow(const struct model *whole, const struct narrow_query *query,
			   struct err *err)
{
	struct model *self = model_new();

	if (!self) {
		err_memory_for(err, "a part of the model");
		return NULL;
	}
	if (place_contexts(whole, err) < 0 || begin(self, whole, err) < 0 ||
	    copy_pages(self, query, err) < 0 || play(self, query, err) < 0) {
		self->whole = whole;
		model_free(self);
		return NULL;
	}
	timeline_put(&self->timeline, self->last_ticks, self->totals.live_bytes,
		     model_count(self, self->totals.live_chunks), false);
	sum_chunks(self);
	guess_frees(self);
	if (model_sum_types(self))
		return self;
	err_memory_for(err, "a part of the model");
	model_free(self);
	return NULL;
}

void model_narrow_release(struct model *self)
{
	for (u64 i = 0; i < self->chunks.pages.count; i++)
		if (self->chunks.pages.data[i])
			munmap(self->chunks.pages.data[i], sizeof(struct chunk_page));
	vec_release(&self->chunks.pages);
	vec_release(&self->chunks.zones);
	vec_release(&self->told);
	map_release(&self->told_numbers);
	vec_release(&self->points);
	vec_release(&self->sizes);
	map_release(&self->size_numbers);
	vec_release(&self->threads);
	vec_release(&self->marks);
	vec_release(&self->snapshots);
	vec_release(&self->snapshot_points);
}

u64 model_point_count(const struct model *self)
{
	u64 count = 0;

	for (u64 i = 0; i < self->points.count; i++)
		count += !model_point_is_empty(self, i);
	return count;
}
