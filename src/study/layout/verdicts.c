/* SPDX-License-Identifier: MIT
 * Points and chunks of findings.
 * Host. */
#include "study/layout/verdicts.h"

#include <stdlib.h>

#include "host/trace/kinds.h"
#include "study/layout/slots.h"

/* ---- places ---- */

/* By point: a hash of the place where it allocates. Found once, because it takes a look at each
 * stack. */
static void *make_places(struct study *trace, u32 slot, struct err *err)
{
	u64 points = trace->model->points.count;
	u64 *places = calloc(points + 1, sizeof *places);

	(void)slot;
	if (!places)
		err_memory_for(err, "the places of points");
	for (u64 i = 0; places && i < points; i++) {
		struct finding_place place =
			finding_place(&trace->stacks, trace->model->points.data[i].frame);

		places[i] = finding_place_hash(&place, 0, true);
	}
	return places;
}

/* ---- points ---- */

static const u8 inference_of_kind[FINDING_KINDS] = {
	[FINDING_MISUSE] = INFERENCES,
	[FINDING_LEAK] = INFERENCE_KEPT,
	[FINDING_KEPT] = INFERENCE_KEPT,
	[FINDING_GROWTH] = INFERENCES,
	[FINDING_GROWS_IN] = INFERENCES,
	[FINDING_TWICE] = INFERENCES,
	[FINDING_UNUSED] = INFERENCE_UNUSED,
	[FINDING_WRITE_ONLY] = INFERENCE_WRITE_ONLY,
	[FINDING_READ_ONLY] = INFERENCE_READ_ONLY,
	[FINDING_COVERAGE] = INFERENCE_COVERAGE,
	[FINDING_EARLY] = INFERENCE_EARLY,
	[FINDING_LATE] = INFERENCE_LATE,
	[FINDING_CHURN] = INFERENCE_SHORT,
	[FINDING_GROWING] = INFERENCE_GROWING,
	[FINDING_ZERO_SIZE] = INFERENCE_ZERO_SIZE,
	[FINDING_PEAK] = INFERENCES,
	[FINDING_BURST] = INFERENCES,
	[FINDING_PINNED] = INFERENCES,
	[FINDING_LEFT_BEHIND] = INFERENCES,
	[FINDING_NOT_GIVEN_BACK] = INFERENCES,
	[FINDING_ARENAS] = INFERENCES,
};

static bool holds(const struct study *trace, struct point_id point, enum inference inference)
{
	return inference_of(&trace->inferences, point, inference).state == STATE_HOLDS;
}

static bool is_about(const struct study *trace, const struct finding *finding,
		     struct point_id point)
{
	enum inference inference = (enum inference)inference_of_kind[finding->kind];

	if (inference == INFERENCES)
		return true;
	if (inference == INFERENCE_KEPT)
		return trace->behaviour.points[point.index].hits[INFERENCE_KEPT].chunks != 0;
	return holds(trace, point, inference) ||
	       (finding->kind == FINDING_CHURN && holds(trace, point, INFERENCE_TEMPORARY));
}

static void add_point(struct verdict_points *self, struct point_id point)
{
	if (self->count < VERDICT_POINTS_MAX)
		self->points[self->count++] = point;
}

int verdict_points_find(struct verdict_points *self, struct study *trace,
			const struct finding *finding, struct err *err)
{
	const struct model *model = trace->model;
	u32 frame = finding->frame.index; /* of a misuse it may be a stack that only frees */
	u32 own = frame < model->frame_points.count ? model->frame_points.data[frame] : 0;

	*self = (struct verdict_points){0};
	if (own)
		add_point(self, (struct point_id){own - 1});
	if (own && finding->points > 1) {
		const u64 *places = study_slot(trace, SLOT_PLACES, make_places, free, err);

		if (!places)
			return err->code;
		for (u32 i = 0; i < model->points.count; i++)
			if (i != own - 1 && places[i] == places[own - 1] &&
			    is_about(trace, finding, (struct point_id){i}))
				add_point(self, (struct point_id){i});
	}
	return 0;
}

/* ---- chunks ---- */

static void put_points(struct strbuf *out, const struct verdict_points *self)
{
	if (self->count == 1) {
		strbuf_addf(out, "point == %u", self->points[0].index);
		return;
	}
	strbuf_add(out, "point in (");
	for (u32 i = 0; i < self->count; i++)
		strbuf_addf(out, "%s%u", i ? ", " : "", self->points[i].index);
	strbuf_add(out, ")");
}

static void put_kept(struct strbuf *out, const struct finding *finding)
{
	strbuf_add(out, " and kept");
	if (finding->chunk_class != CLASS_UNKNOWN)
		strbuf_addf(out, " and leak_kind == \"%s\"", class_name(finding->chunk_class));
}

void verdict_condition(const struct finding *finding, const struct verdict_points *points,
		       const struct thresholds *limits, struct strbuf *out)
{
	static const char *const conditions[FINDING_KINDS] = {
		[FINDING_UNUSED] = " and size > 0 and reads == 0 and writes == 0",
		[FINDING_WRITE_ONLY] = " and reads == 0 and writes > 0",
		[FINDING_READ_ONLY] = " and reads > 0 and writes == 0",
		[FINDING_ZERO_SIZE] = " and size == 0",
	};

	if (!points->count)
		return;
	put_points(out, points);
	if (conditions[finding->kind])
		strbuf_add(out, conditions[finding->kind]);
	else if (finding->kind == FINDING_LEAK || finding->kind == FINDING_KEPT)
		put_kept(out, finding);
	else if (finding->kind == FINDING_COVERAGE)
		strbuf_addf(out, " and reads + writes > 0 and cover < %g%%",
			    100 * limits->coverage);
	else if (finding->kind == FINDING_EARLY)
		strbuf_addf(out, " and first - alloc > life * %g", limits->idle);
	else if (finding->kind == FINDING_LATE)
		strbuf_addf(out, " and alloc + life - last > life * %g", limits->idle);
	else if (finding->kind == FINDING_CHURN)
		strbuf_addf(out,
			    finding->temporary ? " and temporary" : " and freed and life <= %lluus",
			    (unsigned long long)limits->short_us);
}
