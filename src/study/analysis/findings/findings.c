/* SPDX-License-Identifier: MIT
 * Inferences, leaks, growth and misuse → one list, by what they cost.
 * Host. Says at most one thing of a kind of cost (space, time, calls) about a point. */
#include "study/analysis/findings/cost.h"
#include "study/analysis/typing/types.h"

#include <stdio.h>
#include <string.h>

/* What holds this part of the peak is told; as a burst if half of it was live for less than this part of the run. */
static const double PEAK_SHARE = 0.5, BURST_HELD = 0.1;
/* Programs that read, build and exit grow all the while: whether it would go on is not to be said of a run shorter than this. */
static const u64 FORECAST_NS = 10000000000;

struct finder {
	struct findings *findings;
	const struct stack_source *source;
	const struct model *model;
	const struct findings_query *query;
	const struct behaviour_table *behaviour;
	const struct inferences *inferences;
	struct map by_key;  /* hash of kind and place → row + 1 */
	struct map leaking; /* points with a leak */
	struct map rising;  /* points that grow: number of their course + 1 */
	const struct growth_table *growth;
	bool led;      /* all lost chunks are of one place: what is indirectly lost is told there */
	u64 led_bytes; /* that is to be told yet */
	struct finding_costs costs;
};

static const char *const kind_names[FINDING_KINDS] = {
	[FINDING_MISUSE] = "misuse",       [FINDING_LEAK] = "leak",
	[FINDING_KEPT] = "kept",           [FINDING_GROWTH] = "growth",
	[FINDING_UNUSED] = "unused",       [FINDING_WRITE_ONLY] = "write_only",
	[FINDING_READ_ONLY] = "read_only", [FINDING_COVERAGE] = "coverage",
	[FINDING_EARLY] = "early",         [FINDING_LATE] = "late",
	[FINDING_CHURN] = "churn",         [FINDING_GROWING] = "growing",
	[FINDING_ZERO_SIZE] = "zero_size", [FINDING_PEAK] = "peak",
	[FINDING_BURST] = "burst",         [FINDING_RESIDENT] = "resident",
};

const char *finding_kind_name(enum finding_kind kind) { return kind_names[kind]; }

static double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

/* ---- merging ---- */

static void merge(struct finding *into, const struct finding *from)
{
	into->points += from->points;
	for (u32 i = 0; i < SAVING_UNITS; i++)
		into->amounts[i] += from->amounts[i];
	into->byte_ticks += from->byte_ticks;
	into->allocations += from->allocations;
	into->chunks += from->chunks;
	into->of_chunks += from->of_chunks;
	into->bytes += from->bytes;
	into->of_bytes += from->of_bytes;
	into->ticks += from->ticks;
	into->timed_chunks += from->timed_chunks;
	into->covered_bytes += from->covered_bytes;
	point_map_merge(&into->map, &from->map);
	into->growth_runs += from->growth_runs;
	into->bytes_per_s += from->bytes_per_s;
	into->left_bytes += from->left_bytes;
	into->led_bytes += from->led_bytes;
	into->temporary &= from->temporary;
	if (from->confidence > into->confidence)
		into->confidence = from->confidence;
	if (from->growth.steps > into->growth.steps)
		into->growth = from->growth;
	if (from->min_size < into->min_size)
		into->min_size = from->min_size;
	if (from->max_size > into->max_size)
		into->max_size = from->max_size;
	if (from->own_weight > into->own_weight) {
		into->own_weight = from->own_weight;
		into->held = from->held;
		into->frame = from->frame;
		into->costliest = from->costliest;
	}
}

/* Nothing but lost chunks leads to what is indirectly lost. */
static bool is_certain(u8 chunk_class) { return chunk_class == CLASS_LOST || chunk_class == CLASS_INDIRECT; }

