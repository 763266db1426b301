/* SPDX-License-Identifier: MIT
 * Entries that stand for several chunks, after join, unify or agg. Each chunk belongs to a group,
 * each group to an entry or, once a stage has left it out, to none. For the engine only. */
#ifndef STUDY_QUERY_ENTRIES_H
#define STUDY_QUERY_ENTRIES_H

#include "study/query/plan.h"

#define NO_ENTRY UINT32_MAX

struct agg_column {
	struct query_agg agg;
	double *numbers; /* by entry */
};

struct entries {
	u64 count;
	u32 *groups[QUERY_TRACES]; /* by chunk of the selection */
	u64 group_count;
	u32 *entry_of;                    /* by group: entry or NO_ENTRY */
	double *values[FIELDS];           /* by entry, NAN = unknown; NULL = nobody asks */
	const char *const *texts[FIELDS]; /* by number; NULL = no text */
	u32 text_counts[FIELDS];
	/* The stack that all of its chunks have: a frame of a trace, 0 = they differ. */
	u32 *frames;
	u8 *frame_traces;
	struct query_key keys[QUERY_KEYS_MAX];
	double *key_values[QUERY_KEYS_MAX]; /* by entry */
	u32 key_count;
	bool dropped;  /* some group has no entry any more */
	bool by_stack; /* a key is the stack, or unify made them */
	VEC(struct agg_column) aggs;
};

void entries_free(struct entries *self);

/* A copy for showing: which chunks belong to the entries is left out. NULL if there is no
 * memory. */
struct entries *entries_copy(const struct entries *self);
u64 entries_bytes(const struct entries *self);

#endif
