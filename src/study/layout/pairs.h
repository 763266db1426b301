/* SPDX-License-Identifier: MIT
 * Which allocation point of one trace is which of another one: those whose stacks have the same
 * names. Lines decide among several of the same names; where a program was changed, their order
 * does. */
#ifndef STUDY_LAYOUT_PAIRS_H
#define STUDY_LAYOUT_PAIRS_H

#include "study/open/study.h"

struct view_pairs {   /* all zero = empty */
	u32 *base_of; /* by point of the trace: its point of the base + 1; 0 = there is none */
	u8 *taken;    /* by point of the base: whether it is one of these */
};

int view_pairs_make(struct view_pairs *self, const struct study *trace, const struct study *base,
		    struct err *err);
void view_pairs_release(struct view_pairs *self);

#endif
