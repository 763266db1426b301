/* SPDX-License-Identifier: MIT
 * Rows of a table beside those of the same table of another trace. */
#ifndef SHOW_SERVE_BESIDE_H
#define SHOW_SERVE_BESIDE_H

#include "host/base/json.h"
#include "study/result/result.h"

/* Rows are the same if the columns `keys` (names with spaces between) are; stacks if the names of
 * their functions are. */
struct call;

struct beside {
	const struct result *ours, *theirs;
	const char *keys;
};

/* How many rows only the base has. */
u64 rows_gone(const struct beside *self);

/* Answers with ours as "data", and "base": for each row of ours what the base has in its place, as
 * numbers, or null, and how much ours is more. */
void reply_beside(struct call *call, const struct beside *self, u64 gone);

#endif
