/* SPDX-License-Identifier: MIT
 * What people write about findings, kept beside the trace as TRACE.notes.json: a status and a text
 * for each finding, by its id, which is the same in each run that does the same. */
#ifndef SHOW_SERVE_NOTES_H
#define SHOW_SERVE_NOTES_H

#include "host/base/arena.h"
#include "host/base/err.h"
#include "host/base/vec.h"
#include "show/render/fields.h"

enum { NOTE_TEXT_MAX = 4096, NOTES_MAX = 4096 };

struct note {
	const char *finding; /* id */
	const char *status;  /* "open", "accepted" or "fixed" */
	const char *text;    /* may be "" */
	const char *changed; /* "2026-11-18T09:30:00Z" */
};

struct notes { /* all zero = empty */
	VEC(struct note) list;
	struct arena arena;
};

/* Without a file there are none. ERR_SYSTEM: the file is not one of notes. */
int notes_read(const char *trace, struct notes *notes, struct err *err);
void notes_release(struct notes *self);

/* Replaces the note of its finding, of now (`changed` is not read); "open" without a text removes
 * it. All or nothing. ERR_USAGE: what cannot be an id, an unknown
 * status, a text or a list that is too long. */
int notes_write(const char *trace, const struct note *note, struct err *err);

/* Of a list of notes. */
put_item put_note;

#endif
