/* SPDX-License-Identifier: MIT
 * Opens further traces while the server runs: those that the browser sent, and files below the
 * folder that the user named. Runs on threads of the server. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/atomics.h"
#include "host/trace/reader.h"
#include "show/serve/api.h"
#include "study/layout/folders.h"

/* The file that a name of the client stands for, without links: the caller's to free. NULL if that
 * was refused. What is not below the folder is not told from what is not there. */
static char *path_find(struct call *call, const char *name)
{
	char *joined = NULL, *path = NULL;
	struct stat known;

	if (asprintf(&joined, "%s/%s", call->api->folder, name) < 0) {
		answer_refuse(call->answer, 500, "out of memory");
		return NULL;
	}
	path = *name == '/' ? NULL : realpath(joined, NULL);
	free(joined);
	if (path && path_is_below(path, call->api->folder) && stat(path, &known) == 0 &&
	    S_ISREG(known.st_mode))
		return path;
	free(path);
	answer_refuse(call->answer, 404, "there is no trace '%.200s' in the served folder", name);
	return NULL;
}

static struct study *known_trace(const struct api *api, const char *path)
{
	u32 count = load_acquire(&api->count); /* pairs with api_add_trace */

	for (u32 i = 0; i < count; i++)
		if (strcmp(api->traces[i]->path, path) == 0)
			return api->traces[i];
	return NULL;
}

/* Takes the path over. */
static struct study *add_trace(struct call *call, char *path)
{
	struct study *trace = study_new(path, &view_options);
	struct err err = {0};

	if (!trace)
		err_memory(&err);
	else if (api_open_trace(call->api, trace, &err) == 0)
		return trace; /* which has the path */
	call_fail(call, &err);
	study_free(trace);
	free(path);
	return NULL;
}

static void reply_trace(struct call *call, struct study *trace)
{
	bool ready = study_progress(trace).state == STUDY_READY;

	/* A trace that gets its names while it is loaded has another id afterwards. */
	reply_object(call, false, field_if(ready, FIELD("id", trace->id)),
		     FIELD("name", trace->name), FIELD("path", trace->path));
}

/* Of a file that the browser sent. What is no trace takes none of the few places. */
static char *path_sent(struct call *call, const char *name)
{
	struct err err = {0}, wrong = {0};
	char *path = uploads_take(&call->api->uploads, name, &err);
	struct trace_reader *reader = path ? trace_open(path, &wrong) : NULL;

	trace_close(reader);
	if (reader)
		return path;
	if (path) {
		unlink(path);
		free(path);
		answer_refuse(call->answer, 400, "'%.200s' is not a Heapwise trace", name);
	} else {
		call_fail(call, &err);
	}
	return NULL;
}

static char *path_asked(struct call *call, const struct json_node *root)
{
	const char *name = json_text_of(json_member(root, "path"));
	const char *sent = json_text_of(json_member(root, "upload"));
	char *path = NULL;

	if (sent) {
		path = path_sent(call, sent);
	} else if (!name || !*name) {
		answer_refuse(call->answer, 400,
			      "the body must be {\"path\": name relative to the folder} or "
			      "{\"upload\": name of the file that was sent}");
	} else if (!call->api->folder) {
		answer_refuse(
			call->answer, 404,
			"no folder with further traces is set; start 'heapwise serve --folder "
			"DIR'");
	} else {
		path = path_find(call, name);
	}
	return path;
}

void api_traces(struct call *call)
{
	const struct json_node *root = call_body(call);
	char *path = root ? path_asked(call, root) : NULL;

	if (path) {
		struct study *trace = known_trace(call->api, path);

		if (trace)
			free(path);
		else
			trace = add_trace(call, path);
		if (trace)
			reply_trace(call, trace);
	}
}

void api_upload(struct call *call)
{
	const struct request *request = call->request;
	struct strbuf piece = {.text = (char *)request->body, .count = request->body_bytes};
	struct err err = {0};
	u64 offset = 0;

	if (!call_number(call, "offset", 0, UINT64_MAX >> 1, &offset))
		return;
	if (uploads_put(&call->api->uploads, call->match->segments[0], offset, &piece, &err) < 0)
		call_fail(call, &err);
	else
		reply_object(call, false, FIELD("bytes", offset + piece.count));
}
