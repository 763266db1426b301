/* SPDX-License-Identifier: MIT
 * Which allocator a program used. */
#ifndef STUDY_ANALYSIS_PLACES_ALLOCATOR_H
#define STUDY_ANALYSIS_PLACES_ALLOCATOR_H

#include "study/model/model.h"

/* "glibc", "jemalloc", …, by the libraries that were loaded and the functions that were recorded:
 * the first one that stands in for the C library's allocator, or that one. NULL if nobody can tell,
 * as of a program without libraries, or with an allocator of its own. */
const char *allocator_name(const struct model *model);

/* Whether glibc's rules hold for the chunks; assumed if nothing is known. */
bool allocator_is_glibc(const struct model *model);

#endif
