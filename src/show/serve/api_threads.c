/* SPDX-License-Identifier: MIT
 * Threads, the call graph and source files over HTTP. Runs on threads of the server. */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>

#include "study/analysis/findings/unnamed.h"
#include "show/serve/api.h"
#include "study/layout/calls.h"
#include "study/layout/source.h"
#include "study/layout/threads.h"

enum { ROWS_MAX = 500 };

/* ---- threads ---- */

/* Threads of another trace: those of the same name, in the order of their start. */
struct threads_base {
	struct view_scope scope;
	struct threads_view view;
	u32 *row_of; /* by thread of ours: row of theirs + 1; 0 = none */
	bool given;
};

static const char *thread_name(const struct model *model, u32 thread)
{
	return thread < model->threads.count ? model->threads.data[thread].name : "";
}

/* The thread of theirs that is as many of its name as `thread` is of ours; count if there is none. */
static u32 thread_match(const struct model *ours, u32 thread, const struct model *theirs)
{
	const char *name = thread_name(ours, thread);
	u32 before = 0, at = 0;

	for (u32 i = 0; i < thread; i++)
		before += strcmp(thread_name(ours, i), name) == 0;
	for (; at < theirs->threads.count; at++)
		if (strcmp(thread_name(theirs, at), name) == 0 && !before--)
			break;
	return at;
}

static int threads_base_make(struct threads_base *self, const struct model *ours, struct err *err)
{
	const struct model *theirs = self->scope.trace ? self->scope.trace->model : NULL;

	if (!self->given)
		return 0;
	if (threads_view_make(&self->view, &self->scope, err) < 0)
		return err->code;
	self->row_of = calloc(ours->threads.count + 1, sizeof *self->row_of);
	if (!self->row_of)
		return err_memory_for(err, "the threads");
	for (u32 i = 0; i < ours->threads.count && i < ROWS_MAX; i++) {
		u32 other = thread_match(ours, i, theirs);

		for (u32 k = 0; k < self->view.rows.count; k++)
			if (self->view.rows.data[k].thread == other)
				self->row_of[i] = k + 1;
	}
	return 0;
}

static void threads_base_release(struct threads_base *self)
{
	free(self->row_of);
	threads_view_release(&self->view);
	view_scope_release(&self->scope);
}

static void put_thread_base(struct json *json, const struct threads_base *base,
			    const struct thread_row *row, u64 threads)
{
	static const struct thread_row nothing;
	u32 place = row->thread < threads ? base->row_of[row->thread] : 0;
	const struct thread_row *was = place ? &base->view.rows.data[place - 1] : &nothing;

	if (place) {
		json_open_flat(json, "base", '{');
		json_number(json, "thread", was->thread);
		json_real(json, "allocs", round(was->chunks));
		json_number(json, "bytes", (u64)was->bytes);
		json_real(json, "peak", was->peak_bytes);
		json_number(json, "kept", (u64)was->kept_bytes);
		json_close(json, '}');
	} else {
		json_null(json, "base");
	}
	json_open_flat(json, "delta", '{');
	json_real(json, "allocs", round(row->chunks) - round(was->chunks));
	json_real(json, "bytes", row->bytes - was->bytes);
	json_real(json, "peak", row->peak_bytes - was->peak_bytes);
	json_real(json, "kept", row->kept_bytes - was->kept_bytes);
	json_close(json, '}');
}

static void put_thread(struct call *call, const struct thread_row *row,
		       const struct threads_base *base)
{
	const struct model *model = call->trace->model;
	struct json *json = &call->json;

	json_open_flat(json, NULL, '{');
	json_number(json, "thread", row->thread);
	if (row->thread < model->threads.count) {
		const struct model_thread *thread = &model->threads.data[row->thread];

		json_number(json, "tid", thread->tid);
		json_text(json, "name", thread->name);
		json_number(json, "start", tick_clock_ns(&model->clock, thread->start_ticks));
	}
	json_number(json, "end", tick_clock_ns(&model->clock, row->last_ticks));
	json_real(json, "allocs", round(row->chunks));
	json_number(json, "bytes", (u64)row->bytes);
	json_real(json, "peak", row->peak_bytes);
	json_number(json, "live", (u64)row->kept_bytes);
	json_real(json, "frees_own", round(row->frees_own));
	json_real(json, "frees_other", round(row->frees_other));
	json_number(json, "kept", (u64)row->kept_bytes);
	json_real(json, "alloc_time", row->alloc_ns > 0 ? round(row->alloc_ns) : NAN);
	if (base->given)
		put_thread_base(json, base, row, model->threads.count);
	json_close(json, '}');
}

