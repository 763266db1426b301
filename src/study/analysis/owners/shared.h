/* SPDX-License-Identifier: MIT
 * Large chunks that several roots lead to and one owns: a variable points to its table, and what
 * others hold points back there. Defined in docs/METHODS.md, "Owners". */
#ifndef STUDY_ANALYSIS_OWNERS_SHARED_H
#define STUDY_ANALYSIS_OWNERS_SHARED_H

#include "study/analysis/owners/held.h"

/* Adds the pointers of others to such chunks to `ignored`; *found: there are some, and the tree is
 * to be made anew. Needs the tree. False without memory. */
bool owner_shared_find(struct owners *self, bool *found);

#endif
