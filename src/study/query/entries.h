/* SPDX-License-Identifier: MIT
 * Entries that stand for several chunks, after join, unify or agg. Each chunk belongs to a group,
 * each group to an entry or, once a stage has left it out, to none. For the engine only. */
#ifndef STUDY_QUERY_ENTRIES_H
#define STUDY_QUERY_ENTRIES_H

#include "study/query/asked.h"
#include "study/query/query.h"

#define NO_ENTRY UINT32_MAX

/* Columns of entries: first the fields. */
enum {
	ENTRY_KEYS = FIELDS, /* what they were joined by */
	/* the stack that all of its chunks have, see entry_stack; 0 = they differ */
	ENTRY_STACK = ENTRY_KEYS + QUERY_KEYS_MAX,
	ENTRY_AGGS, /* what agg calculated, one column for each of aggs */
};

struct entries {
	u64 count;
	u32 *groups[QUERY_TRACES]; /* by chunk of the selection */
	u64 group_count;
	u32 *entry_of;                    /* by group: entry or NO_ENTRY */
	VEC(double *) columns;            /* by entry, NAN = unknown; NULL = nobody asks */
	const char *const *texts[FIELDS]; /* by number; NULL = no text */
	u32 text_counts[FIELDS];
	struct query_key keys[QUERY_KEYS_MAX];
	u32 key_count;
	bool dropped;  /* some group has no entry any more */
	bool by_stack; /* a key is the stack, or unify made them */
	VEC(struct query_agg) aggs;
};

/* A frame of a trace as a number: frames of two traces never have the same one. */
static inline double entry_stack(u32 trace, u32 frame)
{
	return frame ? (double)((u64)trace << 32 | frame) : 0;
}
static inline u32 entry_frame(double stack) { return (u32)(u64)stack; }
static inline u32 entry_trace(double stack) { return (u32)((u64)stack >> 32); }

/* NULL if there is no memory. */
struct entries *entries_new(void);
void entries_free(struct entries *self);

/* A copy for showing: which chunks belong to the entries is left out. NULL if there is no
 * memory. */
struct entries *entries_copy(const struct entries *self);
u64 entries_bytes(const struct entries *self);

#endif
