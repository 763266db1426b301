/* SPDX-License-Identifier: MIT
 * The page of `heapwise serve`, of a program that runs and is watched. Reports become ticks of its
 * Live view; the other views look at the trace that is written meanwhile.
 *
 *	struct watched *watched = watched_open(&options, &err);     (before any thread is made)
 *	run.output.path = watched_trace(watched);
 *	watched_start(watched, control, &err);                      (just before the program)
 *	watched_report(watched, &report);                           (each)
 *	watched_leave(watched);                                     (the recording ends)
 *	watched_ended(watched, &result);
 *	watched_close(watched);
 */
#ifndef SHOW_SERVE_WATCHED_H
#define SHOW_SERVE_WATCHED_H

#include "live/launch/run.h"
#include "live/watch/watcher.h"
#include "show/serve/server.h"

struct watched_options {
	struct watcher *watcher;
	const struct policy_options *policy; /* its kind and states */
	struct server *server;               /* that was opened; watched_close closes it */
	char *graphs_folder;                 /* as web_graphs_folder gives it; becomes ours */
	const char *program;
	const char *trace; /* file; NULL = a temporary one */
};

struct watched;

/* Opens, if need be, the temporary file. */
struct watched *watched_open(const struct watched_options *options, struct err *err);

/* Ends the server's threads. */
void watched_close(struct watched *self);

int watched_start(struct watched *self, struct control *control, struct err *err);

/* The recording is about to be taken apart; the server goes on. */
void watched_leave(struct watched *self);

const char *watched_trace(const struct watched *self);

void watched_report(struct watched *self, const struct watch_report *report);

/* The program has ended, and monitor_run has returned: the trace is complete, and viewers are told.
 * False if the server was never started. */
bool watched_ended(struct watched *self, const struct run_result *result);

#endif
