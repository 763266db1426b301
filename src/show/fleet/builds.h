/* SPDX-License-Identifier: MIT
 * The builds of a program that a store has runs of, in the order of their first runs. */
#ifndef SHOW_FLEET_BUILDS_H
#define SHOW_FLEET_BUILDS_H

#include "show/fleet/ask.h"

struct build {
	u64 key;
	const char *id, *version, *program, *first; /* first: time of its first run */
	u64 program_key;
	u64 runs;
};

struct build_list { /* all zero = empty */
	VEC(struct build) rows;
	struct arena arena;
};

int builds_read(struct build_list *self, struct store *store, const struct fleet_filter *filter,
		struct err *err);
void builds_release(struct build_list *self);

/* The row of a build by the first digits of its id, or by its version; UINT64_MAX and err if there
 * is none, or several. */
u64 builds_find(const struct build_list *self, const char *word, struct err *err);

#endif
