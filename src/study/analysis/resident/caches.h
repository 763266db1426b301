/* SPDX-License-Identifier: MIT
 * Free blocks that the C library keeps for each thread, at one look or at several: those that the
 * look saw in a cache and that were not live then.
 *
 *	struct caches caches = {0};
 *
 *	if (caches_add(&caches, model, memory, 0))
 *		caches_sort(&caches);
 *	... caches_drop(&caches, address, (struct caches_looks){0, 1}) for each live chunk ...
 *	caches_settle(&caches);
 *	caches_release(&caches); */
#ifndef STUDY_ANALYSIS_RESIDENT_CACHES_H
#define STUDY_ANALYSIS_RESIDENT_CACHES_H

#include "host/base/vec.h"
#include "study/model/model.h"

enum { CACHES_HEAD = 8 }; /* bytes of a block that lie before its address */

struct cache_block {
	u64 address;
	u32 bytes; /* the first CACHES_HEAD of them before the address */
	u32 tid;
	u32 look;
	u32 state; /* for who goes through them; caches_drop marks those that are live */
};

struct caches { /* all zero = empty */
	VEC(struct cache_block) blocks;
	u64 low, high; /* their addresses are in [low, high] */
};

struct caches_looks {
	u64 from, to; /* those from `from` on, before `to` */
};

/* Adds the blocks of a look; false without memory. */
bool caches_add(struct caches *self, const struct model *model, const struct model_memory *memory,
		u32 look);

/* By address, before caches_drop and caches_find. */
void caches_sort(struct caches *self);

/* A chunk was live at these looks: it was taken from the cache, or freed, while the look was
 * taken. */
void caches_drop(struct caches *self, u64 address, struct caches_looks looks);

/* Takes away what was dropped; by look, then by address. */
void caches_settle(struct caches *self);

/* The first block at or behind the address, of the first look; or their number. */
u64 caches_find(const struct caches *self, u64 address);
/* The first block of a look, of those that are settled. */
u64 caches_of_look(const struct caches *self, u32 look);

void caches_release(struct caches *self);

#endif
