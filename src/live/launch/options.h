/* SPDX-License-Identifier: MIT
 * What a run is asked for, by subject, and who asks. */
#ifndef LIVE_LAUNCH_OPTIONS_H
#define LIVE_LAUNCH_OPTIONS_H

#include "live/drain/berths.h"
#include "live/record/dump.h"
#include "live/record/rotation.h"

struct control;
struct tap; /* tap.h */

/* Whoever asked for a run, and lives beside it. All that the run calls is here; each may be
 * NULL. */
struct run_owner {
	void *self;
	/* All is ready, and the program is about to start. If this fails, with err, the program
	 * does not start. trace: the file, which is there; "" if nothing is written. */
	int (*start)(void *self, struct control *control, const char *trace, struct err *err);
	/* After the program's end; or, without start, before a program that is not recorded. */
	void (*stop)(void *self);
	/* From the waiting thread about 10 times a second while the program runs. */
	void (*progress)(void *self, u64 events, u64 live_bytes, u64 trace_bytes);
	/* Writes a dump while the program runs, see struct dumper; every so many freed entries
	 * unasked, 0 = not. */
	int (*dump)(void *self, const struct dump_wish *wish);
	u64 dump_every;
	const struct tap *tap; /* listens to the program's recording */
};

enum run_access {
	RUN_ACCESS_AUTO, /* exact, if the program is instrumented */
	RUN_ACCESS_OFF,
	RUN_ACCESS_EXACT,
	RUN_ACCESS_ADAPTIVE,
	RUN_ACCESS_VALGRIND, /* below Valgrind, with our tool instead of the recorder */
};

struct run_output {
	const char *path; /* trace file, with children folder; NULL = from name and pid */
	bool none;        /* nothing is written: for a tap alone */
	u64 max_size;     /* bytes of trace; 0 = until the disk is 90 % full */
	struct rotation_options rotate; /* all zero = one trace for all of the run */
};

/* What pauses and resumes the recording. */
struct run_toggle {
	int signal;       /* that is sent to us; 0 = none */
	const char *file; /* allocations are recorded while it exists; NULL = none */
};

struct run_start {
	const char *recorder; /* libheapwise.so; NULL = where host/base/parts.h finds it */
	/* in a process that has children of its own: they are not ours to wait for */
	bool embedded;
	bool allow_unprofiled; /* run static and setuid programs without recording them */
	bool unrecorded;       /* record nothing: see run_result.go_without */
};

struct run_options {
	char *const *argv; /* program and arguments, NULL-terminated */
	/* What recorders are told. Of its flags those hold that the program and the way to record
	 * it allow; the run itself sets those of accesses, by `access`, and the members below,
	 * use_files and dumper. */
	struct berths_options record;
	enum run_access access;
	struct run_output output;
	struct run_toggle toggle;
	struct run_start start;
	const struct run_owner *owner; /* may be NULL */
};

#endif
