/* SPDX-License-Identifier: MIT
 * Host. web/dist/report.html is the page, with a place for data. Each answer is a block of base64,
 * of gzip where that is smaller, named by its question with the parameters in the order of their
 * names: as web/src/lib/source.ts asks. What a view asks for beyond these is not in the report, and
 * the page says so. */
#define _GNU_SOURCE
#include "show/formats/html.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/base64.h"
#include "host/base/order.h"
#include "show/render/fields.h"
#include "show/serve/assets.h"
#include "study/analysis/resident/looks.h"
#include "study/layout/source.h"
#include "study/layout/weigh.h"

enum {
	POINT_PAGE = 100,  /* as the page asks for them */
	POINTS_MAX = 2000, /* with their details, the worst ones */
	CHUNKS_MAX = 200,  /* of these their chunks */
	FILES_MAX = 500,
	LINES_SHOWN = 2000,
	MOMENTS = 64,
	BILLS_MAX = 24, /* looks with their bill and map */
};

enum report_view {
	REPORT_OVERVIEW,
	REPORT_FLAME,
	REPORT_TIMELINE,
	REPORT_POINTS,
	REPORT_TYPES,
	REPORT_OWNERS,
	REPORT_FREQUENCY,
	REPORT_MPROF,
	REPORT_CALLS,
	REPORT_THREADS,
	REPORT_RESIDENT,
	REPORT_CHUNKS,
	REPORT_SOURCE,
	REPORT_VIEWS
};

static const char *const view_names[REPORT_VIEWS] = {
	"overview", "flame", "timeline", "points",   "types",  "owners", "frequency",
	"mprof",    "calls", "threads",  "resident", "chunks", "source",
};

struct report {
	struct api *api;
	struct site site;
	const struct report_options *options;
	u32 views; /* bits 1 << enum report_view */
	FILE *out;
	u64 bytes, left_out; /* so far; answers that did not fit */
	struct err *err;
	bool failed;
};

static i32 view_find(const char *word, size_t bytes)
{
	for (i32 i = 0; i < REPORT_VIEWS; i++)
		if (strlen(view_names[i]) == bytes && memcmp(view_names[i], word, bytes) == 0)
			return i;
	return -1;
}

bool report_views_known(const char *views, const char **wrong)
{
	for (*wrong = views; **wrong; *wrong += **wrong == ',') {
		size_t bytes = strcspn(*wrong, ",");

		if (view_find(*wrong, bytes) < 0)
			return false;
		*wrong += bytes;
	}
	return *views != 0;
}

static u32 views_of(const char *views)
{
	u32 bits = 0;

	for (const char *at = views; at && *at; at += *at == ',') {
		size_t bytes = strcspn(at, ",");
		i32 view = view_find(at, bytes);

		bits |= view >= 0 ? 1u << view : 0;
		at += bytes;
	}
	return views ? bits : (1u << REPORT_VIEWS) - 1;
}

static bool shows(const struct report *self, enum report_view view)
{
	return self->views >> view & 1;
}

/* Cuts "name=value&..." into parameters; none of ours needs decoding. */
static void add_parameters(struct request *request, char *query)
{
	while (query && *query) {
		char *next = strchr(query, '&'), *value = strchr(query, '=');

		if (next)
			*next++ = 0;
		*value++ = 0;
		request->parameters[request->parameter_count++] =
			(struct request_parameter){.name = query, .value = value};
		query = next;
	}
}

/* The same answers as those of the server, of the chunks that the report is about. */
static void answer_to(struct report *self, struct request *request, struct answer *answer)
{
	void *plan = NULL;
	bool found = self->site.find(self->site.self, request, &plan, answer);

	if (found && self->options->query &&
	    ((struct route_match *)plan)->route->flags & (ROUTE_SCOPE | ROUTE_PART) &&
	    request->parameter_count < REQUEST_PARAMETERS) {
		self->site.release(plan);
		request->parameters[request->parameter_count++] =
			(struct request_parameter){"q", self->options->query};
		found = self->site.find(self->site.self, request, &plan, answer);
	}
	if (found)
		self->site.run(self->site.self, request, plan, answer);
	self->site.release(plan);
}

