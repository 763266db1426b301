/* SPDX-License-Identifier: MIT
 * Containers as a table. */
#ifndef STUDY_ANALYSIS_OWNERS_CONTAINER_RESULT_H
#define STUDY_ANALYSIS_OWNERS_CONTAINER_RESULT_H

#include "study/analysis/owners/held.h"
#include "study/result/result.h"

/* Adds the table of containers to a record, those that retain most first (0 = all), and what the
 * first of them holds as a field. */
int container_result_add(struct result *to, struct owners *owners, u64 top, struct err *err);

#endif
