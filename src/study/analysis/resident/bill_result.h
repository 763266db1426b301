/* SPDX-License-Identifier: MIT
 * The bill of resident memory, what it says, and the smallest cut, as a result. */
#ifndef STUDY_ANALYSIS_RESIDENT_BILL_RESULT_H
#define STUDY_ANALYSIS_RESIDENT_BILL_RESULT_H

#include "study/analysis/places/stacks.h"
#include "study/analysis/resident/cut.h"

/* Why so much is resident. */
enum bill_cause {
	BILL_LIVE,           /* most of it is live blocks */
	BILL_PINNED_BY_FEW,  /* free bytes of pages that few points hold */
	BILL_PINNED_BY_MANY, /* the same, and no few points hold most */
	BILL_NOT_GIVEN_BACK, /* free pages that the allocator keeps */
	BILL_ARENAS,         /* either, in many arenas of threads */
	BILL_THREAD_CACHES,  /* free blocks that the C library keeps for each thread */
	BILL_HUGE_PAGES,     /* either, in pages that are resident as a whole */
	BILL_NOT_HEAP,       /* mappings, code, stacks */
	BILL_CAUSES
};

enum bill_cause bill_cause(const struct bill *bill, const struct cut *cut);
/* The same of what is free, however much else there is; BILL_LIVE = nothing is free. */
enum bill_cause bill_free_cause(const struct bill *bill, const struct cut *cut);

/* What to do about it. */
enum bill_repair {
	REPAIR_ELSEWHERE, /* not here */
	REPAIR_POOL,
	REPAIR_APART,
	REPAIR_ARENAS,
	REPAIR_THREAD_CACHES,
	REPAIR_HUGE_PAGES,
	REPAIR_LIBC_HUGE_PAGES,
	REPAIR_TRIM,
	REPAIR_JEMALLOC,
	REPAIR_TCMALLOC,
	REPAIR_MIMALLOC,
	REPAIR_GIVE_BACK,
	REPAIRS
};

enum bill_repair bill_repair(const struct model *model, enum bill_cause cause);
/* The same by a look, which knows who asked for huge pages. */
enum bill_repair bill_repair_of(const struct bill *bill, enum bill_cause cause);
const char *bill_repair_text(enum bill_repair repair);

/* The error that nobody looked. */
int bill_missing(const char *path, struct err *err);

/* The record "resident" with tables of parts, points (top of them, 0 = all) and the cut; NULL and
 * err on failure. */
struct result *bill_result(const struct bill *bill, const struct stack_source *source, u64 top,
			   struct err *err);

#endif
