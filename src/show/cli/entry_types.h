/* SPDX-License-Identifier: MIT
 * Types of the entries of a HeapLog dump, where none was recorded with the chunk: by its stack, the
 * index of the sources, the debug information beside the call. Guesses are left out, for a dump has
 * no place to say that it guesses. */
#ifndef SHOW_CLI_ENTRY_TYPES_H
#define SHOW_CLI_ENTRY_TYPES_H

#include "study/open/study.h"
#include "show/formats/exchange.h"

struct entry_types { /* all zero = empty */
	struct stack_source stacks;
	struct type_cascade cascade;
};

/* With `sizes` elements are counted, for which the debug info of all modules is read. Stays where
 * it is while `types` is used. */
int entry_types_init(struct entry_types *self, const struct study *trace, bool sizes,
		     struct exchange_types *types, struct err *err);
void entry_types_release(struct entry_types *self);

#endif
