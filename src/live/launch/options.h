/* SPDX-License-Identifier: MIT
 * What a run is asked for. */
#ifndef LIVE_LAUNCH_OPTIONS_H
#define LIVE_LAUNCH_OPTIONS_H

#include "live/record/rotation.h"
#include "format/session.h"
#include "host/symbols/prepare.h"

struct control;
struct dumper; /* dump.h */
struct tap;    /* tap.h */

/* Something that lives beside a recording and controls it. Starts when all is ready, just before the
 * program does; if it cannot, with err, the program does not either. Stops after the program's end, or,
 * without having started, before a program that is not recorded. */
struct run_service {
	int (*start)(void *self, struct control *control, struct err *err);
	void (*stop)(void *self);
	void *self;
};

enum run_access {
	RUN_ACCESS_AUTO, /* exact, if the program is instrumented */
	RUN_ACCESS_OFF,
	RUN_ACCESS_EXACT,
	RUN_ACCESS_ADAPTIVE,
	RUN_ACCESS_VALGRIND, /* below Valgrind, with our tool instead of the recorder */
};

struct run_options {
	char *const *argv;       /* program and arguments, NULL-terminated */
	const char *output;      /* trace file, with children folder; NULL = from name and pid */
	const char *recorder;    /* libheapwise.so; NULL = where host/base/parts.h finds it */
	bool alloc_stacks, free_stacks, mmap, lossy, children;
	bool routine_stacks;     /* stacks are made of the routines that have begun, not unwound */
	bool durations;          /* sample the real calls' durations */
	bool exact_times;        /* read the counter for every event */
	bool types;              /* look into new objects for their vtables */
	bool start_paused;
	int toggle_signal;       /* pauses and resumes when it is sent to us; 0 = none */
	const char *toggle_file; /* allocations are recorded while it exists; NULL = none */
	enum run_access access;  /* which accesses to record */
	bool pages;              /* memory can be monitored page-wise, by `tap` */
	bool pages_writes;       /* and that by userfaultfd */
	bool lasting;            /* with pages, and without a trace: chunks that end before they are read of are only counted */
	bool hit_stacks;         /* with the stacks that touch it */
	const struct tap *tap;   /* listens to the program's recording; may be NULL */
	bool embedded;           /* in a process that has children of its own: they are not ours to wait for */
	bool no_trace;           /* nothing is written: for a tap alone */
	bool coverage;           /* and which bytes they touch */
	u64 access_epoch_ns, access_max; /* 0 = default, no limit */
	bool leak_scan;          /* look at the memory when the program ends */
	bool allow_unprofiled;   /* run static and setuid programs without recording them */
	bool unrecorded;         /* record nothing: see run_result.go_without */
	const char *routines;    /* NULL = none, "" = all, else patterns for modules and functions */
	u64 routine_sample;      /* see hw_control.routine_sample */
	bool lisp;               /* a library beside the recorder tells the objects of ECL, nothing else is recorded */
	const struct hw_pool *pools; /* functions of the program that allocate and free */
	u32 pools_count;
	u32 allocators;          /* bits of enum hw_allocator: known ones that are looked for */
	u64 sample_bytes;        /* 0 = everything */
	u64 max_depth;           /* 0 = 1024 */
	u64 max_size;            /* bytes of trace; 0 = until the disk is 90 % full */
	struct rotation_options rotate; /* all zero = one trace for all of the run */
	u64 ring_records;        /* 0 = default */
	const struct run_service *service; /* may be NULL */
	const struct dumper *dumper; /* writes dumps while the program runs; may be NULL */
	struct prepare *prepare; /* reads modules' symbols ahead; may be NULL */
	/* Called when all is told to the tap, while the last of the trace is still to be written; may be NULL. */
	void (*told)(void *self);
	void *told_self;
	u64 test_stamp_shift;    /* tests */
	bool test_preempt;
	/* Called from the waiting thread about 10 times a second while the program runs; may be
	 * NULL. */
	void (*progress)(void *self, u64 events, u64 live_bytes, u64 trace_bytes);
	void *progress_self;
};

#endif
