/* SPDX-License-Identifier: MIT
 * Wrong uses of the heap that the events give away: blocks freed twice, frees of what was never
 * allocated, and blocks freed by another family than the one that allocated them. Defined in
 * docs/METHODS.md, "Misuse". */
#ifndef STUDY_ANALYSIS_LEAKS_MISUSE_H
#define STUDY_ANALYSIS_LEAKS_MISUSE_H

#include "study/analysis/places/stacks.h"

enum misuse_what {
	MISUSE_DOUBLE_FREE,
	MISUSE_INSIDE,   /* freed by an address inside a live block */
	MISUSE_INVALID,  /* freed by an address where no block ever was */
	MISUSE_MISMATCH, /* malloc and delete, new and free, new[] and delete … */
	MISUSE_KINDS
};

struct misuse_row {    /* all that is the same but for the address */
	u8 what;       /* enum misuse_what */
	bool certain;  /* false: it may be the recording that is incomplete */
	u8 alloc_kind; /* HW_NONE = no block is known */
	u8 free_kind;
	struct frame_id allocated, freed_first, freed; /* the root = none, or no stack */
	u64 count, bytes;
	u64 address, ticks; /* of the first */
};

struct misuse_table {                /* all zero = empty */
	bool unknown;                /* of a part of a trace: wrong calls belong to no chunk */
	VEC(struct misuse_row) rows; /* certain ones first, then by kind and time */
	u64 certain, possible;       /* wrong calls */
	u64 not_judged; /* frees of unknown blocks that may be from a pause or from before */
	u64 not_known;  /* frees of unknown blocks, of a trace that has sums only */
	u64 not_listed; /* more than there is room for */
	/* the model has forgotten chunks: frees of unknown blocks could not be judged */
	bool wants_chunks;
};

int misuse_find(const struct stack_source *source, const struct trace_info *info,
		struct misuse_table *self, struct err *err);
void misuse_table_release(struct misuse_table *self);

/* A table named "misuse"; NULL and err on failure. top 0 = all rows. */
struct result *misuse_result(const struct stack_source *source, const struct misuse_table *table,
			     u64 top, struct err *err);

#endif
