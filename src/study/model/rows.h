/* SPDX-License-Identifier: MIT
 * Where a model that forgets chunks has the columns of those that live: a row by chunk number. New
 * chunks, most of which end soon, are found by their number; of those that stay when their
 * neighbours have gone a map is kept. */
#ifndef STUDY_MODEL_ROWS_H
#define STUDY_MODEL_ROWS_H

#include "host/base/map.h"
#include "host/base/vec.h"

enum { ROWS_PAGE = 1 << 14, ROWS_FEW = ROWS_PAGE / 16 };
#define ROW_NONE UINT64_MAX

struct rows_page {
	u32 used;
	u32 rows[ROWS_PAGE]; /* + 1; 0 = none */
};

struct row_table {                     /* all zero = empty */
	VEC(struct rows_page *) pages; /* NULL = in the map, if anywhere */
	struct map few;
};

/* Of a number that has none; false without memory. */
bool rows_put(struct row_table *self, u64 number, u32 row);
void rows_remove(struct row_table *self, u64 number);
void rows_release(struct row_table *self);

static inline u64 rows_find(const struct row_table *self, u64 number)
{
	const struct rows_page *page = NULL;
	const u64 *row;

	if (likely(number / ROWS_PAGE < self->pages.count))
		page = self->pages.data[number / ROWS_PAGE];
	if (likely(page))
		return page->rows[number % ROWS_PAGE] ? page->rows[number % ROWS_PAGE] - 1
						      : ROW_NONE;
	row = map_find(&self->few, number);
	return row ? *row : ROW_NONE;
}

#endif
