/* SPDX-License-Identifier: MIT
 * Notes about findings over HTTP. Runs on threads of the server. */
#include "show/serve/notes.h"
#include "show/serve/api.h"

/* Of the file that the user knows: what is read of a trace that grows is a copy without a name. */
static const char *path_of(const struct call *call) { return call->api->traces[call->slot]->path; }

void api_notes(struct call *call)
{
	struct notes notes = {0};
	struct err err = {0};

	if (!trace_is_nameless(path_of(call)) && notes_read(path_of(call), &notes, &err) < 0)
		call_fail(call, &err);
	else
		reply_list(call, false, notes.list.count, put_note, notes.list.data);
	notes_release(&notes);
}

void api_note_put(struct call *call)
{
	struct err err = {0};
	const struct json_node *root = call_body(call);
	struct note note = {.finding = call->match->segments[0]};

	if (!root)
		return;
	note.status = json_text_of(json_member(root, "status"));
	note.text = json_text_of(json_member(root, "text"));
	if (!note.status || !note.text)
		answer_refuse(call->answer, 400, "the body needs the texts 'status' and 'text'");
	else if (trace_is_nameless(path_of(call)))
		answer_refuse(
			call->answer, 409,
			"this trace is a temporary file, without notes; start 'heapwise watch "
			"--trace FILE' to keep both");
	else if (notes_write(path_of(call), &note, &err) < 0)
		call_fail(call, &err);
	else
		api_notes(call);
}
