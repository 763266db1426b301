/* SPDX-License-Identifier: MIT
 * Allocation points over HTTP. Runs on threads of the server. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "show/serve/reply.h"
#include "study/layout/moments.h"
#include "study/layout/pairs.h"
#include "study/layout/points.h"
#include "study/layout/timeline.h"
#include "study/layout/weigh.h"

/* "-sev,-peak": worst first of all. */
static bool sorts_read(struct call *call, struct points_query_view *query)
{
	const char *text = call_text(call, "sort");

	if (!text)
		text = "-sev,-peak";
	while (*text) {
		size_t bytes;
		bool falling = *text == '-';

		text += falling;
		bytes = strcspn(text, ",");
		if (query->sort_count == POINTS_SORTS ||
		    !point_column_parse(text, bytes, &query->sorts[query->sort_count].column))
			return call_bad(call, "sort",
					"up to four columns separated by commas, each with - in "
					"front for largest first");
		query->sorts[query->sort_count++].falling = falling;
		text += bytes;
		text += *text == ',';
	}
	return true;
}

static bool sorts_need_base(const struct points_query_view *query)
{
	for (u32 i = 0; i < query->sort_count; i++)
		if (point_column_is_delta(query->sorts[i].column))
			return true;
	return false;
}

/* ---- columns of a row ---- */

enum row_field {
	ROW_FN,
	ROW_FILE,
	ROW_LINE,
	ROW_MODULE,
	ROW_TYPE,
	ROW_CHUNKS,
	ROW_BYTES,
	ROW_PEAK,
	ROW_LIVE,
	ROW_LEAKED,
	ROW_TEMPORARY,
	ROW_AVG_LIFE,
	ROW_THREADS,
	ROW_SEV,
	ROW_LIFETIME,
	ROW_USAGE,
	ROW_USEFUL,
	ROW_INF,
	ROW_ALLOCS_PCT,
	ROW_SPARK,
	ROW_FIELDS
};

static const char *const row_names[ROW_FIELDS] = {
	"fn",       "file",  "line",   "module",    "type",       "chunks",  "bytes",
	"peak",     "live",  "kept",   "temporary", "avg_life",   "threads", "sev",
	"lifetime", "usage", "useful", "inf",       "allocs_pct", "spark",
};

enum { ROW_ALL = (1u << ROW_FIELDS) - 1 };

/* "fn,bytes": which of these a row has; the id is always there. */
static bool cols_read(struct call *call, u32 *cols)
{
	const char *text = call_text(call, "cols");

	*cols = text ? 0 : ROW_ALL;
	while (text && *text) {
		size_t bytes = strcspn(text, ",");
		u32 i = 0;

		while (i < ROW_FIELDS &&
		       (strlen(row_names[i]) != bytes || memcmp(row_names[i], text, bytes) != 0))
			i++;
		if (i == ROW_FIELDS && (bytes != 2 || memcmp(text, "id", 2) != 0))
			return call_bad(call, "cols", "names of columns separated by commas");
		*cols |= i < ROW_FIELDS ? 1u << i : 0;
		text += bytes;
		text += *text == ',';
	}
	return true;
}

static bool has(u32 cols, enum row_field field) { return cols >> field & 1; }

static void put_scores(struct json *json, const struct study *trace, u32 point, u32 cols)
{
	if (has(cols, ROW_SEV))
		put_fields(json, SOME("sev", trace->severity[point]));
	for (u32 i = 0; i < SCORES; i++)
		if (has(cols, ROW_LIFETIME + i))
			json_real(json, row_names[ROW_LIFETIME + i],
				  trace->scores[point].known[i] ? trace->scores[point].value[i]
								: NAN);
}

