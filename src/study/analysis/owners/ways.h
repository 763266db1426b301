/* SPDX-License-Identifier: MIT
 * The shortest ways of pointers to all nodes. */
#ifndef STUDY_ANALYSIS_OWNERS_WAYS_H
#define STUDY_ANALYSIS_OWNERS_WAYS_H

#include "study/analysis/owners/held.h"

/* Fills came_from and reached: from the roots, and then from the chunks that lead the lost. */
void owner_ways_find(struct owners *self);

#endif
