/* SPDX-License-Identifier: MIT
 * Allocation points over HTTP. Runs on threads of the server. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/path.h"
#include "show/serve/api.h"
#include "study/analysis/findings/findings.h"
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

/* All of a row; "cols" may name some of them. */
static const char row_columns[] = "id,fn,file,line,module,type,caller,chunks,bytes,peak,live,"
				  "kept,temporary,avg_life,threads,sev,lifetime,usage,useful,inf,"
				  "allocs_pct,spark";

static bool list_has(const char *list, const char *word, size_t bytes)
{
	for (; *list; list += *list == ',') {
		size_t length = strcspn(list, ",");

		if (bytes && length == bytes && memcmp(list, word, bytes) == 0)
			return true;
		list += length;
	}
	return false;
}

/* "fn,bytes": which of these a row has; NULL = all. */
static bool cols_read(struct call *call, const char **cols)
{
	*cols = call_text(call, "cols");
	for (const char *text = *cols; text && *text; text += *text == ',') {
		size_t bytes = strcspn(text, ",");

		if (!list_has(row_columns, text, bytes))
			return call_bad(call, "cols", "names of columns separated by commas");
		text += bytes;
	}
	return true;
}

/* The id is always there, and the offset is part of the module. */
static bool is_wanted(const char *cols, const char *name)
{
	name = strcmp(name, "offset") == 0 ? "module" : name;
	return !cols || strcmp(name, "id") == 0 || list_has(cols, name, strlen(name));
}

enum { NAME_FIELDS = 8, SCORE_FIELDS = 4, SUM_FIELDS = 8 };

static void score_fields(struct named_value *to, const struct study *trace, u32 point)
{
	static const char *const names[SCORES] = {"lifetime", "usage", "useful"};
	const struct score_set *scores = &trace->scores[point];

	*to++ = SOME("sev", trace->severity[point]);
	for (u32 i = 0; i < SCORES; i++)
		*to++ = FIELD(names[i], scores->known[i] ? scores->value[i] : NAN);
}

/* live_bytes NAN: not asked for a moment, so that it is what is kept. */
static void sum_fields(struct named_value *to, const struct point_sums *sums, double live_bytes,
		       const struct model *model)
{
	double life = sums->freed > 0
			      ? tick_clock_span_ns(&model->clock, sums->life_ticks / sums->freed)
			      : NAN;

	*to++ = field_whole("chunks", round(sums->chunks));
	*to++ = field_whole("bytes", floor(sums->bytes));
	*to++ = field_whole("peak", floor(sums->peak_bytes));
	*to++ = field_whole("live", floor(isnan(live_bytes) ? sums->kept_bytes : live_bytes));
	*to++ = field_whole("kept", floor(sums->kept_bytes));
	*to++ = field_whole("temporary", round(sums->temporary));
	*to++ = field_whole("avg_life", life);
	*to++ = field_whole("threads", sums->threads);
}

/* The inferences that hold. */
static struct named_value inferences_field(const struct study *trace, u32 point,
					   const char *names[INFERENCES])
{
	u32 count = 0;

	for (u32 i = 0; i < INFERENCES; i++)
		if (inference_of(&trace->inferences, (struct point_id){point}, (enum inference)i)
			    .state == STATE_HOLDS)
			names[count++] = inference_name((enum inference)i);
	return TEXTS("inf", names, count);
}

/* The points of another trace beside ours. */
struct points_base {
	struct view_pairs pairs;
	struct point_sums *sums;   /* by its points */
	struct point_sums *beside; /* the same by ours; zeros where it has none */
};

static int base_make(struct points_base *self, struct call *call, struct err *err)
{
	u64 points = call->trace->model->points.count;

	if (!call_is_compared(call))
		return 0;
	self->sums = point_sums_make(&call->base, err);
	if (!self->sums || view_pairs_make(&self->pairs, call->trace, call->base.trace, err) < 0)
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
}

/* What an answer about points is made of. */
struct points_answer {
	struct call *call;
	struct points_query_view query;
	struct points_base base;
	struct points_page page;
	const char *cols;
	double *live; /* by point, at the moment that was asked for; NULL = for none */
};

