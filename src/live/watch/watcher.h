/* SPDX-License-Identifier: MIT
 * `heapwise watch` without its face: listens to a program, controls what is monitored, and reports
 * at regular intervals. The tap runs on the drain thread; a report is handed over to whoever shows
 * it, on another. */
#ifndef LIVE_WATCH_WATCHER_H
#define LIVE_WATCH_WATCHER_H

#include "live/watch/report.h"
#include "live/watch/stale.h"
#include "live/watch/top.h"

struct watcher;

struct watcher *watcher_new(const struct watcher_options *options);
void watcher_free(struct watcher *self);

const struct tap *watcher_tap(const struct watcher *self);

/* Another thread: the newest report, if there is one that was not taken; false if not. */
bool watcher_take(struct watcher *self, struct watch_report *report);

/* ---- questions of other threads ---- */

/* What can be changed while the program runs. */
struct watch_settings {
	u64 leak_after_ns;
	double overhead;
	u64 interval_ns;
};

struct watch_suspect {
	u64 chunk, size, age_ns, idle_ns, hits;
	u64 threshold_ns; /* of its unit, see policy_threshold_ns(); 0 = none */
	u32 number;       /* of its point, see struct watch_point */
	bool known, lost; /* it was there when memory was scanned last; and nothing led to it */
	struct watch_frame place; /* that allocated it */
};

struct watch_suspects {
	u64 count, bytes; /* of all */
	bool scanned;
	VEC(struct watch_suspect) rows;
};

struct watch_top_row {
	u32 number; /* of the point, see struct watch_point */
	u64 areas, bytes;
	u64 line_bytes; /* of all points that were asked for whose innermost frame is the same */
	struct watch_frame place;
};

struct watch_thread {
	u32 index, tid; /* tid 0 = unknown */
	char name[16];
	u64 areas, bytes; /* that live of what it allocated */
};

struct watch_top {
	u64 elapsed_ns; /* since the program's start */
	u64 points;     /* of which rows are the first */
	VEC(struct watch_top_row) rows;
	VEC(struct watch_thread) threads; /* that allocated something that lives, by index */
};

/* These wait until the drain thread gets to it, which it does several times a second: false if it
 * did not within ten seconds, or without memory. */
bool watcher_settings(struct watcher *self, struct watch_settings *settings);
/* 0 = as it is. From the next tick on. */
bool watcher_set(struct watcher *self, const struct watch_settings *settings);
/* after_ns 0 = as it is set. */
bool watcher_suspects(struct watcher *self, const struct stale_query *query,
		      struct watch_suspects *found);
bool watcher_top(struct watcher *self, const struct top_query *query, struct watch_top *found);

/* The program has ended, and the drain thread with it: questions are answered by whoever asks. */
void watcher_rest(struct watcher *self);

#endif
