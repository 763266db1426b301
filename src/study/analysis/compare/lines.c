/* SPDX-License-Identifier: MIT
 * The heaps of both sides over time, on one clock.
 * Host. Reads the models' timelines, whose buckets keep their highest value, so that no peak is
 * lost. */
#include <string.h>

#include "host/base/search.h"
#include "study/analysis/compare/compare.h"

struct anchor {
	u64 ns[2];
};

/* One side's heap line. */
struct line {
	const struct model *model;
	u64 end_ns, peak_ns;
	u64 most;    /* no bucket shows more: the last may reach beyond the moment */
	u64 *starts; /* ns of each bucket */
	u32 count;
};

struct lines {
	struct comparison *found;
	struct line side[2];
	VEC(struct anchor) anchors; /* rising on both sides; the first is the start */
};

/* ---- marks that both have ---- */

static bool is_moment(const struct model_mark *mark)
{
	return mark->kind != HW_MARK_PAUSED && mark->kind != HW_MARK_RESUMED;
}

static bool same_mark(const struct model_mark *a, const struct model_mark *b)
{
	return a->kind == b->kind && a->number == b->number && strcmp(a->name, b->name) == 0;
}

/* Each mark of A with the next one of B that is called so. */
static bool find_anchors(struct lines *self)
{
	const struct model *a = self->side[0].model, *b = self->side[1].model;
	u64 next = 0;

	if (!vec_push(&self->anchors, (struct anchor){{0, 0}}))
		return false;
	for (u64 i = 0; i < a->marks.count; i++) {
		const struct anchor *last = &self->anchors.data[self->anchors.count - 1];
		struct anchor anchor;
		u64 at = next;

		while (at < b->marks.count && is_moment(&a->marks.data[i]) &&
		       !same_mark(&a->marks.data[i], &b->marks.data[at]))
			at++;
		if (at == b->marks.count || !is_moment(&a->marks.data[i]))
			continue;
		next = at + 1;
		anchor.ns[0] = tick_clock_ns(&a->clock, a->marks.data[i].ticks);
		anchor.ns[1] = tick_clock_ns(&b->clock, b->marks.data[at].ticks);
		self->found->anchors++;
		if (anchor.ns[0] <= last->ns[0] || anchor.ns[1] <= last->ns[1])
			continue;
		if (!vec_push(&self->anchors, anchor))
			return false;
	}
	return true;
}

/* A time of side `from` on the clock of the other: between two anchors at their rate, after the
 * last at the same speed. */
static double across(const struct lines *self, u32 from, double ns)
{
	const struct anchor *at = self->anchors.data, *next;
	u64 i = 0;

	while (i + 1 < self->anchors.count && (double)at[i + 1].ns[from] <= ns)
		i++;
	at += i;
	if (ns < 0 || i + 1 == self->anchors.count)
		return (double)at->ns[!from] + ns - (double)at->ns[from];
	next = at + 1;
	return (double)at->ns[!from] + (ns - (double)at->ns[from]) *
					       (double)(next->ns[!from] - at->ns[!from]) /
					       (double)(next->ns[from] - at->ns[from]);
}

/* ---- clocks ---- */

static double to_common(const struct lines *self, u32 side, double own_ns)
{
	switch (self->found->query.align) {
	case COMPARE_ALIGN_PEAK: return own_ns - (double)self->side[side].peak_ns;
	case COMPARE_ALIGN_MARKS: return side ? across(self, 1, own_ns) : own_ns;
	case COMPARE_ALIGN_START: break;
	}
	return own_ns;
}

static double to_own(const struct lines *self, u32 side, double common_ns)
{
	switch (self->found->query.align) {
	case COMPARE_ALIGN_PEAK: return common_ns + (double)self->side[side].peak_ns;
	case COMPARE_ALIGN_MARKS: return side ? across(self, 0, common_ns) : common_ns;
	case COMPARE_ALIGN_START: break;
	}
	return common_ns;
}

/* ---- lines ---- */

static bool line_init(struct lines *self, u32 side)
{
	struct line *line = &self->side[side];
	const struct comparison *found = self->found;
	const struct timeline *timeline;

	line->model = found->query.side[side].source->model;
	line->end_ns = found->duration_ns[side];
	line->peak_ns = tick_clock_ns(&line->model->clock, found->peak_ticks[side]);
	line->most = found->totals[side].value[COMPARE_PEAK];
	timeline = &line->model->timeline;
	line->count = timeline->current + 1;
	line->starts = calloc(line->count, sizeof *line->starts);
	for (u32 i = 0; line->starts && i < line->count; i++)
		line->starts[i] = tick_clock_ns(&line->model->clock,
						timeline->start_ticks + i * timeline->width_ticks);
	return line->starts != NULL;
}

/* The last bucket that begins at or before ns. */
static u32 bucket_at(const struct line *self, u64 ns)
{
	u64 end = bisect(at, self->count, self->starts[at] <= ns);

	return end ? (u32)end - 1 : 0;
}

static u64 most_between(const struct line *self, u64 from_ns, u64 end_ns)
{
	u64 most = 0;

	for (u32 i = bucket_at(self, from_ns); i < self->count; i++) {
		if (self->starts[i] >= end_ns && i > bucket_at(self, from_ns))
			break;
		if (self->model->timeline.bucket[i].max_bytes > most)
			most = self->model->timeline.bucket[i].max_bytes;
	}
	return most < self->most ? most : self->most;
}

static void fill_side(const struct lines *self, u32 side, double from, double step,
		      struct compare_bin *bin)
{
	const struct line *line = &self->side[side];
	double begin = to_own(self, side, from), end = to_own(self, side, from + step);

	/* A bin that holds the beginning counts from there. */
	if (end <= 0 || begin > (double)line->end_ns)
		return;
	bin->known[side] = true;
	bin->own_ns[side] = begin > 0 ? (u64)begin : 0;
	if (end > (double)line->end_ns)
		end = (double)line->end_ns;
	bin->bytes[side] = most_between(line, bin->own_ns[side], (u64)end);
}

static bool fill(struct lines *self)
{
	struct comparison *found = self->found;
	double low = 0, high = 0, step;

	for (u32 side = 0; side < 2; side++) {
		double first = to_common(self, side, 0),
		       last = to_common(self, side, (double)self->side[side].end_ns);

		low = side && low < first ? low : first;
		high = side && high > last ? high : last;
	}
	if (!found->query.points)
		return true;
	step = (high - low) / (double)found->query.points;
	if (step < 1)
		step = 1;
	found->bin_ns = (u64)step;
	for (u64 i = 0; i < found->query.points && low + (double)i * step <= high; i++) {
		double from = low + (double)i * step;
		struct compare_bin bin = {.time_ns = (i64)from};

		fill_side(self, 0, from, step, &bin);
		fill_side(self, 1, from, step, &bin);
		if (!vec_push(&found->lines, bin))
			return false;
	}
	return true;
}

int compare_lines(struct comparison *self, struct err *err)
{
	struct lines lines = {.found = self};
	bool done = line_init(&lines, 0) && line_init(&lines, 1) && find_anchors(&lines) &&
		    fill(&lines);

	free(lines.side[0].starts);
	free(lines.side[1].starts);
	vec_release(&lines.anchors);
	return done ? 0 : err_memory_for(err, "the heap lines");
}
