/* SPDX-License-Identifier: MIT
 * Which sizes of blocks keep pages for little: live bytes and resident pages by size class. Defined
 * in docs/METHODS.md. */
#ifndef STUDY_ANALYSIS_RESIDENT_BY_SIZE_H
#define STUDY_ANALYSIS_RESIDENT_BY_SIZE_H

#include "study/analysis/resident/accounting.h"
#include "study/result/result.h"

/* "by_size", hidden in text, those that hold most first; NULL and err on failure. Passes over the
 * chunks twice. */
struct result *resident_by_size_result(const struct model *model, const struct model_memory *look,
				       struct err *err);

#endif
