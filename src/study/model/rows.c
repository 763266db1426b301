/* SPDX-License-Identifier: MIT
 * Rows of chunks by number. Host. */
#include "study/model/rows.h"

#include <stdlib.h>

/* A number in a damaged file may be anything: nothing is sized by it. */
enum { JUMP_MAX = 1 << 10 };

static struct rows_page *page_of(struct row_table *self, u64 number)
{
	u64 at = number / ROWS_PAGE;

	if (at >= self->pages.count + JUMP_MAX || !vec_extend(&self->pages, at + 1))
		return NULL;
	/* one whose chunks have moved, or that was passed over, is not begun again */
	if (!self->pages.data[at] && at + 1 == self->pages.count && number % ROWS_PAGE == 0)
		self->pages.data[at] = calloc(1, sizeof(struct rows_page));
	return self->pages.data[at];
}

bool rows_put(struct row_table *self, u64 number, u32 row)
{
	struct rows_page *page = page_of(self, number);

	if (!page)
		return map_put(&self->few, number, row);
	page->rows[number % ROWS_PAGE] = row + 1;
	page->used++;
	return true;
}

/* Without memory they stay where they are. */
static void move_few(struct row_table *self, u64 at)
{
	struct rows_page *page = self->pages.data[at];
	u64 i;

	for (i = 0; i < ROWS_PAGE; i++)
		if (page->rows[i] && !map_put(&self->few, at * ROWS_PAGE + i, page->rows[i] - 1))
			break;
	if (i == ROWS_PAGE) {
		free(page);
		self->pages.data[at] = NULL;
		return;
	}
	while (i--)
		if (page->rows[i])
			map_remove(&self->few, at * ROWS_PAGE + i, NULL);
}

void rows_remove(struct row_table *self, u64 number)
{
	u64 at = number / ROWS_PAGE;
	struct rows_page *page = at < self->pages.count ? self->pages.data[at] : NULL;

	if (!page) {
		map_remove(&self->few, number, NULL);
		return;
	}
	page->used -= page->rows[number % ROWS_PAGE] != 0;
	page->rows[number % ROWS_PAGE] = 0;
	if (page->used <= ROWS_FEW && at + 1 < self->pages.count)
		move_few(self, at);
}

void rows_release(struct row_table *self)
{
	for (u64 i = 0; i < self->pages.count; i++)
		free(self->pages.data[i]);
	vec_release(&self->pages);
	map_release(&self->few);
}
