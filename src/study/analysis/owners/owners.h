/* SPDX-License-Identifier: MIT
 * Who holds the memory of a program at a scan: own and retained bytes of roots, chunks, types and
 * allocation points, and the tree of owners by their shape. Defined in docs/METHODS.md, "Owners".
 *
 *	struct owners owners = {0};
 *	struct owners_query query = {.graph = graph, .types = &types};
 *	if (owners_make(&owners, &query, err) < 0) ...
 *	use(owners.tree.retained[node]);
 *	owners_release(&owners);
 */
#ifndef STUDY_ANALYSIS_OWNERS_OWNERS_H
#define STUDY_ANALYSIS_OWNERS_OWNERS_H

#include "study/analysis/owners/held.h"

int owners_make(struct owners *self, const struct owners_query *query, struct err *err);
void owners_release(struct owners *self);

#endif
