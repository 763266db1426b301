/* SPDX-License-Identifier: MIT
 * Memory over time: the total with its extremes in each bin, so that no peak is lost, and the same
 * split by type, module, thread … */
#ifndef STUDY_LAYOUT_TIMELINE_H
#define STUDY_LAYOUT_TIMELINE_H

#include "study/layout/by.h"
#include "study/layout/moments.h"

enum view_flow {
	FLOW_LIVE,        /* live bytes */
	FLOW_CHUNKS,      /* live chunks */
	FLOW_ALLOCS,      /* allocations in the bin */
	FLOW_FREES,       /* frees in the bin */
	FLOW_ALLOC_BYTES, /* bytes allocated in the bin */
	FLOWS
};

bool view_flow_parse(const char *word, enum view_flow *flow);

enum { TIMELINE_SERIES_MAX = 24 };

struct timeline_query {
	enum view_by by;
	enum view_flow flow;
	u32 bins; /* 1 to AXIS_BINS_MAX */
	u32 top;  /* series, at most TIMELINE_SERIES_MAX; the rest is one more */
};

struct timeline_series {
	const char *label; /* lives as long as the view */
	u64 key;           /* number of the point or thread, lower end of the sizes … */
	double peak;       /* highest of its values */
	double *last;      /* by bin: at its end, or in it */
};

struct timeline_mark {
	u64 t_ns;
	const char *kind, *name;
};

struct timeline_view { /* all zero = empty */
	struct time_axis axis;
	struct time_curve total;
	VEC(struct timeline_series) series; /* highest peak first */
	bool has_other;
	struct timeline_series other; /* all keys that have no series of their own */
	u64 other_keys;
	double *rss;                     /* by bin, NAN = not known; NULL = none was recorded */
	VEC(struct timeline_mark) marks; /* on the axis */
	struct arena arena;
};

int timeline_view_make(struct timeline_view *self, const struct view_scope *scope,
		       const struct timeline_query *query, struct err *err);
void timeline_view_release(struct timeline_view *self);

/* What is unknown after the end of a run whose axis is that of a longer one: NAN. */
void timeline_view_end(struct timeline_view *self, u64 end_ns);

#endif
