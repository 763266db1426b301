/* SPDX-License-Identifier: MIT
 * The last source of the cascade of types: the source line of the call. */
#ifndef STUDY_ANALYSIS_TYPING_GUESS_H
#define STUDY_ANALYSIS_TYPING_GUESS_H

#include "study/analysis/typing/types.h"

/* Begins with another stack, of which nothing is read yet. */
void type_stack_begin(struct type_cascade *self, struct frame_id frame);

/* Puts the names of all frames of a stack into self->stack, innermost first. */
void type_read_stack(struct type_cascade *self, struct frame_id frame);

/* Reads one more frame of the stack that is looked at; false if there is none. */
bool type_stack_more(struct type_cascade *self);

/* The name as people write it, and what stands behind it ("*"), kept. */
const char *type_keep_readable(struct type_cascade *self, const char *type, const char *behind);

/* Whether the source line of the stack that was read last names a type. */
bool type_has_hints(struct type_cascade *self);
void type_forget_sources(struct type_cascade *self);

/* Gives the places that have no answer the type that the line of the call names, if its size fits.
 * What a line throws, and fits, is more than a guess. Size alone is no evidence: half of what it
 * says is wrong. */
int type_guess(struct type_cascade *self, struct err *err);

#endif
