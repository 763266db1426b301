/* SPDX-License-Identifier: MIT
 * glibc's arenas: what each has resident, and which threads allocate in it. */
#ifndef STUDY_ANALYSIS_RESIDENT_ARENAS_H
#define STUDY_ANALYSIS_RESIDENT_ARENAS_H

#include "study/analysis/resident/bill.h"
#include "study/result/result.h"

/* Heaps of threads begin at multiples of 64 MiB; what lies elsewhere is the main arena's. */
struct arenas {
	u64 count;      /* heaps of threads */
	u64 free_bytes; /* in these, on resident pages */
};

/* All zero if the allocator is not glibc's. */
struct arenas arenas_find(const struct bill *bill);

/* What one arena would not have: the heap beyond what was ever live at once. Blocks that are mapped
 * alone are in neither. One pass over the chunks. */
u64 arenas_excess(const struct bill *bill);

/* "arenas", a row for each, those with most free bytes first; top of them, 0 = all. Hidden in text
 * and empty if there is but one. One pass over the chunks. NULL and err on failure. */
struct result *arenas_table(const struct bill *bill, u64 top, struct err *err);

#endif
