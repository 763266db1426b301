/* SPDX-License-Identifier: MIT
 * A program that runs: its ticks, what it does not touch, how it is watched. Runs on threads of the
 * server. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/jsontree.h"
#include "show/serve/reply.h"

/* False if a refusal was answered. */
static bool has_program(struct call *call)
{
	if (!call->api->feed)
		return answer_refuse(
			call->answer, 404,
			"no program is running here; 'heapwise watch --web PROGRAM' shows one");
	call->epoch = renewal_epoch(call->api->renewals[0]);
	return true;
}

/* ---- ticks ---- */

void api_live(struct call *call)
{
	if (!has_program(call))
		return;
	if (!feed_stream_open(call->api->feed, call->request, &call->answer->stream)) {
		answer_refuse(call->answer, 503, "too many viewers: %d are connected already",
			      FEED_STREAMS);
		call->answer->retry_seconds = 5;
		return;
	}
	call->answer->status = 200;
	call->answer->type = "text/event-stream";
}

void api_live_history(struct call *call)
{
	const char *from = call_text(call, "from");
	struct feed_history history;
	u64 from_ns = 0, most = FEED_TICKS;

	if (!has_program(call))
		return;
	if (from && !parameter_time(from, &from_ns)) {
		call_bad(call, "from", "a time in ns");
		return;
	}
	if (!call_number(call, "res", 1, FEED_TICKS + FEED_OLDER, &most))
		return;
	if (!feed_history_read(call->api->feed, from_ns, most, &history)) {
		answer_refuse(call->answer, 500, "out of memory");
	} else if (reply_begin(call, history.found > history.texts.count)) {
		json_open_flat(&call->json, "data", '{');
		json_open_flat(&call->json, "ticks", '[');
		for (u64 i = 0; i < history.texts.count; i++)
			json_raw(&call->json, NULL, history.texts.data[i]);
		json_close(&call->json, ']');
		json_close(&call->json, '}');
		reply_end(call);
	}
	feed_history_release(&history);
}

/* ---- suspects ---- */

static bool sort_read(struct call *call, struct feed_question *question)
{
	static const char *const words[] = {[FEED_BY_IDLE] = "idle",
					    [FEED_BY_SIZE] = "size",
					    [FEED_BY_AGE] = "age",
					    [FEED_BY_HITS] = "hits"};
	const char *text = call_text(call, "sort");

	if (!text)
		return true;
	question->rising = *text != '-';
	text += *text == '-';
	for (u32 i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(text, words[i]) == 0) {
			question->sort = i;
			return true;
		}
	return call_bad(call, "sort", "idle, size, age or hits, with - in front for largest first");
}

/* `trace` knows types, if it is there; NULL = it is not. */
static void put_suspect(struct json *json, const struct feed_suspect *row, struct study *trace)
{
	static const char *const states[] = {
		[FEED_UNKNOWN] = "unknown", [FEED_REACHABLE] = "reachable", [FEED_LOST] = "lost"};

	put_object(json, NULL, FIELD("chunk", row->chunk), FIELD("point", row->point),
		   FIELD("fn", row->function), FIELD("file", row->file), SOME("line", row->line),
		   FIELD("type", trace ? study_known_type(trace, row->point) : NULL),
		   FIELD("size", row->size), FIELD("age", row->age_ns), FIELD("idle", row->idle_ns),
		   SOME("threshold", row->threshold_ns), FIELD("hits", row->hits),
		   FIELD("state", states[row->state]));
}

static void put_suspects(struct call *call, const struct feed_suspects *found)
{
	struct renewal *renewal = call->api->renewals[0];
	struct json *json = &call->json;
	struct study *trace;

	call->has_rows_total = true;
	call->rows_total = found->count;
	if (!reply_begin(call, found->rows.count < found->count))
		return;
	trace = renewal_peek(renewal); /* not a reason to read the trace again */
	json_open_flat(json, "data", '{');
	put_fields(json, FIELD("tl_ns", found->tl_ns), FIELD("n", found->count),
		   FIELD("bytes", found->bytes), FLAG("scanned", found->scanned));
	json_open_flat(json, "rows", '[');
	for (u64 i = 0; i < found->rows.count; i++)
		put_suspect(json, &found->rows.data[i], trace);
	json_close(json, ']');
	json_close(json, '}');
	reply_end(call);
	if (trace)
		renewal_give(renewal, trace);
}

