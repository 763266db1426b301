/* SPDX-License-Identifier: MIT
 * A command that makes one result of each trace and prints it. */
#ifndef SHOW_CLI_VIEW_H
#define SHOW_CLI_VIEW_H

#include "show/cli/opening.h"

/* Commands that keep more for a run put it first in what they keep, so that a function which gets
 * the view has the rest, too. */
struct view {
	const struct command *command;
	const struct trace_args *args; /* the first of the command's own */
	/* The result of view->study; NULL and err on failure. */
	struct result *(*build)(struct view *self, struct err *err);
	/* Returns the exit status. NULL = print_result() and EXIT_DONE. */
	int (*print)(struct view *self, struct result *result);
	/* What build() kept for print() or the result; after each trace, also a failed one. NULL =
	 * nothing. */
	void (*release)(struct view *self);
	/* by view_begin */
	enum format format;
	struct wrappers wrappers;
	struct study *study; /* of the moment */
};

/* Shows the one operand that must be there: a trace, or each trace of a folder. Returns the exit
 * status. */
int view_run(struct view *self, int argc, char **argv);

/* The same in steps, for a command that does more: begin and end stand around show. begin returns
 * the exit status. */
int view_begin(struct view *self);
int view_show(struct view *self, int argc, char **argv);
void view_end(struct view *self);

/* Calls one() for the trace that the operand names, or for each trace of a folder, with what the
 * format needs between them. Returns the worst of their exit statuses. */
int each_trace(const struct command *command, const char *operand, enum format format,
	       int (*one)(void *self, const char *path), void *self);

#endif
