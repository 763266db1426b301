/* SPDX-License-Identifier: MIT
 * Holds a process just before its end: all its threads are seized, run on as before, and stop where
 * the kernel lets go of a dying thread (PTRACE_EVENT_EXIT). Memory and registers are still there
 * then. Or holds it at once, on request; it runs on afterwards.
 *
 * All calls must come from one thread. When that thread ends, the kernel lets all threads of the
 * process go, whatever they do: that is how a tracer is given up at any moment, and why the
 * process does not hang if the monitor is killed. */
#ifndef LIVE_SCAN_TRACE_H
#define LIVE_SCAN_TRACE_H

#include "host/base/err.h"
#include "host/base/vec.h"
#include "live/scan/thread.h"

struct tracee {
	u32 tid;
	bool stopped; /* for good: at its end */
};

struct tracer {
	u32 pid;
	bool at_once; /* stops the threads wherever they are, instead of at their end */
	VEC(struct tracee) threads;
	bool ending;   /* the process ends, and not only single threads of it */
	u64 ending_ns; /* CLOCK_MONOTONIC, when that was seen first */
};

enum tracer_state {
	TRACER_RUNNING,
	TRACER_STOPPED, /* no thread runs any more */
	TRACER_GONE,    /* there is no such process any more */
};

/* A thread of the process that has not ended: the first one may have, and has no memory then. */
u32 tracer_find_thread(u32 pid);

/* Seizes all threads (at_once: and stops them). Negative: none is seized, and err says why in
 * words. */
int tracer_seize(struct tracer *self, u32 pid, struct err *err);

/* Lets what stopped for other reasons go on; tells how far it is. Never waits. */
enum tracer_state tracer_poll(struct tracer *self);

/* Registers of all stopped threads into *threads, which the caller frees. */
int tracer_threads(struct tracer *self, struct scan_thread **threads, u64 *count, struct err *err);

/* Lets all stopped threads go. */
void tracer_release(struct tracer *self);

#endif
