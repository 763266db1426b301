/* SPDX-License-Identifier: MIT
 * From a request to its handler: the trace, the selection, whose turn it is. Runs on threads of the
 * server. */
#define _GNU_SOURCE
#include "show/serve/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/atomics.h"
#include "host/base/clock.h"
#include "study/layout/keys.h"

void api_init(struct api *self)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	pthread_mutex_init(&self->lock, NULL);
	pthread_cond_init(&self->changed, NULL);
	answer_cache_init(&self->cache);
	part_cache_init(&self->parts);
	uploads_init(&self->uploads);
	self->running_max = processors > 2 ? (u32)processors : 2;
}

void api_release(struct api *self)
{
	folders_release(&self->sources);
	uploads_release(&self->uploads);
	part_cache_release(&self->parts);
	answer_cache_release(&self->cache);
	pthread_cond_destroy(&self->changed);
	pthread_mutex_destroy(&self->lock);
}

/* ---- turns ---- */

/* False if the client went away while it waited. */
static bool turn_take(struct api *self, const struct request *request)
{
	bool taken = false;

	pthread_mutex_lock(&self->lock);
	for (;;) {
		struct timespec until;

		taken = self->running < self->running_max;
		if (taken || request_gone(request))
			break;
		until = clock_time(clock_ns(CLOCK_REALTIME) + 100000000);
		pthread_cond_timedwait(&self->changed, &self->lock, &until);
	}
	self->running += taken;
	pthread_mutex_unlock(&self->lock);
	return taken;
}

static void turn_give(struct api *self)
{
	pthread_mutex_lock(&self->lock);
	self->running--;
	pthread_cond_signal(&self->changed);
	pthread_mutex_unlock(&self->lock);
}

/* ---- parameters ---- */

bool call_bad(struct call *call, const char *parameter, const char *wants)
{
	return answer_refuse(call->answer, 400, "parameter '%s' must be %s", parameter, wants);
}

bool call_number(struct call *call, const char *name, u64 low, u64 high, u64 *number)
{
	char wants[96];

	if (parameter_number(call->request, name, low, high, number))
		return true;
	snprintf(wants, sizeof wants, "a number from %llu to %llu", (unsigned long long)low,
		 (unsigned long long)high);
	return call_bad(call, name, wants);
}

bool call_u32(struct call *call, const char *name, u32 low, u32 high, u32 *number)
{
	u64 value = *number;
	bool right = call_number(call, name, low, high, &value);

	*number = (u32)value;
	return right;
}

bool call_real(struct call *call, const char *name, const double limits[2], const char *wants,
	       double *number)
{
	return parameter_real(call->request, name, limits[0], limits[1], number) ||
	       call_bad(call, name, wants);
}

bool call_time(struct call *call, const char *name, u64 *ns)
{
	const char *text = call_text(call, name);

	return !text || parameter_time(text, ns) || call_bad(call, name, "a time in ns");
}

bool call_word(struct call *call, const char *name, const char *words, u32 *index)
{
	const char *text = call_text(call, name);
	u32 number = 0;

	for (const char *at = words; text && *at; at += strspn(at, ", ")) {
		size_t bytes = strcspn(at, ", ");
		bool joins = bytes == 2 && memcmp(at, "or", 2) == 0;

		if (!joins && strlen(text) == bytes && memcmp(at, text, bytes) == 0) {
			*index = number;
			return true;
		}
		number += !joins;
		at += bytes;
	}
	return !text || call_bad(call, name, words);
}

bool call_bool(struct call *call, const char *name, bool *value)
{
	return parameter_bool(call->request, name, value) || call_bad(call, name, "0 or 1");
}

const char *call_text(const struct call *call, const char *name)
{
	const char *text = request_parameter(call->request, name);

	return text && *text ? text : NULL;
}

const struct json_node *call_json(struct call *call, struct err *err)
{
	const struct request *request = call->request;

	return request->body
		       ? json_read(request->body, request->body_bytes, &call->holder->arena, err)
		       : NULL;
}

const struct json_node *call_body(struct call *call)
{
	struct err err = {0};
	const struct json_node *root = call_json(call, &err);

	if (!root)
		answer_refuse(call->answer, 400, "the body is not valid JSON%s%s",
			      err.text[0] ? ": " : "", err.text);
	return root;
}