static void put_block(struct report *self, const char *question, struct answer *answer)
{
	char *text;
	u64 bytes;

	answer_compress(answer);
	text = base64_text((const u8 *)answer->body, answer->body_bytes);
	bytes = text ? strlen(text) + strlen(question) + 64 : 0;
	if (!text) {
		self->failed = true;
		err_memory(self->err);
	} else if (self->options->max_bytes && self->bytes + bytes > self->options->max_bytes) {
		self->left_out++;
	} else {
		self->bytes += bytes;
		fprintf(self->out, "<script type=\"text/plain\" data-k=\"%s\">%s</script>\n",
			question, text);
	}
	free(text);
}

/* Asks, and puts the answer into the report. What cannot be answered (no access data, no types) is
 * left out: the page says what is missing. */
static void put_question(struct report *self, const char *question, const char *more)
{
	struct request request = {.method = "GET", .hosts = 1};
	struct answer answer = {.coded = true};
	char *address = NULL, *query;

	if (asprintf(&address, "/api/v1%s%s", question, more) < 0) {
		self->failed = true;
		err_memory(self->err);
		return;
	}
	query = strchr(address, '?');
	if (query)
		*query++ = 0;
	request.path = address;
	add_parameters(&request, query);
	answer_to(self, &request, &answer);
	if (answer.status == 200 && answer.body)
		put_block(self, question, &answer);
	answer_release(&answer);
	free(address);
}

__attribute__((format(printf, 2, 3))) static void put(struct report *self, const char *format, ...)
{
	char *question = NULL;
	va_list arguments;
	int length;

	if (self->failed)
		return;
	va_start(arguments, format);
	length = vasprintf(&question, format, arguments);
	va_end(arguments);
	if (length >= 0) {
		put_question(self, question, "");
	} else {
		self->failed = true;
		err_memory(self->err);
	}
	free(question);
}

static void note_withheld(struct report *self, struct study *trace, u32 file)
{
	struct source_text text = {0};
	struct err ignored = {0};

	source_text_read(&text, trace, file, &self->api->sources);
	if (text.asks && self->options->withheld)
		folders_add(self->options->withheld, text.asks, &ignored);
	source_text_release(&text);
}

/* Files that something is allocated in, as the page asks for them. */
static void put_sources(struct report *self, struct study *trace)
{
	struct err err = {0};
	const struct source_table *table = view_source(trace, &err);

	put(self, "/files?limit=500");
	for (u64 i = 0; table && i < table->files.count && i < FILES_MAX; i++) {
		char question[96];

		if (!table->files.data[i].incl.allocs)
			continue;
		note_withheld(self, trace, (u32)i);
		snprintf(question, sizeof question, "/source?file=%llu&from=1&to=%d",
			 (unsigned long long)i, LINES_SHOWN);
		if (!self->failed)
			put_question(self, question,
				     self->options->source == REPORT_LINES ? "&known=1" : "");
	}
}

/* What the report is, which the page shows in its head. */
static void put_about(struct report *self)
{
	static const char *const sources[] = {"none", "lines", "files"};
	struct answer answer = {.coded = true};
	struct json json = {.out = open_memstream(&answer.body, &answer.body_bytes)};

	if (!json.out)
		return;
	json_open_flat(&json, NULL, '{');
	put_fields(&json, FIELD("version", self->api->version),
		   FIELD("trace", self->api->traces[0]->name), FIELD("query", self->options->query),
		   FIELD("source", sources[self->options->source]));
	json_open_flat(&json, "views", '[');
	for (u32 i = 0; i < REPORT_VIEWS; i++)
		if (shows(self, (enum report_view)i))
			json_text(&json, NULL, view_names[i]);
	json_close(&json, ']');
	json_number(&json, "left_out", self->left_out);
	json_close(&json, '}');
	fclose(json.out);
	if (answer.body) {
		self->left_out = 0;
		put_block(self, "/about", &answer);
	}
	answer_release(&answer);
}