/* Adds a finding of one point, or to the one of the same kind at the same place. */
static int add(struct finder *self, struct finding one, struct err *err)
{
	struct finding_place place = finding_place(self->source, one.frame);
	u64 seed = (u64)one.kind << 16 | (u64)one.chunk_class << 8 | one.misuse;
	u64 *row;

	if (place.foreign && one.kind != FINDING_MISUSE && (one.kind != FINDING_LEAK || !is_certain(one.chunk_class)))
		return 0; /* nothing that the program's developer could change */
	one.points = 1;
	finding_settle(&self->costs, &one);
	one.own_weight = one.saving.share;
	one.key = finding_place_hash(&place, seed, true);
	one.place = finding_place_hash(&place, 0, true);
	row = map_at(&self->by_key, one.key);
	if (!row)
		return err_memory_for(err, "the findings");
	if (*row) {
		merge(&self->findings->rows.data[*row - 1], &one);
		return 0;
	}
	snprintf(one.id, sizeof one.id, "%s-%08x", kind_names[one.kind],
		 (u32)finding_place_hash(&place, seed, false));
	if (!vec_push(&self->findings->rows, one))
		return err_memory_for(err, "the findings");
	*row = self->findings->rows.count;
	return 0;
}

/* ---- from inferences ---- */

/* A finding that rests on an inference, with its evidence. */
static struct finding begun(const struct finder *self, u32 point, enum finding_kind kind,
			    enum inference inference)
{
	const struct behaviour *known = &self->behaviour->points[point];
	struct inference_evidence evidence =
		inference_of(self->inferences, (struct point_id){point}, inference);

	return (struct finding){.kind = kind,
				.confidence = evidence.confidence,
				.frame = self->model->points.data[point].frame,
				.chunks = evidence.chunks,
				.of_chunks = evidence.of_chunks,
				.bytes = evidence.bytes,
				.of_bytes = evidence.of_bytes,
				.byte_ticks = known->hits[inference].byte_ticks,
				.min_size = known->min_size,
				.max_size = known->max_size};
}

/* A repair would save a part of the point's bytes, at the peak or on average. */
static void set_bytes(const struct finder *self, struct finding *one, u32 point, double part)
{
	one->amounts[SAVING_PEAK_BYTES] = finding_peak_bytes(&self->costs, point, part);
	one->amounts[SAVING_MEAN_BYTES] = share(one->byte_ticks, self->costs.run_ticks);
}

/* Where code was loaded that is not seen to access memory, what it reads or writes for the program looks as if it was only written, or
 * only read: that is how libraries are used, and no reason to look at the program. */
static bool may_be_unseen(const struct finder *self, enum inference inference)
{
	return self->behaviour->plain_libraries &&
	       (inference == INFERENCE_WRITE_ONLY || inference == INFERENCE_READ_ONLY);
}

static bool holds(const struct finder *self, u32 point, enum inference inference)
{
	return !may_be_unseen(self, inference) &&
	       inference_of(self->inferences, (struct point_id){point}, inference).state ==
	       STATE_HOLDS;
}

/* Of several inferences that hold the one that costs most bytes × time; INFERENCES if none does. */
static enum inference costliest(const struct finder *self, u32 point,
				const enum inference *candidates, u32 count)
{
	const struct behaviour *known = &self->behaviour->points[point];
	enum inference best = INFERENCES;

	for (u32 i = 0; i < count; i++)
		if (holds(self, point, candidates[i]) &&
		    (best == INFERENCES ||
		     known->hits[candidates[i]].byte_ticks > known->hits[best].byte_ticks))
			best = candidates[i];
	return best;
}

