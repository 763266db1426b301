/* SPDX-License-Identifier: MIT
 * Chunks as bars in rows, over time; where there are too many, how many there are in each cell of a
 * grid. And all that is known of one chunk. */
#ifndef STUDY_LAYOUT_CHUNKS_H
#define STUDY_LAYOUT_CHUNKS_H

#include "study/layout/scope.h"

enum { CHUNK_ROWS_MAX = 20000, DENSITY_WIDTH_MAX = 800, DENSITY_HEIGHT = 200 };

enum chunk_order { ORDER_TIME, ORDER_SIZE, ORDER_LIFE, ORDER_ADDR, ORDER_LAST, CHUNK_ORDERS };
enum chunk_lane {
	LANE_ROW,    /* one chunk in a row */
	LANE_PACKED, /* rows are used again as soon as they are free */
	LANE_THREAD, /* a row per thread */
	CHUNK_LANES
};

bool chunk_order_parse(const char *word, enum chunk_order *order);
bool chunk_lane_parse(const char *word, enum chunk_lane *lane);

struct chunks_query {
	i64 point; /* -1 = of all points */
	enum chunk_order order;
	enum chunk_lane lane;
	u64 first_row, rows; /* that are looked at; rows 0 = all */
	u64 from_ns, to_ns;
	u32 px;
};

enum {
	BAR_ALIVE = 1, /* was never freed */
	BAR_SHARED = 2,
	BAR_NEVER_READ = 4,
	BAR_NEVER_WRITTEN = 8,
	BAR_REALLOC = 16,
	BAR_UNMEASURED = 32, /* nothing is known of its accesses */
};

struct chunk_bar {
	u64 number;
	u32 row;
	u64 from_ns, to_ns;       /* to the end of the run if it was never freed */
	double first_ns, last_ns; /* accesses, NAN = none or not known */
	u64 size;
	u8 flags;
	u8 severity; /* of its point, 0 = unknown */
};

struct chunks_view { /* all zero = empty */
	u64 chunks;  /* in the selection */
	u64 rows;    /* that they take */
	bool is_density;
	VEC(struct chunk_bar) bars;
	u32 width, height;      /* of the grid */
	double *counts, *bytes; /* row by row: chunks that live in the cell, and their bytes */
};

/* ERR_USAGE: too many chunks for that order or lane. */
int chunks_view_make(struct chunks_view *self, const struct view_scope *scope,
		     const struct chunks_query *query, struct err *err);
void chunks_view_release(struct chunks_view *self);

/* The chunks that were live at a moment next to one in memory; UINT64_MAX = none. */
struct chunk_neighbours {
	u64 below, above;
};
int chunk_neighbours_find(struct chunk_neighbours *self, const struct view_scope *scope, u64 chunk,
			  struct err *err);

#endif
