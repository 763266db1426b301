/* SPDX-License-Identifier: MIT
 * The traces that an operand names: a file, or the folder of a session with children. */
#ifndef CLI_TRACES_H
#define CLI_TRACES_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

struct trace_list { /* all zero = empty */
	VEC(const char *) paths;
	bool is_folder;
	struct arena arena;
};

/* A folder yields its *.hwt files in order of their names; without any it is an ERR_INPUT. */
int trace_list_find(struct trace_list *self, const char *operand, struct err *err);
void trace_list_release(struct trace_list *self);

#endif
