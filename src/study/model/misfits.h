/* SPDX-License-Identifier: MIT
 * Frees that do not fit: of a block that is not live, and by another family than the one that
 * allocated (malloc, new, new[]). Few in any program, so they are kept apart from the columns,
 * and in bounded memory: what is more is only counted. Judged by study/analysis/leaks/misuse.c. */
#ifndef STUDY_MODEL_MISFITS_H
#define STUDY_MODEL_MISFITS_H

#include "host/base/map.h"
#include "host/base/vec.h"
#include "host/trace/stream.h"

enum { MISFITS_MAX = 1 << 16 }; /* of each kind */

struct unknown_free {
	u64 ticks;
	u64 address;
	u32 context;
	u32 thread;
	u8 kind; /* enum hw_kind of the free */
};

/* All chunks of one allocating and one freeing context that were freed by the wrong family. */
struct mismatch {
	u32 alloc_context, free_context;
	u8 alloc_kind, free_kind;
	u64 address, ticks; /* of the first of them, and when it was freed */
	u64 chunks, bytes;
};

struct misfits { /* all zero = empty and ready */
	VEC(struct unknown_free) unknown;
	VEC(struct mismatch) mismatches;
	struct map by_pair; /* hash of contexts and kinds → index + 1 */
	u64 dropped;        /* that found no room */
};

/* Whether a block of this kind may be ended by a free of that kind. */
static inline bool misfits_match(u32 alloc_kind, u32 free_kind)
{
	/* 0: malloc's family, 1: new, 2: new[]; aligned and nothrow forms are kinds of these */
	static const u8 family[HW_KIND_COUNT] = {
		[HW_NEW] = 1, [HW_NEW_ARRAY] = 2, [HW_DELETE] = 1, [HW_DELETE_ARRAY] = 2};

	return family[alloc_kind] == family[free_kind];
}

void misfits_unknown(struct misfits *self, const struct event *event);

struct misfit_pair {
	u32 alloc_context, free_context;
	u8 alloc_kind, free_kind;
};
void misfits_mismatch(struct misfits *self, const struct misfit_pair *pair,
		      const struct event *event, u64 size);

void misfits_release(struct misfits *self);

#endif
