/* SPDX-License-Identifier: MIT
 * The model's sums into tables and back.
 * Host. What is read may be a stranger's: every number that leads somewhere is checked here;
 * numbers that are counted with may be anything. */
#include "study/model/sums.h"

#include <string.h>

#include "host/base/order.h"
#include "study/model/each.h"
#include "study/model/fill.h"
#include "study/model/index_io.h"

/* Changes whenever any sum is found in another way: then those of older traces are found anew. */
enum { SUMS_MEANING = 1 };

/* ---- tables ---- */

/* One row. */
struct head {
	u64 meaning, events;
	struct model_totals totals;
	u64 last_ticks, snapshots_without_points, pauses;
	u64 realloc_frees_alone, mapped_bytes, unmapped_bytes, unknown_frees, implied_frees;
	u64 lost_events, strange_events;
	u64 recorded_allocations, recorded_bytes, recorded_frees;
	u64 misfits_dropped;
	u64 timeline_width, timeline_limit;
	u64 types_declared, types_vtable;
	bool live_late;
};

struct seen_context { /* by point: those that made it come first */
	u32 context, point;
};

struct mark_row {
	u64 ticks, number, live_bytes, live_chunks;
	u32 kind, name; /* of names: + 1, 0 = none */
};

struct kind_row {
	u64 events, failed, duration_calls, duration_ticks;
};

struct kept_row {
	u64 number, address, size, alloc_ticks;
	u32 context, thread, others;
	u8 kind, end, chunk_class;
};

#define F(member) SUMS_FIELD(ROW, member)

#define ROW struct head
static const struct sums_field head_fields[] = {F(meaning),
						F(events),
						F(totals.allocations),
						F(totals.bytes),
						F(totals.frees),
						F(totals.freed_bytes),
						F(totals.live_bytes),
						F(totals.live_chunks),
						F(totals.peak_bytes),
						F(totals.peak_chunks),
						F(totals.peak_ticks),
						F(totals.peak_number),
						F(totals.temporary),
						F(totals.temporary_bytes),
						F(last_ticks),
						F(snapshots_without_points),
						F(pauses),
						F(realloc_frees_alone),
						F(mapped_bytes),
						F(unmapped_bytes),
						F(unknown_frees),
						F(implied_frees),
						F(lost_events),
						F(strange_events),
						F(recorded_allocations),
						F(recorded_bytes),
						F(recorded_frees),
						F(misfits_dropped),
						F(timeline_width),
						F(timeline_limit),
						F(types_declared),
						F(types_vtable),
						F(live_late)};
#undef ROW
#define ROW struct seen_context
static const struct sums_field context_fields[] = {F(context), F(point)};
#undef ROW
#define ROW struct model_point
static const struct sums_field point_fields[] = {F(allocations),
						 F(bytes),
						 F(frees),
						 F(freed_bytes),
						 F(live_bytes),
						 F(live_chunks),
						 F(peak_bytes),
						 F(peak_chunks),
						 F(peak_ticks),
						 F(at_peak_bytes),
						 F(at_peak_chunks),
						 F(temporary),
						 F(temporary_bytes),
						 F(peak_number),
						 F(class_bytes[0]),
						 F(class_bytes[1]),
						 F(class_bytes[2]),
						 F(class_bytes[3]),
						 F(class_live[0]),
						 F(class_live[1]),
						 F(class_live[2]),
						 F(class_live[3]),
						 F(kind)};
#undef ROW
#define ROW struct model_size
static const struct sums_field size_fields[] = {F(size), F(units), F(bytes), F(live_units),
						F(live_bytes)};
#undef ROW
#define ROW struct model_thread
static const struct sums_field thread_fields[] = {F(made), F(allocations), F(bytes), F(frees)};
#undef ROW
#define ROW struct mark_row
static const struct sums_field mark_fields[] = {F(ticks),       F(number), F(live_bytes),
						F(live_chunks), F(kind),   F(name)};
#undef ROW
#define ROW struct model_snapshot
static const struct sums_field snapshot_fields[] = {F(mark), F(first), F(count)};
#undef ROW
#define ROW struct model_snapshot_point
static const struct sums_field snapshot_point_fields[] = {F(point.index), F(live_bytes),
							  F(live_chunks)};
