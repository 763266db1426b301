/* SPDX-License-Identifier: MIT
 * The engine's life, and the questions that callers ask.
 * Host. One lock: domain and cache are for one at a time. */
#include "study/query/engine.h"

#include <pthread.h>
#include <string.h>

#include "study/query/graph.h"
#include "study/query/run.h"

enum { QUERY_CACHE_BYTES = 256 << 20 };

struct query_engine *query_engine_new(const struct query_trace *traces, u32 count)
{
	struct query_engine *self = calloc(1, sizeof *self);
	struct err err = {0};

	if (!self)
		return NULL;
	self->lock = calloc(1, sizeof(pthread_mutex_t));
	self->cache.limit = QUERY_CACHE_BYTES;
	if (self->lock)
		pthread_mutex_init(self->lock, NULL);
	for (u32 i = 0; self->lock && i < count && i < QUERY_TRACES; i++) {
		if (domain_init(&self->domains[i], &traces[i], i, &err) < 0)
			break;
		self->count++;
	}
	if (self->count == (count < QUERY_TRACES ? count : QUERY_TRACES))
		return self;
	query_engine_free(self);
	return NULL;
}

void query_engine_free(struct query_engine *self)
{
	if (!self)
		return;
	for (u32 i = 0; i < QUERY_TRACES; i++)
		if (self->domains[i].model)
			domain_release(&self->domains[i]);
	cache_release(&self->cache);
	if (self->lock)
		pthread_mutex_destroy(self->lock);
	free(self->lock);
	free(self);
}

/* The longest of it needs the model only. */
static int warm_scores(struct query_engine *self, struct domain *domain, struct err *err)
{
	struct behaviour_table found = {0};
	int status;

	pthread_mutex_lock(self->lock);
	status = domain->trace.behaviour || domain->behaviour;
	pthread_mutex_unlock(self->lock);
	if (status)
		return 0;
	status = behaviour_find(&domain->source, &domain->trace.thresholds, &found, err);
	pthread_mutex_lock(self->lock);
	if (status == 0 && !domain->behaviour) {
		domain->own_behaviour = found;
		domain->behaviour = &domain->own_behaviour;
		found = (struct behaviour_table){0};
	}
	pthread_mutex_unlock(self->lock);
	behaviour_table_release(&found);
	return status;
}

void query_engine_give_scores(struct query_engine *self, const struct behaviour_table *behaviour)
{
	pthread_mutex_lock(self->lock);
	self->domains[0].trace.behaviour = behaviour;
	if (!self->domains[0].behaviour)
		self->domains[0].behaviour = behaviour;
	pthread_mutex_unlock(self->lock);
}

int query_engine_warm(struct query_engine *self, struct err *err)
{
	for (u32 i = 0; i < self->count; i++) {
		struct domain *domain = &self->domains[i];
		int status;

		pthread_mutex_lock(self->lock);
		status = domain_need_names(domain, err);
		pthread_mutex_unlock(self->lock);
		pthread_mutex_lock(self->lock);
		if (status == 0)
			status = domain_need_types(domain, err);
		pthread_mutex_unlock(self->lock);
		if (status == 0)
			status = warm_scores(self, domain, err);
		if (status < 0)
			return status;
	}
	return 0;
}

/* ---- one run ---- */

static int run_begin(struct run *run, struct query_engine *engine, const char *text,
		     const struct query_window *window)
{
	struct query *query = query_parse(text, run->error);

	if (!query)
		return run->error->code;
	run->engine = engine;
	run->query = query;
	if (window)
		run->window = *window;
	run->lets = calloc(query->lets.count + 1, sizeof *run->lets);
	run->lets_known = calloc(query->lets.count + 1, sizeof *run->lets_known);
	pthread_mutex_lock(engine->lock);
	return run->lets && run->lets_known ? 0 : run_no_memory(run);
}

/* After run_begin, also one that failed. */
static void run_end(struct run *run)
{
	if (!run->query)
		return;
	for (u64 i = 0; run->lets && i < run->query->lets.count; i++)
		state_release(&run->lets[i]);
	free(run->lets);
	free(run->lets_known);
	arena_release(&run->arena);
	query_free((struct query *)run->query);
	pthread_mutex_unlock(run->engine->lock);
}

/* Whatever stands at the end, its chunks are kept by the text: the same question again costs
 * nothing. */
static void selection_key(const struct run *run, struct strbuf *key)
{
	strbuf_addf(key, "select %llu-%llu/%u ", (unsigned long long)run->window.from_ns,
		    (unsigned long long)run->window.to_ns, run->window.mode);
	pipe_print_whole(run->query, &run->query->pipe, UINT32_MAX, key);
}

static int run_select(struct run *run, struct state *state)
{
	struct strbuf key = {0};
	const struct state *known;
	int status = 0;

	selection_key(run, &key);
	known = key.failed ? NULL : cache_find(&run->engine->cache, strbuf_text(&key));
	if (known) {
		status = state_copy(state, known) ? 0 : run_no_memory(run);
	} else {
		status = run_pipe(run, &run->query->pipe, UINT32_MAX, state);
		if (status == 0)
			status = run_settle(run, state);
		state->sort_count = state->hide_count = 0;
		state->view = NULL;
		if (status == 0 && !key.failed)
			cache_put(&run->engine->cache, strbuf_text(&key), state);
	}
	strbuf_release(&key);
	return status;
}

