/* SPDX-License-Identifier: MIT
 * The rules from sums to inferences.
 * Host. */
#include "study/analysis/memoro/inferences.h"

#include <math.h>

#include "host/base/order.h"
#include "study/model/narrow.h"

static const struct {
	const char *name, *meaning;
	bool needs_access;
} table[INFERENCES] = {
	[INFERENCE_UNUSED] = {"unused", "never accessed", true},
	[INFERENCE_WRITE_ONLY] = {"write_only", "written but never read", true},
	[INFERENCE_READ_ONLY] = {"read_only", "read but never written", true},
	[INFERENCE_SHORT] = {"short", "freed soon after the allocation", false},
	[INFERENCE_EARLY] = {"early", "allocated long before the first access", true},
	[INFERENCE_LATE] = {"late", "freed long after the last access", true},
	[INFERENCE_GROWING] = {"growing", "replaced by a larger one several times in a row", false},
	[INFERENCE_COVERAGE] = {"coverage", "only a small part accessed", true},
	[INFERENCE_TEMPORARY] = {"temporary", "freed before its thread allocated again", false},
	[INFERENCE_ZERO_SIZE] = {"zero_size", "allocated with size 0", false},
	[INFERENCE_SHARED] = {"shared", "accessed by more than one thread", true},
	[INFERENCE_FOREIGN_FREE] = {"foreign_free", "freed by another thread", false},
	[INFERENCE_KEPT] = {"kept", "never freed", false},
	[INFERENCE_TOP_BYTES] = {"top_bytes", "among the points with the most live bytes", false},
	[INFERENCE_TOP_ALLOCS] = {"top_allocs", "among the points with the most allocations",
				  false},
	[INFERENCE_READ_WRITE] = {"read_write", "mostly read, or mostly written", true},
};

const char *inference_name(enum inference inference) { return table[inference].name; }
const char *inference_meaning(enum inference inference) { return table[inference].meaning; }
bool inference_needs_access(enum inference inference) { return table[inference].needs_access; }

const char *confidence_name(enum confidence confidence)
{
	static const char *const names[] = {"measured", "estimated", "inferred"};

	return names[confidence];
}

const char *inference_state_name(enum inference_state state)
{
	static const char *const names[] = {"no", "holds", "unknown"};

	return names[state];
}

/* ---- all points together ---- */

static int by_number(const void *a, const void *b)
{
	return rising(*(const u64 *)a, *(const u64 *)b);
}

/* The smallest value that at least 1 - top of the points do not exceed. */
static u64 percentile(u64 *values, u64 count, double top)
{
	u64 rank;

	if (!count)
		return 0;
	qsort(values, count, sizeof *values, by_number);
	/* Without the small part 0.9 × 10 would be rounded up to 10. */
	rank = (u64)ceil((1 - top) * (double)count - 1e-9);
	return values[rank ? rank - 1 : 0];
}

int inferences_find(struct inferences *self, const struct model *model,
		    const struct behaviour_table *behaviour, const struct thresholds *limits,
		    struct err *err)
{
	u64 *values = calloc(model->points.count + 1, sizeof *values);
	u64 count = 0;

	*self = (struct inferences){.model = model, .behaviour = behaviour, .limits = *limits};
	if (!values)
		return err_memory_for(err, "inferences");
	for (u64 i = 0; i < model->points.count; i++) {
		self->sum_peak_bytes += model->points.data[i].peak_bytes;
		if (!model_point_is_empty(model, i))
			values[count++] = model->points.data[i].peak_bytes;
	}
	self->top_bytes = percentile(values, count, limits->top);
	count = 0;
	for (u64 i = 0; i < model->points.count; i++) {
		self->sum_allocations += model->points.data[i].allocations;
		if (!model_point_is_empty(model, i))
			values[count++] = model->points.data[i].allocations;
	}
	self->top_allocs = percentile(values, count, limits->top);
	free(values);
	return 0;
}