void api_live_suspects(struct call *call)
{
	struct feed_question question = {.limit = 100};
	const char *tl = call_text(call, "tl");
	const struct feed_source *source;
	struct feed_suspects found = {0};
	struct err err = {0};

	if (!has_program(call))
		return;
	if (tl && (!parameter_time(tl, &question.tl_ns) || !question.tl_ns)) {
		call_bad(call, "tl", "a time such as 16s");
		return;
	}
	if (!sort_read(call, &question) || !call_number(call, "limit", 1, 500, &question.limit))
		return;
	source = &call->api->feed->source;
	if (source->suspects(source->self, &question, &found, &err) < 0)
		call_fail(call, &err);
	else
		put_suspects(call, &found);
	feed_suspects_release(&found);
}

/* ---- points of a thread ---- */

static void put_top_point(struct json *json, const struct feed_point *row)
{
	put_object(json, NULL, FIELD("point", row->point), FIELD("fn", row->function),
		   FIELD("file", row->file), SOME("line", row->line), FIELD("own", row->bytes),
		   FIELD("total", row->line_bytes), FIELD("n", row->areas));
}

static void put_top_thread(struct json *json, const struct feed_thread *row)
{
	put_object(json, NULL, FIELD("thread", row->index), SOME("tid", row->tid),
		   FIELD("name", row->name), FIELD("n", row->areas), FIELD("bytes", row->bytes));
}

static void put_top(struct call *call, const struct feed_top *found)
{
	struct json *json = &call->json;

	call->has_rows_total = true;
	call->rows_total = found->points;
	if (!reply_begin(call, found->rows.count < found->points))
		return;
	json_open_flat(json, "data", '{');
	json_number(json, "t", found->t_ns);
	json_open_flat(json, "threads", '[');
	for (u64 i = 0; i < found->threads.count; i++)
		put_top_thread(json, &found->threads.data[i]);
	json_close(json, ']');
	json_open_flat(json, "rows", '[');
	for (u64 i = 0; i < found->rows.count; i++)
		put_top_point(json, &found->rows.data[i]);
	json_close(json, ']');
	json_close(json, '}');
	reply_end(call);
}

void api_live_top(struct call *call)
{
	const struct feed_source *source;
	u64 thread = FEED_ALL_THREADS, limit = 10;
	struct feed_top found = {0};
	struct err err = {0};

	if (!has_program(call) || !call_number(call, "thread", 0, UINT32_MAX - 1, &thread) ||
	    !call_number(call, "limit", 1, 200, &limit))
		return;
	source = &call->api->feed->source;
	if (source->top(source->self, thread, limit, &found, &err) < 0)
		call_fail(call, &err);
	else
		put_top(call, &found);
	feed_top_release(&found);
}

/* ---- how it is watched ---- */

static void put_config(struct call *call)
{
	const struct feed_source *source = &call->api->feed->source;
	struct feed_config config = {0};
	struct err err = {0};

	if (source->config(source->self, &config, &err) < 0) {
		call_fail(call, &err);
	} else {
		reply_object(call, FIELD("tl_ns", config.tl_ns),
			     FIELD("overhead_pct", config.overhead_pct),
			     FIELD("tick_ms", config.tick_ms));
	}
}

void api_live_config(struct call *call)
{
	if (has_program(call))
		put_config(call);
}

/* A member that is there must be a number within its limits. */
static bool member_read(struct call *call, const struct json_node *root, const char *name,
			const double limits[2], double *number)
{
	const struct json_node *node = json_member(root, name);

	if (!node)
		return true;
	if (node->kind == JSON_NUMBER && node->number >= limits[0] && node->number <= limits[1]) {
		*number = node->number;
		return true;
	}
	return answer_refuse(call->answer, 400, "%s must be a number from %.10g to %.10g", name,
			     limits[0], limits[1]);
}

