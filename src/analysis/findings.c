/* SPDX-License-Identifier: MIT
 * Inferences, leaks, growth and misuse → one list, by what they cost.
 * Host. Says at most one thing of a kind of cost (space, time, calls) about a point. */
#include "analysis/findings.h"

#include <stdio.h>
#include <string.h>

static const double KEPT_RANK = 0.25; /* what may be on purpose counts a quarter */
/* Before all others; or behind them, where a gap in the recording looks the same. */
static const double CERTAIN_MISUSE_RANK = 3, DOUBTFUL_MISUSE_RANK = 1e-9;

struct finder {
	struct findings *findings;
	const struct stack_source *source;
	const struct model *model;
	const struct findings_query *query;
	const struct behaviour_table *behaviour;
	const struct inferences *inferences;
	struct map by_key;  /* hash of kind and place → row + 1 */
	struct map leaking; /* points with a leak */
	double whole_byte_ticks;
	double whole_allocations;
};

static const char *const kind_names[FINDING_KINDS] = {
	[FINDING_MISUSE] = "misuse",       [FINDING_LEAK] = "leak",
	[FINDING_KEPT] = "kept",           [FINDING_GROWTH] = "growth",
	[FINDING_UNUSED] = "unused",       [FINDING_WRITE_ONLY] = "write_only",
	[FINDING_READ_ONLY] = "read_only", [FINDING_COVERAGE] = "coverage",
	[FINDING_EARLY] = "early",         [FINDING_LATE] = "late",
	[FINDING_CHURN] = "churn",         [FINDING_GROWING] = "growing",
	[FINDING_ZERO_SIZE] = "zero_size",
};

const char *finding_kind_name(enum finding_kind kind) { return kind_names[kind]; }

static int no_memory(struct err *err)
{
	return err_set(err, ERR_MEMORY, "out of memory for the findings");
}

static double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

static double most(double a, double b) { return a > b ? a : b; }

/* ---- merging ---- */

static void merge(struct finding *into, const struct finding *from)
{
	into->points += from->points;
	into->share += from->share;
	into->rank += from->rank;
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
	into->temporary &= from->temporary;
	if (from->confidence > into->confidence)
		into->confidence = from->confidence;
	if (from->growth.steps > into->growth.steps)
		into->growth = from->growth;
	if (from->min_size < into->min_size)
		into->min_size = from->min_size;
	if (from->max_size > into->max_size)
		into->max_size = from->max_size;
	if (from->own_rank > into->own_rank) {
		into->own_rank = from->own_rank;
		into->frame = from->frame;
		into->costliest = from->costliest;
	}
}

/* Errors are listed whatever they cost. */
static bool is_error(const struct finding *finding)
{
	return finding->kind == FINDING_MISUSE ||
	       (finding->kind == FINDING_LEAK && finding->chunk_class == CLASS_LOST);
}

/* Adds a finding of one point, or to the one of the same kind at the same place. */
static int add(struct finder *self, struct finding one, struct err *err)
{
	struct finding_place place = finding_place(self->source, one.frame);
	u64 seed = (u64)one.kind << 16 | (u64)one.chunk_class << 8 | one.misuse;
	u64 *row;

	if (place.foreign && !is_error(&one))
		return 0; /* nothing that the program's developer could change */
	one.points = 1;
	if (one.rank == 0)
		one.rank = one.share;
	one.own_rank = one.rank;
	one.key = finding_place_hash(&place, seed, true);
	row = map_at(&self->by_key, one.key);
	if (!row)
		return no_memory(err);
	if (*row) {
		merge(&self->findings->rows.data[*row - 1], &one);
		return 0;
	}
	snprintf(one.id, sizeof one.id, "%s-%08x", kind_names[one.kind],
		 (u32)finding_place_hash(&place, seed, false));
	if (!vec_push(&self->findings->rows, one))
		return no_memory(err);
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
	const struct point_map *map;
	double in_vain = 0; /* bytes that were asked for */
	struct finding one;

	if (best == INFERENCES)
		return 0;
	one = begun(self, point, (enum finding_kind)kinds[best], best);
	one.covered_bytes = self->behaviour->points[point].covered_bytes;
	map = model_point_map(self->source->model, (struct point_id){point});
	if (map && best == INFERENCE_COVERAGE)
		one.map = *map;
	one.allocations = best == INFERENCE_UNUSED ? one.chunks : 0;
	if (best == INFERENCE_UNUSED)
		in_vain = (double)one.bytes;
	else if (best == INFERENCE_COVERAGE)
		in_vain = (double)one.bytes - one.covered_bytes;
	if (one.min_size == one.max_size && one.chunks) {
		one.costliest.size = one.max_size;
		one.costliest.used = one.covered_bytes *
				     (double)(1ull << self->model->count_shift) /
				     (double)one.chunks;
		one.costliest.of_chunks = one.chunks;
	}
	one.share = most(share(one.byte_ticks, self->whole_byte_ticks),
			 share((double)one.allocations, self->whole_allocations));
	one.share = most(one.share, share(in_vain, (double)self->behaviour->whole.all.bytes));
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
	one.share = share(one.byte_ticks, self->whole_byte_ticks);
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
	one.share = most(share((double)one.allocations, self->whole_allocations),
			 share((double)known->replaced_bytes,
			       (double)self->behaviour->whole.all.bytes));
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
	one.share = share((double)one.allocations, self->whole_allocations);
	return add(self, one, err);
}

