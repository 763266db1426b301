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
	/* "1,024 buckets": it stands for a container, and the last of its parts on the way follows,
	 * if that is another chunk. NULL = it is what its kind says */
	const char *container;
	u32 parts; /* steps that it stands for */
	/* The pointer in this node that leads to the next; of the last node nothing is known. */
	u32 from, to; /* bytes, as in the graph */
	/* ".next", "[3]", "[3].name", "+0x18"; "" = the last one, or nothing to name: a variable */
	const char *member;
	u32 sharers; /* of a std::shared_ptr that the pointer is a part of; 0 = it is of none */
};

struct owner_path {                   /* all zero = empty */
	VEC(struct owner_step) steps; /* a root, or what leads the lost, first */
	struct names names;
};

int owner_path_find(struct owner_path *self, struct owners *owners, u32 node, struct err *err);
/* How many steps from this one on are alike: those of a list are said once. */
u64 owner_path_alike(const struct owner_path *self, const struct owners *owners, u64 first);

/* What a step is called: its kind, or what it says of a container. */
const char *owner_step_label(const struct owners *owners, const struct owner_step *step);

/* "server (main.c:12) .db → dict .table → 1,024 buckets → 7 × Session .next → Text" */
void owner_path_put(const struct owner_path *self, const struct owners *owners, struct strbuf *out);

/* Where a container is: the way to it and the member, ".db.index_". */
int owner_path_put_container(struct owners *owners, const struct owner_container *container,
			     struct strbuf *out, struct err *err);
void owner_path_release(struct owner_path *self);

#endif
