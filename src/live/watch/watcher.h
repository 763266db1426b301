/* SPDX-License-Identifier: MIT
 * `heapwise watch` without its face: listens to a program, controls what is monitored, and reports at regular
 * intervals. The tap runs on the drain thread; a report is handed over to whoever shows it, on another. */
#ifndef LIVE_WATCH_WATCHER_H
#define LIVE_WATCH_WATCHER_H

#include <pthread.h>

#include "live/watch/policy.h"
#include "live/watch/stale.h"
#include "live/watch/top.h"

enum { WATCH_AGES = 7, WATCH_SIZES = 32, WATCH_ROWS = 20, WATCH_FRAMES = 16, WATCH_TOP = 10 };

struct watch_frame {
	char module[256]; /* "" = unknown */
	u64 pc;
	u64 offset;       /* in the module, of the call */
};

struct watch_stack { /* innermost first */
	u32 frames;
	struct watch_frame frame[WATCH_FRAMES];
};

/* Areas of one allocation point. */
struct watch_point {
	u32 context;
	u32 number;                   /* of the point, in the order of first allocations, as a trace's are */
	u64 areas, bytes;
	u64 line_bytes;               /* of all points whose innermost frame is the same; of top[] only */
	u64 stale_areas, stale_bytes; /* bounded leaks: untouched for leak_after, and monitored for half of that */
	u64 lost_areas;               /* of the stale ones: nothing led to them when memory was scanned last */
	u64 unknown_areas;            /* of the stale ones: they were not there then */
	u64 oldest_ns;                /* of the stale ones */
	u64 hits;                     /* of all that live */
	i64 growth_bytes;             /* since the last report */
	u64 type;                     /* of what it allocates: identity as struct stream_type has it, 0 = unknown */
	struct watch_frame type_at;   /* and where that is */
	struct watch_stack stack;
};

/* Stale areas of one type. */
struct watch_type {
	u64 type; /* 0 = those of which none is known */
	u64 stale_areas, stale_bytes, lost_areas;
	struct watch_frame at;
};

struct watch_area { /* least recently used, or most rarely */
	u64 address, size, age_ns, life_ns, hits;
	double rate;                /* hits for each second that it was watched */
	u32 context, hit_context;
	struct watch_stack touched; /* who touched it last, if that was asked for and it was touched */
	struct watch_stack made;    /* of the rare ones: who allocated it */
};

struct watch_report {
	u64 number;
	u64 now_ns, elapsed_ns, interval_ns; /* elapsed: since the program's start */
	u64 mallocs, frees, reallocs;        /* since the last report */
	u64 seen;                            /* allocations so far, of earlier images, too */
	u64 live_areas, live_bytes;
	u64 sizes[WATCH_SIZES];              /* live areas by the highest bit of their size */
	u64 ages[WATCH_AGES], age_bytes[WATCH_AGES]; /* untouched for less than 1, 2, 4, 8, 16, 32 s, more */
	u64 unknown_areas, unknown_bytes;    /* of which that is not known */
	u64 thresholds[POLICY_STATES_MAX];   /* units by policy_state() */
	u64 working_bytes;                   /* of areas that were seen since the last report */
	u64 working_unknown_bytes;           /* of areas that were not, and would not have been all the time */
	u64 units, armed_units, armed_areas, armed_bytes;
	u64 hits, kernel_hits, arms, refusals; /* in all */
	u64 floods;                          /* times that all was opened to keep the stated overhead */
	u64 around;                          /* units that were opened because their neighbours were hit in a row */
	u64 cost_ns, cpu_ns;                 /* in all */
	u64 arming_ns, opening_ns;           /* of cost_ns; the rest are hits */
	u64 calls_ns;                        /* of cpu_ns, estimated: allocator calls, the heap's time and the recording's */
	u64 monitor_ns;                      /* CPU time of this process */
	double armed_byte_s, live_byte_s;    /* in all: bytes × for how long */
	u64 interval_cost_ns, interval_cpu_ns;
	u64 stale_areas, stale_bytes, lost_areas, lost_bytes;
	bool scanned;                        /* it is known which of them are lost */
	u64 scans, scan_ns;                  /* so far; for how long the program stood still for the last */
	u64 points;                          /* allocation points with live areas */
	bool last;
	bool monitored;                      /* pages could be monitored */
	u32 pid;                             /* of the program */
	u32 suspects_count, growth_count, oldest_count, rare_count, types_count, top_count;
	struct watch_point suspects[WATCH_ROWS]; /* points with most stale bytes */
	struct watch_point growth[WATCH_ROWS];   /* points that grew most */
	struct watch_area oldest[WATCH_ROWS];
	struct watch_area rare[WATCH_ROWS];      /* touched since their birth, but least often */
	struct watch_type types[WATCH_ROWS];     /* of stale areas, most bytes first */
	struct watch_point top[WATCH_TOP];       /* points with most bytes */
};

struct watcher_options {
	struct policy_options policy;
	u64 interval_ns;
};

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

/* These wait until the drain thread gets to it, which it does several times a second: false if it did not within ten
 * seconds, or without memory. */
bool watcher_settings(struct watcher *self, struct watch_settings *settings);
/* 0 = as it is. From the next tick on. */
bool watcher_set(struct watcher *self, const struct watch_settings *settings);
/* after_ns 0 = as it is set. */
bool watcher_suspects(struct watcher *self, const struct stale_query *query, struct watch_suspects *found);
bool watcher_top(struct watcher *self, const struct top_query *query, struct watch_top *found);

/* The program has ended, and the drain thread with it: questions are answered by whoever asks. */
void watcher_rest(struct watcher *self);

#endif
