/* SPDX-License-Identifier: MIT
 * The types of a Lisp as a table. Defined in docs/METHODS.md, "Lisp". */
#ifndef STUDY_ANALYSIS_MPROF_LISP_H
#define STUDY_ANALYSIS_MPROF_LISP_H

#include "study/analysis/mprof/category.h"
#include "study/analysis/mprof/text.h"

/* A table named "types", largest first, <TOTAL> last: instead of the bins. NULL and err on
 * failure. */
struct result *analyse_lisp_types(const struct mprof_calls *calls, enum mprof_verbosity verbosity,
				  struct err *err);

#endif
