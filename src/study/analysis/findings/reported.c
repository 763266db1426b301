/* SPDX-License-Identifier: MIT
 * Findings from leaks, growth, misuse and resident memory.
 * Host. */
#include "study/analysis/findings/finder.h"

/* A burst is what holds the peak of which half was live for less than this part of the run. */
static const double BURST_HELD = 0.1;
/* Programs that read, build and exit grow all the while: whether it would go on is not to be said
 * of a run shorter than this. */
static const u64 FORECAST_NS = 10000000000;

/* What is reachable may be kept on purpose, and so may what no scan has judged. */
static bool is_leak(u8 chunk_class)
{
	return chunk_class == CLASS_LOST || chunk_class == CLASS_INDIRECT ||
	       chunk_class == CLASS_POSSIBLE;
}

/* Whether all lost chunks are of one place. */
static bool is_lost_at_one_place(const struct finder *self, const struct leak_table *leaks)
{
	u64 first = 0;

	for (u64 i = 0; i < leaks->rows.count; i++) {
		const struct leak_row *row = &leaks->rows.data[i];
		struct finding_place place;
		u64 hash;

		if (row->chunk_class != CLASS_LOST)
			continue;
		place = finding_place(self->source,
				      self->model->points.data[row->point.index].frame);
		hash = finding_place_hash(&place, 0, true);
		if (first && hash != first)
			return false;
		first = hash;
	}
	return first != 0;
}

static const struct growth_row *growth_of(const struct finder *self, struct point_id point)
{
	const u64 *course = map_find(&self->rising, point.index);

	return course ? &self->growth->courses.data[*course - 1].growth : NULL;
}

static bool is_short(const struct model *model) { return model_duration_ns(model) < FORECAST_NS; }

static int add_leak(struct finder *self, const struct leak_row *row, struct err *err)
{
	const struct behaviour *known = &self->behaviour->points[row->point.index];
	const struct tally *kept = &known->hits[INFERENCE_KEPT];
	const struct model_point *point = &self->model->points.data[row->point.index];
	const struct growth_row *rises;
	u64 *lost;
	struct finding one = {.kind = is_leak(row->chunk_class) ? FINDING_LEAK : FINDING_KEPT,
			      .confidence = leak_is_certain(row->chunk_class) ? SURE_MEASURED
									      : SURE_INFERRED,
			      .chunk_class = row->chunk_class,
			      .frame = point->frame,
			      .chunks = row->chunks,
			      .of_chunks = point->allocations,
			      .bytes = row->bytes,
			      .of_bytes = point->bytes,
			      .min_size = known->min_size,
			      .max_size = known->max_size};

	if (self->model->count_shift && one.confidence == SURE_MEASURED)
		one.confidence = SURE_ESTIMATED;
	one.byte_ticks = kept->byte_ticks * part_of((double)row->bytes, (double)kept->bytes);
	one.amounts[SAVING_PEAK_BYTES] = (double)row->bytes;
	rises = growth_of(self, row->point);
	/* What grows and is not certainly lost is told as growth: many containers have interior
	 * pointers only. */
	if ((rises || map_find(&self->held, row->point.index)) &&
	    !leak_is_certain(row->chunk_class))
		return 0;
	if (rises && 2 * (double)row->bytes >= rises->growth_bytes)
		one.bytes_per_s = rises->bytes_per_s;
	one.short_run = is_short(self->model);
	if (finding_is_single(self->model, &one))
		return finder_add(self, one, err);
	lost = map_at(&self->leaking, row->point.index);
	if (!lost)
		return err_memory_for(err, "the findings");
	*lost += is_leak(row->chunk_class) ? row->bytes : 0;
	if (self->led && row->chunk_class == CLASS_INDIRECT)
		return 0;
	if (self->led && row->chunk_class == CLASS_LOST) {
		one.led_bytes = self->led_bytes;
		one.amounts[SAVING_PEAK_BYTES] += (double)self->led_bytes;
		self->led_bytes = 0;
	}
	return finder_add(self, one, err);
}

/* Bytes that are for the most part told as a leak. */
static bool is_lost(const struct finder *self, struct point_id point, u64 bytes)
{
	const u64 *lost = map_find(&self->leaking, point.index);

	return lost && *lost >= bytes / 2;
}

