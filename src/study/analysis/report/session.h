/* SPDX-License-Identifier: MIT
 * The processes of a session with --children together: who started whom, their sums, and their
 * allocation points, where equal stacks of different processes are one. Defined in docs/METHODS.md,
 * "Several processes". */
#ifndef STUDY_ANALYSIS_REPORT_SESSION_H
#define STUDY_ANALYSIS_REPORT_SESSION_H

#include "study/analysis/places/stacks.h"

struct session_merge;

/* NULL if there is no memory. */
struct session_merge *session_merge_new(void);
void session_merge_free(struct session_merge *self);

/* One process; nothing of the source is needed afterwards. */
int session_merge_add(struct session_merge *self, const struct stack_source *source,
		      struct err *err);

/* A record with the tree and the first `top` points (0 = all); once, after all processes. NULL and
 * err on failure. */
struct result *session_merge_result(struct session_merge *self, u64 top, struct err *err);

#endif
