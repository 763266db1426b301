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

/* The trace has the path from now on; NULL if that was refused. */
static struct study *add_trace(struct call *call, const char *path)
{
	struct study *trace = study_new(path, &view_options);
	struct err err = {0};

	if (!trace)
		err_memory(&err);
	else if (api_open_trace(call->api, trace, &err) == 0)
		return trace;
	call_fail(call, &err);
	study_free(trace);
	return NULL;
}

static void reply_trace(struct call *call, struct study *trace)
{
	bool ready = study_progress(trace).state == STUDY_READY;

	/* A trace that gets its names while it is loaded has another id afterwards. */
	reply_object(call, false, field_if(ready, FIELD("id", trace->id)),
		     FIELD("name", trace->name), FIELD("path", trace->path));
}

static void open_path(struct call *call, char *path)
{
	struct study *known = known_trace(call->api, path);
	struct study *trace = known ? known : add_trace(call, path);

	if (trace)
		reply_trace(call, trace);
	if (known || !trace)
		free(path);
}

/* A file that the browser sent. What is no trace takes none of the few places, and what is not
 * opened takes no space. */
static void open_sent(struct call *call, double number)
{
	struct uploads *uploads = &call->api->uploads;
	bool valid = number >= 1 && number <= UINT32_MAX;
	struct err err = {0}, wrong = {0};
	char *path = uploads_take(uploads, valid ? (u32)number : 0, &err);
	struct trace_reader *reader = path ? trace_open(path, &wrong) : NULL;
	struct study *trace = reader ? add_trace(call, path) : NULL;

	trace_close(reader);
	if (trace)
		reply_trace(call, trace);
	else if (!path)
		call_fail(call, &err);
	else if (!reader)
		answer_refuse(call->answer, 400, "'%.200s' is not a Heapwise trace",
			      strrchr(path, '/') + 1);
	if (path && !trace)
		uploads_remove(uploads, path);
}

void api_traces(struct call *call)
{
	const struct json_node *root = call_body(call);
	const char *name = json_text_of(json_member(root, "path"));
	const struct json_node *sent = json_member(root, "upload");
	char *path;

	if (!root)
		return;
	if (sent) {
		open_sent(call, json_number_of(sent, 0));
	} else if (!name || !*name) {
		answer_refuse(call->answer, 400,
			      "the body must be {\"path\": name relative to the folder} or "
			      "{\"upload\": number of the upload}");
	} else if (!call->api->folder) {
		answer_refuse(
			call->answer, 404,
			"no folder with further traces is set; start 'heapwise serve --folder "
			"DIR'");
	} else {
		path = path_find(call, name);
		if (path)
			open_path(call, path);
	}
}

void api_upload(struct call *call)
{
	struct upload_piece piece = {.name = call->match->segments[0],
				     .bytes = call->request->body,
				     .count = call->request->body_bytes};
	struct err err = {0};

	if (!call_number(call, "offset", 0, UINT64_MAX >> 1, &piece.offset) ||
	    !call_u32(call, "upload", 0, UINT32_MAX, &piece.number))
		return;
	if ((!piece.number && api_check_room(call->api, &err) < 0) ||
	    uploads_put(&call->api->uploads, &piece, &err) < 0)
		call_fail(call, &err);
	else
		reply_object(call, false, FIELD("upload", piece.number),
			     FIELD("bytes", piece.offset + piece.count));
}
