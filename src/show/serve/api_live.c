/* SPDX-License-Identifier: MIT
 * A program that runs: its ticks, what it does not touch, how it is watched. Runs on threads of the
 * server. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/serve/api.h"

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

static void put_tick(struct json *json, const void *texts, u64 i)
{
	json_raw(json, NULL, ((const char *const *)texts)[i]);
}

void api_live_history(struct call *call)
{
	struct feed_history history;
	u64 from_ns = 0, most = FEED_TICKS;

	if (!has_program(call))
		return;
	if (!call_time(call, "from", &from_ns) ||
	    !call_number(call, "res", 1, FEED_TICKS + FEED_OLDER, &most))
		return;
	if (!feed_history_read(call->api->feed, from_ns, most, &history))
		answer_refuse(call->answer, 500, "out of memory");
	else
		reply_object(call, history.found > history.texts.count,
			     LIST("ticks", history.texts.count, put_tick, history.texts.data));
	feed_history_release(&history);
}

/* ---- suspects ---- */

static void not_in_time(struct call *call)
{
	struct err err = {0};

	err_set(&err, ERR_SYSTEM,
		"the program has not allocated yet, or the snapshot was not taken within 10 s");
	call_fail(call, &err);
}

static bool sort_read(struct call *call, struct stale_query *query)
{
	static const char *const words[] = {[STALE_BY_IDLE] = "idle",
					    [STALE_BY_SIZE] = "size",
					    [STALE_BY_AGE] = "age",
					    [STALE_BY_HITS] = "hits"};
	const char *text = call_text(call, "sort");

	if (!text)
		return true;
	query->rising = *text != '-';
	text += *text == '-';
	for (u32 i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(text, words[i]) == 0) {
			query->sort = i;
			return true;
		}
	return call_bad(call, "sort", "idle, size, age or hits, with - in front for largest first");
}

/* Where a point is, as far as that is known. */
static struct watch_name name_of(const struct feed_source *source, const struct watch_frame *place)
{
	const struct watch_name *known = source->name(source->self, place);
	struct watch_name name = known ? *known : (struct watch_name){0};

	if (!name.function)
		name.function = name.text;
	return name;
}

struct suspects {
	const struct feed_source *source;
	struct watch_suspects found;
	struct study *trace; /* knows types, if it is there; NULL = it is not */
};

static void put_suspect(struct json *json, const void *list, u64 i)
{
	const struct suspects *self = list;
	const struct watch_suspect *row = &self->found.rows.data[i];
	const struct watch_name at = name_of(self->source, &row->place);
	const char *type = self->trace ? study_known_type(self->trace, row->number) : NULL;
	const char *state = !row->known ? "unknown" : row->lost ? "lost" : "reachable";

	put_object(json, NULL, FIELD("chunk", row->chunk), FIELD("point", row->number),
		   FIELD("fn", at.function), FIELD("file", at.file), SOME("line", at.line),
		   FIELD("type", type), FIELD("size", row->size), FIELD("age", row->age_ns),
		   FIELD("idle", row->idle_ns), SOME("threshold", row->threshold_ns),
		   FIELD("hits", row->hits), FIELD("state", state));
}

void api_live_suspects(struct call *call)
{
	struct renewal *renewal = call->api->renewals[0];
	struct stale_query query = {.limit = 100};
	const char *tl = call_text(call, "tl");
	struct watch_settings settings;
	struct suspects self = {0};
	const struct watch_suspects *found = &self.found;

	if (!has_program(call))
		return;
	if (tl && (!parameter_time(tl, &query.after_ns) || !query.after_ns)) {
		call_bad(call, "tl", "a time such as 16s");
		return;
	}
	if (!sort_read(call, &query) || !call_u32(call, "limit", 1, 500, &query.limit))
		return;
	self.source = &call->api->feed->source;
	if (!watcher_settings(self.source->watcher, &settings) ||
	    !watcher_suspects(self.source->watcher, &query, &self.found)) {
		not_in_time(call);
	} else {
		call_rows_total(call, found->count);
		self.trace = renewal_peek(renewal); /* not a reason to read the trace again */
		reply_object(call, found->rows.count < found->count,
			     FIELD("tl_ns",
				   query.after_ns ? query.after_ns : settings.leak_after_ns),
			     FIELD("n", found->count), FIELD("bytes", found->bytes),
			     FLAG("scanned", found->scanned),
			     LIST("rows", found->rows.count, put_suspect, &self));
		if (self.trace)
			renewal_give(renewal, self.trace);
	}
	vec_release(&self.found.rows);
}

