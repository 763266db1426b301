/* SPDX-License-Identifier: MIT
 * Masks put together: and, or, not, and ranges of columns. All return NULL and the planner's err on
 * failure, and take NULL for what has failed before. For the planner and the engine only. */
#ifndef STUDY_QUERY_MASK_H
#define STUDY_QUERY_MASK_H

#include "study/query/plan.h"

struct mask_plan *mask_new(struct planner *self, enum mask_op op);
struct mask_plan *mask_no_memory(struct planner *self);

/* An empty table of that index. */
struct mask_plan *mask_table(struct planner *self, enum index_kind index);

/* Where every chunk has an entry, so that a table can be turned round. */
bool index_is_whole(enum index_kind index);

struct mask_plan *mask_not(struct planner *self, struct mask_plan *mask);

/* Puts a mask into one of several, if it changes nothing or they are tables of one dictionary;
 * false if it must be kept beside them. */
bool mask_merge(struct mask_plan **args, u32 count, enum mask_op op, const struct mask_plan *mask);

/* op is MASK_AND or MASK_OR; what is put together may be changed by it. */
struct mask_plan *mask_chain(struct planner *self, enum mask_op op, struct mask_plan **args,
			     u32 count);
struct mask_plan *mask_both(struct planner *self, enum mask_op op, struct mask_plan *a,
			    struct mask_plan *b);

/* A field that has a range (field_has_range), compared with a number. */
struct mask_plan *mask_compare(struct planner *self, enum field field, enum expr_kind op,
			       double number);

/* Ready-made ones: chunks that ended so; that are known; live at a moment; in a window. */
struct mask_plan *mask_all(struct planner *self);
struct mask_plan *mask_live_at(struct planner *self, u64 ns);
struct mask_plan *mask_window(struct planner *self, const struct query_window *window);

#endif
