/* SPDX-License-Identifier: MIT
 * A trace of which only the chunks of a scope are left, for analyses of whole traces: see
 * study/model/narrow.h. */
#ifndef STUDY_LAYOUT_PART_H
#define STUDY_LAYOUT_PART_H

#include "study/layout/scope.h"

/* How a trace is opened that views show. */
extern const struct study_options view_options;

/* Released by study_free, before the scope's own trace. Numbers of points and files are those of
 * that trace. NULL and err on failure. */
struct study *view_part_new(const struct view_scope *scope, struct err *err);

#endif
