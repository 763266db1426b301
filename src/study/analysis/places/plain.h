/* SPDX-License-Identifier: MIT
 * Modules that were loaded and not instrumented, so that what they access was not seen. Nothing is
 * plain where accesses were not recorded, or below Valgrind, which sees them all. */
#ifndef STUDY_ANALYSIS_PLACES_PLAIN_H
#define STUDY_ANALYSIS_PLACES_PLAIN_H

#include "study/analysis/places/stacks.h"

/* Whether there are plain libraries, to which the program may have given any chunk, or modules that
 * have accesses which their compiler does not check. The C and C++ libraries do not count: what
 * they access for the program is recorded call by call. */
bool plain_library_any(const struct model *model);

/* Whether the stack's chunks are a plain library's own, or the C library's: what uses them is not
 * seen. What the C library hands out (strdup) and what the C++ library allocates is the
 * program's. */
bool plain_allocates(const struct stack_source *source, struct frame_id frame);

#endif