static bool is_all(const struct run *run)
{
	const struct pipe *pipe = &run->query->pipe;

	return pipe->source.kind == SOURCE_ALL && !pipe->stage_count && !run->window.to_ns;
}

int query_select(struct query_engine *self, const char *text, const struct query_window *window,
		 struct selection *out, struct query_error *error)
{
	struct query_error own = {0};
	struct run run = {.error = error ? error : &own};
	struct state state = {0};
	int status = run_begin(&run, self, text, window);

	*out = (struct selection){0};
	if (status == 0)
		status = run_select(&run, &state);
	if (status == 0 && !state.sel[0].words &&
	    !selection_init(&state.sel[0], self->domains[0].model))
		status = run_no_memory(&run);
	if (status == 0) {
		*out = state.sel[0];
		state.sel[0] = (struct selection){0};
	}
	if (status == 0 && is_all(&run)) {
		free(out->words);
		out->words = NULL;
	}
	state_release(&state);
	run_end(&run);
	return status;
}

int query_find_colors(struct query_engine *self, const char *text,
		      const struct query_window *window, struct query_colors *out,
		      struct query_error *error)
{
	struct query_error own = {0};
	struct run run = {.error = error ? error : &own};
	struct state state = {0};
	int status = run_begin(&run, self, text, window);

	if (status == 0)
		status = run_select(&run, &state);
	if (status == 0) {
		out->by_chunk = state.colors[0];
		state.colors[0] = NULL;
		memcpy(out->palette, state.palette, sizeof out->palette);
		out->count = state.palette_count;
	}
	state_release(&state);
	run_end(&run);
	return status;
}

void query_colors_release(struct query_colors *self)
{
	free(self->by_chunk);
	*self = (struct query_colors){0};
}

int query_count(struct query_engine *self, const char *text, struct query_counts *out,
		struct query_error *error)
{
	struct query_error own = {0};
	struct run run = {.error = error ? error : &own};
	struct graph graph = {0};
	int status = run_begin(&run, self, text, NULL);

	*out = (struct query_counts){0};
	if (status == 0 && !graph_of_query(&graph, run.query))
		status = run_no_memory(&run);
	for (u64 i = 0; status == 0 && i < graph.boxes.count && i < QUERY_COUNTS_MAX; i++) {
		const struct graph_box *box = &graph.boxes.data[i];
		struct state state = {0};

		out->count++;
		if (!box->pipe)
			continue;
		status = run_pipe(&run, box->pipe, box->stage, &state);
		if (status == 0 && state.entries)
			out->boxes[i].entries = state.entries->count;
		if (status == 0)
			status = run_settle(&run, &state);
		for (u32 t = 0; status == 0 && t < self->count; t++) {
			out->boxes[i].chunks += state.sel[t].chunks;
			out->boxes[i].bytes += state.sel[t].bytes;
		}
		if (!out->boxes[i].entries)
			out->boxes[i].entries = out->boxes[i].chunks;
		state_release(&state);
	}
	graph_release(&graph);
	run_end(&run);
	return status;
}

/* What the rows need: the first ones in their order, or entries, and the bits of both. */
static int run_prepared(struct run *run, const struct query_options *options, struct state *state)
{
	u64 wanted = options->rows && options->rows < UINT64_MAX - options->skip
			     ? options->skip + options->rows
			     : UINT64_MAX;
	int status = run_pipe(run, &run->query->pipe, UINT32_MAX, state);

	if (status < 0)
		return status;
	if (!state->entries)
		return run_order(run, state, wanted);
	entries_narrow(run, state);
	return 0;
}

/* By the text as it is: lets are told by their numbers in it. */
static void run_key(const char *text, const struct query_options *options, struct strbuf *key)
{
	const struct query_window *window = &options->window;

	strbuf_addf(key, "run%s %llu+%llu %llu-%llu/%u %s", options->stacks ? "s" : "",
		    (unsigned long long)options->skip, (unsigned long long)options->rows,
		    (unsigned long long)window->from_ns, (unsigned long long)window->to_ns,
		    window->mode, text);
}

int query_run(struct query_engine *self, const char *text, const struct query_options *options,
	      struct result **out, struct query_error *error)
{
	struct query_error own = {0};
	struct run run = {.error = error ? error : &own, .stacks = options->stacks};
	struct state state = {0};
	struct strbuf key = {0};
	const struct state *known = NULL;
	int status = run_begin(&run, self, text, &options->window);

	*out = NULL;
	run_key(text, options, &key);
	if (status == 0 && !key.failed)
		known = cache_find(&self->cache, strbuf_text(&key));
	if (known) {
		status = state_copy(&state, known) ? 0 : run_no_memory(&run);
	} else if (status == 0) {
		status = run_prepared(&run, options, &state);
		/* Patterns of hide are the query's own. */
		if (status == 0 && !state.hide_count && !key.failed)
			cache_put(&self->cache, strbuf_text(&key), &state);
	}
	if (status == 0)
		status = run_rows(&run, &state, options, out);
	strbuf_release(&key);
	state_release(&state);
	run_end(&run);
	return status;
}
