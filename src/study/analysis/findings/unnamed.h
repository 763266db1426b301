/* SPDX-License-Identifier: MIT
 * What to do where functions have no names: which modules hold the bytes that cannot be told to
 * anybody, and the remedy on this system. Defined in docs/METHODS.md, "Allocation points". */
#ifndef STUDY_ANALYSIS_FINDINGS_UNNAMED_H
#define STUDY_ANALYSIS_FINDINGS_UNNAMED_H

#include "study/analysis/places/stacks.h"
#include "host/base/strbuf.h"

/* One sentence if more than a tenth of the bytes have no names; false, and nothing is added, if
 * not. packages: look up which package has the debug files, which reads the system's lists of
 * packages. */
bool unnamed_advice(const struct stack_source *source, bool packages, struct strbuf *out);

/* The same as a caveat. */
void unnamed_add_caveat(const struct stack_source *source, bool packages, struct result *result);

#endif
