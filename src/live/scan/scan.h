/* SPDX-License-Identifier: MIT
 * A scan of a program's memory at its end, or on request, which says of each block that was not
 * freed whether anything still leads to it. One thread per scan does what must be done from one
 * thread (ptrace) or takes long; three others meet it:
 *
 * The recorder asks (hw_control.leaving) and waits for the answer. The drain thread starts the
 * scan, reads the last events when the process stands still, and tells the result. The waiting
 * thread rings `children` whenever a child or a traced process has changed, because it gets the
 * signals. */
#ifndef LIVE_SCAN_SCAN_H
#define LIVE_SCAN_SCAN_H

#include "live/drain/correlate.h"
#include "live/drain/berths.h"

/* What all scans of a run share; part of struct berths. */
struct scan_hub {
	u32 children;   /* futex: waiting thread adds 1 at each SIGCHLD */
	u32 interrupts; /* waiting thread adds 1 when the user wants to end: scans give up */
};

enum scan_stage {
	/* futex of a scan */
	SCAN_WATCHING,     /* the process runs to its end */
	SCAN_WANTS_EVENTS, /* scan: it stands still, the last events are to be read */
	SCAN_HAS_EVENTS,   /* drain thread: the live blocks are exact, and are left alone */
	/* scan: the process is let go, and the live blocks may change; what was read is sorted */
	SCAN_SORTING,
	SCAN_OVER, /* scan: the process is let go, the result is there */
};

struct scan;

/* Starts the thread, which answers the recorder as soon as the process is seized (or will not be).
 * NULL, with err filled, if that is not possible; then the caller answers. at_once: the program did
 * not ask and runs on afterwards. */
struct scan_start {
	const struct berth *berth;
	u32 pid;
	bool at_once;
	bool owners; /* all pointers are kept, and told */
	/* A copy of the memory is scanned, where there can be one, and the program runs on. One
	 * that has asked does so right after the question. */
	bool background;
	bool contents; /* with owners: which blocks are alike */
	const struct berths *berths;
	const struct correlator *correlator;
};
struct scan *scan_start(const struct scan_start *start, struct err *err);

bool scan_is_at_once(const struct scan *self);
bool scan_lets_run(const struct scan *self);   /* the program runs on afterwards */
bool scan_has_owners(const struct scan *self); /* was started so */

/* Answers the recorder without a scan. */
void scan_decline(struct hw_control *control);

u32 scan_stage(const struct scan *self); /* enum scan_stage */

/* Drain thread, when the stage is SCAN_WANTS_EVENTS and all is read. reason: why the blocks are
 * not known well enough, or NULL. */
void scan_give_events(struct scan *self, const char *reason);

/* The result, when the stage is SCAN_OVER; it lives as long as the scan. */
const struct stream_scan *scan_result(struct scan *self);

/* Drain thread, when the stage is SCAN_OVER: how many pointers are told. */
u64 scan_pointers(const struct scan *self);

/* Drain thread, when the stage is SCAN_OVER: owners are not told, and why. */
void scan_drop_owners(struct scan *self, const char *reason);

/* Drain thread, when the stage is SCAN_OVER: tells the sink. */
int scan_tell(struct scan *self, const struct stream_sink *sink, struct err *err);

/* Tells that there was no scan. */
int scan_tell_failure(const struct stream_sink *sink, u64 chunks, const char *reason,
		      struct err *err);

/* Frees a scan at any stage; waits for its thread. */
void scan_free(struct scan *self);

#endif
