/* SPDX-License-Identifier: MIT
 * Finds the chunks that a query means, and what it says of them. The language is that of
 * heapwise-query(7).
 *
 *	struct query_trace trace = {.model = model, .symbols = &symbols, .image = 0, .name = path};
 *	struct query_engine *engine = query_engine_new(&trace, 1);
 *	struct selection chosen = {0};
 *	struct query_error error = {0};
 *	if (query_select(engine, "all | where size >= 1KiB", NULL, &chosen, &error) < 0) ...
 *	selection_release(&chosen);
 *	query_engine_free(engine);
 *
 * Any number of threads may ask one engine; they wait for each other. */
#ifndef STUDY_QUERY_ENGINE_H
#define STUDY_QUERY_ENGINE_H

#include "study/query/asked.h"
#include "study/query/error.h"

struct query_engine;

/* The first trace is what `all` means; a second one, if any, is also trace "base". NULL if there is
 * no memory. */
struct query_engine *query_engine_new(const struct query_trace *traces, u32 count);
void query_engine_free(struct query_engine *self);

/* Finds names, types and scores in advance, which the first query that needs them would wait for;
 * for a thread of its own. Scores are found while others may ask. */
int query_engine_warm(struct query_engine *self, struct err *err);

/* What behaviour_find gave for the thresholds of the first trace, which outlives the engine: it
 * need not find it again. */
void query_engine_give_scores(struct query_engine *self, const struct behaviour_table *behaviour);

/* The chunks of the first trace that are left at the end of the pipe. window may be NULL; it
 * narrows `all` and `at` (of the first trace), before anything else. out is released by the caller;
 * out->words is NULL if all chunks are meant. Returns 0 or a negative code, and error (may be
 * NULL). */
int query_select(struct query_engine *self, const char *text, const struct query_window *window,
		 struct selection *out, struct query_error *error);

/* Colours that color stages gave: by_chunk[chunk] - 1 is a number of the palette, 0 = none. */
struct query_colors {
	u8 *by_chunk; /* NULL = there are none */
	u32 palette[255];
	u32 count;
};
int query_find_colors(struct query_engine *self, const char *text,
		      const struct query_window *window, struct query_colors *out,
		      struct query_error *error);
void query_colors_release(struct query_colors *self);

/* What passes each of the first boxes of the query's graph, in the order of study/query/graph.h. */
enum { QUERY_COUNTS_MAX = 200 };
struct query_count {
	u64 entries, chunks, bytes;
};
struct query_counts {
	struct query_count boxes[QUERY_COUNTS_MAX];
	u32 count;
};
int query_count(struct query_engine *self, const char *text, struct query_counts *out,
		struct query_error *error);

/* Runs the whole pipe. A record named "query" with the totals and the part "entries", a table of
 * what is left at its end; *out is freed by the caller. */
int query_run(struct query_engine *self, const char *text, const struct query_options *options,
	      struct result **out, struct query_error *error);

#endif