/* Threads in the order of the rows; the last row and the last but one column are of all others, the
 * last column is of chunks that were never freed. */
static void put_matrix(struct json *json, const struct threads_view *view)
{
	json_open_flat(json, "matrix", '[');
	for (u32 i = 0; i <= view->own; i++) {
		u32 row = i < view->own ? i : THREAD_MATRIX;

		json_open_flat(json, NULL, '[');
		for (u32 k = 0; k < view->own; k++)
			json_number(json, NULL, view->matrix[row][k]);
		json_number(json, NULL, view->matrix[row][THREAD_MATRIX]);
		json_number(json, NULL, view->matrix[row][THREAD_MATRIX + 1]);
		json_close(json, ']');
	}
	json_close(json, ']');
}

static void put_threads(struct call *call, const struct threads_view *view,
			const struct threads_base *base)
{
	json_open_flat(&call->json, "data", '{');
	json_number(&call->json, "threads", call->trace->model->threads.count);
	json_open_flat(&call->json, "rows", '[');
	for (u64 i = 0; i < view->rows.count && i < ROWS_MAX; i++)
		put_thread(call, &view->rows.data[i], base);
	json_close(&call->json, ']');
	json_number(&call->json, "matrix_threads", view->own);
	put_matrix(&call->json, view);
	json_number(&call->json, "foreign_frees", view->foreign_frees);
	if (call->trace->model->has_access)
		json_number(&call->json, "shared_chunks", view->shared_chunks);
	else
		json_null(&call->json, "shared_chunks");
	json_close(&call->json, '}');
}

/* The views are too large for the stack of a connection's thread. */
void api_threads(struct call *call)
{
	struct threads_view *view = calloc(1, sizeof *view);
	struct threads_base *base = calloc(1, sizeof *base);
	struct err err = {0};

	if (!view || !base) {
		answer_refuse(call->answer, 500, "out of memory");
	} else if (call_base(call, &base->scope, &base->given)) {
		if (threads_view_make(view, &call->scope, &err) < 0 ||
		    threads_base_make(base, call->trace->model, &err) < 0) {
			call_fail(call, &err);
		} else if (reply_begin(call, view->rows.count > ROWS_MAX)) {
			put_threads(call, view, base);
			reply_end(call);
		}
	}
	if (base)
		threads_base_release(base);
	if (view)
		threads_view_release(view);
	free(base);
	free(view);
}

/* ---- call graph ---- */

static bool metric_read(struct call *call, enum calls_metric *metric)
{
	const char *word = call_text(call, "metric");

	*metric = word && strcmp(word, "bytes") == 0 ? CALLS_BYTES : CALLS_ALLOCS;
	return !word || *metric == CALLS_BYTES || strcmp(word, "allocs") == 0 ||
	       call_bad(call, "metric", "allocs or bytes");
}

/* The function of a parameter, if there is one. */
static bool function_read(struct call *call, const struct callgraph *graph, const char *name,
			  i64 *node)
{
	const char *text = call_text(call, name);

	*node = text ? calls_find(graph, text) : -1;
	return !text || *node >= 0 ||
	       answer_refuse(call->answer, 404, "unknown function '%.200s'", text);
}

static bool calls_read(struct call *call, const struct callgraph *graph, struct calls_query *query)
{
	u64 up = 2, down = 2;

	*query = (struct calls_query){.min = 0.005};
	if (!metric_read(call, &query->metric) ||
	    !function_read(call, graph, "center", &query->center) ||
	    !call_number(call, "up", 0, 100, &up) || !call_number(call, "down", 0, 100, &down))
		return false;
	query->up = (u32)up;
	query->down = (u32)down;
	return parameter_real(call->request, "min", 0, 1, &query->min) ||
	       call_bad(call, "min", "a share from 0 to 1");
}

/* Functions of another trace, by name. */
struct graph_base {
	struct view_scope scope;
	struct study *trace; /* or the part of it */
	const struct callgraph *graph;
	struct map by_name; /* node + 1 */
	bool given;
};