/* live_bytes NAN: not asked for a moment, so that it is what is kept. */
static void put_sums(struct json *json, const struct point_sums *sums, double live_bytes,
		     const struct model *model, u32 cols)
{
	const double values[] = {
		[ROW_CHUNKS] = round(sums->chunks),
		[ROW_BYTES] = floor(sums->bytes),
		[ROW_PEAK] = floor(sums->peak_bytes),
		[ROW_LIVE] = floor(isnan(live_bytes) ? sums->kept_bytes : live_bytes),
		[ROW_LEAKED] = floor(sums->kept_bytes),
		[ROW_TEMPORARY] = round(sums->temporary),
		[ROW_AVG_LIFE] =
			sums->freed > 0
				? tick_clock_span_ns(&model->clock, sums->life_ticks / sums->freed)
				: NAN,
		[ROW_THREADS] = sums->threads,
	};

	for (u32 i = ROW_CHUNKS; i <= ROW_THREADS; i++)
		if (has(cols, i))
			put_real(json, row_names[i], values[i]);
}

static void put_inferences(struct json *json, const char *key, const struct study *trace, u32 point)
{
	json_open_flat(json, key, '[');
	for (u32 i = 0; i < INFERENCES; i++)
		if (inference_of(&trace->inferences, (struct point_id){point}, (enum inference)i)
			    .state == STATE_HOLDS)
			json_text(json, NULL, inference_name((enum inference)i));
	json_close(json, ']');
}

/* The points of another trace beside ours. */
struct points_base {
	struct view_scope scope;
	bool given;
	struct view_pairs pairs;
	struct point_sums *sums;   /* by its points */
	struct point_sums *beside; /* the same by ours; zeros where it has none */
};

static int base_make(struct points_base *self, struct call *call, struct err *err)
{
	u64 points = call->trace->model->points.count;

	if (!self->given)
		return 0;
	self->sums = point_sums_make(&self->scope, err);
	if (!self->sums || view_pairs_make(&self->pairs, call->trace, self->scope.trace, err) < 0)
		return err->code;
	self->beside = calloc(points + 1, sizeof *self->beside);
	if (!self->beside)
		return err_memory_for(err, "the points");
	for (u64 i = 0; i < points; i++)
		if (self->pairs.base_of[i])
			self->beside[i] = self->sums[self->pairs.base_of[i] - 1];
	return 0;
}

static void base_release(struct points_base *self)
{
	view_pairs_release(&self->pairs);
	free(self->sums);
	free(self->beside);
	view_scope_release(&self->scope);
}

static void put_difference(struct json *json, const struct point_sums *ours,
			   const struct point_sums *theirs)
{
	put_object(json, "delta", FIELD("chunks", round(ours->chunks) - round(theirs->chunks)),
		   FIELD("bytes", ours->bytes - theirs->bytes),
		   FIELD("peak", ours->peak_bytes - theirs->peak_bytes),
		   FIELD("kept", ours->kept_bytes - theirs->kept_bytes),
		   FIELD("temporary", round(ours->temporary) - round(theirs->temporary)));
}

/* What the point was in the base; null if it is new. */
static void put_base(struct json *json, const struct points_base *base, const struct point_row *row)
{
	static const struct point_sums nothing;
	u32 point = base->pairs.base_of[row->point];
	const struct point_sums *sums = point ? &base->sums[point - 1] : &nothing;

	if (sums->chunks > 0) {
		json_open_flat(json, "base", '{');
		json_number(json, "id", point - 1);
		put_sums(json, sums, NAN, base->scope.trace->model, ROW_ALL);
		json_close(json, '}');
	} else {
		json_null(json, "base");
	}
	put_difference(json, &row->sums, sums);
}

/* Points that only the base has. */
static void put_gone(struct json *json, const struct points_base *base)
{
	u64 points = 0;
	double chunks = 0, bytes = 0;

	for (u64 i = 0; i < base->scope.trace->model->points.count; i++)
		if (!base->pairs.taken[i] && base->sums[i].chunks > 0) {
			points++;
			chunks += base->sums[i].chunks;
			bytes += base->sums[i].bytes;
		}
	put_object(json, "gone", FIELD("points", points), FIELD("chunks", round(chunks)),
		   FIELD("bytes", bytes));
}

static void put_names(struct json *json, const struct point_row *row, u32 cols)
{
	const struct named_value names[] = {[ROW_FN] = NAME("fn", row->function),
					    [ROW_FILE] = NAME("file", row->file),
					    [ROW_LINE] = SOME("line", row->line),
					    [ROW_MODULE] = NAME("module", row->module),
					    [ROW_TYPE] = NAME("type", row->type)};

	for (u32 i = ROW_FN; i <= ROW_TYPE; i++) {
		if (has(cols, i))
			render_json_fields(json, &names[i], 1);
		if (has(cols, i) && i == ROW_MODULE)
			json_number(json, "offset", row->offset);
	}
}

