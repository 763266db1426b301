/* SPDX-License-Identifier: MIT
 * What the C library keeps for each thread, as tables. */
#ifndef STUDY_ANALYSIS_RESIDENT_THREAD_CACHES_H
#define STUDY_ANALYSIS_RESIDENT_THREAD_CACHES_H

#include "study/analysis/resident/bill.h"
#include "study/result/result.h"

/* "thread_caches", a row for each thread that has any, those with most bytes first; top of them,
 * 0 = all. Hidden in text if there are none. NULL and err on failure. */
struct result *thread_caches_table(const struct bill *bill, u64 top, struct err *err);

/* "thread_cache_sizes", a row for each thread and size. Never in text. */
struct result *thread_cache_sizes_table(const struct bill *bill, u64 top, struct err *err);

/* How many caches were read, and what is not known. */
void thread_caches_say(struct result *result, const struct bill *bill);

#endif