#undef ROW
#define ROW struct timeline_bucket
static const struct sums_field timeline_fields[] = {F(min_bytes),  F(max_bytes),   F(last_bytes),
						    F(max_chunks), F(last_chunks), F(allocations)};
#undef ROW
#define ROW struct kind_row
static const struct sums_field kind_fields[] = {F(events), F(failed), F(duration_calls),
						F(duration_ticks)};
#undef ROW
#define ROW struct duration_bin
static const struct sums_field duration_fields[] = {F(calls), F(ticks), F(weight), F(squares)};
#undef ROW
#define ROW struct unknown_free
static const struct sums_field unknown_fields[] = {F(ticks), F(address), F(context), F(thread),
						   F(kind)};
#undef ROW
#define ROW struct mismatch
static const struct sums_field mismatch_fields[] = {F(alloc_context), F(free_context),
						    F(alloc_kind),    F(free_kind),
						    F(address),       F(ticks),
						    F(chunks),        F(bytes)};
#undef ROW
#define ROW struct type_identity
static const struct sums_field identity_fields[] = {F(identity)};
#undef ROW
#define ROW struct type_kind
static const struct sums_field type_kind_fields[] = {F(count), F(identity), F(offset), F(source)};
#undef ROW
#define ROW struct model_told
static const struct sums_field told_fields[] = {F(point), F(cell.kinds[0]), F(cell.kinds[1]),
						F(size), F(chunks)};
#undef ROW
#define ROW struct kept_row
static const struct sums_field kept_fields[] = {F(number),      F(address), F(size),
						F(alloc_ticks), F(context), F(thread),
						F(others),      F(kind),    F(end),
						F(chunk_class)};
#undef ROW
static const struct sums_field number_fields[] = {{0, sizeof(u64), false}};

static const struct sums_table tables[SUMS_OF_OTHERS] = {
	[SUMS_OF_HEAD] = SUMS_TABLE(SUMS_OF_HEAD, struct head, head_fields),
	[SUMS_OF_CONTEXTS] = SUMS_TABLE(SUMS_OF_CONTEXTS, struct seen_context, context_fields),
	[SUMS_OF_POINTS] = SUMS_TABLE(SUMS_OF_POINTS, struct model_point, point_fields),
	[SUMS_OF_SIZES] = SUMS_TABLE(SUMS_OF_SIZES, struct model_size, size_fields),
	[SUMS_OF_THREADS] = SUMS_TABLE(SUMS_OF_THREADS, struct model_thread, thread_fields),
	[SUMS_OF_MARKS] = SUMS_TABLE(SUMS_OF_MARKS, struct mark_row, mark_fields),
	[SUMS_OF_SNAPSHOTS] = SUMS_TABLE(SUMS_OF_SNAPSHOTS, struct model_snapshot, snapshot_fields),
	[SUMS_OF_SNAPSHOT_POINTS] = SUMS_TABLE(SUMS_OF_SNAPSHOT_POINTS, struct model_snapshot_point,
					       snapshot_point_fields),
	[SUMS_OF_TIMELINE] = SUMS_TABLE(SUMS_OF_TIMELINE, struct timeline_bucket, timeline_fields),
	[SUMS_OF_KINDS] = SUMS_TABLE(SUMS_OF_KINDS, struct kind_row, kind_fields),
	[SUMS_OF_DURATIONS] = SUMS_TABLE(SUMS_OF_DURATIONS, struct duration_bin, duration_fields),
	[SUMS_OF_UNKNOWN_FREES] =
		SUMS_TABLE(SUMS_OF_UNKNOWN_FREES, struct unknown_free, unknown_fields),
	[SUMS_OF_MISMATCHES] = SUMS_TABLE(SUMS_OF_MISMATCHES, struct mismatch, mismatch_fields),
	[SUMS_OF_IDENTITIES] =
		SUMS_TABLE(SUMS_OF_IDENTITIES, struct type_identity, identity_fields),
	[SUMS_OF_TYPE_KINDS] = SUMS_TABLE(SUMS_OF_TYPE_KINDS, struct type_kind, type_kind_fields),
	[SUMS_OF_TOLD] = SUMS_TABLE(SUMS_OF_TOLD, struct model_told, told_fields),
	[SUMS_OF_USAGE_LIVE] = SUMS_TABLE(SUMS_OF_USAGE_LIVE, u64, number_fields),
	[SUMS_OF_MEMORY_LIVE] = SUMS_TABLE(SUMS_OF_MEMORY_LIVE, u64, number_fields),
	[SUMS_OF_KEPT] = SUMS_TABLE(SUMS_OF_KEPT, struct kept_row, kept_fields),
};