bool call_index(struct call *call, u32 segment, const char *what, u64 count, u64 *index)
{
	const struct request_parameter parameter = {"n", call->match->segments[segment]};
	struct request one = {.parameters = {parameter}, .parameter_count = 1};

	if (count && parameter_number(&one, "n", 0, count - 1, index))
		return true;
	return answer_refuse(call->answer, 404, "unknown %s '%.64s'", what,
			     call->match->segments[segment]);
}

void call_fail(struct call *call, const struct err *err)
{
	u32 status = err->code == ERR_USAGE ? 400 : err->code == ERR_INPUT ? 404 : 500;

	if (request_gone(call->request))
		status = 499;
	answer_refuse(call->answer, status, "%s", err->text);
}

void call_fail_query(struct call *call, const struct query_error *error)
{
	struct answer_fault fault = {.message = error->message,
				     .hint = error->hint[0] ? error->hint : NULL,
				     .box = error->box[0] ? error->box : NULL};
	bool theirs = error->code == ERR_USAGE;

	if (theirs) {
		fault.code = "bad_query";
		fault.has_at = true;
		fault.at = error->at;
	}
	answer_fault(call->answer, theirs ? 400 : 500, &fault);
}

/* ---- trace and selection ---- */

bool call_trace_slot(const struct call *call, const char *id, u32 *slot)
{
	u32 count = load_acquire(&call->api->count); /* pairs with api_add_trace */

	for (u32 i = 0; i < count; i++)
		if (strcmp(study_file(call->api->traces[i]).id, id) == 0) {
			*slot = i;
			return true;
		}
	for (u32 i = 0; i < count; i++)
		if (strcmp(call->api->traces[i]->name, id) == 0) {
			*slot = i;
			return true;
		}
	return false;
}

struct study *call_trace(struct call *call, u32 slot)
{
	struct renewal *renewal = call->api->renewals[slot];
	struct study *trace;

	if (!renewal || call->held_count == CALL_TRACES)
		return call->api->traces[slot];
	trace = renewal_take(renewal, &call->epoch);
	if (!trace)
		return call->api->traces[slot];
	call->held[call->held_count] = trace;
	call->held_slots[call->held_count++] = slot;
	return trace;
}

static void traces_give(struct call *call)
{
	for (u32 i = 0; i < call->held_count; i++)
		renewal_give(call->api->renewals[call->held_slots[i]], call->held[i]);
	call->held_count = 0;
}

struct study_progress api_progress(const struct api *self, u32 slot)
{
	return self->renewals[slot] ? renewal_progress(self->renewals[slot])
				    : study_progress(self->traces[slot]);
}

static bool trace_find(struct call *call)
{
	const char *id = call_text(call, "trace");

	if (id && !call_trace_slot(call, id, &call->slot))
		return answer_refuse(call->answer, 404, "no trace has id '%.64s'", id);
	call->trace = call->whole = call_trace(call, call->slot);
	return true;
}

bool call_trace_is_ready(struct call *call)
{
	struct study_progress progress = study_progress(call->trace);
	struct renewal *renewal = call->api->renewals[call->slot];

	if (progress.state == STUDY_READY)
		return true;
	if (renewal)
		progress = renewal_progress(renewal);
	if (progress.state == STUDY_FAILED)
		return answer_refuse(call->answer, 500, "%s", progress.err.text);
	answer_refuse(call->answer, 503, "%s, %d %%", progress.phase, (int)(100 * progress.share));
	call->answer->retry_seconds = 1;
	return false;
}

static bool window_read(struct call *call, struct query_window *window)
{
	bool from = call_text(call, "t0"), to = call_text(call, "t1");
	u32 mode = WINDOW_OVERLAP;

	*window = (struct query_window){.to_ns = from ? model_duration_ns(call->trace->model) : 0};
	if (!call_time(call, "t0", &window->from_ns) || !call_time(call, "t1", &window->to_ns))
		return false;
	if ((from || to) && (!window->to_ns || window->to_ns < window->from_ns))
		return call_bad(call, "t1", "a time not before t0");
	if (!call_word(call, "tm", "overlap, alloc or free", &mode))
		return false;
	window->mode = mode;
	return true;
}

static bool is_gone(void *request) { return request_gone(request); }

