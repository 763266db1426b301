/* SPDX-License-Identifier: MIT
 * Starts the program in a child that waits at a gate, so that its pid is known, the trace is open
 * and the drain thread runs before its first instruction. The program starts with the signal mask
 * and dispositions, and the limits, that heapwise itself was started with. */
#ifndef LIVE_LAUNCH_LAUNCH_H
#define LIVE_LAUNCH_LAUNCH_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "host/base/err.h"
#include "format/types.h"

enum { LAUNCH_SIGNALS = 7 };

/* The monitor's own signals while it runs: what it waits for is blocked, so that sigtimedwait gets
 * it, and what would end it is ignored. Threads that start later inherit that. So it is with its
 * limit of descriptors: with --children each process takes some. */
struct launch_signals {
	struct rlimit old_files;
	sigset_t old_mask;
	sigset_t waited; /* for sigtimedwait */
	struct sigaction old_actions[LAUNCH_SIGNALS];
	int toggle; /* one more that is waited for, set before; 0 = none */
	struct sigaction old_toggle;
};

void launch_signals_take(struct launch_signals *self);
void launch_signals_restore(const struct launch_signals *self);

struct launch {
	const char *path; /* of the program */
	char *const *argv;
	/* for LD_PRELOAD, maybe with others; NULL = run unprofiled, or below Valgrind */
	const char *recorder;
	const char *valgrind; /* for VALGRIND_LIB: path is its launcher; NULL = not below it */
	const char *session;  /* for HW_SESSION_ENV */
	u32 *root_pid; /* in shared memory: the child writes its pid as it sees it; may be NULL */
	const struct launch_signals *signals;

	pid_t pid;
	int gate;    /* closed: the child gives up; a byte: it goes on */
	int failure; /* the child's errno, if exec fails */
	char **environment, **shell_argv;
};

/* Starts the program unprofiled and at once: takes no descriptor, of which there may be none left.
 * 0 if it did. */
int launch_plain(struct launch *self, struct err *err);

/* Forks. To be called before any thread is made. */
int launch_fork(struct launch *self, struct err *err);

/* Lets the program start; 0 if it did, or was killed before it could. The child is reaped if
 * not. */
int launch_go(struct launch *self, struct err *err);

/* The program does not start after all: the child ends and is reaped. */
void launch_cancel(struct launch *self);

#endif
