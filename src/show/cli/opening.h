/* SPDX-License-Identifier: MIT
 * How commands open traces (study/open/study.h): notes and progress go to standard error.
 *
 *	struct study *study = open_trace(command, &args->trace, NULL, path, &err);
 *	if (study) {
 *		struct stack_source stacks = shown_stacks(study, format, args->trace.depth);
 *		...
 *	}
 *	close_trace(study);
 */
#ifndef SHOW_CLI_OPENING_H
#define SHOW_CLI_OPENING_H

#include "show/cli/trace_options.h"
#include "study/open/study.h"

/* What the command asks for if no option does: the last image, without a search for names. */
struct study_options opening_options(const struct command *command);

/* By the options of the command line; wrappers may be NULL. NULL and err on failure. */
struct study *open_trace(const struct command *command, const struct trace_args *args,
			 const struct wrappers *wrappers, const char *path, struct err *err);

/* The same by other options. */
struct study *open_study(const char *path, const struct study_options *how, struct err *err);

/* If study_lacks_chunks: it becomes another one, which has all chunks, or NULL and err. What was
 * made of the old one is to be made again. */
void trace_reopen(struct study **study, struct err *err);

/* Takes the progress away, too. NULL is none. */
void close_trace(struct study *study);

/* How stacks are shown: depth as the user gave it (0 = all), or NOT_GIVEN. */
struct stack_source shown_stacks(const struct study *study, enum format format, u64 depth);

/* The same with the types of allocation points, as far as they are more than guesses. Without
 * memory there are none. */
struct stack_source typed_stacks(struct study *study, enum format format, u64 depth);

#endif
