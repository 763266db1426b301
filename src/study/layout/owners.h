/* SPDX-License-Identifier: MIT
 * Who holds the memory at the newest scan of a trace that kept pointers: found once, then kept with
 * the trace. */
#ifndef STUDY_LAYOUT_OWNERS_H
#define STUDY_LAYOUT_OWNERS_H

#include "study/analysis/owners/owners.h"
#include "study/open/study.h"

/* NULL and err on failure, which is ERR_USAGE if the trace has no pointers. Whoever uses it holds
 * the trace's analysis_lock. */
struct owners *view_owners(struct study *trace, struct err *err);

#endif
