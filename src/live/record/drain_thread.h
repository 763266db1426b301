/* SPDX-License-Identifier: MIT
 * The thread that empties the rings of all recorded processes. It never touches disk or terminal:
 * what may block is left to the waiting thread, and the two talk through flags.
 *
 * drain_start waits until the thread holds the monitor's lock, so that the program may then start.
 * The thread ends when all recorded processes are gone and everything of them is told. */
#ifndef LIVE_RECORD_DRAIN_THREAD_H
#define LIVE_RECORD_DRAIN_THREAD_H

#include <pthread.h>

#include "live/record/process.h"
#include "live/scan/scan.h"

struct drain {
	struct berths *berths;
	struct process_fallback fallback;
	struct process *processes; /* all, the root first; drain thread appends, released */
	u64 max_size;              /* bytes of all traces; 0 = no limit */
	pthread_t thread;
	u32 started; /* futex: drain, 1 = runs, 2 = could not start */
	struct scan_hub scans;

	/* Waiting thread. */
	u32 aggregate; /* 1 = single events are no longer kept */
	/* 1 = processes that are not known yet may come; waiting thread, and whoever starts */
	u32 hold;
	/* any thread: number of the command * 2, + 1 = pause; see drain_set_paused */
	u32 pause_command;

	/* Drain thread, for others to look at. */
	u32 done; /* released */
	u32 aggregating;
	u64 events, live_bytes;

	/* Drain thread alone. */
	VEC(struct process *) active; /* not finished */
	struct process *newest;
	u64 ended_events, ended_bytes; /* of finished processes */
	u32 pause_obeyed;
	u64 cycle_ns;   /* when the last cycle began */
	u64 elapsed_ns; /* and how long after the one before */
	u64 tick_ns, size_ns;
	u64 timeout_ns;
	struct err error; /* first failure that is not a process's own */
	/* images that asked to be recorded, and whose memory could not be mapped */
	u64 unmapped;
	struct err unmapped_error; /* why, at first */
};

int drain_start(struct drain *self, struct err *err);

/* Any thread: pauses or resumes the recording of all processes, those to come included. */
void drain_set_paused(struct drain *self, bool paused);

/* Waiting thread: makes the drain thread look at once. */
void drain_wake(struct drain *self);

/* Waits for the thread's end, and releases what was its own. The processes are the caller's. */
void drain_join(struct drain *self);

#endif
