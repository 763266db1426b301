/* SPDX-License-Identifier: MIT
 * Owners as results. */
#ifndef STUDY_ANALYSIS_OWNERS_RESULT_H
#define STUDY_ANALYSIS_OWNERS_RESULT_H

#include "study/analysis/owners/growth.h"
#include "study/result/result.h"

/* How many scans were left out, for units_things. */
#define OWNERS_LEFT_OUT                                                                            \
	"scan(s) of pointers (was|were) left out, to stop the program for at most 5 % of the "     \
	"time and to keep the trace small"

/* "root", "type", "place" … */
const char *owner_what_word(u8 what);

struct owners_show {
	u64 top;          /* rows of each list; 0 = all */
	double min_share; /* of all bytes: what retains less is left out of the tree */
	/* what owner_growth_result made, which becomes a part of the record; NULL = nothing */
	struct result *growth;
};

/* A record with the tree, the containers, the types and the points; NULL and err on failure. */
struct result *owners_result(struct owners *self, const struct owners_show *show, struct err *err);

/* How a chunk is held: a record with the way. `wanted` is the number of a chunk, an address such as
 * 0x55d0 in one, or a part of a type's or function's name, of which the chunk is meant that retains
 * most. NULL and err on failure, also if there is none. */
struct result *owners_path_result(struct owners *self, const char *wanted, struct err *err);

/* The same of the node that retains most of those of a shape. */
struct result *owners_shape_path(struct owners *self, u64 shape, struct err *err);

/* A table named "growth", most bytes first; after: that growth was found with. top 0 = all rows. */
struct result *owner_growth_result(const struct owner_growth *self, struct owners *after, u64 top,
				   struct err *err);

#endif
