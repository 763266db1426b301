/* SPDX-License-Identifier: MIT
 * What flows through a pipe: a sequence of entries. Until they are joined each chunk is one, and a
 * state is little more than bits; after that there are entries of their own
 * (study/query/entries.h). For the engine only. */
#ifndef STUDY_QUERY_STATE_H
#define STUDY_QUERY_STATE_H

#include "study/query/plan.h"

enum { PALETTE_MAX = 255, SORTS_MAX = 4, HIDES_MAX = 16 };

struct entries;

/* A chunk of one of the traces. */
struct place {
	u32 trace;
	u64 chunk;
};

struct state {                              /* all zero = empty */
	struct selection sel[QUERY_TRACES]; /* words NULL = nothing of that trace */
	u8 *colors
		[QUERY_TRACES]; /* by chunk: number of the palette + 1; NULL = none has a colour */
	u32 palette[PALETTE_MAX];
	u32 palette_count;
	const struct stage *sorts[SORTS_MAX]; /* the latest first */
	u32 sort_count;
	bool ordered; /* a limit has put them in order */
	VEC(struct place) order;
	const struct expr *hides[HIDES_MAX];
	u32 hide_count;
	const char *view;        /* of show, or NULL */
	struct entries *entries; /* NULL = each chunk is one */
};

void state_release(struct state *self);

/* False if there is no memory. The copy's entries are for showing only, see entries_copy. */
bool state_copy(struct state *self, const struct state *from);

u64 state_bytes(const struct state *self);

/* Traces that it has chunks of. */
u32 state_traces(const struct state *self);

/* Makes room for the colours of a trace's chunks; false if there is no memory. */
bool state_need_colors(struct state *self, u32 trace);

/* ---- the cache: states by the text that made them, those longest not asked for go first ---- */

struct cached {
	char *key;
	u64 hash, used, bytes;
	struct state state;
};

struct cache { /* all zero = empty */
	VEC(struct cached) rows;
	u64 bytes, limit, clock;
};

/* NULL if it is not there. Valid until the next cache_put. */
const struct state *cache_find(struct cache *self, const char *key);

/* Keeps a copy; without memory it does not. */
void cache_put(struct cache *self, const char *key, const struct state *state);
void cache_release(struct cache *self);

#endif