/* ---- one point ---- */

static bool reaches(u64 part, u64 whole, double share)
{
	return part && (double)part >= share * (double)whole;
}

static bool is_on_top(u64 value, u64 limit, u64 sum, double floor_share)
{
	return value > limit && (double)value >= floor_share * (double)sum;
}

/* The chunks that a rule looks at: by all, or by those of which enough is known. */
static const struct tally *base_of(const struct behaviour *point, enum inference inference)
{
	switch (inference) {
	case INFERENCE_UNUSED:
	case INFERENCE_WRITE_ONLY:
	case INFERENCE_READ_ONLY:
	case INFERENCE_SHARED:
	case INFERENCE_READ_WRITE: return &point->measured;
	case INFERENCE_EARLY:
	case INFERENCE_LATE:
	case INFERENCE_COVERAGE: return &point->accessed;
	default: return &point->all;
	}
}

/* Of at least so many chunks. */
static bool is_frequent(const struct inferences *self, const struct inference_evidence *evidence,
			double share, u64 chunks)
{
	return model_count(self->model, evidence->of_chunks) >= chunks &&
	       reaches(evidence->chunks, evidence->of_chunks, share);
}

/* At both ends of the intervals in which the numbers are: yes, no, or unknown. */
static enum inference_state one_sided(const struct model_point *point, u64 ratio)
{
	struct access_interval reads = access_interval(&point->access, false),
			       writes = access_interval(&point->access, true);
	double limit = (double)ratio;

	if (!(point->access.reads && point->access.writes))
		return STATE_NO;
	if (reads.low >= limit * writes.high || writes.low >= limit * reads.high)
		return STATE_HOLDS;
	return reads.high < limit * writes.low && writes.high < limit * reads.low ? STATE_NO
										  : STATE_UNKNOWN;
}

static bool holds(const struct inferences *self, const struct behaviour *point,
		  const struct model_point *model_point, enum inference inference,
		  const struct inference_evidence *evidence)
{
	const struct thresholds *limits = &self->limits;

	switch (inference) {
	case INFERENCE_UNUSED:
	case INFERENCE_WRITE_ONLY:
	case INFERENCE_READ_ONLY:
		return reaches(evidence->bytes, evidence->of_bytes, limits->useless_bytes);
	case INFERENCE_SHORT:
		return is_frequent(self, evidence, limits->short_chunks, limits->short_min);
	case INFERENCE_TEMPORARY:
		return is_frequent(self, evidence, limits->temporary_chunks, limits->temporary_min);
	case INFERENCE_EARLY:
	case INFERENCE_LATE:
		return reaches(evidence->bytes, evidence->of_bytes, limits->idle_bytes);
	case INFERENCE_COVERAGE:
		return reaches(evidence->bytes, evidence->of_bytes, limits->coverage_bytes);
	case INFERENCE_GROWING: return point->growth_runs > 0;
	case INFERENCE_ZERO_SIZE:
		return evidence->chunks &&
		       model_count(self->model, evidence->chunks) >= limits->zero_min;
	case INFERENCE_SHARED:
		return reaches(evidence->chunks, evidence->of_chunks, limits->threads);
	case INFERENCE_FOREIGN_FREE:
		return reaches(evidence->chunks, point->freed_chunks, limits->threads);
	case INFERENCE_KEPT:
		return evidence->chunks &&
		       (double)evidence->bytes >
			       limits->kept * (double)self->model->totals.live_bytes;
	case INFERENCE_TOP_BYTES:
		return is_on_top(model_point->peak_bytes, self->top_bytes, self->sum_peak_bytes,
				 limits->top_floor);
	case INFERENCE_TOP_ALLOCS:
		return is_on_top(model_point->allocations, self->top_allocs, self->sum_allocations,
				 limits->top_floor);
	case INFERENCE_READ_WRITE: return false; /* see one_sided */
	case INFERENCES: break;
	}
	return false;
}

