/* SPDX-License-Identifier: MIT
 * The group-by kernel: one pass over the chunk columns, one row per key, with the sums and
 * maxima that analyses ask for.
 *
 *	struct group_query query = { .key = group_by_point, .keep = only_kept };
 *	struct group_table table = { 0 };
 *	if (group_chunks(model, &query, &table, err) < 0) ...
 *	group_sort(&table, group_order_bytes);
 *	group_table_release(&table);
 */
#ifndef STUDY_ANALYSIS_PLACES_GROUP_H
#define STUDY_ANALYSIS_PLACES_GROUP_H

#include "host/base/map.h"
#include "study/model/each.h"

struct group_query {
	u64 (*key)(const struct chunk *chunk, const void *self);
	bool kept;                                                 /* only chunks never freed */
	bool (*keep)(const struct chunk *chunk, const void *self); /* NULL = all */
	u64 (*value)(const struct chunk *chunk, const void *self); /* NULL = 0 */
	const void *self;
};

struct group_row { /* counts in units of the model */
	u64 key;
	u64 chunks, bytes;
	u64 max_size; /* of one chunk */
	u64 kept_chunks, kept_bytes;
	u64 value_sum, value_max;
};

struct group_table { /* all zero = empty and ready */
	VEC(struct group_row) rows;
	struct map by_key; /* key → index of its row + 1 */
};

/* Adds the chunks to the table. Chunks whose allocation is not known are passed over. */
int group_chunks(const struct model *model, const struct group_query *query,
		 struct group_table *table, struct err *err);

/* The row of a key, or NULL. */
const struct group_row *group_find(const struct group_table *self, u64 key);

/* Orders rows; group_find does not work any more. Ties are ordered by key. */
void group_sort(struct group_table *self, int (*compare)(const void *, const void *));
int group_order_key(const void *a, const void *b);
int group_order_bytes(const void *a, const void *b); /* largest first */

void group_table_release(struct group_table *self);

/* Ready-made keys. */
u64 group_by_point(const struct chunk *chunk, const void *self);
/* A value: the bytes that the chunk stands for; 0 if it was not freed. */
u64 group_freed_bytes(const struct chunk *chunk, const void *self);

#endif
