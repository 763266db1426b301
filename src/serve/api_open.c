/* SPDX-License-Identifier: MIT
 * Shows a source line in the user's editor. Runs on threads of the server. */
#include "base/jsontree.h"
#include "serve/api.h"
#include "view/source.h"

/* The numbers that the body has; false if they are none of a file, or no line. */
static bool body_read(struct call *call, u64 files, u32 *file, u64 *line)
{
	struct arena arena = {0};
	struct err err = {0};
	const struct json_node *root = NULL;
	double number, at;

	if (call->request->body)
		root = json_read(call->request->body, call->request->body_bytes, &arena, &err);
	number = root ? json_number_of(json_member(root, "file"), -1) : -1;
	at = root ? json_number_of(json_member(root, "line"), 1) : -1;
	arena_release(&arena);
	if (!(number >= 0 && number < (double)files && at >= 1 && at <= UINT32_MAX))
		return answer_refuse(call->answer, 400,
				     "the body wants {\"file\": number of 'files', \"line\": N}");
	*file = (u32)number;
	*line = (u64)at;
	return true;
}

static void show(struct call *call, u32 file, u64 line)
{
	struct source_text text = {0};
	struct err err = {0};
	const char *path;

	if (source_text_read(&text, call->trace, file, &err) < 0) {
		call_fail(call, &err);
	} else if (!text.text || !text.searched.count) {
		answer_refuse(call->answer, 404, "the file is not there: %s",
			      call->trace->source->files.data[file].path);
	} else {
		path = text.searched.data[text.searched.count - 1]; /* where it was found */
		if (editor_show(&call->api->editor, path, line, &err) < 0) {
			call_fail(call, &err);
		} else if (reply_begin(call, false)) {
			json_open_flat(&call->json, "data", '{');
			json_text(&call->json, "file", path);
			json_number(&call->json, "line", line);
			json_text(&call->json, "editor", call->api->editor.name);
			json_close(&call->json, '}');
			reply_end(call);
		}
	}
	source_text_release(&text);
}

void api_open(struct call *call)
{
	const struct source_table *table;
	struct err err = {0};
	u32 file = 0;
	u64 line = 1;

	if (!call->api->editor.name) {
		answer_refuse(call->answer, 404,
			      "no editor was chosen: 'heapwise serve --editor NAME'");
		return;
	}
	table = view_source(call->trace, &err);
	if (!table)
		call_fail(call, &err);
	else if (body_read(call, table->files.count, &file, &line))
		show(call, file, line);
}