static int add_growth(struct finder *self, const struct growth_row *row, struct err *err)
{
	const struct model_point *point = &self->model->points.data[row->point.index];
	struct finding one = {.kind = FINDING_GROWTH,
			      .confidence = SURE_INFERRED,
			      .frame = point->frame,
			      .bytes = is_short(self->model) ? row->to_bytes
							     : (u64)row->growth_bytes,
			      .bytes_per_s = row->bytes_per_s,
			      .short_run = is_short(self->model),
			      .chunks = point->allocations,
			      .of_chunks = point->allocations};

	if (is_lost(self, row->point, one.bytes) || map_find(&self->held, row->point.index))
		return 0;
	one.amounts[SAVING_PEAK_BYTES] = (double)row->to_bytes;
	return finder_add(self, one, err);
}

static bool grows(const struct finder *self, const struct growth_course *course)
{
	return course->grows &&
	       !point_is_noise(self->model, &self->model->points.data[course->point.index]);
}

/* One of the largest points may hold the peak. */
static int add_course(struct finder *self, const struct growth_course *course, struct err *err)
{
	const struct model_point *point = &self->model->points.data[course->point.index];
	struct finding one = {.kind = course->held < BURST_HELD ? FINDING_BURST : FINDING_PEAK,
			      .confidence =
				      self->model->count_shift ? SURE_ESTIMATED : SURE_MEASURED,
			      .frame = point->frame,
			      .chunks = point->at_peak_chunks,
			      .of_chunks = point->allocations,
			      .bytes = point->at_peak_bytes,
			      .of_bytes = point->bytes,
			      .held = course->held,
			      .left_bytes = course->end_bytes,
			      .amounts = {[SAVING_PEAK_BYTES] = (double)point->at_peak_bytes}};

	if (!one.bytes || point_is_noise(self->model, point) ||
	    is_lost(self, course->point, one.bytes))
		return 0;
	return finder_add(self, one, err);
}

static int add_misuse(struct finder *self, const struct misuse_row *row, struct err *err)
{
	struct finding one = {.kind = FINDING_MISUSE,
			      .confidence = row->certain ? SURE_MEASURED : SURE_INFERRED,
			      .frame = row->freed,
			      .chunks = row->count << self->model->count_shift,
			      .bytes = row->bytes,
			      .misuse = row->what};

	return finder_add(self, one, err);
}

static int add_resident(struct finder *self, struct err *err)
{
	struct finding found[RESIDENT_FINDINGS];
	int count = finding_resident(found, self->source, err), status = count < 0 ? count : 0;

	if (count > RESIDENT_FINDINGS) {
		self->findings->wants_chunks = true;
		return 0;
	}
	for (int i = 0; i < count && status == 0; i++)
		status = finder_add(self, found[i], err);
	return status;
}

int finder_add_reported(struct finder *self, const struct leak_report *leaks, struct err *err)
{
	const struct growth_course *courses = leaks->growth.courses.data;
	int status = 0;

	self->growth = &leaks->growth;
	self->led = is_lost_at_one_place(self, &leaks->leaks);
	self->led_bytes = leaks->leaks.classes[CLASS_INDIRECT].bytes;
	for (u64 i = 0; i < leaks->growth.courses.count && status == 0; i++)
		if (grows(self, &courses[i]) &&
		    !map_put(&self->rising, courses[i].point.index, i + 1))
			status = err_memory_for(err, "the findings");
	for (u64 i = 0; i < leaks->misuse.rows.count && status == 0; i++)
		status = add_misuse(self, &leaks->misuse.rows.data[i], err);
	for (u64 i = 0; i < leaks->leaks.rows.count && status == 0; i++)
		status = add_leak(self, &leaks->leaks.rows.data[i], err);
	for (u64 i = 0; i < leaks->growth.courses.count && status == 0; i++)
		status = grows(self, &courses[i]) ? add_growth(self, &courses[i].growth, err) : 0;
	for (u64 i = 0; i < leaks->growth.courses.count && status == 0; i++)
		status = add_course(self, &courses[i], err);
	return status == 0 ? add_resident(self, err) : status;
}
