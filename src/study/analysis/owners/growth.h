/* SPDX-License-Identifier: MIT
 * What grows, and who holds it: the owners at two scans, of one run or of two, compared by their
 * paths of names. Defined in docs/METHODS.md, "What grows".
 *
 *	struct owner_growth growth = {.limits = {.min_share = 0.01}};
 *	struct owners_query before = {.graph = &scans[0], .types = &types};
 *	if (owner_growth_find(&growth, &before, &after, err) == 0)
 *		use(growth.rows.data[0]);
 *	owner_growth_release(&growth);
 */
#ifndef STUDY_ANALYSIS_OWNERS_GROWTH_H
#define STUDY_ANALYSIS_OWNERS_GROWTH_H

#include "host/base/strbuf.h"
#include "study/analysis/owners/grown.h"

/* What grew since an earlier scan of the same recording, or in another one. The owners of the
 * earlier scan are made for that, and released. */
int owner_growth_find(struct owner_growth *self, const struct owners_query *before,
		      const struct owners *after, struct err *err);
/* Which rows have stopped growing at a scan between the two: what fills up at the start does. */
int owner_growth_confirm(struct owner_growth *self, const struct owners_query *middle,
			 const struct owners *after, struct err *err);
void owner_growth_release(struct owner_growth *self);

/* 0 = two runs, or no time between the scans. */
double grown_bytes_per_s(const struct owner_growth *self, const struct grown_row *row);

/* What a row is called: "Registry::sessions", or the root; the root, if that is not its name; and
 * the path of pointers to its node. Whoever asks releases it. */
struct grown_name {
	struct strbuf container, root, path;
};
int owner_growth_name(const struct owner_growth *self, const struct grown_row *row,
		      struct owners *after, struct grown_name *name, struct err *err);
void grown_name_release(struct grown_name *self);
/* Type of the elements, or the function that allocates them; or that of the larger block. */
const char *grown_elements(const struct owner_growth *self, const struct grown_row *row);

#endif