/* Memory that is not used. */
static int add_space(struct finder *self, u32 point, struct err *err)
{
	static const enum inference candidates[] = {INFERENCE_UNUSED, INFERENCE_WRITE_ONLY,
						    INFERENCE_READ_ONLY, INFERENCE_COVERAGE};
	static const u8 kinds[CHUNK_INFERENCES] = {[INFERENCE_UNUSED] = FINDING_UNUSED,
						   [INFERENCE_WRITE_ONLY] = FINDING_WRITE_ONLY,
						   [INFERENCE_READ_ONLY] = FINDING_READ_ONLY,
						   [INFERENCE_COVERAGE] = FINDING_COVERAGE};
	enum inference best = costliest(self, point, candidates, 4);
	const struct behaviour *known = &self->behaviour->points[point];
	const struct point_map *map;
	struct finding one;
	double vain; /* bytes */

	if (best == INFERENCES)
		return 0;
	one = begun(self, point, (enum finding_kind)kinds[best], best);
	one.covered_bytes = known->covered_bytes;
	map = model_point_map(self->source->model, (struct point_id){point});
	if (map && best == INFERENCE_COVERAGE)
		one.map = *map;
	one.allocations = best == INFERENCE_UNUSED ? one.chunks : 0;
	vain = (double)one.bytes - (best == INFERENCE_COVERAGE ? one.covered_bytes : 0);
	if (one.min_size == one.max_size && one.chunks) {
		one.costliest.size = one.max_size;
		one.costliest.used = one.covered_bytes *
				     (double)(1ull << self->model->count_shift) /
				     (double)one.chunks;
		one.costliest.of_chunks = one.chunks;
	}
	set_bytes(self, &one, point, share(vain, (double)known->all.bytes));
	one.amounts[SAVING_CPU_NS] = finding_cpu_ns(&self->costs, point, one.allocations, 0);
	self->findings->from_accesses = true;
	return add(self, one, err);
}

/* Whether the point is better told by what it keeps, or never uses: that is idle in any case. */
static bool is_useless(const struct finder *self, u32 point)
{
	const struct behaviour *known = &self->behaviour->points[point];
	u64 bytes = known->hits[INFERENCE_UNUSED].bytes + known->hits[INFERENCE_WRITE_ONLY].bytes;

	return map_find(&self->leaking, point) || 2 * bytes >= known->measured.bytes;
}

/* Memory that is held longer than it is used. */
static int add_time(struct finder *self, u32 point, struct err *err)
{
	static const enum inference candidates[] = {INFERENCE_EARLY, INFERENCE_LATE};
	const struct behaviour *known = &self->behaviour->points[point];
	enum inference best = costliest(self, point, candidates, 2);
	struct finding one;

	if (best == INFERENCES || is_useless(self, point))
		return 0;
	one = begun(self, point, best == INFERENCE_EARLY ? FINDING_EARLY : FINDING_LATE, best);
	one.ticks = best == INFERENCE_EARLY ? known->early_ticks : known->late_ticks;
	one.timed_chunks = one.chunks;
	set_bytes(self, &one, point, share(one.byte_ticks, known->all.byte_ticks));
	self->findings->from_accesses = true;
	return add(self, one, err);
}

static int add_growing(struct finder *self, u32 point, struct err *err)
{
	const struct behaviour *known = &self->behaviour->points[point];
	struct finding one = begun(self, point, FINDING_GROWING, INFERENCE_GROWING);
	u64 runs = known->growth_runs << self->model->count_shift;

	one.growth = known->growth;
	one.growth_runs = known->growth_runs;
	one.allocations = one.chunks > runs ? one.chunks - runs : 0;
	one.amounts[SAVING_CPU_NS] =
		finding_cpu_ns(&self->costs, point, one.allocations, (double)known->replaced_bytes);
	return add(self, one, err);
}

/* Short lives or temporary ones, whichever are more: a thread that is preempted makes a life long. */
static int add_churn(struct finder *self, u32 point, struct err *err)
{
	const struct behaviour *known = &self->behaviour->points[point];
	u64 brief = known->hits[INFERENCE_SHORT].chunks;
	u64 temporary = known->hits[INFERENCE_TEMPORARY].chunks;
	struct finding one = begun(self, point, FINDING_CHURN,
				   temporary >= brief ? INFERENCE_TEMPORARY : INFERENCE_SHORT);

	one.temporary = 10 * temporary >= 9 * one.chunks;
	one.ticks = known->short_ticks;
	one.timed_chunks = brief;
	one.allocations = one.chunks;
	one.amounts[SAVING_CPU_NS] = finding_cpu_ns(&self->costs, point, one.allocations, 0);
	return add(self, one, err);
}

