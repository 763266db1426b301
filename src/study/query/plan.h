/* SPDX-License-Identifier: MIT
 * An expression made ready for one trace: whatever is known by dictionaries (points, types, threads
 * ...) has become a table, comparisons of columns with constants have become ranges of the column
 * as it is, and the rest is calculated block by block. For the engine only. */
#ifndef STUDY_QUERY_PLAN_H
#define STUDY_QUERY_PLAN_H

#include "study/query/domain.h"

enum {
	BLOCK = 1024
}; /* chunks that are looked at together: their values stay in the nearest cache */

enum value_op {
	VALUE_CONSTANT,
	VALUE_FIELD, /* calculated from the columns */
	VALUE_TABLE,
	VALUE_CATEGORIES, /* number of the first mask that holds */
	VALUE_CALCULATED,
};

struct mask_plan;

struct value_plan {
	enum value_op op;
	enum expr_kind kind; /* of calculations */
	double number;
	enum field field;
	enum index_kind index;
	const double *table;
	u64 count; /* of the table, or of masks */
	struct value_plan *args[2];
	struct mask_plan **masks;
	double *numbers; /* of masks */
};

enum mask_op {
	MASK_NONE,
	MASK_ALL,
	MASK_TABLE,
	MASK_RANGE, /* of a column as it is: low <= it <= high; of free, life … where known */
	MASK_COMPARE,
	MASK_AND,
	MASK_OR,
	MASK_NOT,
};

struct mask_plan {
	enum mask_op op;
	enum index_kind index;
	u8 *table;
	u64 count; /* of the table, or of args */
	enum field column;
	u64 low, high;
	enum expr_kind compare;
	struct value_plan *left, *right;
	struct mask_plan **args;
};

struct entries;

/* Plans for chunks of a trace, or for entries: their fields are tables by entry, and so becomes
 * each condition. */
struct planner {
	struct domain *domain;         /* for entries: those of all traces */
	const struct entries *entries; /* NULL = for chunks */
	const struct query *query;
	struct arena *arena; /* of the plans */
	struct err *err;
};

/* NULL and err. */
struct mask_plan *plan_mask(struct planner *self, const struct expr *expr);
struct value_plan *plan_value(struct planner *self, const struct expr *expr);
struct value_plan *plan_field(struct planner *self, enum field field);
struct value_plan *plan_key(struct planner *self, const struct query_key *key);
/* A field that was looked up before. */
struct value_plan *value_table(struct planner *self, enum index_kind index, const double *table,
			       u64 count);

/* Texts of a field or category by their numbers; *count of them. */
const char *const *plan_texts(struct planner *self, const struct query_key *key, u32 *count);

/* Of a plan for entries. */
double value_of_entry(const struct value_plan *self, u64 entry);
bool mask_of_entry(const struct mask_plan *self, u64 entry);

/* Where a value is calculated: chunks [first, first + count) of the page. */
struct block {
	const struct domain *domain;
	const struct chunk_page *page;
	u32 first, count; /* count is at most BLOCK */
	u64 chunk;        /* number of the first */
	const u8 *
		/* by chunk of the block: numbers of the palette + 1, 0 = none; NULL = no colours */
		colors;
	const u32 *palette;
};

void value_eval(const struct value_plan *self, const struct block *block, double *out);
void mask_eval(const struct mask_plan *self, const struct block *block, u8 *out);

/* Whether a mask can be a range of it. */
bool field_has_range(enum field field);

/* What a zone tells of all its chunks. */
enum zone_answer { ZONE_NONE, ZONE_ALL, ZONE_SOME };
enum zone_answer mask_zone(const struct mask_plan *self, const struct chunk_zone *zone);

/* What a chunk counts for, in a sampled trace. */
double chunk_weight(const struct model *model, u64 size);

/* What a pass looks at. */
struct scan {
	const struct domain *domain;
	struct selection *selection;
	const u8 *colors; /* by chunk, or NULL */
	const u32 *palette;
};

/* Keeps of the selection what the mask holds for, and counts it anew. */
void scan_filter(const struct scan *scan, const struct mask_plan *mask);

/* Calls for each block that has chunks of the selection: bits are those of the block's BLOCK
 * chunks. Ends as soon as one returns false. */
void scan_blocks(const struct scan *scan,
		 bool (*each)(void *self, const struct block *block, const u64 *bits), void *self);

#endif