/* What an answer about points is made of. */
struct points_answer {
	struct points_query_view query;
	struct points_base base;
	struct points_page page;
	u32 cols;
	double *live; /* by point, at the moment that was asked for; NULL = for none */
};

static void put_row(struct call *call, const struct points_answer *self,
		    const struct point_row *row)
{
	struct json *json = &call->json;
	double chunks = self->page.chunks;

	json_open_flat(json, NULL, '{');
	json_number(json, "id", row->point);
	put_names(json, row, self->cols);
	put_sums(json, &row->sums, self->live ? self->live[row->point] : NAN, call->trace->model,
		 self->cols);
	put_scores(json, call->trace, row->point, self->cols);
	if (has(self->cols, ROW_INF))
		put_inferences(json, "inf", call->trace, row->point);
	if (has(self->cols, ROW_ALLOCS_PCT))
		json_real(json, "allocs_pct", chunks > 0 ? 100 * row->sums.chunks / chunks : NAN);
	if (row->spark && has(self->cols, ROW_SPARK))
		put_base64(json, "spark", row->spark, self->query.spark);
	if (self->base.given)
		put_base(json, &self->base, row);
	json_close(json, '}');
}

static void put_points(struct call *call, const struct points_answer *self)
{
	json_open_flat(&call->json, "data", '{');
	put_fields(&call->json, FIELD("total", self->page.total),
		   FIELD("offset", self->query.offset));
	if (self->base.given)
		put_gone(&call->json, &self->base);
	json_open_flat(&call->json, "rows", '[');
	for (u64 i = 0; i < self->page.rows.count; i++)
		put_row(call, self, &self->page.rows.data[i]);
	json_close(&call->json, ']');
	json_close(&call->json, '}');
}

static bool points_read(struct call *call, struct points_answer *self)
{
	u64 spark = 0;

	self->query.limit = 100;
	if (!sorts_read(call, &self->query) || !cols_read(call, &self->cols) ||
	    !call_number(call, "offset", 0, UINT32_MAX, &self->query.offset) ||
	    !call_number(call, "limit", 1, POINTS_PAGE_MAX, &self->query.limit) ||
	    !call_number(call, "spark", 0, SPARK_MAX, &spark) ||
	    !call_base(call, &self->base.scope, &self->base.given))
		return false;
	self->query.spark = has(self->cols, ROW_SPARK) ? (u32)spark : 0;
	return self->base.given || !sorts_need_base(&self->query) ||
	       call_bad(call, "base",
			"set if points are sorted by the difference from another trace");
}

/* What is live at a moment is another number than what is kept. */
static int live_make(struct call *call, struct points_answer *self, struct err *err)
{
	u64 at_ns = call->at_ns;

	if (!call->has_at)
		return 0;
	self->live = calloc(call->trace->model->points.count + 1, sizeof *self->live);
	if (!self->live)
		return err_memory_for(err, "the points");
	self->query.live = self->live;
	return view_weigh(&call->scope, METRIC_LIVE, &at_ns, self->live, err);
}

void api_points(struct call *call)
{
	struct points_answer self = {0};
	struct err err = {0};

	if (points_read(call, &self)) {
		int status = base_make(&self.base, call, &err);

		if (status == 0)
			status = live_make(call, &self, &err);
		self.query.base = self.base.beside;
		if (status == 0)
			status = points_page_make(&self.page, &call->scope, &self.query, &err);
		if (status < 0) {
			call_fail(call, &err);
		} else if (reply_begin(call, self.query.offset + self.page.rows.count <
						     self.page.total)) {
			put_points(call, &self);
			reply_end(call);
		}
	}
	free(self.live);
	points_page_release(&self.page);
	base_release(&self.base);
}

/* ---- one point ---- */