static bool scope_find(struct call *call)
{
	struct query_window window;
	struct query_error error = {0};

	call->at_ns = model_duration_ns(call->trace->model);
	call->has_at = call_text(call, "at");
	if (!call_time(call, "at", &call->at_ns) || !window_read(call, &window))
		return false;
	if (view_scope_init(&call->scope, call->trace, call_text(call, "q"), &window, &error) < 0) {
		call_fail_query(call, &error);
		return false;
	}
	call->scope.cancelled = is_gone;
	call->scope.cancel_data = (void *)call->request;
	return true;
}

bool call_base(struct call *call)
{
	const char *id = call_text(call, "base");
	struct query_error error = {0};
	struct call other;
	u64 epoch = call->epoch;

	if (!id)
		return true;
	other = *call;
	if (!call_trace_slot(call, id, &other.slot))
		return call_bad(call, "base", "the id or the file name of a served trace");
	other.trace = call_trace(call, other.slot);
	call->epoch = epoch > call->epoch ? epoch : call->epoch;
	if (!call_trace_is_ready(&other))
		return false;
	if (view_scope_init(&call->base, other.trace, call_text(call, "q"), &call->scope.window,
			    &error) < 0) {
		call_fail_query(call, &error);
		return false;
	}
	call->base.cancelled = is_gone;
	call->base.cancel_data = (void *)call->request;
	return true;
}

bool call_colors(struct call *call)
{
	struct query_error error = {0};

	if (view_scope_add_colors(&call->scope, call_text(call, "q"), &error) == 0)
		return true;
	call_fail_query(call, &error);
	return false;
}

/* The part of a scope, or its trace if the scope is all of it; NULL if a failure was answered. */
static struct study *part_find(struct call *call, const struct view_scope *scope)
{
	struct err err = {0};
	struct study *part = scope->trace;

	if (!view_is_all(scope))
		part = part_cache_get(&call->api->parts, scope, call_text(call, "q"), &err);
	if (!part)
		call_fail(call, &err);
	return part;
}

static void part_put(struct call *call, const struct view_scope *scope, struct study *part)
{
	if (part != scope->trace)
		part_cache_put(&call->api->parts, part);
}

bool call_base_part(struct call *call)
{
	if (!call_base(call))
		return false;
	if (call_is_compared(call))
		call->base_part = part_find(call, &call->base);
	return call->base_part || !call_is_compared(call);
}

/* ---- tags ---- */

/* A recorded trace does not change, so an answer is told by what was asked. */
static void tag_make(struct call *call)
{
	u64 hash = hash_text(HASH_START, call->api->version);

	u32 count = load_acquire(&call->api->count);

	for (u32 i = 0; i < count; i++)
		hash = hash_text(hash, study_file(call->api->traces[i]).id);
	hash = hash_u64(hash ^ call->epoch);
	hash = hash_text(hash, call->request->path);
	for (u32 i = 0; i < call->request->parameter_count && i < REQUEST_PARAMETERS; i++) {
		hash = hash_text(hash, call->request->parameters[i].name);
		hash = hash_text(hash, call->request->parameters[i].value);
	}
	hash = hash_text(hash, call_wants_columns(call) ? "columns" : "json");
	snprintf(call->answer->tag, sizeof call->answer->tag, "\"%016llx\"",
		 (unsigned long long)hash);
}

/* A trace that grows, or is compared with one that does, gives other answers the next time. */
static bool is_growing(const struct call *call)
{
	const char *base = call_text(call, "base");
	struct renewal *renewal = call->api->renewals[call->slot];
	u32 slot;

	if (renewal && !renewal_is_complete(renewal))
		return true;
	renewal = base && call_trace_slot(call, base, &slot) ? call->api->renewals[slot] : NULL;
	return renewal && !renewal_is_complete(renewal);
}

/* Whether the client has this answer already. */
static bool tag_is_known(struct call *call)
{
	const char *known = call->request->known_tag;

	if (!known || !strstr(known, call->answer->tag))
		return false;
	call->answer->status = 304;
	call->answer->body = strdup("");
	call->answer->body_bytes = 0;
	return true;
}

/* ---- the site ---- */

static bool site_find(void *self, const struct request *request, void **plan,
		      struct answer *refusal)
{
	struct route_match *match = calloc(1, sizeof *match);