static bool graph_base_find(struct call *call, struct graph_base *self)
{
	struct err err = {0};

	if (!call_base(call, &self->scope, &self->given))
		return false;
	if (!self->given)
		return true;
	self->trace = call_part(call, &self->scope, &err);
	self->graph = self->trace ? study_callgraph(self->trace, &err) : NULL;
	if (!self->graph) {
		call_fail(call, &err);
		return false;
	}
	for (u64 i = self->graph->nodes.count; i-- > 0;)
		map_put(&self->by_name, hash_text(HASH_START, self->graph->nodes.data[i].name),
			i + 1);
	return true;
}

static void graph_base_release(struct call *call, struct graph_base *self)
{
	map_release(&self->by_name);
	if (self->trace)
		call_part_put(call, &self->scope, self->trace);
	view_scope_release(&self->scope);
}

static void put_node_base(struct json *json, const struct graph_base *base, const char *name,
			  const struct calls_node *node, enum calls_metric metric)
{
	const u64 *known = map_find(&base->by_name, hash_text(HASH_START, name));
	const struct callgraph_node *was = known ? &base->graph->nodes.data[*known - 1] : NULL;

	if (was) {
		json_open_flat(json, "base", '{');
		json_real(json, "self", calls_self(was, metric));
		json_real(json, "total", calls_total(was, metric));
		json_close(json, '}');
	} else {
		json_null(json, "base");
	}
	json_open_flat(json, "delta", '{');
	json_real(json, "self", node->self - (was ? calls_self(was, metric) : 0));
	json_real(json, "total", node->total - (was ? calls_total(was, metric) : 0));
	json_close(json, '}');
}

static void put_node(struct json *json, const struct callgraph *graph,
		     const struct calls_node *node, const struct graph_base *base,
		     enum calls_metric metric)
{
	const struct callgraph_node *of = &graph->nodes.data[node->node];

	json_open_flat(json, NULL, '{');
	json_number(json, "id", node->node);
	json_text(json, "fn", of->name);
	json_text(json, "module", *of->module ? of->module : NULL);
	json_real(json, "self", node->self);
	json_real(json, "total", node->total);
	if (graph->from_stacks)
		json_null(json, "calls");
	else
		json_number(json, "calls", of->calls);
	if (node->severity)
		json_number(json, "sev", node->severity);
	else
		json_null(json, "sev");
	if (node->cycle)
		json_number(json, "scc", node->cycle);
	else
		json_null(json, "scc");
	json_number(json, "hidden_in", node->hidden_in);
	json_number(json, "hidden_out", node->hidden_out);
	if (base->given)
		put_node_base(json, base, of->name, node, metric);
	json_close(json, '}');
}

static void put_edge(struct json *json, const struct callgraph_edge *edge, enum calls_metric metric)
{
	json_open_flat(json, NULL, '{');
	json_number(json, "from", edge->caller);
	json_number(json, "to", edge->callee);
	json_number(json, "calls", edge->calls);
	json_number(json, "bytes", edge->bytes);
	json_number(json, "value", metric == CALLS_BYTES ? edge->bytes : edge->calls);
	json_close(json, '}');
}

static void put_graph(struct call *call, const struct calls_view *view,
		      const struct graph_base *base, enum calls_metric metric)
{
	struct json *json = &call->json;

	json_open_flat(json, "data", '{');
	json_bool(json, "from_stacks", view->graph->from_stacks);
	if (view->graph->nodes.count)
		json_number(json, "center", view->center);
	else
		json_null(json, "center");
	json_real(json, "total", view->whole);
	json_number(json, "nodes_all", view->found);
	json_open_flat(json, "nodes", '[');
	for (u64 i = 0; i < view->nodes.count; i++)
		put_node(json, view->graph, &view->nodes.data[i], base, metric);
	json_close(json, ']');
	json_open_flat(json, "edges", '[');
	for (u64 i = 0; i < view->edges.count && i < ROWS_MAX * 4; i++)
		put_edge(json, &view->graph->edges.data[view->edges.data[i]], metric);
	json_close(json, ']');
	json_close(json, '}');
}