static bool members_known(struct call *call, const struct json_node *root)
{
	for (const struct json_node *at = root->first; at; at = at->next)
		if (strcmp(at->key, "tl_ns") != 0 && strcmp(at->key, "overhead_pct") != 0 &&
		    strcmp(at->key, "tick_ms") != 0)
			return answer_refuse(call->answer, 400, "unknown setting '%.64s'", at->key);
	return true;
}

/* What the body leaves out stays as it is: 0. */
static bool config_read(struct call *call, struct feed_config *config)
{
	static const double tl[] = {1e6, 1e18}, overhead[] = {0.01, 100}, tick[] = {250, 5000};
	double tl_ns = 0, overhead_pct = 0, tick_ms = 0;
	struct arena arena = {0};
	struct err err = {0};
	const struct json_node *root = NULL;
	bool right;

	if (call->request->body)
		root = json_read(call->request->body, call->request->body_bytes, &arena, &err);
	if (!root || root->kind != JSON_OBJECT)
		right = answer_refuse(call->answer, 400,
				      "the body must be {\"tl_ns\": N, \"overhead_pct\": N, "
				      "\"tick_ms\": N}, or part of it");
	else
		right = members_known(call, root) && member_read(call, root, "tl_ns", tl, &tl_ns) &&
			member_read(call, root, "overhead_pct", overhead, &overhead_pct) &&
			member_read(call, root, "tick_ms", tick, &tick_ms);
	arena_release(&arena);
	*config = (struct feed_config){(u64)tl_ns, overhead_pct, (u64)tick_ms};
	return right;
}

void api_live_configure(struct call *call)
{
	const struct feed_source *source;
	struct feed_config config;
	struct err err = {0};

	if (!has_program(call) || !config_read(call, &config))
		return;
	source = &call->api->feed->source;
	if (source->configure(source->self, &config, &err) < 0)
		call_fail(call, &err);
	else
		put_config(call);
}

/* ---- snapshots ---- */

/* The trace has the path from now on, as long as the server lives. */
static struct study *snapshot_open(struct call *call, char *path, struct err *err)
{
	struct study *trace = study_new(path, &view_options);

	if (!trace) {
		err_memory(err);
		return NULL;
	}
	if (api_load(call->api, trace, err) == 0 && api_add_trace(call->api, trace))
		return trace;
	if (!err->code)
		err_set(err, ERR_USAGE,
			"too many traces: %d are served already; this one was written to %s",
			API_TRACES_MAX, path);
	study_free(trace);
	return NULL;
}

static void put_snapshot(struct call *call, const struct study *trace)
{
	char url[64];

	snprintf(url, sizeof url, "/#/?trace=%s", trace->id);
	reply_object(call, FIELD("id", trace->id), FIELD("name", trace->name), FIELD("url", url),
		     FIELD("path", trace->path));
}

struct snapshot {
	struct call *call;
	char *path;
	struct study *trace;
	struct err err;
};

static void *snapshot_main(void *data)
{
	struct snapshot *self = data;
	const struct feed_source *source = &self->call->api->feed->source;

	self->path = source->snapshot(source->self, &self->err);
	if (self->path)
		self->trace = snapshot_open(self->call, self->path, &self->err);
	return NULL;
}

/* On a thread with a stack of the usual size: names of functions are read by code of others, which
 * may go deep. */
static void snapshot_make(struct snapshot *self)
{
	pthread_t thread;
	int failure = pthread_create(&thread, NULL, snapshot_main, self);

	if (failure)
		err_set(&self->err, ERR_SYSTEM, "cannot start a thread: %s", strerror(failure));
	else
		pthread_join(thread, NULL);
}

void api_live_snapshot(struct call *call)
{
	struct snapshot made = {.call = call};

	if (!has_program(call))
		return;
	if (call->api->count == API_TRACES_MAX) {
		answer_refuse(call->answer, 409, "too many traces: %d are served already",
			      API_TRACES_MAX);
		return;
	}
	snapshot_make(&made);
	if (made.trace) {
		put_snapshot(call, made.trace);
		return;
	}
	call_fail(call, &made.err);
	free(made.path);
}