/* A buffer that realloc gives a new size again and again. */
static int add_resized(struct finder *self, u32 point, struct err *err)
{
	struct finding one = begun(self, point, FINDING_GROWING, INFERENCE_TEMPORARY);

	one.chunks = self->behaviour->points[point].all.chunks;
	one.allocations = one.chunks;
	one.amounts[SAVING_CPU_NS] = finding_cpu_ns(&self->costs, point, one.allocations, 0);
	return add(self, one, err);
}

static int add_zero(struct finder *self, u32 point, struct err *err)
{
	struct finding one = begun(self, point, FINDING_ZERO_SIZE, INFERENCE_ZERO_SIZE);

	one.allocations = one.chunks;
	one.amounts[SAVING_CPU_NS] = finding_cpu_ns(&self->costs, point, one.allocations, 0);
	return add(self, one, err);
}

/* Calls of the allocator that could be spared. */
static int add_calls(struct finder *self, u32 point, struct err *err)
{
	const struct behaviour *known = &self->behaviour->points[point];
	bool churns =
		holds(self, point, INFERENCE_SHORT) || holds(self, point, INFERENCE_TEMPORARY);

	if (holds(self, point, INFERENCE_ZERO_SIZE) &&
	    2 * known->hits[INFERENCE_ZERO_SIZE].chunks >= known->all.chunks)
		return add_zero(self, point, err);
	/* A buffer that grows anew in each turn of a loop is told by its growth, also if each step is at another place. */
	if (holds(self, point, INFERENCE_GROWING) &&
	    (!churns || 2 * known->hits[INFERENCE_GROWING].chunks >= known->all.chunks))
		return add_growing(self, point, err);
	if (churns && self->model->points.data[point].kind == HW_REALLOC)
		return add_resized(self, point, err);
	if (churns)
		return add_churn(self, point, err);
	return holds(self, point, INFERENCE_ZERO_SIZE) ? add_zero(self, point, err) : 0;
}

/* ---- from leaks, growth and misuse ---- */

/* What is reachable may be kept on purpose, and so may what no scan has judged. */
static bool is_leak(u8 chunk_class)
{
	return chunk_class == CLASS_LOST || chunk_class == CLASS_INDIRECT || chunk_class == CLASS_POSSIBLE;
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
		place = finding_place(self->source, self->model->points.data[row->point.index].frame);
		hash = finding_place_hash(&place, 0, true);
		if (first && hash != first)
			return false;
		first = hash;
	}
	return first != 0;
}

static const struct growth_row *growth_of(const struct finder *self, u32 point)
{
	const u64 *course = map_find(&self->rising, point);

	return course ? &self->growth->courses.data[*course - 1].growth : NULL;
}

/* One thing that lives to the end is usual; many stacks may keep one each at the same place. */
static bool is_single(const struct model *model, const struct finding *finding)
{
	return finding->kind == FINDING_KEPT && model_count(model, finding->chunks) < 2;
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
			      .confidence = is_certain(row->chunk_class) ? SURE_MEASURED : SURE_INFERRED,
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
	one.byte_ticks = kept->byte_ticks * share((double)row->bytes, (double)kept->bytes);
	one.amounts[SAVING_PEAK_BYTES] = (double)row->bytes;
	rises = growth_of(self, row->point.index);
	/* What grows and is not certainly lost is told as growth: many containers have interior pointers only. */
	if (rises && !is_certain(row->chunk_class))
		return 0;
	if (rises && 2 * (double)row->bytes >= rises->growth_bytes)
		one.bytes_per_s = rises->bytes_per_s;
	one.short_run = is_short(self->model);
	if (is_single(self->model, &one))
		return add(self, one, err);
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
	return add(self, one, err);
}

