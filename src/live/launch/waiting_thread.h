/* SPDX-License-Identifier: MIT
 * The waiting thread: waits for the program and for signals, and does what may block so that the
 * drain thread need not: opens and closes traces, reads /proc, looks at the disk, reports
 * progress. */
#ifndef LIVE_LAUNCH_WAITING_THREAD_H
#define LIVE_LAUNCH_WAITING_THREAD_H

#include "live/control/control.h"
#include "live/launch/launch.h"
#include "live/launch/options.h"

struct pid_list {
	VEC(pid_t) pids;
};

struct waiting_thread {
	const struct run_options *options;
	const struct launch_signals *signals;
	struct drain *drain;       /* NULL: nothing is recorded */
	struct control *control;   /* of the same */
	bool file_seen;            /* whether the toggle file was there */
	pid_t pid;                 /* of the program, our child */
	char folder[4096];         /* where the traces are */
	const char *name;          /* start of trace names in the folder */
	struct pid_list inherited; /* children that we had before the program */
	bool left_behind;          /* processes of the program's outlive it */
	bool ended;                /* the program has ended, with wait_status */
	int wait_status;
	int passed_signal; /* the last one that was sent to us alone, 0 = none */
	u64 process_count; /* that there were so far */
	u64 disk_ns, progress_ns;
	u64 disk_floor_bytes; /* free space below which single events are no longer kept */
};

/* Returns when the program, and all that is recorded, has ended. */
void waiting_thread_run(struct waiting_thread *self);

/* Notes which children are there before the program: `sleep 1000 & exec heapwise run` */
void waiting_thread_note_children(struct waiting_thread *self);

/* Notes how much room the disk has before the run. */
void waiting_thread_measure_disk(struct waiting_thread *self);

/* Closes a process's trace, if it is open, and keeps its first error. */
void process_close_trace(struct process *process);

#endif
