/* SPDX-License-Identifier: MIT
 * Findings that rest on inferences: memory that is not used, that is held longer than it is used,
 * and calls that could be spared.
 * Host. Says at most one thing of a kind of cost (space, time, calls) about a point. */
#include "study/analysis/findings/finder.h"

/* A finding that rests on an inference, with its evidence. */
static struct finding begun(const struct finder *self, struct point_id point,
			    enum finding_kind kind, enum inference inference)
{
	const struct behaviour *known = &self->behaviour->points[point.index];
	struct inference_evidence evidence = inference_of(self->inferences, point, inference);

	return (struct finding){.kind = kind,
				.confidence = evidence.confidence,
				.frame = self->model->points.data[point.index].frame,
				.chunks = evidence.chunks,
				.of_chunks = evidence.of_chunks,
				.bytes = evidence.bytes,
				.of_bytes = evidence.of_bytes,
				.byte_ticks = known->hits[inference].byte_ticks,
				.min_size = known->min_size,
				.max_size = known->max_size};
}

/* A repair would save a part of the point's bytes, at the peak or on average. */
static void set_bytes(const struct finder *self, struct finding *one, struct point_id point,
		      double part)
{
	one->amounts[SAVING_PEAK_BYTES] = finding_peak_bytes(&self->costs, point, part);
	one->amounts[SAVING_MEAN_BYTES] = part_of(one->byte_ticks, self->costs.run_ticks);
}

/* Where code was loaded that is not seen to access memory, what it reads or writes for the program
 * looks as if it was only written, or only read: that is how libraries are used, and no reason to
 * look at the program. */
static bool may_be_unseen(const struct finder *self, enum inference inference)
{
	return self->behaviour->plain_libraries &&
	       (inference == INFERENCE_WRITE_ONLY || inference == INFERENCE_READ_ONLY);
}

static bool holds(const struct finder *self, struct point_id point, enum inference inference)
{
	return !may_be_unseen(self, inference) &&
	       inference_of(self->inferences, point, inference).state == STATE_HOLDS;
}

/* Of several inferences that hold the one that costs most bytes × time; INFERENCES if none does. */
static enum inference costliest(const struct finder *self, struct point_id point,
				const enum inference *candidates, u32 count)
{
	const struct behaviour *known = &self->behaviour->points[point.index];
	enum inference best = INFERENCES;

	for (u32 i = 0; i < count; i++)
		if (holds(self, point, candidates[i]) &&
		    (best == INFERENCES ||
		     known->hits[candidates[i]].byte_ticks > known->hits[best].byte_ticks))
			best = candidates[i];
	return best;
}

/* Memory that is not used. */
static int add_space(struct finder *self, struct point_id point, struct err *err)
{
	static const enum inference candidates[] = {INFERENCE_UNUSED, INFERENCE_WRITE_ONLY,
						    INFERENCE_READ_ONLY, INFERENCE_COVERAGE};
	static const u8 kinds[CHUNK_INFERENCES] = {[INFERENCE_UNUSED] = FINDING_UNUSED,
						   [INFERENCE_WRITE_ONLY] = FINDING_WRITE_ONLY,
						   [INFERENCE_READ_ONLY] = FINDING_READ_ONLY,
						   [INFERENCE_COVERAGE] = FINDING_COVERAGE};
	enum inference best = costliest(self, point, candidates, 4);
	const struct behaviour *known = &self->behaviour->points[point.index];
	const struct point_map *map;
	struct finding one;
	double vain; /* bytes */

	if (best == INFERENCES)
		return 0;
	one = begun(self, point, (enum finding_kind)kinds[best], best);
	one.covered_bytes = known->covered_bytes;
	map = model_point_map(self->source->model, point);
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
	set_bytes(self, &one, point, part_of(vain, (double)known->all.bytes));
	one.amounts[SAVING_CPU_NS] = finding_cpu_ns(&self->costs, point, one.allocations, 0);
	self->findings->from_accesses = true;
	return finder_add(self, one, err);
}

/* Whether the point is better told by what it keeps, or never uses: that is idle in any case. */
static bool is_useless(const struct finder *self, struct point_id point)
{
	const struct behaviour *known = &self->behaviour->points[point.index];
	u64 bytes = known->hits[INFERENCE_UNUSED].bytes + known->hits[INFERENCE_WRITE_ONLY].bytes;

	return map_find(&self->leaking, point.index) || 2 * bytes >= known->measured.bytes;
}

