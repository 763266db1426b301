/* SPDX-License-Identifier: MIT
 * A trace that was read for a command: the model of one image, and the names of its functions. */
#ifndef SHOW_CLI_LOADED_H
#define SHOW_CLI_LOADED_H

#include "study/analysis/places/folds.h"
#include "study/analysis/emad/routine_graph.h"
#include "study/analysis/places/stacks.h"
#include "study/analysis/typing/types.h"
#include "show/cli/command.h"
#include "study/open/loading.h"
#include "show/cli/print.h"
#include "study/model/model.h"

#define NOT_GIVEN UINT64_MAX /* of a number that has no default of its own */

struct loaded {                        /* the first nine are the caller's, the others all zero */
	const struct command *command; /* who speaks on stderr */
	const char *path;
	u64 wanted_image; /* NOT_GIVEN = the last */
	bool find_symbols;
	bool no_index; /* read the trace, also if it has an index */
	const char *where; /* of which chunks the model is, see show/cli/where.h; NULL = of all */
	bool no_fold; /* wrappers are not folded into their callers */
	const struct wrappers *wrappers; /* folded besides those that are found; NULL = none */
	struct loading *loading; /* of the last image, made while it was recorded; NULL = was not */
	struct model *model;
	struct model *whole; /* that the model is a part of; NULL = of none */
	struct trace_info info;
	struct symbol_table symbols;
	struct folds folds;
	struct behaviour_table behaviour; /* of the loading; without points = is found when it is asked for */
	struct type_cascade types;
	struct type_answer *point_types; /* by point; NULL = not asked for */
};

/* True if some process has the file open for writing, as a run in progress does: what we would
 * append now would end up in the midst of its blocks. */
bool loaded_is_being_written(const char *path);

/* What the trace's header and index of blocks tell, in info. Names that it does not have are looked up and kept in it,
 * if that is asked for and it can be written. */
int loaded_look(struct loaded *self, struct err *err);

/* Reads the trace. Names that it does not have are looked up first and kept in it, if it can be
 * written. */
int loaded_read(struct loaded *self, struct err *err);
void loaded_release(struct loaded *self);

/* Number of the image in the file. */
u32 loaded_image(const struct loaded *self);

/* Reads the image once more, for what the model does not keep. */
int loaded_stream(const struct loaded *self, const struct stream_sink *sink, struct err *err);

/* The same for the routines that the model does not keep. The graph is all zero, and
 * released by the caller also after a failure. */
int loaded_routines(const struct loaded *self, struct routine_graph *graph, struct err *err);

/* How stacks are shown: depth as the user gave it (0 = all), or NOT_GIVEN. */
struct stack_source loaded_stacks(const struct loaded *self, enum format format, u64 depth);

/* Finds the types of allocation points, as far as they are more than guesses, for loaded_stacks to give on.
 * Without memory there are none. */
void loaded_add_types(struct loaded *self);

/* A command that makes one result of each trace and prints it. The commands put it first in what
 * they keep for a run, so that a function which gets the view has the rest, too. */
struct view {
	const struct command *command;
	enum format format;
	u64 image; /* NOT_GIVEN = the last */
	bool find_symbols;
	bool no_index;
	const char *where; /* as in struct loaded */
	bool no_fold;      /* as in struct loaded */
	const struct wrappers *wrappers;
	/* The result of view->trace; NULL and err on failure. */
	struct result *(*build)(struct view *self, struct err *err);
	/* Returns the exit status. NULL = print_result() and EXIT_DONE. */
	int (*print)(struct view *self, struct result *result);
	/* What build() kept for print() or the result; after each trace, also a failed one. NULL =
	 * nothing. */
	void (*release)(struct view *self);
	struct loaded trace; /* of the moment; zero */
};

/* Shows the one operand that must be there: a trace, or each trace of a folder. Returns the exit
 * status. */
int view_run(struct view *self, int argc, char **argv);

/* Calls one() for the trace that the operand names, or for each trace of a folder, with what the
 * format needs between them. Returns the worst of their exit statuses. */
int loaded_each(const struct command *command, const char *operand, enum format format,
		int (*one)(void *self, const char *path), void *self);

#endif
