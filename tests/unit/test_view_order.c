/* SPDX-License-Identifier: MIT
 * What views take from the order of events, and from what else an index has, is what they find without it. */
#include <math.h>

#include "unit/test_index.h"
#include "unit/test_trace.h"
#include "study/layout/moments.h"
#include "study/layout/points.h"
#include "study/layout/part.h"
#include "study/layout/threads.h"
#include "study/layout/timeline.h"
#include "study/layout/weigh.h"

struct pair {
	struct study *with, *without;
	u64 end_ns;
};

static struct study *opened(const char *path)
{
	struct study *trace = study_new(path, &view_options);
	struct err err = {0};

	if (!trace || study_load(trace, &err) < 0)
		FAIL("%s", err.text);
	CHECK(trace->model->store != NULL && trace->model->order.count > 0);
	return trace;
}

static struct pair pair_of(const char *path)
{
	struct study *study = study_new(path, &view_options);
	struct index_made made;
	struct err err = {0};
	struct pair pair;

	if (!study || study_look(study, &err) < 0 || study_index(study, &made, &err) < 0)
		FAIL("%s", err.text);
	study_free(study);
	pair = (struct pair){.with = opened(path), .without = opened(path)};
	pair.without->model->order = (struct event_order){0};
	pair.without->model->by_point = (struct chunks_by_point){0};
	pair.end_ns = model_duration_ns(pair.with->model);
	return pair;
}

static void pair_free(struct pair *self)
{
	study_free(self->with);
	study_free(self->without);
}

static struct view_scope scope_of(struct study *trace, const char *text,
				  const struct query_window *window)
{
	struct query_error error = {0};
	struct view_scope scope;

	if (view_scope_init(&scope, trace, text, window, &error) < 0)
		FAIL("%s", error.message);
	return scope;
}

static const char *const texts[] = {NULL,
				    "all",
				    "all | where size >= 100",
				    "all | where thread == 1",
				    "all | where not freed",
				    "all | where life < 1ms"};

enum { TEXTS = sizeof texts / sizeof *texts };

static struct query_window window_of(const struct pair *pair, u64 seed)
{
	u64 a = hash_u64(seed) % (pair->end_ns + 1), b = hash_u64(seed + 1) % (pair->end_ns + 1);
	struct query_window window = {.from_ns = a < b ? a : b, .to_ns = (a < b ? b : a) + 1};

	if (seed % 5 == 0)
		return (struct query_window){0};
	window.mode = seed % 11 == 0 ? WINDOW_ALLOC : seed % 13 == 0 ? WINDOW_FREE : WINDOW_OVERLAP;
	return window;
}

static void check_curves(const struct view_scope *x, const struct view_scope *y, u32 bins,
			 bool count)
{
	struct time_axis axis = {0};
	struct time_curve a, b;
	struct err err = {0};

	CHECK(time_axis_of(&axis, x, bins));
	CHECK(time_curve_make(&a, x, &axis, count, &err) == 0 &&
	      time_curve_make(&b, y, &axis, count, &err) == 0);
	CHECK(a.exact && b.exact);
	for (u32 i = 0; i < axis.bins; i++)
		if (a.min[i] != b.min[i] || a.max[i] != b.max[i] || a.last[i] != b.last[i])
			FAIL("bin %u of %u: %g %g %g, not %g %g %g", i, bins, a.min[i], a.max[i],
			     a.last[i], b.min[i], b.max[i], b.last[i]);
	time_curve_release(&a);
	time_curve_release(&b);
	time_axis_release(&axis);
}