void api_callgraph(struct call *call)
{
	struct calls_view view = {0};
	struct graph_base base = {0};
	struct calls_query query;
	struct err err = {0};
	const struct callgraph *graph = study_callgraph(call->trace, &err);

	if (!graph) {
		call_fail(call, &err);
		return;
	}
	if (calls_read(call, graph, &query) && graph_base_find(call, &base)) {
		if (calls_view_make(&view, call->trace, &query, &err) < 0) {
			call_fail(call, &err);
		} else if (reply_begin(call, view.found > view.nodes.count)) {
			put_graph(call, &view, &base, query.metric);
			reply_end(call);
		}
	}
	graph_base_release(call, &base);
	calls_view_release(&view);
}

/* Edges of one function, to callers or to what it calls. */
static void reply_edges(struct call *call, bool callers)
{
	struct err err = {0};
	const struct callgraph *graph = study_callgraph(call->trace, &err);
	u64 rows = 0;
	i64 node;

	if (!graph) {
		call_fail(call, &err);
		return;
	}
	if (!call_text(call, "fn")) {
		call_bad(call, "fn", "the name or number of a function");
		return;
	}
	if (!function_read(call, graph, "fn", &node) || !reply_begin(call, false))
		return;
	json_open_flat(&call->json, "data", '{');
	json_text(&call->json, "fn", graph->nodes.data[node].name);
	json_open_flat(&call->json, "rows", '[');
	for (u64 i = 0; i < graph->edges.count && rows < ROWS_MAX; i++) {
		const struct callgraph_edge *edge = &graph->edges.data[i];
		u32 other = callers ? edge->caller : edge->callee;

		if ((callers ? edge->callee : edge->caller) != (u32)node)
			continue;
		rows++;
		json_open_flat(&call->json, NULL, '{');
		json_number(&call->json, "id", other);
		json_text(&call->json, "fn", graph->nodes.data[other].name);
		json_number(&call->json, "calls", edge->calls);
		json_number(&call->json, "bytes", edge->bytes);
		json_close(&call->json, '}');
	}
	json_close(&call->json, ']');
	json_close(&call->json, '}');
	reply_end(call);
}

void api_callers(struct call *call) { reply_edges(call, true); }
void api_callees(struct call *call) { reply_edges(call, false); }

/* ---- source ---- */

static void put_sums(struct json *json, const char *key, const struct line_sums *sums)
{
	json_open_flat(json, key, '{');
	json_number(json, "allocs", sums->allocs);
	json_number(json, "bytes", sums->bytes);
	json_number(json, "peak", sums->peak);
	json_number(json, "kept", sums->leaked);
	json_close(json, '}');
}

/* What helps where there is no source to show. */
static void put_advice(struct call *call, bool wanted)
{
	struct strbuf text = {0};

	if (wanted && !unnamed_advice(&call->trace->stacks, true, &text))
		strbuf_add(&text, "no line numbers; build with -g and record again");
	json_text(&call->json, "advice", text.count && !text.failed ? text.text : NULL);
	strbuf_release(&text);
}

void api_files(struct call *call)
{
	struct err err = {0};
	const struct source_table *table = view_source(call->trace, &err);
	u64 offset = 0, limit = ROWS_MAX;

	if (!table) {
		call_fail(call, &err);
		return;
	}
	if (!call_number(call, "offset", 0, UINT32_MAX, &offset) ||
	    !call_number(call, "limit", 1, ROWS_MAX, &limit) ||
	    !reply_begin(call, offset + limit < table->files.count))
		return;
	json_open_flat(&call->json, "data", '{');
	json_number(&call->json, "total", table->files.count);
	json_open_flat(&call->json, "rows", '[');
	for (u64 i = offset; i < table->files.count && i - offset < limit; i++) {
		json_open_flat(&call->json, NULL, '{');
		json_number(&call->json, "id", i);
		json_text(&call->json, "file", table->files.data[i].path);
		put_sums(&call->json, "self", &table->files.data[i].self);
		put_sums(&call->json, "incl", &table->files.data[i].incl);
		json_close(&call->json, '}');
	}
	json_close(&call->json, ']');
	put_advice(call, table->files.count == 0);
	json_close(&call->json, '}');
	reply_end(call);
}

