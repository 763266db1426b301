/* SPDX-License-Identifier: MIT
 * Who holds the memory at a scan of a trace that kept pointers: found once for each scan that is
 * asked for, then kept with the trace. */
#ifndef STUDY_LAYOUT_OWNERS_H
#define STUDY_LAYOUT_OWNERS_H

#include "study/analysis/owners/result.h"
#include "study/open/study.h"

/* At the scan that is nearest to the time, or with NULL at the one with most live bytes. NULL and
 * err on failure, which is ERR_USAGE if the trace has no pointers. Whoever uses it holds the
 * trace's analysis_lock. */
struct owners *view_owners(struct study *trace, const u64 *at_ns, struct err *err);

/* What grew from the first scan to the largest of the later ones, as the part of owners_result; top
 * 0 = all rows. NULL and err on failure, NULL alone if there are not two scans. */
struct result *view_growth(struct study *trace, u64 top, struct err *err);

#endif
