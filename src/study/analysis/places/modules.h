/* SPDX-License-Identifier: MIT
 * The files that a program's code came from. */
#ifndef STUDY_ANALYSIS_PLACES_MODULES_H
#define STUDY_ANALYSIS_PLACES_MODULES_H

#include "study/model/model.h"
#include "host/symbols/symbolizer.h"

struct module_list {                        /* all zero = empty */
	VEC(struct symbolizer_module) rows; /* strings are the model's */
	VEC(u32) identities;                /* of each row, as frames have them */
	u32 own; /* how many of them, the first, are the program itself: 0 or 1 */
};

/* Every file once, the program first; false if there is no memory. */
bool module_list_fill(struct module_list *self, const struct model *model);
/* The row of a frame's module identity, or NO_MODULE. */
u32 module_list_row(const struct module_list *self, u32 identity);
void module_list_release(struct module_list *self);

#endif