/* ---- writing ---- */

#define put_vec(out_, table_, vec_) sums_out_add(out_, &tables[table_], (vec_)->data, (vec_)->count)

static void put_head(const struct model *self, struct sums_out *out)
{
	struct head head = {.meaning = SUMS_MEANING,
			    .events = self->events,
			    .totals = self->totals,
			    .last_ticks = self->last_ticks,
			    .snapshots_without_points = self->snapshots_without_points,
			    .pauses = self->pauses,
			    .realloc_frees_alone = self->realloc_frees_alone,
			    .mapped_bytes = self->mapped_bytes,
			    .unmapped_bytes = self->unmapped_bytes,
			    .unknown_frees = self->unknown_frees,
			    .implied_frees = self->implied_frees,
			    .lost_events = self->lost_events,
			    .strange_events = self->strange_events,
			    .recorded_allocations = self->recorded_allocations,
			    .recorded_bytes = self->recorded_bytes,
			    .recorded_frees = self->recorded_frees,
			    .misfits_dropped = self->misfits.dropped,
			    .timeline_width = self->timeline.width_ticks,
			    .timeline_limit = self->timeline.limit_ticks,
			    .types_declared = self->type_table.chunks[0],
			    .types_vtable = self->type_table.chunks[1],
			    .live_late = self->live_late};

	sums_out_add(out, &tables[SUMS_OF_HEAD], &head, 1);
}

static int by_point(const void *a, const void *b)
{
	const struct seen_context *x = a, *y = b;

	return rising(x->point, y->point) ?: rising(x->context, y->context);
}

static void put_contexts(const struct model *self, struct sums_out *out)
{
	VEC(struct seen_context) rows = {0};

	for (u32 i = 0; i < self->context_points.count; i++) {
		u32 point = self->context_points.data[i];

		if (point && !vec_push(&rows, ((struct seen_context){i, point - 1})))
			out->failed = true;
	}
	vec_sort(&rows, by_point);
	put_vec(out, SUMS_OF_CONTEXTS, &rows);
	vec_release(&rows);
}

static u32 name_number(const struct model *self, const char *name)
{
	for (u32 i = 0; i < self->names.count; i++)
		if (self->names.data[i] == name)
			return i + 1;
	return 0;
}

static void put_marks(const struct model *self, struct sums_out *out)
{
	for (u64 i = 0; i < self->marks.count; i++) {
		const struct model_mark *mark = &self->marks.data[i];
		struct mark_row row = {.ticks = mark->ticks,
				       .number = mark->number,
				       .live_bytes = mark->live_bytes,
				       .live_chunks = mark->live_chunks,
				       .kind = mark->kind,
				       .name = *mark->name ? name_number(self, mark->name) : 0};

		sums_out_add(out, &tables[SUMS_OF_MARKS], &row, 1);
	}
	put_vec(out, SUMS_OF_SNAPSHOTS, &self->snapshots);
	put_vec(out, SUMS_OF_SNAPSHOT_POINTS, &self->snapshot_points);
}

static void put_kinds(const struct model *self, struct sums_out *out)
{
	for (u32 i = 0; i < HW_KIND_COUNT; i++) {
		struct kind_row row = {self->kinds[i], self->failed[i], self->duration_calls[i],
				       self->duration_ticks[i]};

		sums_out_add(out, &tables[SUMS_OF_KINDS], &row, 1);
	}
	sums_out_add(out, &tables[SUMS_OF_DURATIONS], self->duration_bins,
		     (u64)HW_KIND_COUNT * DURATION_BINS);
}

