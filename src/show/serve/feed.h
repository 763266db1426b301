/* SPDX-License-Identifier: MIT
 * What a program that runs tells its viewers: a row of ticks, each an object of JSON that is made
 * once, and a stream of Server-Sent Events for each viewer. The last 3,600 ticks are kept, and of
 * older ones every so many, so that memory is bounded however long the program runs and however
 * slow a viewer is: one that does not keep up misses ticks, and is told how many.
 *
 *	feed_init(&feed);
 *	feed_push(&feed, t_ns, text);            (on one thread)
 *	feed_stream_open(&feed, &request, &answer->stream);
 *	feed_end(&feed, text);                   (the program has ended)
 *	feed_close(&feed);                       (all streams end; before the server is stopped)
 *	feed_release(&feed);
 */
#ifndef SHOW_SERVE_FEED_H
#define SHOW_SERVE_FEED_H

#include <pthread.h>

#include "host/base/arena.h"
#include "host/base/err.h"
#include "host/base/vec.h"
#include "live/watch/names.h"
#include "live/watch/watcher.h"
#include "show/serve/request.h"

enum {
	FEED_TICKS = 3600,  /* kept as they are */
	FEED_OLDER = 1440,  /* at most, of those before */
	FEED_STRIDE = 60,   /* of which every 60th is kept at first, and fewer as time goes on */
	FEED_BEHIND = 8,    /* ticks; a viewer that is further behind misses them */
	FEED_STREAMS = 112, /* at once; the server has some connections more for other questions */
	FEED_TICK_BYTES = 4096,
};

struct feed_tick {
	u64 number; /* from 1 */
	u64 t_ns;   /* since the program's start */
	char *text; /* owned */
};

/* Who watches the program, for questions of viewers: on threads of the server, and may wait a
 * little. */
struct feed_source {
	void *self;
	struct watcher *watcher;
	/* Lives as long as the source; NULL without memory. */
	const struct watch_name *(*name)(void *self, const struct watch_frame *place);
	/* Writes what was recorded so far into a file of its own; its path is the caller's to
	 * free. */
	char *(*snapshot)(void *self, struct err *err);
};

struct feed {
	struct feed_source source;
	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t changed;
	struct feed_tick ring[FEED_TICKS]; /* by number */
	struct feed_tick older[FEED_OLDER];
	u32 older_count;
	u64 stride;
	u64 newest;  /* number, 0 = none yet */
	char *ended; /* what the last event says; NULL = the program runs */
	bool closing;
	u32 streams;
};

void feed_init(struct feed *self);
void feed_release(struct feed *self);

/* A tick; the text is an object of JSON on one line, which is taken over. */
void feed_push(struct feed *self, u64 t_ns, char *text);

/* The program has ended: the last event, whose text is taken over. */
void feed_end(struct feed *self, char *text);

/* Lets all streams end; those whose viewers keep up still get the last event. */
void feed_close(struct feed *self);

/* A stream for a viewer, who may say with Last-Event-ID what he has. False if there are too
 * many. */
bool feed_stream_open(struct feed *self, const struct request *request,
		      struct answer_stream *stream);

/* Ticks from a time on, in their order, at most so many of them: the last one, and before it every
 * so many. Texts are the arena's. False without memory. */
struct feed_history {
	VEC(const char *) texts;
	u64 found; /* before they were thinned out */
	struct arena arena;
};
bool feed_history_read(struct feed *self, u64 from_ns, u64 most, struct feed_history *history);
void feed_history_release(struct feed_history *history);

#endif