/* Bytes that are for the most part told as a leak. */
static bool is_lost(const struct finder *self, u32 point, u64 bytes)
{
	const u64 *lost = map_find(&self->leaking, point);

	return lost && *lost >= bytes / 2;
}

static int add_growth(struct finder *self, const struct growth_row *row, struct err *err)
{
	const struct model_point *point = &self->model->points.data[row->point.index];
	struct finding one = {.kind = FINDING_GROWTH,
			      .confidence = SURE_INFERRED,
			      .frame = point->frame,
			      .bytes = is_short(self->model) ? row->to_bytes : (u64)row->growth_bytes,
			      .bytes_per_s = row->bytes_per_s,
			      .short_run = is_short(self->model),
			      .chunks = point->allocations,
			      .of_chunks = point->allocations};

	if (is_lost(self, row->point.index, one.bytes))
		return 0;
	one.amounts[SAVING_PEAK_BYTES] = (double)row->to_bytes;
	return add(self, one, err);
}

/* A sample has so few of its chunks that what was live at a moment is chance. */
static bool is_noise(const struct model *model, const struct model_point *point)
{
	enum { CHUNKS_ENOUGH = 64 };
	u64 interval = model->image.sample_bytes;

	return point->at_peak_bytes < CHUNKS_ENOUGH * interval &&
	       point->at_peak_bytes < model_count(model, point->at_peak_chunks) * interval;
}

static bool grows(const struct finder *self, const struct growth_course *course)
{
	return course->grows && !is_noise(self->model, &self->model->points.data[course->point.index]);
}

/* One of the largest points may hold the peak. */
static int add_course(struct finder *self, const struct growth_course *course, struct err *err)
{
	const struct model_point *point = &self->model->points.data[course->point.index];
	struct finding one = {.kind = course->held < BURST_HELD ? FINDING_BURST : FINDING_PEAK,
			      .confidence = self->model->count_shift ? SURE_ESTIMATED : SURE_MEASURED,
			      .frame = point->frame,
			      .chunks = point->at_peak_chunks,
			      .of_chunks = point->allocations,
			      .bytes = point->at_peak_bytes,
			      .of_bytes = point->bytes,
			      .held = course->held,
			      .left_bytes = course->end_bytes,
			      .amounts = {[SAVING_PEAK_BYTES] = (double)point->at_peak_bytes}};

	if (!one.bytes || is_noise(self->model, point) || is_lost(self, course->point.index, one.bytes))
		return 0;
	return add(self, one, err);
}

static int add_misuse(struct finder *self, const struct misuse_row *row, struct err *err)
{
	struct finding one = {.kind = FINDING_MISUSE,
			      .confidence = row->certain ? SURE_MEASURED : SURE_INFERRED,
			      .frame = row->freed,
			      .chunks = row->count << self->model->count_shift,
			      .bytes = row->bytes,
			      .misuse = row->what};

	return add(self, one, err);
}

static int add_reported(struct finder *self, const struct leak_report *leaks, struct err *err)
{
	const struct growth_course *courses = leaks->growth.courses.data;
	int status = 0;

	self->growth = &leaks->growth;
	self->led = is_lost_at_one_place(self, &leaks->leaks);
	self->led_bytes = leaks->leaks.classes[CLASS_INDIRECT].bytes;
	for (u64 i = 0; i < leaks->growth.courses.count && status == 0; i++)
		if (grows(self, &courses[i]) && !map_put(&self->rising, courses[i].point.index, i + 1))
			status = err_memory_for(err, "the findings");
	for (u64 i = 0; i < leaks->misuse.rows.count && status == 0; i++)
		status = add_misuse(self, &leaks->misuse.rows.data[i], err);
	for (u64 i = 0; i < leaks->leaks.rows.count && status == 0; i++)
		status = add_leak(self, &leaks->leaks.rows.data[i], err);
	for (u64 i = 0; i < leaks->growth.courses.count && status == 0; i++)
		status = grows(self, &courses[i]) ? add_growth(self, &courses[i].growth, err) : 0;
	for (u64 i = 0; i < leaks->growth.courses.count && status == 0; i++)
		status = add_course(self, &courses[i], err);
	return status;
}

