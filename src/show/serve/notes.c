/* SPDX-License-Identifier: MIT
 * Notes about findings; see notes.h. Runs on threads of the server. */
#define _GNU_SOURCE
#include "show/serve/notes.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/base/io.h"
#include "host/base/jsontree.h"
#include "host/base/outfile.h"
#include "study/analysis/findings/findings.h"

static const char suffix[] = ".notes.json";
enum { FILE_MAX = 32 << 20 }; /* with escapes the longest notes take three times as much */

/* Two clients may write at once, each of which replaces what the other has read. */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

static bool status_is_known(const char *status)
{
	return strcmp(status, "open") == 0 || strcmp(status, "accepted") == 0 ||
	       strcmp(status, "fixed") == 0;
}

/* As findings make them (study/analysis/findings). */
static bool id_is_valid(const char *id)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
	size_t length = strlen(id);

	return length && length < sizeof(((struct finding *)0)->id) &&
	       strspn(id, letters) == length;
}

static bool take_note(struct notes *self, const struct json_node *node)
{
	struct note note = {.finding = json_text_of(json_member(node, "finding")),
			    .status = json_text_of(json_member(node, "status")),
			    .text = json_text_of(json_member(node, "text")),
			    .changed = json_text_of(json_member(node, "changed"))};

	return note.finding && note.status && status_is_known(note.status) && note.text &&
	       note.changed && self->list.count < NOTES_MAX && vec_push(&self->list, note);
}

int notes_read(const char *trace, struct notes *notes, struct err *err)
{
	struct strbuf path = {0}, text = {0};
	const struct json_node *root = NULL, *list;
	int status = 0;
	bool good;

	strbuf_addf(&path, "%s%s", trace, suffix);
	if (path.failed)
		status = err_memory(err);
	else if (access(strbuf_text(&path), F_OK) != 0)
		goto done; /* nobody has written any */
	else if (io_read_file(strbuf_text(&path), FILE_MAX, &text, err) < 0)
		status = err->code = ERR_SYSTEM; /* the file is there: not the client's fault */
	if (status == 0)
		root = json_read(strbuf_text(&text), text.count, &notes->arena, err);
	list = json_member(root, "notes");
	good = list && list->kind == JSON_ARRAY;
	for (const struct json_node *one = good ? list->first : NULL; one && good; one = one->next)
		good = take_note(notes, one);
	if (status == 0 && !good)
		status = err_set(err, ERR_SYSTEM, "%s is not a file of notes; rename or remove it",
				 strbuf_text(&path));
done:
	strbuf_release(&path);
	strbuf_release(&text);
	return status;
}

void notes_release(struct notes *self)
{
	vec_release(&self->list);
	arena_release(&self->arena);
}

/* The new one goes to the end. */
static bool replace(struct notes *self, const struct note *note)
{
	u64 kept = 0;

	for (u64 i = 0; i < self->list.count; i++)
		if (strcmp(self->list.data[i].finding, note->finding) != 0)
			self->list.data[kept++] = self->list.data[i];
	self->list.count = kept;
	return (strcmp(note->status, "open") == 0 && !*note->text) || vec_push(&self->list, *note);
}

void put_note(struct json *json, const void *notes, u64 i)
{
	const struct note *one = &((const struct note *)notes)[i];

	put_object(json, NULL, FIELD("finding", one->finding), FIELD("status", one->status),
		   FIELD("text", one->text), FIELD("changed", one->changed));
}

static int write_all(const char *trace, const struct notes *notes, struct err *err)
{
	struct strbuf path = {0};
	struct outfile out;
	int status;

	strbuf_addf(&path, "%s%s", trace, suffix);
	status = path.failed ? err_memory(err) : outfile_open(&out, strbuf_text(&path), false, err);
	if (status == 0) {
		struct json json = {.out = out.file};

		json_open(&json, NULL, '{');
		json_open(&json, "notes", '[');
		for (u64 i = 0; i < notes->list.count; i++)
			put_note(&json, notes->list.data, i);
		json_close(&json, ']');
		json_close(&json, '}');
		json_end(&json);
		if (ftell(out.file) > FILE_MAX) /* it could not be read again */
			status = err_set(err, ERR_USAGE,
					 "the notes of a trace must not take more than %d MiB",
					 FILE_MAX >> 20);
		status = outfile_close(&out, status, err);
	}
	strbuf_release(&path);
	return status;
}

int notes_write(const char *trace, const struct note *note, struct err *err)
{
	struct note fresh = *note;
	struct notes notes = {0};
	time_t now = time(NULL);
	struct tm utc;
	char changed[32];
	int status;

	if (!id_is_valid(note->finding))
		return err_set(err, ERR_USAGE, "'%.60s' is not the id of a finding", note->finding);
	if (!status_is_known(note->status))
		return err_set(err, ERR_USAGE, "the status must be open, accepted or fixed");
	if (strlen(note->text) > NOTE_TEXT_MAX)
		return err_set(err, ERR_USAGE, "a note must not be longer than %d bytes",
			       NOTE_TEXT_MAX);
	strftime(changed, sizeof changed, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	fresh.changed = changed;
	pthread_mutex_lock(&writing);
	status = notes_read(trace, &notes, err);
	if (status == 0 && !replace(&notes, &fresh))
		status = err_memory(err);
	if (status == 0 && notes.list.count > NOTES_MAX)
		status = err_set(err, ERR_USAGE, "a trace must not have more than %d notes",
				 NOTES_MAX);
	if (status == 0)
		status = write_all(trace, &notes, err);
	pthread_mutex_unlock(&writing);
	notes_release(&notes);
	return status;
}
