/* SPDX-License-Identifier: MIT
 * Words that may be no pointers, or not to what they lead to. Those in text or numbers, as the
 * types say: a buffer that was never filled has what was there before it. And those to the end of a
 * chunk: most are limits. */
#ifndef STUDY_ANALYSIS_OWNERS_DOUBT_H
#define STUDY_ANALYSIS_OWNERS_DOUBT_H

#include "study/analysis/owners/held.h"

/* Makes `doubtful`, with the pointers that lead just behind a chunk. False without memory. */
bool owner_ends_find(struct owners *self);

/* Adds the others. Needs the types of all nodes. False without memory. */
bool owner_doubts_find(struct owners *self);

#endif
