/* SPDX-License-Identifier: MIT
 * The last sources of the cascade of types: what debug info says of a call, and of a size. */
#ifndef ANALYSIS_TYPE_GUESS_H
#define ANALYSIS_TYPE_GUESS_H

#include "analysis/types.h"

/* The type that the debug info gives the call of the allocator in this frame, see symbols/site_types.h. */
struct type_answer type_of_site(struct type_cascade *self, struct frame_id frame);

/* Puts the names of all frames of a stack into self->stack, innermost first. */
void type_read_stack(struct type_cascade *self, struct frame_id frame);

/* Gives the places that have no answer a type of their size, if there is one: first of all one that the
 * line of the call names. */
int type_guess(struct type_cascade *self, struct err *err);

#endif
