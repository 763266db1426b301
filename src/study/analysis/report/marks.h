/* SPDX-License-Identifier: MIT
 * Moments that the program (or who watched it) marked, and what was live at snapshots. Defined in
 * docs/METHODS.md, "Marks and snapshots". */
#ifndef STUDY_ANALYSIS_REPORT_MARKS_H
#define STUDY_ANALYSIS_REPORT_MARKS_H

#include "study/analysis/places/stacks.h"

/* A table of all marks, part "marks"; NULL and err on failure. */
struct result *analyse_marks(const struct model *model, struct err *err);

/* A table of the points with most live bytes at each snapshot, at most `top` of each (0 = all),
 * part "snapshots"; NULL and err on failure. */
struct result *analyse_snapshots(const struct stack_source *source, u64 top, struct err *err);

#endif