static int by_number(const void *a, const void *b)
{
	return rising(((const struct kept_row *)a)->number, ((const struct kept_row *)b)->number);
}

static struct kept_row kept_of(const struct chunk *chunk, u64 number)
{
	const struct chunk_page *page = chunk->page;
	u32 k = chunk->at;

	return (struct kept_row){.number = number,
				 .address = page->address[k],
				 .size = page->size[k],
				 .alloc_ticks = page->alloc_ticks[k],
				 .context = page->alloc_context[k],
				 .thread = page->alloc_thread[k],
				 .others = page->others[k],
				 .kind = page->kind[k],
				 .end = page->end[k],
				 .chunk_class = page->chunk_class[k]};
}

/* By row: the chunk that is there. NULL without memory. */
static u64 *numbers_of_rows(const struct model *self)
{
	u64 *numbers = malloc((self->chunks.count + 1) * sizeof *numbers), key, row;

	if (!numbers)
		return NULL;
	for (u64 i = 0; i < self->rows.pages.count; i++) {
		const struct rows_page *page = self->rows.pages.data[i];

		for (u64 k = 0; page && k < ROWS_PAGE; k++)
			if (page->rows[k])
				numbers[page->rows[k] - 1] = i * ROWS_PAGE + k;
	}
	for (u64 at = 0; map_next(&self->rows.few, &at, &key, &row);)
		numbers[row] = key;
	return numbers;
}

static void put_kept(const struct model *self, struct sums_out *out)
{
	u64 *numbers = self->forgets ? numbers_of_rows(self) : NULL;
	VEC(struct kept_row) rows = {0};

	out->failed |= self->forgets && !numbers;
	EACH_CHUNK (chunk, self, .kept = true)
		if (out->failed || !vec_push(&rows, kept_of(&chunk, numbers ? numbers[chunk.number]
									    : chunk.number)))
			out->failed = true;
	vec_sort(&rows, by_number);
	put_vec(out, SUMS_OF_KEPT, &rows);
	vec_release(&rows);
	free(numbers);
}

void model_sums_put(const struct model *self, struct sums_out *out)
{
	out->image = self->image.number;
	put_head(self, out);
	put_contexts(self, out);
	put_vec(out, SUMS_OF_POINTS, &self->points);
	put_vec(out, SUMS_OF_SIZES, &self->sizes);
	put_vec(out, SUMS_OF_THREADS, &self->threads);
	put_marks(self, out);
	sums_out_add(out, &tables[SUMS_OF_TIMELINE], self->timeline.bucket,
		     self->timeline.current + 1ull);
	put_kinds(self, out);
	put_vec(out, SUMS_OF_UNKNOWN_FREES, &self->misfits.unknown);
	put_vec(out, SUMS_OF_MISMATCHES, &self->misfits.mismatches);
	put_vec(out, SUMS_OF_IDENTITIES, &self->type_table.identities);
	put_vec(out, SUMS_OF_TYPE_KINDS, &self->type_table.kinds);
	put_vec(out, SUMS_OF_TOLD, &self->told);
	put_vec(out, SUMS_OF_USAGE_LIVE, &self->usage_live);
	put_vec(out, SUMS_OF_MEMORY_LIVE, &self->memory_live);
	put_kept(self, out);
}

/* ---- reading ---- */

struct taking {
	struct model *model;
	const struct sums_in *in;
	bool bad; /* the sums do not hold together */
	bool no_memory;
};

static bool is_fine(const struct taking *self) { return !self->bad && !self->no_memory; }

/* Rows of a table that begins empty. */
#define take_vec(self_, table_, vec_)                                                              \
	do {                                                                                       \
		u64 rows_ = sums_in_count((self_)->in, &tables[table_]);                           \
                                                                                                   \
		(self_)->bad |= (vec_)->count > rows_;                                             \
		if (is_fine(self_))                                                                \
			(self_)->no_memory |= !vec_extend(vec_, rows_);                            \
		if (is_fine(self_))                                                                \
			(self_)->bad |= !sums_in_get((self_)->in, &tables[table_], (vec_)->data);  \
	} while (0)

