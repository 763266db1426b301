/* SPDX-License-Identifier: MIT
 * What the parts of a watcher share: its state and what one part asks of another. Theirs alone; see
 * watcher.h. */
#ifndef LIVE_WATCH_WATCHER_STATE_H
#define LIVE_WATCH_WATCHER_STATE_H

#include <pthread.h>

#include "live/drain/image_tap.h"
#include "live/watch/report.h"

struct frame { /* by number of the context */
	u64 pc;
	u32 parent;
	u32 point;  /* number + 1 of the allocation point that it is, 0 = none */
	u32 row;    /* of the last report in which it had live areas: index in rows */
	u32 report; /* that report's number, 0 = none */
	u64 bytes;  /* and the bytes of these areas */
};

/* Live areas of one point, while a report is made: struct watch_point without texts, which only the
 * first few need. */
struct point_sum {
	u32 context, number;
	u64 areas, bytes;
	u64 stale_areas, stale_bytes, lost_areas, unknown_areas;
	u64 oldest_ns, hits;
	i64 growth_bytes;
	u64 type;
};

/* The areas with the largest keys, in that order. */
struct ranking {
	u32 count;
	struct {
		const struct area *area;
		double key;
	} row[WATCH_ROWS];
};

struct known_module {
	u64 base, start, end;
	char path[256];
};

struct watcher_classes {
	VEC(struct stream_class) rows;
};

struct watcher {
	struct watcher_options options;
	struct tap tap;
	struct areas areas;
	struct requests requests;
	struct policy policy;
	VEC(struct frame) frames;
	VEC(struct known_module) modules;
	VEC(struct stream_thread) threads; /* by index */
	VEC(struct point_sum) rows;        /* while a report is made, and: */
	struct ranking oldest, rare;
	struct watcher_classes classes; /* of the last scan, by chunk */
	struct map types;               /* chunk -> identity of its type; those that live */
	struct map point_types; /* context -> the same, of the last one that was looked into */
	bool types_told;        /* some that are not in point_types yet */
	u32 pid;
	bool scanned;
	u64 scan_due_ns;    /* before that memory is not scanned again */
	u64 scan_at_ns;     /* when that was, before main returned; 0 = not yet */
	bool main_returned; /* at the last scan */
	u64 scan_ns;        /* for how long the program stood still for the last scan */
	u64 scans, pointer_scans;
	u64 earlier_scans; /* with pointers, of the images before */
	/* of the last report: stale areas that were not stale, or not there, when memory was
	 * scanned */
	u64 suspects_unknown;
	u64 mallocs, frees, reallocs; /* since the last report */
	u64 seen;                     /* allocations of all images */
	u64 calls[2];                 /* of this image: allocations, ends */
	struct image *image;          /* the one that lives, once there was a cycle */
	struct tap_unread unread;     /* of it, so far */
	u64 next_tick_ns, next_report_ns, last_report_ns;
	const struct hw_pages *pages;
	struct policy_cost cost, cost_before;
	u64 calls_ns; /* what allocator calls have cost, estimated */
	u64 hits, kernel_hits, floods, around;
	u64 flood_ticks; /* the last flood that is known */
	u64 cycle_ns;    /* the last cycle */
	double armed_byte_s, live_byte_s;
	u64 reports;
	struct watch_report made;

	u32 point_count;

	pthread_mutex_t lock;
	bool ready; /* by the lock, and: */
	struct watch_report report;
	pthread_cond_t answered;
	struct question *question; /* of who waits; NULL = none */
	bool resting;
};

/* Nothing pointed to it when the program was last scanned. */
/* Whether it was there then. */
bool watcher_is_scanned(const struct watcher *self, const struct area *area);
bool watcher_is_lost(const struct watcher *self, const struct area *area);
/* The frames of a context, innermost first. */
void watcher_stack(const struct watcher *self, u32 context, struct watch_stack *stack);
/* Makes a report; watcher_take takes it. */
void watcher_report(struct watcher *self, u64 now, bool last);
/* Answers who asks (watcher_settings, watcher_set, watcher_suspects); on the drain thread. */
void watcher_answer(struct watcher *self, u64 now);

#endif
