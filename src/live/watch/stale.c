/* SPDX-License-Identifier: MIT
 * Areas that are stale; see stale.h. Runs on the drain thread: one look at each area, however many
 * are stale. */
#define _GNU_SOURCE
#include "live/watch/stale.h"

#include <stdlib.h>

#include "host/base/order.h"

struct search {
	const struct stale_query *query;
	u64 now_ns;
	struct stale_rows *found;
};

bool area_is_stale(const struct area *area, u64 after_ns, u64 now_ns)
{
	return area_idle(area, now_ns) >= after_ns;
}

/* What comes first has the larger key. */
static u64 key_of(const struct search *self, const struct area *area)
{
	u64 key = 0;

	switch (self->query->sort) {
	case STALE_BY_IDLE: key = area_idle(area, self->now_ns); break;
	case STALE_BY_SIZE: key = area->size; break;
	case STALE_BY_AGE:
		key = self->now_ns > area->birth_ns ? self->now_ns - area->birth_ns : 0;
		break;
	case STALE_BY_HITS: key = area->hits; break;
	}
	return self->query->rising ? UINT64_MAX - key : key;
}

/* A total order, so that the same question gets the same rows. */
static int compare(const void *a, const void *b, void *search)
{
	const struct area *x = *(const struct area *const *)a, *y = *(const struct area *const *)b;

	return falling(key_of(search, x), key_of(search, y)) ?: rising(x->chunk, y->chunk);
}

static void swap(const struct area **a, const struct area **b)
{
	const struct area *kept = *a;

	*a = *b;
	*b = kept;
}

/* The rows are a heap, whose top is the row that comes last. */
static void sift_up(struct search *self, u32 at)
{
	const struct area **row = self->found->row;

	for (; at && compare(&row[at], &row[(at - 1) / 2], self) > 0; at = (at - 1) / 2)
		swap(&row[at], &row[(at - 1) / 2]);
}

static void sift_down(struct search *self)
{
	const struct area **row = self->found->row;
	u32 at = 0, child;

	while ((child = 2 * at + 1) < self->found->rows) {
		if (child + 1 < self->found->rows &&
		    compare(&row[child + 1], &row[child], self) > 0)
			child++;
		if (compare(&row[child], &row[at], self) <= 0)
			return;
		swap(&row[child], &row[at]);
		at = child;
	}
}

static void row_add(struct search *self, const struct area *area)
{
	struct stale_rows *found = self->found;

	if (found->rows < self->query->limit && found->rows < STALE_ROWS_MAX) {
		found->row[found->rows++] = area;
		sift_up(self, found->rows - 1);
	} else if (found->rows && compare(&area, &found->row[0], self) < 0) {
		found->row[0] = area;
		sift_down(self);
	}
}

void stale_find(const struct areas *areas, const struct stale_query *query, u64 now_ns,
		struct stale_rows *found)
{
	struct search self = {query, now_ns, found};

	found->count = found->bytes = found->rows = 0;
	for (u64 i = 0; i < areas->list.count; i++) {
		const struct area *area = areas->list.data[i];

		if (!area_is_stale(area, query->after_ns, now_ns))
			continue;
		found->count++;
		found->bytes += area->size;
		row_add(&self, area);
	}
	qsort_r(found->row, found->rows, sizeof(found->row[0]), compare, &self);
}
