/* SPDX-License-Identifier: MIT
 * Which pointers count: a stack or register often has a copy of a pointer that somebody else owns,
 * for a while or left over. It counts only where no variable and no outer frame leads. Defined in
 * docs/METHODS.md, "Owners". */
#ifndef STUDY_ANALYSIS_OWNERS_WEIGH_H
#define STUDY_ANALYSIS_OWNERS_WEIGH_H

#include "host/trace/stream.h"

/* By edge, a bit that is set where it does not count, as dominators_find takes it; to be freed.
 * NULL if there is no memory. */
u64 *owner_weigh(const struct stream_graph *graph);

#endif
