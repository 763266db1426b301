/* SPDX-License-Identifier: MIT
 * Rows of a table beside those of the same table of another trace. */
#ifndef SHOW_SERVE_BESIDE_H
#define SHOW_SERVE_BESIDE_H

#include "host/base/json.h"
#include "study/result/result.h"

/* Rows are the same if the columns `keys` (names with spaces between) are; stacks if the names of
 * their functions are. */
struct beside {
	const struct result *ours, *theirs;
	const char *keys;
};

/* Writes "base": for each row [first, first + count) of ours what the base has in its place, as
 * numbers, or null, and how much ours is more. */
void put_beside(struct json *json, const struct beside *self, u64 first, u64 count);

/* Writes "gone": how many rows only the base has. */
void put_gone_rows(struct json *json, const struct beside *self);

#endif
