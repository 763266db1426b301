/* SPDX-License-Identifier: MIT
 * Shows a source line in the user's editor, and lets the user allow folders of sources. Runs on
 * threads of the server. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "show/serve/api.h"
#include "study/layout/source.h"

struct wish {
	u32 file;
	u64 line;
	const char *folder; /* "" without one */
};

/* What the body says; false if that is none of a file, or no line. */
static bool wish_read(struct call *call, u64 files, struct wish *wish)
{
	struct err err = {0};
	const struct json_node *root = call_json(call, &err);
	const char *folder;
	double number, at;

	number = root ? json_number_of(json_member(root, "file"), -1) : -1;
	at = root ? json_number_of(json_member(root, "line"), 1) : -1;
	folder = root ? json_text_of(json_member(root, "folder")) : NULL;
	wish->folder = folder ? folder : "";
	if (!(number >= 0 && number < (double)files && at >= 1 && at <= UINT32_MAX))
		return answer_refuse(call->answer, 400,
				     "the body must be {\"file\": number from 'files', \"line\": "
				     "N}");
	wish->file = (u32)number;
	wish->line = (u64)at;
	return true;
}

static void show(struct call *call, u32 file, u64 line)
{
	struct source_text text = {0};
	struct err err = {0};
	const char *path;

	source_text_read(&text, call->trace, file, &call->api->sources);
	if (!text.text && text.asks) {
		answer_refuse(call->answer, 403, "the folder is not allowed yet: %s", text.asks);
	} else if (!text.text || !text.searched.count) {
		answer_refuse(call->answer, 404, "the file does not exist: %s", text.path);
	} else {
		path = text.searched.data[text.searched.count - 1]; /* where it was found */
		if (editor_show(&call->api->editor, path, line, &err) < 0)
			call_fail(call, &err);
		else
			reply_object(call, false, FIELD("file", path), FIELD("line", line),
				     FIELD("editor", call->api->editor.name));
	}
	source_text_release(&text);
}

void api_open(struct call *call)
{
	const struct source_table *table;
	struct err err = {0};
	struct wish wish;

	if (!call->api->editor.name) {
		answer_refuse(call->answer, 404,
			      "no editor is set; start 'heapwise serve --editor NAME'");
		return;
	}
	table = view_source(call->trace, &err);
	if (!table)
		call_fail(call, &err);
	else if (wish_read(call, table->files.count, &wish))
		show(call, wish.file, wish.line);
}

/* The folder is the one that the user was shown, and the one that the file needs: neither a client
 * nor a link that has changed since chooses another. */
static void allow(struct call *call, const struct wish *wish)
{
	struct source_text text = {0};
	struct err err = {0};
	int status;

	source_text_read(&text, call->trace, wish->file, &call->api->sources);
	if (!text.asks || strcmp(text.asks, wish->folder) != 0) {
		answer_refuse(call->answer, 400,
			      "\"folder\" must be the one that \"asks\" of the "
			      "file's source names");
	} else {
		pthread_mutex_lock(&call->api->lock);
		status = folders_add(&call->api->sources, wish->folder, &err);
		pthread_mutex_unlock(&call->api->lock);
		if (status < 0)
			call_fail(call, &err);
		else
			reply_object(call, false, FIELD("folder", wish->folder));
	}
	source_text_release(&text);
}

void api_source_allow(struct call *call)
{
	struct err err = {0};
	const struct source_table *table = view_source(call->trace, &err);
	struct wish wish;

	if (!table)
		call_fail(call, &err);
	else if (wish_read(call, table->files.count, &wish))
		allow(call, &wish);
}
