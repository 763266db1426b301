/* SPDX-License-Identifier: MIT
 * A trace that is still being written, as views see it: a copy of what was there at some moment, up
 * to the last complete block, which is made anew when somebody asks and it is old. Answers come
 * from the copy that is there; the next one is made meanwhile, on a thread of its own, and the old
 * one goes when its last reader does. The program that is recorded notices nothing: only the file
 * is read.
 *
 *	struct study *trace = renewal_take(renewal, &epoch);     (NULL = there is none yet)
 *	...
 *	renewal_give(renewal, trace);
 */
#ifndef SHOW_SERVE_RENEWAL_H
#define SHOW_SERVE_RENEWAL_H

#include <pthread.h>
#include <string.h>

#include "show/serve/part_cache.h"
#include "study/open/study.h"

struct generation; /* a copy */

struct renewal {
	/* The caller's. */
	const char *path; /* of the file that is being written */
	const char *name; /* what it is called */
	char id[20];      /* that it keeps */
	struct part_cache *parts;
	/* Has all that was recorded so far written to the file; may be NULL. */
	void (*save)(void *self);
	/* Whether the file is being written; NULL = look at the file. */
	bool (*is_written)(void *self);
	void *self;

	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t changed;
	struct generation *newest; /* and the older ones that are in use */
	u64 epoch;                 /* of the newest, from 1; 0 = none */
	bool complete;             /* nothing will be added to what the newest one has */
	bool running;              /* the next one is being made */
	bool closing;
	u64 next_ns;    /* not before */
	struct err err; /* of the last try, code 0 = it went well */
};

/* All zero but what is the caller's. */
void renewal_init(struct renewal *self);
/* Waits for the thread; no other is begun. */
void renewal_close(struct renewal *self);
/* After that, when nobody has a copy any more. */
void renewal_release(struct renewal *self);

/* The newest copy, which stays until it is given back; the next one is begun if it is time. NULL =
 * there is none yet. */
struct study *renewal_take(struct renewal *self, u64 *epoch);
void renewal_give(struct renewal *self, struct study *trace);
/* The same without a wish for a newer one. */
struct study *renewal_peek(struct renewal *self);

/* The file is complete now: makes the last copy, and waits for it. */
void renewal_finish(struct renewal *self);

/* Whether the newest copy is all there will be; and how the last try went. */
bool renewal_is_complete(struct renewal *self);
u64 renewal_epoch(struct renewal *self);
struct study_progress renewal_progress(struct renewal *self);

/* Whether a trace is a file without a name, as `heapwise watch` writes it without --trace: nothing
 * can be kept beside it. */
static inline bool trace_is_nameless(const char *path) { return strncmp(path, "/proc/", 6) == 0; }

/* Copies a file as it is now, and adds function names to the copy. The descriptor is for
 * reading. */
int trace_copy(const char *from, int to, struct err *err);

#endif
