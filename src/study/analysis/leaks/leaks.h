/* SPDX-License-Identifier: MIT
 * What a program never freed, by call chain, and whether anything still led to it when the program
 * ended. Defined in docs/METHODS.md, "Leaks". */
#ifndef STUDY_ANALYSIS_LEAKS_LEAKS_H
#define STUDY_ANALYSIS_LEAKS_LEAKS_H

#include "study/analysis/places/suppressions.h"

/* "lost", "indirect", "possible", "reachable", "unknown", or "all": adds to a mask of 1 <<
 * class. */
bool leaks_kind_parse(const char *word, u32 *kinds);

/* Nothing but lost chunks leads to what is indirectly lost. */
static inline bool leak_is_certain(u8 chunk_class)
{
	return chunk_class == CLASS_LOST || chunk_class == CLASS_INDIRECT;
}

struct leak_sum {
	u64 chunks, bytes; /* chunks in units of the model */
};

/* Kept chunks of one call chain and one class. */
struct leak_row {
	struct point_id point;
	u8 chunk_class;
	u64 chunks, bytes;
	u64 max_size; /* of one chunk; 0 = unknown */
};

struct leak_table {                           /* all zero = empty */
	struct leak_sum classes[CLASS_COUNT]; /* without what is suppressed */
	struct leak_sum suppressed;
	VEC(struct leak_row) rows; /* worst class first, then most bytes first */
};

/* suppressions may be NULL; those that hide something count it. */
int leaks_find(const struct stack_source *source, struct suppressions *suppressions,
	       struct leak_table *self, struct err *err);
void leak_table_release(struct leak_table *self);

/* Why chunks are of class unknown, as the end of a sentence. Lives as long as result. */
const char *leaks_unknown_reason(const struct model *model, struct result *result);

struct leaks_query {
	u32 kinds; /* classes to list */
	u64 top;   /* chains to list, 0 = all */
};

/* A record named "leaks" with the sums of the classes, its parts "chains" and "suppressions"; NULL
 * and err on failure. */
struct result *leaks_result(const struct stack_source *source, const struct leak_table *table,
			    const struct suppressions *suppressions,
			    const struct leaks_query *query, struct err *err);

#endif
