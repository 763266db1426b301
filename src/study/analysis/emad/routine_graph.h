/* SPDX-License-Identifier: MIT
 * The call graph of a routine trace: a condensed weighted directed graph, one node per routine, one
 * edge per pair of caller and callee, by Algorithms 1 to 3 of Peiris and Hill (2016). Defined in
 * docs/METHODS.md, "Call graph of a routine trace".
 *
 *	struct routine_graph graph = { 0 };
 *	struct stream_sink sink = routine_graph_sink(&graph);
 *	trace_read(reader, &options, &sink, err);
 *	routine_graph_finish(&graph, err);
 *	… graph.nodes.data[i], graph.edges.data[i]
 *	routine_graph_release(&graph);
 *
 * Steps are reduced as they come: memory is that of the graph and of the stacks. */
#ifndef STUDY_ANALYSIS_EMAD_ROUTINE_GRAPH_H
#define STUDY_ANALYSIS_EMAD_ROUTINE_GRAPH_H

#include "host/base/arena.h"
#include "host/base/map.h"
#include "host/base/vec.h"
#include "study/model/clock.h"
#include "host/trace/modmap.h"
#include "host/trace/stream.h"

#define NO_ROUTINE_MODULE UINT32_MAX

struct routine_id {
	u32 index;
};

/* A routine is told apart by its place, never by its name. */
struct routine_node {
	u32 module;  /* id, or NO_ROUTINE_MODULE */
	u64 address; /* of its first instruction, in the module; as recorded without one */
	u64 calls;
	u64 inclusive_ticks; /* from its beginning to its end; of recursive calls the outermost */
	u64 exclusive_ticks; /* less what it called */
	u64 allocations, bytes;             /* made while it was the innermost */
	u64 below_allocations, below_bytes; /* made while it was on the stack, each counted once */
	u32 edge;                           /* inside: last edge to it + 1 */
};

struct routine_edge {
	struct routine_id caller, callee;
	u64 calls;
};

struct routine_frame { /* inside */
	u32 node;
	bool outermost; /* of this routine on this stack */
	u64 enter_ticks, child_ticks;
	u64 allocations, bytes; /* below it, so far */
};

struct routine_stack { /* inside: of one thread, called routines */
	VEC(struct routine_frame) frames;
	struct map on_stack; /* nodes */
	u64 last_ticks;
	u64 last_block; /* that it allocated, 0 = none, or freed since */
};

enum { ROUTINE_RECENT = 4096 };

struct routine_counts {
	u64 enters, leaves;
	u64 unwound;            /* ends that were an exception's or a longjmp's */
	u64 missing_exits;      /* routines whose end was found missing at that of a caller */
	u64 unfinished;         /* that were still on a stack at the end */
	u64 strange_exits;      /* ends of a routine that was not on the stack: ignored */
	u64 cut_frames;         /* outer frames that were closed because a stack grew too deep */
	u64 allocations, bytes; /* all */
	u64 outside_allocations, outside_bytes; /* made outside all routines */
	u64 lost_events;                        /* of the recording */
};

struct routine_note {
	const char *key, *value;
};

struct routine_graph { /* all zero = empty and ready */
	VEC(struct routine_node) nodes;
	VEC(struct routine_edge) edges;
	struct routine_counts counts;
	struct modmap modules;
	struct tick_clock clock;
	u32 image;                      /* its own number */
	const char *program;            /* NULL = no image was told */
	VEC(struct routine_note) notes; /* whose key begins with "routine" */

	/* inside */
	struct arena arena;
	struct map by_place, by_edge;
	VEC(struct routine_stack) stacks; /* by thread */
	u64 frames;                       /* on all stacks */
	struct {
		u64 address;
		u32 generation;
		u32 node; /* + 1 */
	} recent[ROUTINE_RECENT];
};

/* The sink to feed. A further image replaces what is there. */
struct stream_sink routine_graph_sink(struct routine_graph *self);

/* Closes what is left on the stacks; the image's end calls it, and of a stream that breaks off the
 * caller must. */
int routine_graph_finish(struct routine_graph *self, struct err *err);
void routine_graph_release(struct routine_graph *self);

/* The value of a note, or NULL. */
const char *routine_graph_note(const struct routine_graph *self, const char *key);

#endif