static void put_histogram(struct json *json, const struct log_histogram *histogram)
{
	json_open_flat(json, "hist", '[');
	for (u32 i = 0; i <= 64; i++)
		if (histogram->count[i])
			put_object(json, NULL, FIELD("from", i ? 1ull << (i - 1) : 0),
				   FIELD("n", histogram->count[i]));
	json_close(json, ']');
}

static void put_stats(struct call *call, const struct point_detail *detail)
{
	const struct behaviour *behaviour = &call->trace->behaviour.points[detail->point];
	bool measured = behaviour->measured.chunks != 0;
	struct json *json = &call->json;

	json_open_flat(json, "stats", '{');
	put_sums(json, &detail->sums, NAN, call->trace->model, ROW_ALL);
	json_open_flat(json, "size", '{');
	put_fields(json, FIELD("min", detail->min_size), FIELD("med", detail->median_size),
		   FIELD("max", detail->max_size));
	put_histogram(json, &detail->sizes);
	json_close(json, '}');
	json_open_flat(json, "life", '{');
	json_number(json, "freed", detail->freed);
	put_histogram(json, &detail->lives);
	json_close(json, '}');
	put_fields(json, field_if(measured, FIELD("reads", behaviour->reads)),
		   field_if(measured, FIELD("writes", behaviour->writes)));
	json_close(json, '}');
}

static void put_evidence(struct call *call, u32 point)
{
	struct json *json = &call->json;

	json_open_flat(json, "inferences", '[');
	for (u32 i = 0; i < INFERENCES; i++) {
		struct inference_evidence evidence =
			inference_of(&call->trace->inferences, (struct point_id){point},
				     (enum inference)i);

		if (evidence.state == STATE_NO)
			continue;
		put_object(json, NULL, FIELD("id", inference_name((enum inference)i)),
			   FIELD("state", inference_state_name(evidence.state)),
			   FIELD("hit", model_count(call->trace->model, evidence.chunks)),
			   FIELD("all", model_count(call->trace->model, evidence.of_chunks)),
			   FIELD("bytes", evidence.bytes),
			   FIELD("confidence", confidence_name(evidence.confidence)),
			   FIELD("words", inference_meaning((enum inference)i)));
	}
	json_close(json, ']');
}