/* What the point was in the base, null if it is new; and the difference. */
static void base_fields(struct named_value to[2], struct call *call, const struct points_base *base,
			const struct point_row *row)
{
	static const struct point_sums nothing;
	u32 point = base->pairs.base_of[row->point];
	const struct point_sums *ours = &row->sums,
				*theirs = point ? &base->sums[point - 1] : &nothing;
	struct named_value sums[1 + SUM_FIELDS] = {FIELD("id", point - 1)};

	sum_fields(sums + 1, theirs, NAN, call->base.trace->model);
	to[0] = field_if(theirs->chunks > 0, field_kept("base", call, sums, 1 + SUM_FIELDS));
	to[1] = KEPT("delta", call, FIELD("chunks", round(ours->chunks) - round(theirs->chunks)),
		     FIELD("bytes", ours->bytes - theirs->bytes),
		     FIELD("peak", ours->peak_bytes - theirs->peak_bytes),
		     FIELD("kept", ours->kept_bytes - theirs->kept_bytes),
		     FIELD("temporary", round(ours->temporary) - round(theirs->temporary)));
}

/* Points that only the base has. */
static struct named_value gone_field(struct call *call, const struct points_base *base)
{
	u64 points = 0;
	double chunks = 0, bytes = 0;

	for (u64 i = 0; i < call->base.trace->model->points.count; i++)
		if (!base->pairs.taken[i] && base->sums[i].chunks > 0) {
			points++;
			chunks += base->sums[i].chunks;
			bytes += base->sums[i].bytes;
		}
	return KEPT("gone", call, FIELD("points", points), FIELD("chunks", round(chunks)),
		    FIELD("bytes", bytes));
}

/* What calls the function of the point, which tells points of one function apart; "" = unknown. */
static const char *caller_of(const struct study *trace, u32 point, char *text, size_t size)
{
	struct finding_place place =
		finding_place(&trace->stacks, trace->model->points.data[point].frame);
	const struct finding_frame *caller = &place.caller;

	if (*caller->function || !*caller->module)
		return caller->function;
	snprintf(text, size, "%.400s+0x%llx", path_file(caller->module),
		 (unsigned long long)caller->offset);
	return text;
}

static void put_row(struct json *json, const void *list, u64 i)
{
	const struct points_answer *self = list;
	const struct point_row *row = &self->page.rows.data[i];
	struct call *call = self->call;
	const char *inferences[INFERENCES];
	char caller[512];
	double chunks = self->page.chunks;
	struct named_value fields[] = {
		FIELD("id", row->point),
		NAME("fn", row->function),
		NAME("file", row->file),
		SOME("line", row->line),
		NAME("module", row->module),
		FIELD("offset", row->offset),
		NAME("type", row->type),
		NAME("caller", caller_of(call->trace, row->point, caller, sizeof caller)),
		[NAME_FIELDS + SUM_FIELDS + SCORE_FIELDS] =
			inferences_field(call->trace, row->point, inferences),
		FIELD("allocs_pct", chunks > 0 ? 100 * row->sums.chunks / chunks : NAN),
		row->spark ? field_base64("spark", call, row->spark, self->query.spark)
			   : field_when(false, FIELD("spark", 0)),
		ABSENT, /* base */
		ABSENT, /* delta */
	};
	u64 count = sizeof fields / sizeof *fields;

	sum_fields(fields + NAME_FIELDS, &row->sums, self->live ? self->live[row->point] : NAN,
		   call->trace->model);
	score_fields(fields + NAME_FIELDS + SUM_FIELDS, call->trace, row->point);
	for (u64 k = 0; k < count - 2; k++)
		fields[k] = field_when(is_wanted(self->cols, fields[k].name), fields[k]);
	if (call_is_compared(call))
		base_fields(fields + count - 2, call, &self->base, row);
	put_fields(json, field_object(NULL, fields, count));
}

