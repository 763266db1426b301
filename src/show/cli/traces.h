/* SPDX-License-Identifier: MIT
 * The traces that an operand names: a file, or the folder of a session with children. */
#ifndef SHOW_CLI_TRACES_H
#define SHOW_CLI_TRACES_H

#include "host/base/arena.h"
#include "host/base/err.h"
#include "host/base/vec.h"

struct trace_list { /* all zero = empty */
	VEC(const char *) paths;
	bool is_folder;
	struct arena arena;
};

/* A folder yields its *.hwt files in order of their names; without any it is an ERR_INPUT. */
int trace_list_find(struct trace_list *self, const char *operand, struct err *err);
void trace_list_release(struct trace_list *self);

#endif