/* Memory that is held longer than it is used. */
static int add_time(struct finder *self, struct point_id point, struct err *err)
{
	static const enum inference candidates[] = {INFERENCE_EARLY, INFERENCE_LATE};
	const struct behaviour *known = &self->behaviour->points[point.index];
	enum inference best = costliest(self, point, candidates, 2);
	struct finding one;

	if (best == INFERENCES || is_useless(self, point))
		return 0;
	one = begun(self, point, best == INFERENCE_EARLY ? FINDING_EARLY : FINDING_LATE, best);
	one.ticks = best == INFERENCE_EARLY ? known->early_ticks : known->late_ticks;
	one.timed_chunks = one.chunks;
	set_bytes(self, &one, point, part_of(one.byte_ticks, known->all.byte_ticks));
	self->findings->from_accesses = true;
	return finder_add(self, one, err);
}

/* A repair would spare these calls of the allocator, and copies of so many bytes. */
static int add_spared(struct finder *self, struct finding one, struct point_id point, u64 copied,
		      struct err *err)
{
	one.amounts[SAVING_CPU_NS] =
		finding_cpu_ns(&self->costs, point, one.allocations, (double)copied);
	return finder_add(self, one, err);
}

static int add_growing(struct finder *self, struct point_id point, struct err *err)
{
	const struct behaviour *known = &self->behaviour->points[point.index];
	struct finding one = begun(self, point, FINDING_GROWING, INFERENCE_GROWING);
	u64 runs = known->growth_runs << self->model->count_shift;

	one.growth = known->growth;
	one.growth_runs = known->growth_runs;
	one.allocations = one.chunks > runs ? one.chunks - runs : 0;
	return add_spared(self, one, point, known->replaced_bytes, err);
}

/* Short lives or temporary ones, whichever are more: a thread that is preempted makes a life
 * long. */
static int add_churn(struct finder *self, struct point_id point, struct err *err)
{
	const struct behaviour *known = &self->behaviour->points[point.index];
	u64 brief = known->hits[INFERENCE_SHORT].chunks;
	u64 temporary = known->hits[INFERENCE_TEMPORARY].chunks;
	struct finding one = begun(self, point, FINDING_CHURN,
				   temporary >= brief ? INFERENCE_TEMPORARY : INFERENCE_SHORT);

	one.temporary = 10 * temporary >= 9 * one.chunks;
	one.ticks = known->short_ticks;
	one.timed_chunks = brief;
	one.allocations = one.chunks;
	return add_spared(self, one, point, 0, err);
}

/* A buffer that realloc gives a new size again and again. */
static int add_resized(struct finder *self, struct point_id point, struct err *err)
{
	struct finding one = begun(self, point, FINDING_GROWING, INFERENCE_TEMPORARY);

	one.chunks = one.allocations = self->behaviour->points[point.index].all.chunks;
	return add_spared(self, one, point, 0, err);
}

static int add_zero(struct finder *self, struct point_id point, struct err *err)
{
	struct finding one = begun(self, point, FINDING_ZERO_SIZE, INFERENCE_ZERO_SIZE);

	one.allocations = one.chunks;
	return add_spared(self, one, point, 0, err);
}

/* Calls of the allocator that could be spared. */
static int add_calls(struct finder *self, struct point_id point, struct err *err)
{
	const struct behaviour *known = &self->behaviour->points[point.index];
	bool churns =
		holds(self, point, INFERENCE_SHORT) || holds(self, point, INFERENCE_TEMPORARY);

	if (holds(self, point, INFERENCE_ZERO_SIZE) &&
	    2 * known->hits[INFERENCE_ZERO_SIZE].chunks >= known->all.chunks)
		return add_zero(self, point, err);
	/* A buffer that grows anew in each turn of a loop is told by its growth, also if each step
	 * is at another place. */
	if (holds(self, point, INFERENCE_GROWING) &&
	    (!churns || 2 * known->hits[INFERENCE_GROWING].chunks >= known->all.chunks))
		return add_growing(self, point, err);
	if (churns && self->model->points.data[point.index].kind == HW_REALLOC)
		return add_resized(self, point, err);
	if (churns)
		return add_churn(self, point, err);
	return holds(self, point, INFERENCE_ZERO_SIZE) ? add_zero(self, point, err) : 0;
}

int finder_add_inferred(struct finder *self, struct point_id point, struct err *err)
{
	int status = add_space(self, point, err);

	if (status == 0)
		status = add_time(self, point, err);
	return status == 0 ? add_calls(self, point, err) : status;
}
