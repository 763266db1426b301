/* SPDX-License-Identifier: MIT
 * What the resident memory of a program consisted of, at its greatest and at the end. series.h has
 * tables of it. */
#ifndef STUDY_ANALYSIS_RESIDENT_RESIDENT_H
#define STUDY_ANALYSIS_RESIDENT_RESIDENT_H

#include "study/analysis/resident/accounting.h"

struct resident_account {
	u64 bytes[PARTS];
	u64 absent_bytes; /* requested by live blocks, and not resident */
	u64 sum_bytes;    /* of all parts */
};

/* Takes memory apart that was told; one pass over the chunks. 0 or ERR_MEMORY. */
int resident_account(const struct model *model, const struct model_memory *memory,
		     struct resident_account *account, struct err *err);

const char *resident_part_name(enum resident_part part);
const char *resident_part_meaning(enum resident_part part);

/* The same of what is laid out already; see accounting.h. */
void resident_sum(const struct accounting *pages, struct resident_account *account);

/* Adds a row of a look. Blocks of an allocator that lives in a module's data, or in the recorder's
 * heap, are blocks all the same. */
struct resident_row {
	enum resident_part part; /* what it is besides its blocks */
	u64 resident_bytes;
	u64 requested, slack; /* of its live blocks */
	u64 used;             /* bytes of pages with live blocks */
	/* bytes of blocks in caches of threads: on pages with live blocks, and without */
	u64 caches_held, caches_free;
};
void resident_add(struct resident_account *account, const struct resident_row *row);

/* The look of ticks [from, to) with most resident memory, and the one at the program's end; NULL if
 * there is none. */
const struct model_memory *resident_most(const struct model *model, u64 from, u64 to);
const struct model_memory *resident_last(const struct model *model);
/* The one nearest to a time; NULL if there is none. */
const struct model_memory *resident_nearest(const struct model *model, u64 ticks);

/* The most that was ever resident: by samples, by looks, or by the kernel's own mark; 0 = nobody
 * looked. */
u64 resident_peak_bytes(const struct model *model);

#endif