/* ---- points of a thread ---- */

struct tops {
	const struct feed_source *source;
	struct watch_top found;
};

static void put_top_point(struct json *json, const void *list, u64 i)
{
	const struct tops *self = list;
	const struct watch_top_row *row = &self->found.rows.data[i];
	const struct watch_name at = name_of(self->source, &row->place);

	put_object(json, NULL, FIELD("point", row->number), FIELD("fn", at.function),
		   FIELD("file", at.file), SOME("line", at.line), FIELD("own", row->bytes),
		   FIELD("total", row->line_bytes), FIELD("n", row->areas));
}

static void put_top_thread(struct json *json, const void *rows, u64 i)
{
	const struct watch_thread *row = &((const struct watch_thread *)rows)[i];

	put_object(json, NULL, FIELD("thread", row->index), SOME("tid", row->tid),
		   FIELD("name", row->name), FIELD("n", row->areas), FIELD("bytes", row->bytes));
}

void api_live_top(struct call *call)
{
	struct top_query query = {.thread = TOP_ALL_THREADS, .limit = 10};
	struct tops self = {0};
	const struct watch_top *found = &self.found;

	if (!has_program(call) || !call_u32(call, "thread", 0, UINT32_MAX - 1, &query.thread) ||
	    !call_u32(call, "limit", 1, 200, &query.limit))
		return;
	self.source = &call->api->feed->source;
	if (!watcher_top(self.source->watcher, &query, &self.found)) {
		not_in_time(call);
	} else {
		call_rows_total(call, found->points);
		reply_object(call, found->rows.count < found->points, FIELD("t", found->elapsed_ns),
			     LIST("threads", found->threads.count, put_top_thread,
				  found->threads.data),
			     LIST("rows", found->rows.count, put_top_point, &self));
	}
	vec_release(&self.found.rows);
	vec_release(&self.found.threads);
}

/* ---- how it is watched ---- */

static void reply_config(struct call *call)
{
	struct watch_settings settings;

	if (watcher_settings(call->api->feed->source.watcher, &settings))
		reply_object(call, false, FIELD("tl_ns", settings.leak_after_ns),
			     FIELD("overhead_pct", settings.overhead * 100),
			     FIELD("tick_ms", settings.interval_ns / 1000000));
	else
		not_in_time(call);
}

void api_live_config(struct call *call)
{
	if (has_program(call))
		reply_config(call);
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
static bool config_read(struct call *call, struct watch_settings *settings)
{
	static const double tl[] = {1e6, 1e18}, overhead[] = {0.01, 100}, tick[] = {250, 5000};
	double tl_ns = 0, overhead_pct = 0, tick_ms = 0;
	struct err err = {0};
	const struct json_node *root = call_json(call, &err);
	bool right;

	if (!root || root->kind != JSON_OBJECT)
		right = answer_refuse(call->answer, 400,
				      "the body must be {\"tl_ns\": N, \"overhead_pct\": N, "
				      "\"tick_ms\": N}, or part of it");
	else
		right = members_known(call, root) && member_read(call, root, "tl_ns", tl, &tl_ns) &&
			member_read(call, root, "overhead_pct", overhead, &overhead_pct) &&
			member_read(call, root, "tick_ms", tick, &tick_ms);
	*settings = (struct watch_settings){(u64)tl_ns, overhead_pct / 100, (u64)tick_ms * 1000000};
	return right;
}

void api_live_configure(struct call *call)
{
	struct watch_settings settings;

	if (!has_program(call) || !config_read(call, &settings))
		return;
	if (watcher_set(call->api->feed->source.watcher, &settings))
		reply_config(call);
	else
		not_in_time(call);
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
	reply_object(call, false, FIELD("id", trace->id), FIELD("name", trace->name),
		     FIELD("url", url), FIELD("path", trace->path));
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