/* ---- the list ---- */

/* Whether b says of the same bytes why they are there, so that a, which holds the peak, need not say that they are. */
static bool is_explained(const struct finding *a, const struct finding *b)
{
	if (a->place != b->place || finding_holds_peak(b) || b->kind == FINDING_KEPT || b->saving.unit == SAVING_CPU_NS)
		return false;
	if (b->kind == FINDING_RESIDENT && a->kind != FINDING_BURST)
		return false; /* what is live most of the time is not there because of what is free */
	return 2 * b->saving.share >= a->saving.share;
}

/* What holds the peak is told only if it is most of it. */
static bool is_most(const struct finding *finding) { return finding_holds_peak(finding) && finding->saving.share >= PEAK_SHARE; }

/* Places of which more is said than that something is kept there. */
static bool find_told(const struct findings *self, struct map *told)
{
	for (u64 i = 0; i < self->rows.count; i++)
		if ((is_most(&self->rows.data[i]) || self->rows.data[i].kind == FINDING_GROWTH) &&
		    !map_put(told, self->rows.data[i].place, 1))
			return false;
	return true;
}

static bool is_said(const struct findings *self, const struct finding *finding, const struct map *told)
{
	if (finding->kind == FINDING_KEPT)
		return map_find(told, finding->place);
	if (!finding_holds_peak(finding))
		return false;
	for (u64 i = 0; i < self->rows.count && is_most(finding); i++)
		if (is_explained(finding, &self->rows.data[i]))
			return true;
	return !is_most(finding);
}

/* Rows that another one explains go, and those that would save too little, which are counted. */
static int drop(struct findings *self, const struct model *model, const struct findings_query *query, struct err *err)
{
	struct map told = {0};
	bool ok = find_told(self, &told);
	u64 listed = 0;

	for (u64 i = 0; i < self->rows.count; i++)
		self->rows.data[i].points *= !is_said(self, &self->rows.data[i], &told) && !is_single(model, &self->rows.data[i]);
	map_release(&told);
	for (u64 i = 0; i < self->rows.count; i++) {
		if (!self->rows.data[i].points)
			continue;
		if (finding_is_listed(&self->rows.data[i], query))
			self->rows.data[listed++] = self->rows.data[i];
		else
			self->below++;
	}
	self->rows.count = listed;
	return ok ? 0 : err_memory_for(err, "the findings");
}

/* Two places in the same functions have the same id: the second one gets a number. */
static int number_ids(struct findings *self, struct err *err)
{
	struct map seen = {0};
	bool ok = true;

	for (u64 i = 0; i < self->rows.count && ok; i++) {
		struct finding *row = &self->rows.data[i];
		u64 *count = map_at(&seen, hash_text(HASH_START, row->id));

		ok = count != NULL;
		if (ok && ++*count > 1) {
			size_t length = strlen(row->id);

			snprintf(row->id + length, sizeof row->id - length, "-%u", (u32)*count);
		}
	}
	map_release(&seen);
	return ok ? 0 : err_memory_for(err, "the findings");
}

/* Whether one place has most of the peak, whatever is said of it. */
static bool has_peak_place(const struct finder *self)
{
	bool has = false;

	for (u64 i = 0; i < self->findings->rows.count; i++)
		has |= self->findings->rows.data[i].amounts[SAVING_PEAK_BYTES] >=
		       PEAK_SHARE * (double)self->model->totals.peak_bytes;
	return has;
}