static void take_head(struct taking *self, u64 events)
{
	struct model *model = self->model;
	struct head head = {0};

	self->bad |= sums_in_count(self->in, &tables[SUMS_OF_HEAD]) != 1 ||
		     !sums_in_get(self->in, &tables[SUMS_OF_HEAD], &head) ||
		     head.meaning != SUMS_MEANING || (events && head.events != events);
	model->events = head.events;
	model->totals = head.totals;
	model->last_ticks = head.last_ticks;
	model->snapshots_without_points = head.snapshots_without_points;
	model->pauses = head.pauses;
	model->realloc_frees_alone = head.realloc_frees_alone;
	model->mapped_bytes = head.mapped_bytes;
	model->unmapped_bytes = head.unmapped_bytes;
	model->unknown_frees = head.unknown_frees;
	model->implied_frees = head.implied_frees;
	model->lost_events = head.lost_events;
	model->strange_events = head.strange_events;
	model->recorded_allocations = head.recorded_allocations;
	model->recorded_bytes = head.recorded_bytes;
	model->recorded_frees = head.recorded_frees;
	model->misfits.dropped = head.misfits_dropped;
	model->timeline.width_ticks = head.timeline_width;
	model->timeline.limit_ticks = head.timeline_limit;
	model->type_table.chunks[0] = head.types_declared;
	model->type_table.chunks[1] = head.types_vtable;
	model->live_late = head.live_late;
}

/* Points are made again as they were made, so that frames have the same numbers. */
static void take_points(struct taking *self)
{
	struct model *model = self->model;
	VEC(struct seen_context) seen = {0};
	VEC(struct model_point) points = {0};
	struct err err = {0};

	take_vec(self, SUMS_OF_POINTS, &points);
	take_vec(self, SUMS_OF_CONTEXTS, &seen);
	for (u64 i = 0; i < seen.count && is_fine(self); i++) {
		u32 context = seen.data[i].context, point = seen.data[i].point, found;

		self->bad |= model_known_context(model, context) != context ||
			     point >= points.count || points.data[point].kind >= HW_KIND_COUNT;
		if (self->bad)
			break;
		self->no_memory |=
			model_find_point(model, context, points.data[point].kind, &found, &err) < 0;
		self->bad |= found != point;
	}
	self->bad |= model->points.count != points.count;
	for (u64 i = 0; i < points.count && is_fine(self); i++) {
		points.data[i].frame = model->points.data[i].frame;
		model->points.data[i] = points.data[i];
	}
	vec_release(&seen);
	vec_release(&points);
}

static void take_marks(struct taking *self)
{
	struct model *model = self->model;
	VEC(struct mark_row) rows = {0};

	take_vec(self, SUMS_OF_MARKS, &rows);
	for (u64 i = 0; i < rows.count && is_fine(self); i++) {
		const struct mark_row *row = &rows.data[i];
		bool named = row->name && row->name <= model->names.count;
		struct model_mark mark = {.ticks = row->ticks,
					  .number = row->number,
					  .live_bytes = row->live_bytes,
					  .live_chunks = row->live_chunks,
					  .kind = row->kind,
					  .name = named ? model->names.data[row->name - 1] : ""};

		mark.name = mark.name ? mark.name : "";
		self->no_memory |= !vec_push(&model->marks, mark);
	}
	vec_release(&rows);
	take_vec(self, SUMS_OF_SNAPSHOTS, &model->snapshots);
	take_vec(self, SUMS_OF_SNAPSHOT_POINTS, &model->snapshot_points);
}

static void take_timeline(struct taking *self)
{
	struct timeline *timeline = &self->model->timeline;
	u64 count = sums_in_count(self->in, &tables[SUMS_OF_TIMELINE]);

	self->bad |= !count || count > TIMELINE_BUCKETS;
	if (!is_fine(self))
		return;
	timeline->current = (u32)count - 1;
	self->bad |= !sums_in_get(self->in, &tables[SUMS_OF_TIMELINE], timeline->bucket);
}