static bool points_read(struct call *call, struct points_answer *self)
{
	self->query.limit = 100;
	if (!sorts_read(call, &self->query) || !cols_read(call, &self->cols) ||
	    !call_number(call, "offset", 0, UINT32_MAX, &self->query.offset) ||
	    !call_number(call, "limit", 1, POINTS_PAGE_MAX, &self->query.limit) ||
	    !call_u32(call, "spark", 0, SPARK_MAX, &self->query.spark) || !call_base(call))
		return false;
	if (!is_wanted(self->cols, "spark"))
		self->query.spark = 0;
	return call_is_compared(call) || !sorts_need_base(&self->query) ||
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

static void reply_points(struct call *call, const struct points_answer *self)
{
	u64 rows = self->page.rows.count;

	reply_object(call, self->query.offset + rows < self->page.total,
		     FIELD("total", self->page.total), FIELD("offset", self->query.offset),
		     call_is_compared(call) ? gone_field(call, &self->base) : ABSENT,
		     LIST("rows", rows, put_row, self));
}

void api_points(struct call *call)
{
	struct points_answer self = {.call = call};
	struct err err = {0};

	if (points_read(call, &self)) {
		int status = base_make(&self.base, call, &err);

		if (status == 0)
			status = live_make(call, &self, &err);
		self.query.base = self.base.beside;
		if (status == 0)
			status = points_page_make(&self.page, &call->scope, &self.query, &err);
		if (status < 0)
			call_fail(call, &err);
		else
			reply_points(call, &self);
	}
	free(self.live);
	points_page_release(&self.page);
	base_release(&self.base);
}

/* ---- one point ---- */

static void put_bin(struct json *json, const void *list, u64 i)
{
	const struct log_histogram *histogram = list;

	if (histogram->count[i])
		put_object(json, NULL, FIELD("from", i ? 1ull << (i - 1) : 0),
			   FIELD("n", histogram->count[i]));
}

enum { BINS = 65 };

/* One point, and what its lists are made of. */
struct point_answer {
	struct call *call;
	struct point_detail detail;
	struct worst_groups worst;
	const struct findings *findings;
};

static struct named_value stats_field(struct call *call, const struct point_detail *detail)
{
	const struct behaviour *behaviour = &call->trace->behaviour.points[detail->point];
	bool measured = behaviour->measured.chunks != 0;
	struct named_value fields[SUM_FIELDS + 4];

	sum_fields(fields, &detail->sums, NAN, call->trace->model);
	fields[SUM_FIELDS] = KEPT("size", call, FIELD("min", detail->min_size),
				  FIELD("med", detail->median_size), FIELD("max", detail->max_size),
				  LIST("hist", BINS, put_bin, &detail->sizes));
	fields[SUM_FIELDS + 1] = KEPT("life", call, FIELD("freed", detail->freed),
				      LIST("hist", BINS, put_bin, &detail->lives));
	fields[SUM_FIELDS + 2] = field_if(measured, FIELD("reads", behaviour->reads));
	fields[SUM_FIELDS + 3] = field_if(measured, FIELD("writes", behaviour->writes));
	return field_kept("stats", call, fields, SUM_FIELDS + 4);
}

/* Groups of chunks with the lowest lifetime scores: where a pool or one buffer would do. */
static void put_worst_group(struct json *json, const void *list, u64 i)
{
	const struct point_answer *self = list;
	const struct tick_clock *clock = &self->call->trace->model->clock;
	const struct lifetime_group *group = &self->worst.rows[i];

	put_object(json, NULL, FIELD("t0", tick_clock_ns(clock, group->first_ticks)),
		   FIELD("t1", tick_clock_ns(clock, group->end_ticks)),
		   FIELD("chunks", round(group->chunks)), FIELD("score", group->score));
}

static struct named_value scores_field(const struct point_answer *self)
{
	const struct study *trace = self->call->trace;
	struct named_value fields[SCORE_FIELDS + 2];

	score_fields(fields, trace, self->detail.point);
	fields[SCORE_FIELDS] = FIELD("groups", trace->behaviour.points[self->detail.point].groups);
	fields[SCORE_FIELDS + 1] = LIST("worst_groups", self->worst.count, put_worst_group, self);
	return field_kept("scores", self->call, fields, SCORE_FIELDS + 2);
}

static void put_evidence(struct json *json, const void *list, u64 i)
{
	const struct point_answer *self = list;
	const struct study *trace = self->call->trace;
	enum inference inference = (enum inference)i;
	struct inference_evidence evidence =
		inference_of(&trace->inferences, (struct point_id){self->detail.point}, inference);

	if (evidence.state == STATE_NO)
		return;
	put_object(json, NULL, FIELD("id", inference_name(inference)),
		   FIELD("state", inference_state_name(evidence.state)),
		   FIELD("hit", model_count(trace->model, evidence.chunks)),
		   FIELD("all", model_count(trace->model, evidence.of_chunks)),
		   FIELD("bytes", evidence.bytes),
		   FIELD("confidence", confidence_name(evidence.confidence)),
		   FIELD("words", inference_meaning(inference)));
}

static void put_free_site(struct json *json, const void *list, u64 i)
{
	const struct point_answer *self = list;

	put_object(json, NULL, FIELD("n", self->detail.free_sites.data[i].chunks),
		   field_stack("stack", self->call,
			       (struct frame_id){self->detail.free_sites.data[i].number}));
}

struct point_threads {
	const struct model *model;
	const struct chunk_share *rows;
};

static void put_thread(struct json *json, const void *list, u64 i)
{
	const struct point_threads *self = list;
	u64 thread = self->rows[i].number;
	bool known = thread < self->model->threads.count;

	put_object(json, NULL, FIELD("thread", thread),
		   field_when(known,
			      FIELD("tid", known ? self->model->threads.data[thread].tid : 0)),
		   FIELD("n", self->rows[i].chunks));
}

static u64 place_hash(const struct study *trace, struct frame_id frame)
{
	struct finding_place place = finding_place(&trace->stacks, frame);

	return finding_place_hash(&place, 0, true);
}

/* A finding, if it is of the place where the point is. */
static void put_own_finding(struct json *json, const void *list, u64 i)
{
	const struct point_answer *self = list;
	const struct study *trace = self->call->trace;
	struct finding_list findings = {self->call, self->findings->rows.data};

	if (place_hash(trace, findings.rows[i].frame) ==
	    place_hash(trace, trace->model->points.data[self->detail.point].frame))
		put_finding(json, &findings, i);
}

static void reply_point(const struct point_answer *self)
{
	const struct point_detail *detail = &self->detail;
	struct call *call = self->call;
	const struct point_threads allocators = {call->trace->model, detail->allocs.data},
				   freers = {call->trace->model, detail->frees.data};
	u64 sites = detail->free_sites.count;

	reply_object(call, sites > FREE_SITES_MAX, FIELD("id", detail->point),
		     NAME("type", call->trace->point_types[detail->point].name),
		     field_stack("stack", call,
				 call->trace->model->points.data[detail->point].frame),
		     stats_field(call, detail), scores_field(self),
		     LIST("inferences", INFERENCES, put_evidence, self),
		     LIST("free_sites", result_top(sites, FREE_SITES_MAX), put_free_site, self),
		     FIELD("free_sites_all", sites),
		     OBJECT("threads",
			    LIST("alloc", result_top(detail->allocs.count, POINT_THREADS_MAX),
				 put_thread, &allocators),
			    LIST("free", result_top(detail->frees.count, POINT_THREADS_MAX),
				 put_thread, &freers)),
		     LIST("findings", self->findings->rows.count, put_own_finding, self));
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
	struct point_answer self = {.call = call};
	struct err err = {0};
	u64 point;

	if (!call_index(call, 0, "point", call->trace->model->points.count, &point))
		return;
	if (study_scores(call->trace, &err) == 0 && study_types(call->trace, &err) == 0 &&
	    point_detail_make(&self.detail, &call->scope, (struct point_id){(u32)point}, &err) ==
		    0 &&
	    groups_find(call, (u32)point, &self.worst, &err) == 0)
		self.findings = study_findings(call->trace, &err);
	if (self.findings)
		reply_point(&self);
	else
		call_fail(call, &err);
	point_detail_release(&self.detail);
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