static void put_timelines(struct report *self)
{
	static const char *const groups[] = {"fn",     "none", "type",  "module",
					     "thread", "size", "point", "sev"};
	static const char *const lines[] = {"live", "chunks", "alloc_bytes", "allocs", "frees"};

	for (u32 i = 0; i < 8; i++)
		for (u32 k = 0; k < 5; k++)
			put(self, "/timeline?bins=800&by=%s&metric=%s&top=12", groups[i], lines[k]);
}

static void put_flames(struct report *self, const struct model *model, u64 end_ns)
{
	static const enum view_metric metrics[] = {METRIC_BYTES,   METRIC_ALLOCS, METRIC_PEAK,
						   METRIC_KEPT,    METRIC_LOST,   METRIC_TEMPORARY,
						   METRIC_RESIDENT};

	for (u32 i = 0; i < sizeof metrics / sizeof *metrics; i++) {
		const char *name = view_metric_name(metrics[i]);

		if (view_metric_missing(model, metrics[i]))
			continue;
		put(self, "/flame?dir=down&fold=1&metric=%s&px=1600", name);
		put(self, "/flame?dir=up&fold=1&metric=%s&px=1600", name);
	}
	put(self, "/flame?at=%llu&dir=down&fold=1&metric=live&px=1600", (unsigned long long)end_ns);
}

/* What was live at moments over the whole run, at the end at last: the cursor of the page stands at
 * one of them. */
static void put_moments(struct report *self, u64 end_ns)
{
	static const char *const directions[] = {"down", "up"};

	for (u32 i = 0; i < 2; i++)
		for (u64 k = 1; k <= MOMENTS; k++)
			if (i || k < MOMENTS) /* the last one is there */
				put(self, "/flame?at=%llu&dir=%s&fold=1&metric=live&px=1600",
				    (unsigned long long)((double)end_ns / MOMENTS * (double)k),
				    directions[i]);
}

struct ranked {
	u8 severity;
	u64 bytes;
	u32 point;
};

static int worst_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return falling(x->severity, y->severity)
		       ?: falling(x->bytes, y->bytes) ?: rising(x->point, y->point);
}

/* All points, the worst ones first; NULL without memory. For free. */
static struct ranked *rank_points(struct study *trace)
{
	u64 points = trace->model->points.count;
	struct ranked *ranked = calloc(points + 1, sizeof *ranked);
	struct err err = {0};
	bool scored = study_scores(trace, &err) == 0;

	for (u32 i = 0; ranked && i < points; i++)
		ranked[i] = (struct ranked){.severity = scored ? trace->severity[i] : 0,
					    .bytes = trace->model->points.data[i].bytes,
					    .point = i};
	if (ranked)
		qsort(ranked, points, sizeof *ranked, worst_first);
	return ranked;
}

static void put_points(struct report *self, const struct ranked *ranked, u64 points)
{
	for (u64 first = 0; first < points && first < POINTS_MAX; first += POINT_PAGE)
		put(self, "/points?limit=%d&offset=%llu&sort=-sev,-bytes&spark=64", POINT_PAGE,
		    (unsigned long long)first);
	for (u64 i = 0; i < points && i < POINTS_MAX; i++)
		put(self, "/points/%u", ranked[i].point);
}

static void put_chunks(struct report *self, const struct ranked *ranked, u64 points, u64 end_ns)
{
	put(self, "/chunks?lane=row&order=time&px=1200&x0=0&x1=%llu", (unsigned long long)end_ns);
	for (u64 i = 0; i < points && i < CHUNKS_MAX; i++)
		put(self, "/chunks?lane=row&order=time&point=%u&px=1200&x0=0&x1=%llu",
		    ranked[i].point, (unsigned long long)end_ns);
}

