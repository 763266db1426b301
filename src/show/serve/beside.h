/* SPDX-License-Identifier: MIT
 * Rows of a table beside those of the same table of another trace. */
#ifndef SHOW_SERVE_BESIDE_H
#define SHOW_SERVE_BESIDE_H

#include "show/serve/api.h"

/* Writes "base": for each row [first, first + count) of ours what the base has in its place, as numbers, or null, and how
 * much ours is more. Rows are the same if these columns (names with spaces
 * between) are; stacks if the names of their functions are. */
void put_beside(struct call *call, const struct result *ours, const struct result *theirs,
		const char *keys, u64 first, u64 count);

/* Writes "gone": how many rows only the base has. */
void put_gone_rows(struct call *call, const struct result *ours, const struct result *theirs,
		   const char *keys);

#endif
