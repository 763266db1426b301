/* SPDX-License-Identifier: MIT
 * Control over HTTP; see control_api.h. Runs in the monitor, on the threads of connections, which
 * may wait. Never touches a ring or a file. */
#define _GNU_SOURCE
#include "show/serve/control_api.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/base/options.h"
#include "show/render/fields.h"

static const char root[] = "/api/v1/control";

/* ---- finding --------------------------------------------------------------------------------- */

static const char *verb_method(const struct control_verb *verb)
{
	return !verb || control_only_tells(verb) ? "GET" : "POST";
}

static bool verb_find(const char *path, const struct control_verb **verb)
{
	const size_t length = sizeof(root) - 1;

	*verb = NULL;
	if (strncmp(path, root, length) != 0)
		return false;
	if (path[length] != '/')
		return path[length] == 0;
	for (u32 i = 0; (*verb = control_verb_at(i)); i++) {
		if (!(*verb)->local && strcmp((*verb)->name, path + length + 1) == 0)
			return true;
	}
	return false;
}

static bool process_find(struct control *control, const char *text, struct process **process,
			 struct answer *refusal)
{
	u64 pid = (u64)getpid();

	if (text && (!parse_number(text, &pid) || !pid || pid > INT32_MAX))
		return answer_refuse(refusal, 400, "pid must be a process id");
	if (!control_find(control, (u32)pid, process))
		return answer_refuse(refusal, 404, "process %u is not recorded here", (u32)pid);
	return true;
}

bool control_api_find(struct control *control, const struct request *request,
		      struct control_route *route, struct answer *refusal)
{
	const char *stranger;

	if (!verb_find(request->path, &route->verb))
		return answer_refuse(refusal, 404,
				     "there is nothing at this address; %s lists all addresses",
				     root);
	if (strcmp(request->method, verb_method(route->verb)) != 0) {
		refusal->allow = verb_method(route->verb);
		return answer_refuse(refusal, 405, "method not allowed; use %s", refusal->allow);
	}
	/* A pid that was mistyped as something else would mean all processes. */
	stranger = request_stranger(request, "pid");
	if (stranger || request->parameter_count > REQUEST_PARAMETERS)
		return answer_refuse(refusal, 400, "unknown parameter '%.64s'",
				     stranger ? stranger : "");
	return process_find(control, request_parameter(request, "pid"), &route->process, refusal);
}

/* ---- answering ------------------------------------------------------------------------------- */

static bool object_begin(struct json *json, struct answer *answer)
{
	answer->status = 200;
	json->out = open_memstream(&answer->body, &answer->body_bytes);
	if (!json->out) {
		answer->status = 500;
		return false;
	}
	json_open(json, NULL, '{');
	return true;
}

static void object_end(struct json *json)
{
	json_close(json, '}');
	json_end(json);
	fclose(json->out);
}

static void verbs_list(struct answer *answer)
{
	const struct control_verb *verb;
	struct json json = {0};

	if (!object_begin(&json, answer))
		return;
	json_open(&json, "verbs", '[');
	for (u32 i = 0; (verb = control_verb_at(i)); i++) {
		if (verb->local)
			continue;
		put_object(&json, NULL, FIELD("name", verb->name),
			   FIELD("method", verb_method(verb)), FIELD("summary", verb->summary));
	}
	json_close(&json, ']');
	object_end(&json);
}

static void put_line(struct json *json, const char *key, const char *text)
{
	u64 number;

	if (parse_number(text, &number))
		json_number(json, key, number);
	else
		json_text(json, key, text);
}

/* Puts the caveats, or all lines but those. Lines are cut apart by zeros. */
static void put_lines(struct json *json, const char *lines, const char *end, bool caveats)
{
	for (const char *line = lines; line < end; line += strlen(line) + 1) {
		const char *space = strchr(line, ' ');
		char key[64];

		if (!space || (size_t)(space - line) >= sizeof(key))
			continue;
		memcpy(key, line, (size_t)(space - line));
		key[space - line] = 0;
		if ((strcmp(key, "caveat") == 0) != caveats)
			continue;
		if (caveats)
			json_text(json, NULL, space + 1);
		else
			put_line(json, key, space + 1);
	}
}

void control_api_object(char *lines, struct answer *answer)
{
	const char *end = lines + strlen(lines);
	struct json json = {0};

	if (!object_begin(&json, answer))
		return;
	for (char *at = lines; (at = strchr(at, '\n')); at++)
		*at = 0;
	put_lines(&json, lines, end, false);
	json_open(&json, "caveats", '[');
	put_lines(&json, lines, end, true);
	json_close(&json, ']');
	object_end(&json);
}

/* What the recording's state does not allow is the client's matter; the rest is ours. */
static u32 status_of(int code)
{
	switch (code) {
	case ERR_USAGE: return 404;
	case ERR_INPUT: return 409;
	case ERR_SYSTEM: return 503;
	default: return 500;
	}
}

void control_api_run(struct control *control, const struct control_route *route,
		     struct answer *answer)
{
	struct control_reply reply = {0};
	struct err err = {0};
	char *lines;

	if (!route->verb) {
		verbs_list(answer);
		return;
	}
	if (control_run(control, route->verb->name, route->process, &reply, &err) < 0) {
		answer_refuse(answer, status_of(err.code), "%s", err.text);
		strbuf_release(&reply.lines);
		return;
	}
	lines = strbuf_take(&reply.lines);
	if (lines)
		control_api_object(lines, answer);
	else
		answer_refuse(answer, 500, "out of memory");
	free(lines);
}

/* ---- as a site ------------------------------------------------------------------------------- */

static bool site_find(void *self, const struct request *request, void **plan,
		      struct answer *refusal)
{
	struct control_route *route = calloc(1, sizeof(*route));

	*plan = route;
	if (!route)
		return answer_refuse(refusal, 500, "out of memory");
	return control_api_find(self, request, route, refusal);
}

static void site_run(void *self, const struct request *request, void *plan, struct answer *answer)
{
	(void)request;
	control_api_run(self, plan, answer);
}

struct site control_site(struct control *control)
{
	return (struct site){.self = control,
			     .home = root,
			     .methods = "GET, POST",
			     .body_max = REQUEST_BODY_MAX,
			     .find = site_find,
			     .run = site_run,
			     .release = free};
}