static const char *language(const char *path)
{
	static const char *const names[][2] = {{".c", "c"},     {".h", "c"},     {".cc", "cpp"},
					       {".cpp", "cpp"}, {".cxx", "cpp"}, {".hh", "cpp"},
					       {".hpp", "cpp"}, {".rs", "rust"}, {".ipp", "cpp"},
					       {".tcc", "cpp"}, {".C", "cpp"}};
	const char *dot = strrchr(path, '.');

	for (u32 i = 0; dot && i < sizeof names / sizeof *names; i++)
		if (strcmp(dot, names[i][0]) == 0)
			return names[i][1];
	return NULL;
}

/* What is known of a line beside its text. */
static void put_line_facts(struct call *call, const struct source_table *table, u64 index)
{
	const struct source_line *line = &table->lines.data[index];
	struct json *json = &call->json;

	put_sums(json, "self", &line->self);
	put_sums(json, "incl", &line->incl);
	json_open_flat(json, "points", '[');
	for (u32 i = 0; line->self.allocs && i < call->trace->model->points.count; i++)
		if (table->own_line[i] == index + 1)
			json_number(json, NULL, i);
	json_close(json, ']');
}

/* The line's text without its end, as a string. */
static void put_line_text(struct json *json, const char *text, size_t bytes)
{
	char *copy = strndup(text, bytes);

	json_text(json, "text", copy);
	free(copy);
}

enum { LINES_MAX = 2000 };

struct lines {
	const struct source_table *table;
	const struct source_file *file;
	const struct source_text *text;
	u64 from, to;
	bool known; /* only lines that something is known of */
};

/* Without the text only lines that something is known of. */
static void put_lines(struct call *call, const struct lines *self)
{
	const struct source_line *known = self->table->lines.data;
	u64 at = self->file->first_line, end = at + self->file->line_count;
	const char *text = self->text->text;
	struct json *json = &call->json;

	for (u64 n = 1; n <= self->to; n++) {
		size_t bytes = text ? strcspn(text, "\n") : 0;
		bool facts;

		while (at < end && known[at].line < n)
			at++;
		facts = at < end && known[at].line == n;
		if (n >= self->from && (facts || (text && !self->known))) {
			json_open_flat(json, NULL, '{');
			json_number(json, "n", n);
			if (text)
				put_line_text(json, text, bytes);
			else
				json_null(json, "text");
			if (facts)
				put_line_facts(call, self->table, at);
			json_close(json, '}');
		}
		if (!text)
			continue;
		text += bytes;
		if (!*text || !*++text)
			break;
	}
}

static void reply_source(struct call *call, const struct lines *lines)
{
	struct json *json = &call->json;

	if (!reply_begin(call, false))
		return;
	json_open_flat(json, "data", '{');
	json_text(json, "file", lines->file->path);
	json_bool(json, "found", lines->text->text != NULL);
	json_bool(json, "stale", lines->text->stale);
	json_text(json, "asks", lines->text->asks);
	json_text(json, "lang", language(lines->file->path));
	json_open_flat(json, "searched", '[');
	for (u64 i = 0; i < lines->text->searched.count; i++)
		json_text(json, NULL, lines->text->searched.data[i]);
	json_close(json, ']');
	json_open_flat(json, "lines", '[');
	put_lines(call, lines);
	json_close(json, ']');
	json_close(json, '}');
	reply_end(call);
}

void api_source(struct call *call)
{
	struct err err = {0};
	const struct source_table *table = view_source(call->trace, &err);
	struct source_text text = {0};
	struct lines lines = {.table = table, .text = &text, .from = 1, .to = LINES_MAX};
	u64 file = UINT64_MAX;

	if (!table) {
		call_fail(call, &err);
		return;
	}
	if (!table->files.count || !call_text(call, "file") ||
	    !parameter_number(call->request, "file", 0, table->files.count - 1, &file)) {
		call_bad(call, "file", "the number of a file in /api/v1/files");
		return;
	}
	if (!call_number(call, "from", 1, UINT32_MAX, &lines.from) ||
	    !call_bool(call, "known", &lines.known))
		return;
	lines.to = lines.from + LINES_MAX - 1;
	if (!call_number(call, "to", lines.from, lines.to, &lines.to))
		return;
	lines.file = &table->files.data[file];
	source_text_read(&text, call->trace, (u32)file, &call->api->sources);
	reply_source(call, &lines);
	source_text_release(&text);
}