static void check_weights(const struct view_scope *x, const struct view_scope *y, u64 at_ns)
{
	u64 points = x->trace->model->points.count, at[2];
	double *a = calloc(points + 1, sizeof *a), *b = calloc(points + 1, sizeof *b);
	struct err err = {0};

	for (u32 metric = 0; metric < METRICS; metric++) {
		int status;

		at[0] = at[1] = at_ns;
		status = view_weigh(x, (enum view_metric)metric, &at[0], a, &err);
		CHECK_EQ(view_weigh(y, (enum view_metric)metric, &at[1], b, &err), status);
		if (metric == METRIC_RESIDENT && status < 0) /* no look is in the window */
			continue;
		CHECK(status == 0 || view_metric_missing(x->trace->model, (enum view_metric)metric));
		CHECK_EQ(at[0], at[1]);
		for (u64 i = 0; i < points; i++)
			/* sizes that no program has are no numbers of bytes any more */
			if (fabs(b[i]) < 0x1p62 && fabs(a[i] - b[i]) > 1e-9 * fabs(b[i]))
				FAIL("%s of point %llu: %g, not %g",
				     view_metric_name((enum view_metric)metric),
				     (unsigned long long)i, a[i], b[i]);
	}
	free(a);
	free(b);
}

static void check_rows(const struct view_scope *x, const struct view_scope *y, u64 seed)
{
	static const enum point_column columns[] = {POINT_SEV, POINT_PEAK, POINT_BYTES, POINT_FN,
						    POINT_AVG_LIFE};
	struct points_query_view query = {.sorts = {{columns[seed % 5], seed % 2 != 0},
						    {POINT_PEAK, seed % 3 != 0}},
					  .sort_count = 2,
					  .offset = seed % 4 * 7,
					  .limit = 20,
					  .spark = 8};
	struct points_page a = {0}, b = {0};
	struct err err = {0};

	CHECK(points_page_make(&a, x, &query, &err) == 0 &&
	      points_page_make(&b, y, &query, &err) == 0);
	CHECK_EQ(a.total, b.total);
	CHECK_EQ(a.rows.count, b.rows.count);
	for (u64 i = 0; i < a.rows.count; i++) {
		const struct point_row *p = &a.rows.data[i], *q = &b.rows.data[i];

		if (p->point != q->point || p->sums.peak_bytes != q->sums.peak_bytes ||
		    p->sums.chunks != q->sums.chunks || p->sums.bytes != q->sums.bytes ||
		    p->sums.threads != q->sums.threads || p->sums.freed != q->sums.freed ||
		    p->sums.temporary != q->sums.temporary ||
		    memcmp(p->spark, q->spark, query.spark) != 0)
			FAIL("row %llu is point %u with a peak of %g, not %u with %g",
			     (unsigned long long)i, p->point, p->sums.peak_bytes, q->point,
			     q->sums.peak_bytes);
	}
	points_page_release(&a);
	points_page_release(&b);
}

static void check_detail(const struct view_scope *x, const struct view_scope *y, u32 point)
{
	struct point_detail a = {0}, b = {0};
	struct err err = {0};

	CHECK(point_detail_make(&a, x, (struct point_id){point}, &err) == 0 &&
	      point_detail_make(&b, y, (struct point_id){point}, &err) == 0);
	CHECK_EQ(a.chunks, b.chunks);
	CHECK(a.sums.peak_bytes == b.sums.peak_bytes && a.sums.bytes == b.sums.bytes);
	point_detail_release(&a);
	point_detail_release(&b);
}

static void check_pair(struct pair *pair, u32 rounds)
{
	for (u64 i = 0; i < rounds; i++) {
		struct query_window window = window_of(pair, 3 * i);
		const char *text = texts[hash_u64(i) % TEXTS];
		struct view_scope x = scope_of(pair->with, text, &window);
		struct view_scope y = scope_of(pair->without, text, &window);
		u64 at = i % 2 && window.to_ns ? window.from_ns
					       : hash_u64(i + 7) % (pair->end_ns + 2);

		CHECK_EQ(x.selection.chunks, y.selection.chunks);
		check_curves(&x, &y, (u32)(1 + hash_u64(i) % 300), i % 3 == 0);
		check_weights(&x, &y, at);
		check_rows(&x, &y, i);
		if (pair->with->model->points.count)
			check_detail(&x, &y, (u32)(hash_u64(i) % pair->with->model->points.count));
		view_scope_release(&x);
		view_scope_release(&y);
	}
}