/* "unsigned char", "u8": buffers of it have nothing in common. */
static bool is_basic(const char *type)
{
	static const char *const words[] = {"char",     "signed",   "unsigned", "short", "int", "long", "bool", "float", "double", "wchar_t",
					    "char8_t", "char16_t", "char32_t", "u8",    "u16", "u32",  "u64",  "usize", "i8",     "i16",
					    "i32",     "i64",      "isize",    "f32",   "f64"};

	while (*type) {
		size_t bytes = strcspn(type, " ");
		bool known = false;

		for (u32 i = 0; i < sizeof words / sizeof *words; i++)
			known |= strlen(words[i]) == bytes && strncmp(words[i], type, bytes) == 0;
		if (!known)
			return false;
		type += bytes + strspn(type + bytes, " ");
	}
	return true;
}

/* What the chunks of a point have in common with those of others: their type, or where that is not known their one size. 0 = nothing. */
static u64 likeness(const struct finder *self, u32 point)
{
	const struct behaviour *known = &self->behaviour->points[point];
	const char *type = stack_type(self->source, self->model->points.data[point].frame);

	if (type)
		return is_basic(type) ? 0 : hash_text(HASH_START, type);
	return known->min_size == known->max_size ? hash_u64(known->min_size) : 0;
}

static bool holds_peak_together(const struct finder *self, const struct finding *finding)
{
	enum { CHUNKS_LEAST = 64 };

	if (finding->of_arena && finding->min_size == finding->max_size)
		return false; /* it makes things of one kind */
	return finding->points > 1 && model_count(self->model, finding->chunks) >= CHUNKS_LEAST &&
	       finding->amounts[SAVING_PEAK_BYTES] >= PEAK_SHARE * (double)self->model->totals.peak_bytes;
}

/* The call that gets blocks of whole KiB, whoever it is for: that is how arenas and pools ask for memory, and callers of xmalloc do not. 0 = it
 * does not. */
static u64 arena_of(const struct finder *self, u32 point)
{
	enum { BLOCK = 1024 };
	const struct behaviour *known = &self->behaviour->points[point];
	struct finding one = {.of_arena = true, .frame = self->model->points.data[point].frame};
	struct finding_place place;

	if (!known->min_size || known->min_size % BLOCK || known->max_size % BLOCK || self->model->points.data[point].bytes % BLOCK)
		return 0;
	place = finding_place_of(self->source, &one);
	return place.foreign ? 0 : finding_place_hash(&place, 0, false);
}

/* The program's call of a library that allocates. 0 = there is none. */
static u64 entry_of(const struct finder *self, u32 point)
{
	struct finding_place entry = finding_entry(self->source, self->model->points.data[point].frame);

	return *entry.own.module ? finding_place_hash(&entry, 0, false) : 0;
}

/* Where no place holds most of the peak, points that have something in common may; like: what the finding is then. */
static int add_common_peak(struct finder *self, u64 (*common)(const struct finder *, u32), struct finding like, struct err *err)
{
	struct map by_common = {0}; /* what they have in common → row + 1 */
	VEC(struct finding) found = {0};
	int status = 0;

	like.kind = FINDING_PEAK;
	like.confidence = SURE_INFERRED;
	like.points = 1;
	like.held = 1;
	for (u32 i = 0; i < self->model->points.count && status == 0; i++) {
		const struct model_point *point = &self->model->points.data[i];
		u64 key = point->at_peak_bytes && !is_noise(self->model, point) ? common(self, i) : 0;
		u64 *row = key ? map_at(&by_common, key) : NULL;
		struct finding one = like;

		if (!key)
			continue;
		one.frame = point->frame;
		one.chunks = point->at_peak_chunks;
		one.of_chunks = point->allocations;
		one.bytes = point->at_peak_bytes;
		one.of_bytes = point->bytes;
		one.min_size = self->behaviour->points[i].min_size;
		one.max_size = self->behaviour->points[i].max_size;
		one.own_weight = one.amounts[SAVING_PEAK_BYTES] = (double)point->at_peak_bytes;
		snprintf(one.id, sizeof one.id, "%s-%08x", kind_names[one.kind], (u32)key);
		if (!row || (!*row && !vec_push(&found, one)))
			status = err_memory_for(err, "the findings");
		else if (*row)
			merge(&found.data[*row - 1], &one);
		else
			*row = found.count;
	}
	for (u64 i = 0; i < found.count && status == 0; i++)
		if (holds_peak_together(self, &found.data[i]) && !vec_push(&self->findings->rows, found.data[i]))
			status = err_memory_for(err, "the findings");
	map_release(&by_common);
	vec_release(&found);
	return status;
}