/* A kept chunk of which only sums are known has no row of its own, but it is known to be kept. */
static void evidence_fill(const struct inferences *self, const struct behaviour *point,
			  const struct model_point *model_point, enum inference inference,
			  struct inference_evidence *out)
{
	const struct tally *base = base_of(point, inference);

	out->of_chunks = base->chunks;
	out->of_bytes = base->bytes;
	if (inference < CHUNK_INFERENCES) {
		out->chunks = point->hits[inference].chunks;
		out->bytes = point->hits[inference].bytes;
	}
	if (inference == INFERENCE_FOREIGN_FREE)
		out->of_chunks = point->freed_chunks;
	if (inference == INFERENCE_KEPT && self->model->aggregated) {
		out->chunks = model_point->live_chunks;
		out->bytes = model_point->live_bytes;
	}
	if (inference == INFERENCE_KEPT || inference == INFERENCE_TOP_BYTES ||
	    inference == INFERENCE_TOP_ALLOCS) {
		out->of_chunks = model_point->allocations;
		out->of_bytes = model_point->bytes;
	}
	if (inference == INFERENCE_TOP_BYTES) {
		out->chunks = model_point->peak_chunks;
		out->bytes = model_point->peak_bytes;
	} else if (inference == INFERENCE_TOP_ALLOCS || inference == INFERENCE_READ_WRITE) {
		out->chunks = out->of_chunks;
		out->bytes = out->of_bytes;
	}
}

/* What a chunk that was not looked at whole may hide makes a claim an inference. */
static enum confidence how_sure(const struct inferences *self, const struct behaviour *point,
				enum inference inference)
{
	u32 bit = 1u << inference;
	bool whole = inference == INFERENCE_READ_WRITE;
	enum confidence sure = self->model->count_shift ? SURE_ESTIMATED : SURE_MEASURED;

	if (inference == INFERENCE_GROWING && !point->growth.realloc)
		return SURE_INFERRED;
	if (!inference_needs_access(inference))
		return sure;
	if (point->lower_bound & bit || (whole && point->is_lower_bound))
		return SURE_INFERRED;
	/* That two threads were seen is certain; that something was not done is what may be
	 * wrong. */
	if (self->behaviour->plain_libraries && inference != INFERENCE_SHARED)
		return SURE_INFERRED;
	if (point->estimated & bit || (whole && point->is_estimated))
		return SURE_ESTIMATED;
	return sure;
}

struct inference_evidence inference_of(const struct inferences *self, struct point_id id,
				       enum inference inference)
{
	const struct behaviour *point = &self->behaviour->points[id.index];
	const struct model_point *model_point = &self->model->points.data[id.index];
	struct inference_evidence out = {.confidence = how_sure(self, point, inference)};

	evidence_fill(self, point, model_point, inference, &out);
	if (inference_needs_access(inference) && !point->measured.chunks)
		out.state = STATE_UNKNOWN;
	else if (inference == INFERENCE_KEPT && model_keeps_nothing(self->model))
		out.state = STATE_NO;
	else if (inference == INFERENCE_READ_WRITE && *model_note(self->model, "access_merges"))
		out.state = STATE_UNKNOWN; /* one of both may be missing anywhere */
	else if (inference == INFERENCE_READ_WRITE)
		out.state = one_sided(model_point, self->limits.ratio);
	else if (holds(self, point, model_point, inference, &out))
		out.state = STATE_HOLDS;
	else if (inference == INFERENCE_SHARED && point->is_estimated)
		out.state = STATE_UNKNOWN; /* another thread's accesses may be hidden */
	else if (point->unsided_bytes > 0 &&
		 (inference == INFERENCE_WRITE_ONLY || inference == INFERENCE_READ_ONLY))
		out.state = STATE_UNKNOWN;
	return out;
}
