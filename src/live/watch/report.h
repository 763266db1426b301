/* SPDX-License-Identifier: MIT
 * What a watcher is asked for, and what it reports at regular intervals: numbers and places, for
 * whoever shows them. */
#ifndef LIVE_WATCH_REPORT_H
#define LIVE_WATCH_REPORT_H

#include "live/watch/policy.h"

struct watcher_options {
	struct policy_options policy;
	u64 interval_ns;
};

enum {
	WATCH_AGES = 7,
	WATCH_SIZES = AREAS_SIZES,
	WATCH_ROWS = 20,
	WATCH_FRAMES = 16,
	WATCH_TOP = 10
};

struct watch_frame {
	char module[256]; /* "" = unknown */
	u64 pc;
	u64 offset; /* in the module, of the call */
};

struct watch_stack { /* innermost first */
	u32 frames;
	struct watch_frame frame[WATCH_FRAMES];
};

/* Areas of one allocation point. */
struct watch_point {
	u32 context;
	/* of the point, in the order of first allocations, as a trace's are */
	u32 number;
	u64 areas, bytes;
	/* of all points whose innermost frame is the same; of top[] only */
	u64 line_bytes;
	/* bounded leaks: untouched for leak_after, and monitored for half of that */
	u64 stale_areas, stale_bytes;
	/* of the stale ones: nothing led to them when memory was scanned last */
	u64 lost_areas;
	u64 unknown_areas; /* of the stale ones: they were not there then */
	u64 oldest_ns;     /* of the stale ones */
	u64 hits;          /* of all that live */
	i64 growth_bytes;  /* since the last report */
	/* of what it allocates: identity as struct stream_type has it, 0 = unknown */
	u64 type;
	struct watch_frame type_at; /* and where that is */
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
	double rate; /* hits for each second that it was watched */
	u32 context, hit_context;
	/* who touched it last, if that was asked for and it was touched */
	struct watch_stack touched;
	struct watch_stack made; /* of the rare ones: who allocated it */
};

struct watch_report {
	u64 number;
	u64 now_ns, elapsed_ns, interval_ns; /* elapsed: since the program's start */
	u64 mallocs, frees, reallocs;        /* since the last report */
	u64 seen;                            /* allocations so far, of earlier images, too */
	u64 live_areas, live_bytes;
	u64 sizes[WATCH_SIZES]; /* live areas by the highest bit of their size */
	/* untouched for less than 1, 2, 4, 8, 16, 32 s, more */
	u64 ages[WATCH_AGES], age_bytes[WATCH_AGES];
	u64 unknown_areas, unknown_bytes;  /* of which that is not known */
	u64 thresholds[POLICY_STATES_MAX]; /* units by policy_state() */
	u64 working_bytes;                 /* of areas that were seen since the last report */
	/* of areas that were not, and would not have been all the time */
	u64 working_unknown_bytes;
	u64 units, armed_units, armed_areas, armed_bytes;
	u64 hits, kernel_hits, arms, refusals; /* in all */
	/* times that all was opened to keep the stated overhead */
	u64 floods;
	/* units that were opened because their neighbours were hit in a row */
	u64 around;
	u64 cost_ns, cpu_ns;       /* in all */
	u64 arming_ns, opening_ns; /* of cost_ns; the rest are hits */
	/* of cpu_ns, estimated: allocator calls, the heap's time and the recording's */
	u64 calls_ns;
	u64 monitor_ns;                   /* CPU time of this process */
	double armed_byte_s, live_byte_s; /* in all: bytes × for how long */
	u64 interval_cost_ns, interval_cpu_ns;
	u64 stale_areas, stale_bytes, lost_areas, lost_bytes;
	bool scanned; /* it is known which of them are lost */
	/* of the last scan before main returned, since the program's start; 0 = there was none */
	u64 scanned_ns;
	bool main_returned; /* areas that no scan has seen before are unknown */
	/* so far; for how long the program stood still for the last */
	u64 scans, scan_ns;
	u64 pointer_scans; /* that kept the pointers, as ctl scan --owners asks for */
	u64 earlier_scans; /* of these, before the last exec */
	u64 points;        /* allocation points with live areas */
	bool last;
	bool monitored; /* pages could be monitored */
	u32 pid;        /* of the program */
	u32 suspects_count, growth_count, oldest_count, rare_count, types_count, top_count;
	struct watch_point suspects[WATCH_ROWS]; /* points with most stale bytes */
	struct watch_point growth[WATCH_ROWS];   /* points that grew most */
	struct watch_area oldest[WATCH_ROWS];
	struct watch_area rare[WATCH_ROWS];  /* touched since their birth, but least often */
	struct watch_type types[WATCH_ROWS]; /* of stale areas, most bytes first */
	struct watch_point top[WATCH_TOP];   /* points with most bytes */
};

#endif