static void put_tables(struct report *self)
{
	static const char *const tables[] = {"leaks", "bins", "direct", "graph"};
	static const char *const sorts[] = {"peak", "bytes", "count", "kept"};

	for (u32 i = 0; i < 4 && shows(self, REPORT_TYPES); i++) {
		put(self, "/types?sort=%s&top=500", sorts[i]);
		put(self, "/types?fold=template&sort=%s&top=500", sorts[i]);
	}
	if (shows(self, REPORT_OWNERS))
		put(self, "/owners");
	if (shows(self, REPORT_FREQUENCY))
		put(self, "/emad");
	for (u32 i = 0; i < 4 && shows(self, REPORT_MPROF); i++)
		put(self, "/mprof/%s?limit=500", tables[i]);
	if (shows(self, REPORT_CALLS))
		put(self, "/callgraph?down=2&min=0.005&up=2");
	if (shows(self, REPORT_THREADS))
		put(self, "/threads");
}

static void put_bill(struct report *self, const struct model *model,
		     const struct model_memory *look)
{
	u64 at_ns = tick_clock_ns(&model->clock, look->ticks);

	put(self, "/resident?at=%llu", (unsigned long long)at_ns);
	put(self, "/memmap?at=%llu&color=account&fit=1&h=96&w=512", (unsigned long long)at_ns);
}

/* All looks, the bill of the one with most memory, and those of some others, the first and the last
 * one included. */
static void put_resident(struct report *self, const struct model *model)
{
	const struct model_memory *most = resident_most(model, 0, UINT64_MAX);
	u64 shown = resident_looks_shown(model);
	u64 bills = shown < BILLS_MAX ? shown : BILLS_MAX;

	if (!most)
		return;
	put(self, "/resident/looks");
	put(self, "/resident");
	put(self, "/memmap?color=account&fit=1&h=96&w=512");
	put_bill(self, model, most);
	for (u64 i = 0; i < bills; i++) {
		u64 row = bills > 1 ? i * (shown - 1) / (bills - 1) : 0;
		const struct model_memory *look = resident_look_shown(model, row, shown);

		if (look != most)
			put_bill(self, model, look);
	}
}

/* What matters most comes first: what does not fit is left out. */
static void put_views(struct report *self, struct study *trace, u64 end_ns)
{
	struct ranked *ranked = rank_points(trace);
	u64 points = ranked ? trace->model->points.count : 0;

	put(self, "/status");
	put(self, "/trace");
	put(self, "/notes");
	put(self, "/timeline?bins=1");
	put(self, "/timeline?bins=800&by=none&metric=live");
	if (shows(self, REPORT_OVERVIEW) || shows(self, REPORT_RESIDENT))
		put(self, "/overview?top=10");
	if (shows(self, REPORT_OVERVIEW)) {
		put(self, "/report?top=1");
		put(self, "/timeline?bins=400&by=fn&metric=live&top=5");
	}
	if (shows(self, REPORT_FLAME))
		put_flames(self, trace->model, end_ns);
	put_tables(self);
	if (shows(self, REPORT_TIMELINE))
		put_timelines(self);
	if (shows(self, REPORT_RESIDENT))
		put_resident(self, trace->model);
	if (shows(self, REPORT_FLAME))
		put_moments(self, end_ns);
	if (shows(self, REPORT_POINTS))
		put_points(self, ranked, points);
	if (shows(self, REPORT_SOURCE) && self->options->source != REPORT_NO_SOURCE)
		put_sources(self, trace);
	if (shows(self, REPORT_CHUNKS))
		put_chunks(self, ranked, points, end_ns);
	free(ranked);
	put_about(self);
}

int report_page_write(struct api *api, const struct report_options *options, FILE *out,
		      struct err *err)
{
	static const char place[] = "<!--DATA-->\n";
	const struct asset *page = asset_find("report.html");
	struct report self = {.api = api,
			      .site = api_site(api),
			      .options = options,
			      .views = views_of(options->views),
			      .out = out,
			      .bytes = (u64)(page->end - page->data),
			      .err = err};
	const u8 *data =
		memmem(page->data, (size_t)(page->end - page->data), place, sizeof place - 1);

	fwrite(page->data, 1, (size_t)(data - page->data), out);
	put_views(&self, api->traces[0], model_duration_ns(api->traces[0]->model));
	data += sizeof place - 1;
	fwrite(data, 1, (size_t)(page->end - data), out);
	if (self.failed)
		return err->code;
	return 0; /* whoever closes the file says what could not be written */
}