static void put_free_sites(struct call *call, const struct point_detail *detail)
{
	struct json *json = &call->json;

	json_open_flat(json, "free_sites", '[');
	for (u64 i = 0; i < detail->free_sites.count && i < FREE_SITES_MAX; i++) {
		json_open_flat(json, NULL, '{');
		json_number(json, "n", detail->free_sites.data[i].chunks);
		put_stack(call, "stack", detail->free_sites.data[i].frame);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_threads(struct json *json, const char *key, const struct model *model,
			const struct thread_list *list)
{
	json_open_flat(json, key, '[');
	for (u64 i = 0; i < list->count && i < POINT_THREADS_MAX; i++) {
		u32 thread = list->data[i].thread;

		json_open_flat(json, NULL, '{');
		json_number(json, "thread", thread);
		if (thread < model->threads.count)
			json_number(json, "tid", model->threads.data[thread].tid);
		json_number(json, "n", list->data[i].chunks);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* Findings of the place where the point is. */
static void put_verdicts(struct call *call, u32 point, const struct findings *findings)
{
	const struct stack_source *stacks = &call->trace->stacks;
	struct finding_place place =
		finding_place(stacks, call->trace->model->points.data[point].frame);
	u64 hash = finding_place_hash(&place, 0, true);
	struct result *holder = result_new(RESULT_RECORD, "findings", "");
	struct json *json = &call->json;

	json_open_flat(json, "findings", '[');
	for (u64 i = 0; holder && i < findings->rows.count; i++) {
		const struct finding *finding = &findings->rows.data[i];

		place = finding_place(stacks, finding->frame);
		if (finding_place_hash(&place, 0, true) != hash)
			continue;
		put_finding(call, finding, holder);
	}
	json_close(json, ']');
	result_free(holder);
}

/* Groups of chunks with the lowest lifetime scores: where a pool or one buffer would do. */
static void put_worst_groups(struct call *call, const struct worst_groups *worst)
{
	const struct tick_clock *clock = &call->trace->model->clock;
	struct json *json = &call->json;

	json_open_flat(json, "worst_groups", '[');
	for (u32 i = 0; i < worst->count; i++) {
		const struct lifetime_group *group = &worst->rows[i];

		put_object(json, NULL, FIELD("t0", tick_clock_ns(clock, group->first_ticks)),
			   FIELD("t1", tick_clock_ns(clock, group->end_ticks)),
			   FIELD("chunks", round(group->chunks)), FIELD("score", group->score));
	}
	json_close(json, ']');
}

static void put_detail(struct call *call, const struct point_detail *detail,
		       const struct worst_groups *worst, const struct findings *findings)
{
	const struct model *model = call->trace->model;
	const struct behaviour *behaviour = &call->trace->behaviour.points[detail->point];
	struct json *json = &call->json;

	json_open_flat(json, "data", '{');
	put_fields(json, FIELD("id", detail->point),
		   NAME("type", call->trace->point_types[detail->point].name));
	put_stack(call, "stack", model->points.data[detail->point].frame);
	put_stats(call, detail);
	json_open_flat(json, "scores", '{');
	put_scores(json, call->trace, detail->point, ROW_ALL);
	json_number(json, "groups", behaviour->groups);
	put_worst_groups(call, worst);
	json_close(json, '}');
	put_evidence(call, detail->point);
	put_free_sites(call, detail);
	json_number(json, "free_sites_all", detail->free_sites.count);
	json_open_flat(json, "threads", '{');
	put_threads(json, "alloc", model, &detail->allocs);
	put_threads(json, "free", model, &detail->frees);
	json_close(json, '}');
	put_verdicts(call, detail->point, findings);
	json_close(json, '}');
}

static int groups_find(struct call *call, u32 point, struct worst_groups *worst, struct err *err)
{
	const struct thresholds limits = THRESHOLDS_DEFAULT;
	struct point_chunks chunks;

	if (view_point_chunks(call->trace, (struct point_id){point}, &chunks, err) < 0)
		return err->code;
	behaviour_worst_groups(call->trace->model, &limits, chunks.numbers, chunks.count, worst);
	return 0;
}

void api_point(struct call *call)
{
	struct point_detail detail = {0};
	const struct findings *findings = NULL;
	struct worst_groups worst = {0};
	struct err err = {0};
	u64 point;

	if (!call_index(call, 0, "point", call->trace->model->points.count, &point))
		return;
	if (study_scores(call->trace, &err) == 0 && study_types(call->trace, &err) == 0 &&
	    point_detail_make(&detail, &call->scope, (struct point_id){(u32)point}, &err) == 0 &&
	    groups_find(call, (u32)point, &worst, &err) == 0)
		findings = study_findings(call->trace, &err);
	if (!findings) {
		call_fail(call, &err);
	} else if (reply_begin(call, detail.free_sites.count > FREE_SITES_MAX)) {
		put_detail(call, &detail, &worst, findings);
		reply_end(call);
	}
	point_detail_release(&detail);
}

/* The point's own line: the selection is narrowed to its chunks. */
static bool narrow(struct call *call, u32 point, struct err *err)
{
	struct selection own = {0};
	struct point_chunks chunks;

	if (view_point_chunks(call->trace, (struct point_id){point}, &chunks, err) < 0)
		return false;
	own.count = call->trace->model->chunks.count;
	own.words = calloc(selection_words(own.count) + 1, sizeof *own.words);
	if (!own.words) {
		err_memory(err);
		return false;
	}
	for (u64 i = 0; i < chunks.count; i++)
		if (selection_has(&call->scope.selection, chunks.numbers[i]))
			own.words[chunks.numbers[i] / 64] |= 1ull << (chunks.numbers[i] % 64);
	selection_count(&own, call->trace->model);
	selection_release(&call->scope.selection);
	call->scope.selection = own;
	return true;
}

void api_point_timeline(struct call *call)
{
	struct err err = {0};
	u64 point;

	if (!call_index(call, 0, "point", call->trace->model->points.count, &point))
		return;
	if (narrow(call, (u32)point, &err))
		api_timeline(call);
	else
		call_fail(call, &err);
}