	(void)self;
	*plan = match;
	if (!match)
		return answer_refuse(refusal, 500, "out of memory");
	return route_find(api_routes, request, match, refusal);
}

static void handle(struct call *call)
{
	u32 flags = call->match->route->flags;

	if ((flags & ROUTE_TRACE) && (!trace_find(call) || !call_trace_is_ready(call)))
		return;
	if (!(flags & ROUTE_CHANGES) && !is_growing(call)) {
		tag_make(call);
		if (tag_is_known(call) || answer_cache_find(&call->api->cache, call->answer))
			return;
	}
	if ((flags & (ROUTE_SCOPE | ROUTE_PART)) && !scope_find(call))
		return;
	if ((flags & ROUTE_PART) && !(call->trace = part_find(call, &call->scope)))
		return;
	call->match->route->handle(call);
	if (call->base_part)
		part_put(call, &call->base, call->base_part);
	if (flags & ROUTE_PART) {
		part_put(call, &call->scope, call->trace);
		call->trace = call->scope.trace;
	}
	if (flags & ROUTE_TRACE)
		model_rest(call->trace->model);
	answer_cache_keep(&call->api->cache, call->answer);
}

static void site_run(void *self, const struct request *request, void *plan, struct answer *answer)
{
	const struct route_match *match = plan;
	struct call call = {.api = self,
			    .request = request,
			    .match = match,
			    .answer = answer,
			    .start_ns = now_ns(),
			    .holder = result_new(RESULT_RECORD, "answer", "")};
	bool waits = !(match->route->flags & ROUTE_LIGHT);

	if (waits && !turn_take(self, request)) {
		answer_refuse(answer, 499, "the client has disconnected");
		result_free(call.holder);
		return;
	}
	if (call.holder)
		handle(&call);
	if (waits)
		turn_give(self);
	view_scope_release(&call.scope);
	view_scope_release(&call.base);
	traces_give(&call);
	result_free(call.holder);
	if (!answer->status)
		answer_refuse(answer, 500, "out of memory");
}

struct site api_site(struct api *self)
{
	return (struct site){.self = self,
			     .home = "/",
			     .methods = "GET, POST, PUT, DELETE",
			     .body_max = API_BODY_MAX,
			     .for_browsers = true,
			     .find = site_find,
			     .run = site_run,
			     .release = free};
}

/* ---- before it is asked for ---- */

/* Asks as a client would, so that the answer is kept. */
static void ask(struct api *self, u32 trace, const char *path, const char *name, const char *value)
{
	struct request request = {.method = "GET", .path = path};
	struct answer answer = {.coded = true};
	void *plan = NULL;

	if (name)
		request.parameters[request.parameter_count++] =
			(struct request_parameter){name, value};
	if (trace)
		request.parameters[request.parameter_count++] =
			(struct request_parameter){"trace", self->traces[trace]->id};
	if (site_find(self, &request, &plan, &answer))
		site_run(self, &request, plan, &answer);
	answer_release(&answer);
	free(plan);
}

void api_warm(struct api *self, u32 trace)
{
	static const char *const paths[] = {
		"/api/v1/overview",     "/api/v1/flame",    "/api/v1/points",
		"/api/v1/findings",     "/api/v1/timeline", "/api/v1/types",
		"/api/v1/mprof/direct", "/api/v1/scores",   "/api/v1/mprof/leaks",
		"/api/v1/files",        "/api/v1/report",   "/api/v1/mprof/graph",
		"/api/v1/threads",      "/api/v1/leaks",    "/api/v1/callgraph",
		"/api/v1/emad",         "/api/v1/chunks",   "/api/v1/excessive",
	};
	struct err err = {0};

	for (u32 i = 0; i < sizeof paths / sizeof *paths; i++) {
		ask(self, trace, paths[i], NULL, NULL);
		model_rest(self->traces[trace]->model);
		if (i == 4) /* what is seen first comes first */
			query_engine_warm(self->traces[trace]->engine, &err);
	}
	ask(self, trace, "/api/v1/flame", "dir", "up");
	ask(self, trace, "/api/v1/timeline", "by", "module");
	ask(self, trace, "/api/v1/timeline", "by", "type");
	ask(self, trace, "/api/v1/timeline", "by", "size");
	ask(self, trace, "/api/v1/timeline", "by", "thread");
	ask(self, trace, "/api/v1/suggest", "s", "main");
}