static int add_resident(struct finder *self, struct err *err)
{
	struct finding one;
	int status = finding_resident(&one, self->model, err);

	return status > 0 ? add(self, one, err) : status;
}

static int collect(struct finder *self, const struct leak_report *leaks, struct err *err)
{
	int status = add_reported(self, leaks, err);

	if (status == 0)
		status = add_resident(self, err);
	if (status == 0 && !has_peak_place(self))
		status = add_common_peak(self, arena_of, (struct finding){.of_arena = true}, err);
	if (status == 0 && !has_peak_place(self))
		status = add_common_peak(self, likeness, (struct finding){.of_type = true}, err);
	if (status == 0 && !has_peak_place(self))
		status = add_common_peak(self, entry_of, (struct finding){.of_entry = true}, err);

	for (u32 i = 0; i < self->behaviour->count && status == 0; i++) {
		status = add_space(self, i, err);
		if (status == 0)
			status = add_time(self, i, err);
		if (status == 0)
			status = add_calls(self, i, err);
	}
	if (status == 0)
		status = number_ids(self->findings, err);
	for (u64 i = 0; i < self->findings->rows.count; i++)
		finding_settle(&self->costs, &self->findings->rows.data[i]);
	if (status == 0 && self->findings->rows.count)
		qsort(self->findings->rows.data, self->findings->rows.count,
		      sizeof *self->findings->rows.data, finding_order);
	if (status == 0)
		status = drop(self->findings, self->model, self->query, err);
	return status;
}

int findings_find(struct findings *self, const struct stack_source *source,
		  const struct leak_report *leaks, const struct findings_query *query,
		  struct err *err)
{
	struct behaviour_table behaviour = {0};
	struct inferences inferences = {0};
	struct finder finder = {.findings = self,
				.source = source,
				.model = source->model,
				.query = query,
				.behaviour = &behaviour,
				.inferences = &inferences};
	int status = behaviour_find(source, &query->thresholds, &behaviour, err);

	if (status == 0)
		status = inferences_find(&inferences, source->model, &behaviour, &query->thresholds,
					 err);
	finder.costs = finding_costs(source->model, behaviour.whole.all.byte_ticks);
	if (status == 0)
		status = collect(&finder, leaks, err);
	map_release(&finder.by_key);
	map_release(&finder.leaking);
	map_release(&finder.rising);
	behaviour_table_release(&behaviour);
	return status;
}

void findings_release(struct findings *self) { vec_release(&self->rows); }

int findings_make(struct findings *self, const struct stack_source *source,
		  const struct trace_info *info, const struct findings_query *query,
		  struct err *err)
{
	struct growth_query growth = growth_defaults();
	struct suppressions suppressions = {0};
	struct leak_report leaks = {0};
	int status = suppressions_add_builtin(&suppressions, err);

	if (status == 0)
		status = leak_report_make(&leaks, source, info, &growth, &suppressions, err);
	if (status == 0)
		status = findings_find(self, source, &leaks, query, err);
	leak_report_release(&leaks);
	suppressions_release(&suppressions);
	return status;
}
