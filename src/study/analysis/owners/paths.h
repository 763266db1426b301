/* SPDX-License-Identifier: MIT
 * How a chunk is held: the shortest way of pointers from a root to it.
 *
 *	struct owner_path path = {0};
 *	if (owner_path_find(&path, &owners, node, err) < 0) ...
 *	for (u64 i = 0; i < path.steps.count; i++)
 *		use(path.steps.data[i].node, path.steps.data[i].member);
 *	owner_path_release(&path);
 */
#ifndef STUDY_ANALYSIS_OWNERS_PATHS_H
#define STUDY_ANALYSIS_OWNERS_PATHS_H

#include "host/base/strbuf.h"
#include "study/analysis/owners/owners.h"

struct owner_step {
	u32 node;
	/* The pointer in this node that leads to the next; of the last node nothing is known. */
	u32 from, to; /* bytes, as in the graph */
	/* ".next", "[3]", "[3].name", "+0x18"; "" = the last one, or nothing to name: a variable */
	const char *member;
};

struct owner_path {                   /* all zero = empty */
	VEC(struct owner_step) steps; /* a root, or what leads the lost, first */
	struct names names;
};

int owner_path_find(struct owner_path *self, struct owners *owners, u32 node, struct err *err);
/* "server (main.c:12) .db → dict .table → 7 × Session .next → Session" */
void owner_path_put(const struct owner_path *self, const struct owners *owners, struct strbuf *out);
void owner_path_release(struct owner_path *self);

#endif
