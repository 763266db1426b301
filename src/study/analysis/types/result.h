/* SPDX-License-Identifier: MIT
 * What was allocated, by type. */
#ifndef STUDY_ANALYSIS_TYPES_RESULT_H
#define STUDY_ANALYSIS_TYPES_RESULT_H

#include "study/analysis/memoro/thresholds.h"
#include "study/analysis/types/list.h"
#include "study/analysis/typing/types.h"
#include "study/result/result.h"

enum types_by { TYPES_BY_PEAK, TYPES_BY_BYTES, TYPES_BY_COUNT, TYPES_BY_KEPT };

/* "peak", "bytes", "count", "kept" */
bool types_by_parse(const char *word, enum types_by *by);

struct types_query {
	enum types_by by;
	u64 top;     /* rows, 0 = all */
	u64 offset;  /* rows to leave out first */
	u32 spark;   /* parts of the line of live bytes, up to TYPE_BINS; 0 = none */
	bool fold;   /* templates by their names: std::vector<*> */
	bool chunks; /* the chunks one by one instead of the types */
	struct thresholds thresholds;
};

/* A record named "types" with the shares of each source, and a table of types or chunks; NULL and
 * err on failure. */
struct result *analyse_types(struct type_cascade *types, const struct types_query *query,
			     struct err *err);

/* The same of sums that were found before; of rows, not of chunks. */
struct result *type_list_result(const struct type_list *self, const struct types_query *query,
				struct err *err);

/* A record named "fields": the members of a type, and which of their bytes its chunks use.
 * ERR_USAGE if the debug info has no such type. */
struct result *analyse_fields(struct type_cascade *types, const char *type, struct err *err);

#endif