static int add_zero(struct finder *self, u32 point, struct err *err)
{
	struct finding one = begun(self, point, FINDING_ZERO_SIZE, INFERENCE_ZERO_SIZE);

	one.allocations = one.chunks;
	one.share = share((double)one.allocations, self->whole_allocations);
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
	/* A buffer that grows anew in each turn of a loop is told by its growth. */
	if (holds(self, point, INFERENCE_GROWING) &&
	    (!churns || 2 * known->hits[INFERENCE_GROWING].chunks >= known->all.chunks))
		return add_growing(self, point, err);
	if (churns)
		return add_churn(self, point, err);
	return holds(self, point, INFERENCE_ZERO_SIZE) ? add_zero(self, point, err) : 0;
}

/* ---- from leaks, growth and misuse ---- */

/* What is reachable may be kept on purpose, and so may what no scan has judged. */
static bool is_leak(u8 chunk_class)
{
	return chunk_class == CLASS_LOST || chunk_class == CLASS_POSSIBLE;
}

static int add_leak(struct finder *self, const struct leak_row *row, struct err *err)
{
	const struct behaviour *known = &self->behaviour->points[row->point.index];
	const struct tally *kept = &known->hits[INFERENCE_KEPT];
	const struct model_point *point = &self->model->points.data[row->point.index];
	struct finding one = {.kind = is_leak(row->chunk_class) ? FINDING_LEAK : FINDING_KEPT,
			      .confidence = row->chunk_class == CLASS_LOST ? SURE_MEASURED
									   : SURE_INFERRED,
			      .chunk_class = row->chunk_class,
			      .frame = point->frame,
			      .chunks = row->chunks,
			      .of_chunks = point->allocations,
			      .bytes = row->bytes,
			      .of_bytes = point->bytes,
			      .min_size = known->min_size,
			      .max_size = known->max_size};

	/* What only lost chunks lead to goes with them; one thing that lives to the end is usual. */
	if (row->chunk_class == CLASS_INDIRECT ||
	    (!is_leak(row->chunk_class) && model_count(self->model, row->chunks) < 2))
		return 0;
	if (self->model->count_shift && one.confidence == SURE_MEASURED)
		one.confidence = SURE_ESTIMATED;
	one.byte_ticks = kept->byte_ticks * share((double)row->bytes, (double)kept->bytes);
	one.share = most(share(one.byte_ticks, self->whole_byte_ticks),
			 share((double)row->bytes, (double)self->model->totals.peak_bytes));
	if (!is_leak(row->chunk_class))
		one.rank = one.share * KEPT_RANK;
	if (!map_put(&self->leaking, row->point.index, 1))
		return no_memory(err);
	return add(self, one, err);
}

static int add_growth(struct finder *self, const struct growth_row *row, struct err *err)
{
	const struct model_point *point = &self->model->points.data[row->point.index];
	struct finding one = {.kind = FINDING_GROWTH,
			      .confidence = SURE_INFERRED,
			      .frame = point->frame,
			      .bytes = (u64)row->growth_bytes,
			      .bytes_per_s = row->bytes_per_s,
			      .chunks = point->allocations,
			      .of_chunks = point->allocations};

	if (map_find(&self->leaking, row->point.index))
		return 0;
	one.share = share(row->growth_bytes, (double)self->model->totals.peak_bytes);
	return add(self, one, err);
}

static int add_misuse(struct finder *self, const struct misuse_row *row, struct err *err)
{
	struct finding one = {.kind = FINDING_MISUSE,
			      .confidence = row->certain ? SURE_MEASURED : SURE_INFERRED,
			      .frame = row->freed,
			      .chunks = row->count << self->model->count_shift,
			      .bytes = row->bytes,
			      .rank = row->certain ? CERTAIN_MISUSE_RANK : DOUBTFUL_MISUSE_RANK,
			      .misuse = row->what};

	return add(self, one, err);
}

static int add_reported(struct finder *self, const struct leak_report *leaks, struct err *err)
{
	int status = 0;

	for (u64 i = 0; i < leaks->misuse.rows.count && status == 0; i++)
		status = add_misuse(self, &leaks->misuse.rows.data[i], err);
	for (u64 i = 0; i < leaks->leaks.rows.count && status == 0; i++)
		status = add_leak(self, &leaks->leaks.rows.data[i], err);
	for (u64 i = 0; i < leaks->growth.rows.count && status == 0; i++)
		status = add_growth(self, &leaks->growth.rows.data[i], err);
	return status;
}

/* ---- the list ---- */

static int heaviest_first(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->frame.index < y->frame.index ? -1 : x->frame.index > y->frame.index;
}

static void drop_small(struct findings *self, double min_share)
{
	u64 kept = 0;

	for (u64 i = 0; i < self->rows.count; i++)
		if (is_error(&self->rows.data[i]) || self->rows.data[i].rank >= min_share)
			self->rows.data[kept++] = self->rows.data[i];
	self->below = self->rows.count - kept;
	self->rows.count = kept;
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
	return ok ? 0 : no_memory(err);
}

static int collect(struct finder *self, const struct leak_report *leaks, struct err *err)
{
	int status = add_reported(self, leaks, err);

	for (u32 i = 0; i < self->behaviour->count && status == 0; i++) {
		status = add_space(self, i, err);
		if (status == 0)
			status = add_time(self, i, err);
		if (status == 0)
			status = add_calls(self, i, err);
	}
	if (status == 0)
		status = number_ids(self->findings, err);
	if (status == 0 && self->findings->rows.count)
		qsort(self->findings->rows.data, self->findings->rows.count,
		      sizeof *self->findings->rows.data, heaviest_first);
	if (status == 0)
		drop_small(self->findings, self->query->min_share);
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
	finder.whole_byte_ticks = behaviour.whole.all.byte_ticks;
	finder.whole_allocations = (double)behaviour.whole.all.chunks;
	if (status == 0)
		status = collect(&finder, leaks, err);
	map_release(&finder.by_key);
	map_release(&finder.leaking);
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
