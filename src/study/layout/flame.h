/* SPDX-License-Identifier: MIT
 * Flame graphs, laid out: which boxes there are, where, how wide. A shape (the tree of calls, from
 * one side or the other, with frames hidden) is made once and kept; what it weighs is asked anew.
 *
 *	struct flame_query query = {.metric = METRIC_BYTES, .px = 1600, .x1 = 1};
 *	struct flame_view view = {0};
 *	if (flame_view_make(&view, &scope, &query, &err) < 0) ...
 *	flame_view_release(&view);
 */
#ifndef STUDY_LAYOUT_FLAME_H
#define STUDY_LAYOUT_FLAME_H

#include "study/layout/weigh.h"

enum { FLAME_NODES_MAX = 6000, FLAME_NO_POINT = -1, FLAME_NO_SEVERITY = 255 };

enum flame_dir {
	FLAME_DOWN,  /* from main to who allocates */
	FLAME_UP,    /* from who allocates to main */
	FLAME_PIVOT, /* from one function to who it called, and to who called it */
};

enum {
	FLAME_LEAF = 1, /* something is allocated here */
	FLAME_INLINE = 2,
	FLAME_MERGED = 4,    /* stands for siblings that are too narrow */
	FLAME_RECURSION = 8, /* the function is further up already */
	FLAME_MATCH = 16,    /* its name matches the search */
	FLAME_CALLER = 32,   /* of a pivot: on the side of the callers */
	FLAME_SPLIT = 64,    /* one line of the function above, which allocates at several */
};

struct flame_query {
	enum view_metric metric;
	u64 at_ns;
	enum flame_dir dir;
	const char *pivot;   /* name of the function, exactly */
	bool fold_recursion; /* neighbours of the same name are one */
	bool fold_library;   /* what is not the program's own work is left out: start-up code,
			      * the standard library, allocators and their wrappers */
	const char *hide;    /* frames that match this pattern are left out; NULL = none */
	const char *search;  /* pattern; NULL = none */
	u32 root;            /* node that fills the width; 0 = all */
	double x0, x1;       /* part of the root that is looked at */
	u32 px;              /* how many pixels it has */
	const struct view_scope *base; /* to compare with; NULL = none */
};

struct flame_box {
	u32 id, parent; /* the same for the same dir, pivot, recursion, fold and hide */
	u16 depth;      /* from the root of the whole tree */
	u8 flags;
	u8 severity;                      /* worst of the points that end here */
	double x0, x1;                    /* of the query's root */
	const char *name, *module, *file; /* "" = unknown; live as long as the trace */
	u32 line;
	double self, total;
	double base; /* total of the same calls in the base */
	i64 point;   /* the heaviest one that ends here, or FLAME_NO_POINT */
	u32 merged;  /* boxes that it stands for */
};

/* Calls that only the base has, below one that both have. */
struct flame_gone {
	u32 parent;       /* id of that one */
	const char *name; /* lives as long as the base's trace */
	double base;
};

enum { FLAME_GONE_MAX = 100 };

struct flame_view {                  /* all zero = empty */
	VEC(struct flame_box) boxes; /* by depth, then from left to right */
	VEC(struct flame_box) path;  /* from the root of the whole tree to above the query's */
	double total;                /* of the root of the whole tree */
	double root_total;
	u64 at_ns;
	u64 nodes_all; /* boxes that there were without any limit */
	u32 max_depth;
	bool truncated;
	double base_total, gone_total; /* of the base: all, and what only it has */
	VEC(struct flame_gone) gone;   /* heaviest first, at most FLAME_GONE_MAX */
};

/* ERR_USAGE: no such root, pivot or pattern. */
int flame_view_make(struct flame_view *self, const struct view_scope *scope,
		    const struct flame_query *query, struct err *err);
void flame_view_release(struct flame_view *self);

/* What a search finds in the whole tree. */
enum { FLAME_FIRST = 100 };
struct flame_search {
	u64 frames;                          /* boxes */
	double total, whole;                 /* of stacks with a match, each counted once; of all */
	u32 first[FLAME_FIRST], first_count; /* heaviest boxes */
};
int flame_search_make(struct flame_search *self, const struct view_scope *scope,
		      const struct flame_query *query, struct err *err);

/* ---- for flame.c, flame_base.c, flame_shape.c ---- */

struct flame_node {
	u32 parent;
	u32 function;          /* UINT32_MAX = the root */
	u32 call;              /* one of the calls that it stands for */
	u32 first_child, next; /* 0 = none */
	u32 line;              /* the only one at which it allocates; 0 = unknown, or several */
	u16 depth;
	u8 flags;
};

struct flame_shape {
	struct flame_shape *older;
	u32 users;
	enum flame_dir dir;
	bool fold_recursion, fold_library;
	char *pivot, *hide;
	const struct mprof_calls *calls;
	VEC(struct flame_node) nodes; /* callers before what they call; [0] is the root */
	u32 *tip;   /* by point: where its stack ends; UINT32_MAX = it is not in the tree */
	u32 *above; /* of a pivot: where the callers end */
	/* points by where they end: those of a node are ending[first_ending[node]] to before
	 * ending[first_ending[node + 1]] */
	u32 *ending, *first_ending;
};

/* Which functions match a pattern, to be freed; NULL and err, also (without err) if there is no
 * pattern. */
u8 *flame_matching(const struct mprof_calls *calls, const char *pattern, struct err *err);

/* Kept until flame_shape_put. NULL and err on failure. */
struct flame_shape *flame_shape_get(struct study *trace, const struct flame_query *query,
				    struct err *err);
void flame_shape_put(struct study *trace, struct flame_shape *shape);

/* A tree and what it weighs. There may be millions of nodes, of which thousands are drawn: what a
 * node has beside its total is found when it is asked for. */
struct weighed {
	struct flame_shape *shape;
	double *points; /* by point */
	double *totals; /* by node */
	double *bases;  /* by node: total of the same calls in the base; NULL = no base */
	u8 *matches;    /* by function; NULL = nothing is searched for */
	u64 at_ns;
	u64 nodes; /* that weigh anything, the root not among them */
	u32 max_depth;
};

/* The points that end at a node. */
struct weighed_ending {
	double self;
	u8 severity; /* the worst */
	i64 point;   /* the heaviest one, or FLAME_NO_POINT */
};
struct weighed_ending flame_ending(const struct weighed *self, const struct study *trace, u32 node);

int flame_weigh(struct weighed *self, const struct view_scope *scope,
		const struct flame_query *query, struct err *err);
void weighed_release(struct weighed *self, struct study *trace);

/* Fills weighed->bases, and what the view says of the base. */
int flame_base_find(struct flame_view *self, struct weighed *weighed,
		    const struct flame_query *query, struct err *err);

#endif
