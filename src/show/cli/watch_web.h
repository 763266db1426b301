/* SPDX-License-Identifier: MIT
 * heapwise watch --web: the page of `heapwise serve`, of a program that runs. Reports become ticks of its Live view;
 * the other views look at the trace that is written meanwhile.
 *
 *	struct watch_web *web = watch_web_open(&options, &err);     (before any thread is made)
 *	run.output = watch_web_trace(web);
 *	watch_web_start(web, control, &err);                        (just before the program)
 *	watch_web_report(web, &report);                             (each)
 *	watch_web_leave(web);                                       (the recording ends)
 *	watch_web_ended(web, &result);
 *	watch_web_stay(web);
 *	watch_web_close(web);
 */
#ifndef SHOW_CLI_WATCH_WEB_H
#define SHOW_CLI_WATCH_WEB_H

#include "show/cli/command.h"
#include "live/launch/run.h"
#include "live/watch/watcher.h"

struct watch_web_options {
	const struct command *command;
	struct watcher *watcher;
	const struct policy_options *policy; /* its kind and states */
	const char *program;
	const char *trace; /* file; NULL = a temporary one */
	const char *address;
	u64 port;
	bool open, print_url;
};

struct watch_web;

/* Opens the socket and, if need be, the temporary file. */
struct watch_web *watch_web_open(const struct watch_web_options *options, struct err *err);
void watch_web_close(struct watch_web *self);

int watch_web_start(struct watch_web *self, struct control *control, struct err *err);

/* The recording is about to be taken apart; the server goes on. */
void watch_web_leave(struct watch_web *self);

const char *watch_web_trace(const struct watch_web *self);

void watch_web_report(struct watch_web *self, const struct watch_report *report);

/* The program has ended, and monitor_run has returned: the trace is complete, and viewers are told. */
void watch_web_ended(struct watch_web *self, const struct run_result *result);

/* Goes on serving until Ctrl-C. */
void watch_web_stay(struct watch_web *self);

#endif
