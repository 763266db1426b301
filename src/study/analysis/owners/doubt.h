/* SPDX-License-Identifier: MIT
 * Words that only look like pointers: they stand in text or numbers, as the types say. A buffer
 * that was never filled has what was there before it. */
#ifndef STUDY_ANALYSIS_OWNERS_DOUBT_H
#define STUDY_ANALYSIS_OWNERS_DOUBT_H

#include "study/analysis/owners/held.h"

/* Fills `doubtful`. Needs the types of all nodes. False without memory. */
bool owner_doubts_find(struct owners *self);

#endif