static void take_kinds(struct taking *self)
{
	struct model *model = self->model;
	struct kind_row rows[HW_KIND_COUNT] = {0};

	self->bad |= sums_in_count(self->in, &tables[SUMS_OF_KINDS]) > HW_KIND_COUNT ||
		     sums_in_count(self->in, &tables[SUMS_OF_DURATIONS]) >
			     (u64)HW_KIND_COUNT * DURATION_BINS;
	if (!is_fine(self))
		return;
	self->bad |= !sums_in_get(self->in, &tables[SUMS_OF_KINDS], rows) ||
		     !sums_in_get(self->in, &tables[SUMS_OF_DURATIONS], model->duration_bins);
	for (u32 i = 0; i < HW_KIND_COUNT; i++) {
		model->kinds[i] = rows[i].events;
		model->failed[i] = rows[i].failed;
		model->duration_calls[i] = rows[i].duration_calls;
		model->duration_ticks[i] = rows[i].duration_ticks;
	}
}

/* Names of identities below 1,024 are facts of the image; others come later. */
static void take_types(struct taking *self)
{
	struct model *model = self->model;
	struct type_table *types = &model->type_table;
	struct err err = {0};

	take_vec(self, SUMS_OF_IDENTITIES, &types->identities);
	take_vec(self, SUMS_OF_TYPE_KINDS, &types->kinds);
	take_vec(self, SUMS_OF_TOLD, &model->told);
	for (u64 i = 0; i < types->identities.count && is_fine(self); i++) {
		u64 identity = types->identities.data[i].identity;

		self->bad |= map_find(&types->by_identity, identity) != NULL;
		self->no_memory |= !map_put(&types->by_identity, identity, i + 1);
	}
	for (u64 i = 0; i < types->identities.count && is_fine(self); i++)
		self->no_memory |=
			model_name_by_number(model, types->identities.data[i].identity, &err) < 0;
}

static void kept_put(struct taking *self, const struct kept_row *row, u64 number)
{
	struct model *model = self->model;
	struct chunk_page *page = chunk_table_add(&model->chunks, number);
	u32 k = (u32)(number % CHUNK_PAGE);

	self->no_memory |= !page;
	self->bad |= row->kind >= HW_KIND_COUNT || row->thread >= model->threads.count ||
		     row->context >= model->context_points.count ||
		     !model->context_points.data[row->context] || row->chunk_class > CLASS_LOST ||
		     (row->end != CHUNK_LIVE && row->end != CHUNK_KEPT && row->end != CHUNK_EXEC);
	if (!is_fine(self))
		return;
	page->address[k] = row->address;
	page->size[k] = row->size;
	page->alloc_ticks[k] = row->alloc_ticks;
	page->alloc_context[k] = row->context;
	page->alloc_thread[k] = row->thread;
	page->others[k] = row->others;
	page->kind[k] = row->kind;
	page->end[k] = row->end;
	page->chunk_class[k] = row->chunk_class;
}

static void take_kept(struct taking *self)
{
	VEC(struct kept_row) rows = {0};

	take_vec(self, SUMS_OF_KEPT, &rows);
	for (u64 i = 0; i < rows.count && is_fine(self); i++)
		kept_put(self, &rows.data[i], i);
	vec_release(&rows);
}

int model_sums_take(struct model *self, const struct sums_in *in, u64 events, struct err *err)
{
	struct taking taking = {.model = self, .in = in};

	self->finished = self->forgets = true;
	take_head(&taking, events);
	take_points(&taking);
	take_vec(&taking, SUMS_OF_SIZES, &self->sizes);
	take_vec(&taking, SUMS_OF_THREADS, &self->threads);
	take_marks(&taking);
	take_timeline(&taking);
	take_kinds(&taking);
	take_vec(&taking, SUMS_OF_UNKNOWN_FREES, &self->misfits.unknown);
	take_vec(&taking, SUMS_OF_MISMATCHES, &self->misfits.mismatches);
	take_types(&taking);
	take_vec(&taking, SUMS_OF_USAGE_LIVE, &self->usage_live);
	take_vec(&taking, SUMS_OF_MEMORY_LIVE, &self->memory_live);
	take_kept(&taking);
	if (taking.no_memory)
		return err_memory_for(err, "the model");
	return taking.bad || !chunk_table_make_zones(&self->chunks) || !index_is_sound(self);
}
