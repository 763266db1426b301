/* SPDX-License-Identifier: MIT
 * Reports of `heapwise watch` as JSON lines, as a screen, and as the text at the end. */
#ifndef SHOW_CLI_WATCH_SHOW_H
#define SHOW_CLI_WATCH_SHOW_H

#include <pthread.h>
#include <stdio.h>
#include <termios.h>

#include "live/watch/names.h"

enum watch_sort { WATCH_BY_BYTES, WATCH_BY_AREAS, WATCH_BY_AGE, WATCH_BY_HITS, WATCH_SORTS };

/* What the user has chosen for the screen. */
struct watch_view {
	bool paused, help, typing; /* typing: the filter */
	u32 sort;                  /* of the suspects: enum watch_sort */
	char filter[64];           /* only points with this in a name of their stacks; "" = all */
	char message[256];
};

struct watch_show {
	FILE *out;
	const struct watch_grown *grown;
	const char *policy; /* its name */
	const struct policy_options *options;
	struct watch_names names;
	struct watch_view view;
	bool keys;   /* the user can change it */
	bool writes; /* of accesses only these are noticed */
};

void watch_show_json(struct watch_show *self, const struct watch_report *report);
void watch_show_screen(struct watch_show *self, const struct watch_report *report);
void watch_show_summary(struct watch_show *self, const struct watch_report *report);
/* Containers that grew, if that is known; else nothing. */
void watch_show_grown(const struct watch_show *self);

/* ---- what grows: found in the trace, once it has the pointers of two scans ---- */

struct result;
struct control;

struct watch_grown {
	const char *path;        /* of the trace; NULL = there is none, or in several files */
	pthread_mutex_t lock;    /* of: */
	struct control *control; /* of the recording, NULL = there is none */
	struct result *table;    /* what grew so far; NULL = not known */
	u64 scans;               /* with pointers, that the trace had when it was read */
	u64 earlier;             /* of these, before the last exec */
	pthread_t reader;
	bool reading;
	bool outdated;        /* what it reads is of the image before */
	u32 read;             /* reader, released: 1 = it is done */
	struct result *found; /* the reader's until then, and: */
	struct err err;
};

/* The recording begins, and with NULL it is about to end. */
void watch_grown_begin(struct watch_grown *self, struct control *control);
/* After each report. Never waits. */
void watch_grown_serve(struct watch_grown *self, const struct watch_report *report);
/* The trace is complete: waits until all of it is known. */
void watch_grown_finish(struct watch_grown *self, const struct watch_report *report);
void watch_grown_release(struct watch_grown *self);

/* ---- keys: pause, sort, filter, snapshot, help, quit ----
 * Read from the terminal itself, because standard input is the program's. */

struct watch_keys {
	int terminal; /* -1 = there is none */
	struct termios before;
	u32 program; /* its pid, to be ended by q; 0 = not known */
	u32 snapshots;
	pthread_t writer; /* of a snapshot */
	bool writing;
	u32 written; /* writer, released: 1 = it is done */
	char path[64], problem[512];
};

/* Takes the terminal's keys, if we are in its foreground. */
void watch_keys_open(struct watch_keys *self);
void watch_keys_close(struct watch_keys *self);

/* Does what was typed; true if the screen is to be drawn anew. */
bool watch_keys_serve(struct watch_keys *self, struct watch_view *view);

#endif