TEST(windows, "random windows, moments and queries of a large trace give the same numbers")
{
	struct pair pair = pair_of(index_trace("view.hwt", 60000));

	CHECK(pair.with->model->order.snapshot_count > 0);
	check_pair(&pair, 60);
	pair_free(&pair);
}

TEST(stories, "so do those of one with samples and strange frees")
{
	for (u64 seed = 1; seed <= 4; seed++) {
		char path[4096];
		struct pair pair;
		LOG(told);

		snprintf(path, sizeof path, "%s", test_path("view-story.hwt"));
		write_story(path, 2, 3000, seed * 13, &told);
		pair = pair_of(path);
		check_pair(&pair, 25);
		pair_free(&pair);
	}
}

TEST(stored, "scores, findings and sums of an index are those that are found")
{
	struct pair pair = pair_of(index_trace("stored.hwt", 60000));
	struct study *found = study_new(pair.with->path, &view_options);
	const struct findings *a, *b;
	struct point_sums *sums;
	struct err err = {0};
	struct model *model = open_by_trace(pair.with->path, TRACE_LAST_IMAGE);

	found->info = pair.with->info;
	CHECK(study_take(found, model, &pair.with->symbols, &err) == 0);
	CHECK(pair.with->behaviour.borrowed && pair.with->parts[PART_FINDINGS].made &&
	      point_sums_stored(pair.with->model));
	CHECK(study_scores(pair.with, &err) == 0 && study_scores(found, &err) == 0);
	CHECK(!found->behaviour.borrowed);
	CHECK_EQ(pair.with->behaviour.count, found->behaviour.count);
	CHECK(memcmp(pair.with->behaviour.points, found->behaviour.points,
		     found->behaviour.count * sizeof *found->behaviour.points) == 0);
	CHECK(memcmp(pair.with->severity, found->severity, found->behaviour.count) == 0);
	a = study_findings(pair.with, &err);
	b = study_findings(found, &err);
	CHECK(a && b && a->rows.count == b->rows.count && a->below == b->below);
	for (u64 i = 0; i < a->rows.count; i++)
		CHECK(strcmp(a->rows.data[i].id, b->rows.data[i].id) == 0 &&
		      a->rows.data[i].saving.share == b->rows.data[i].saving.share &&
		      a->rows.data[i].bytes == b->rows.data[i].bytes);
	sums = point_sums_compute(&(struct view_scope){.trace = found}, &err);
	CHECK(sums && memcmp(sums, point_sums_stored(pair.with->model),
			      model->points.count * sizeof *sums) == 0);
	free(sums);
	study_free(found);
	pair_free(&pair);
}

/* Of another layout, or cut off: then it is found again. */
TEST(made_up, "tables of an index that cannot be are not taken")
{
	struct pair pair = pair_of(index_trace("made-up.hwt", 20000));
	u64 from = STORED_OTHERS, tags[STORED_KINDS];
	struct study *trace = pair.with;

	for (u32 i = 0; i < STORED_KINDS; i++)
		tags[i] = trace->model->stored[i].tag;
	trace->behaviour.points = NULL;
	trace->parts[PART_FINDINGS].made = false;
	for (u64 kind = from; kind < STORED_KINDS; kind++)
		trace->model->stored[kind].tag++;
	study_stored_take(trace);
	CHECK(!trace->behaviour.points && !trace->parts[PART_FINDINGS].made &&
	      !point_sums_stored(trace->model));
	for (u64 kind = from; kind < STORED_KINDS; kind++) {
		trace->model->stored[kind].tag = tags[kind];
		trace->model->stored[kind].bytes -= trace->model->stored[kind].bytes ? 1 : 0;
	}
	study_stored_take(trace);
	CHECK(!trace->behaviour.points && !trace->parts[PART_FINDINGS].made &&
	      !point_sums_stored(trace->model));
	pair_free(&pair);
}
