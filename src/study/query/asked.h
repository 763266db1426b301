/* SPDX-License-Identifier: MIT
 * What queries are asked of, and how much of it is wanted. */
#ifndef STUDY_QUERY_ASKED_H
#define STUDY_QUERY_ASKED_H

#include "study/analysis/memoro/behaviour.h"
#include "study/analysis/places/stacks.h"
#include "study/model/graphs.h"
#include "study/query/selection.h"

enum { QUERY_TRACES = 2 };

struct query_trace { /* outlives the engine, as does all it points to */
	const struct model *model;
	const struct symbol_table *symbols; /* may be NULL: no names */
	u32 image;                          /* the image's own number, by which symbols are kept */
	const char *name;                   /* path of the file: trace "NAME" */
	/* Types: path of an index of the sources (NULL = look beside the program), more folders
	 * with debug files (may be NULL), and whether to guess by size. */
	const char *type_index, *debug_path;
	bool guess;
	struct thresholds thresholds; /* of scores */
	const struct behaviour_table *
		/* by these thresholds, if somebody has it; NULL = found when asked for */
		behaviour;
	/* Where pointers of scans are read, if the model lacks them; path NULL = nowhere. */
	struct graphs_source pointers;
};

enum query_window_mode {
	WINDOW_OVERLAP, /* lived at any moment of it */
	WINDOW_ALLOC,   /* allocated in it */
	WINDOW_FREE,    /* freed in it */
};

/* ns since the image began, both ends included. */
struct query_window {
	u64 from_ns, to_ns; /* to_ns 0 = no window */
	enum query_window_mode mode;
};

struct query_options {
	struct query_window window;
	u64 skip, rows; /* entries to leave out first, and to show; rows 0 = all */
	bool stacks;    /* with the stack of each entry, where its chunks have one */
	u32 depth;      /* frames of it, 0 = all */
	bool fold;      /* as struct stack_source has it */
};

#endif
