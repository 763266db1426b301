/* SPDX-License-Identifier: MIT
 * Peaks by key: changes are put in order of key and time, and summed up.
 * Host. */
#include "view/peaks.h"

#include <math.h>
#include <stdlib.h>

enum { EVENTS_MAX = 8 << 20 };

struct key_moment {
	u64 ticks;
	i64 change;
	u32 key;
};

/* Frees come first of what happens at one moment. */
static int moment_order(const void *a, const void *b)
{
	const struct key_moment *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	return x->change < y->change ? -1 : x->change > y->change;
}

static void sum_up(struct key_moment *moments, u64 count, double *peaks)
{
	i64 live = 0;

	qsort(moments, count, sizeof *moments, moment_order);
	for (u64 i = 0; i < count; i++) {
		live = i && moments[i].key == moments[i - 1].key ? live + moments[i].change
								 : moments[i].change;
		if ((double)live > peaks[moments[i].key])
			peaks[moments[i].key] = (double)live;
	}
}

int view_peaks(const struct view_scope *scope,
	       u32 (*key)(const struct view_scope *scope, const struct view_chunk *chunk),
	       double *peaks, u64 keys, struct err *err)
{
	u64 room = 2 * scope->selection.chunks, count = 0;
	struct key_moment *moments;
	struct view_chunk chunk;

	for (u64 i = 0; i < keys; i++)
		peaks[i] = room > EVENTS_MAX ? NAN : 0;
	if (room > EVENTS_MAX)
		return 0;
	moments = malloc((room + 1) * sizeof *moments);
	if (!moments)
		return err_set(err, ERR_MEMORY, "out of memory for the peaks");
	for (u64 at = 0; count + 2 <= room && view_next(scope, &at, &chunk);) {
		u32 own = key(scope, &chunk);
		u64 units, bytes;

		view_weigh_chunk(scope, &chunk, &units, &bytes);
		moments[count++] =
			(struct key_moment){chunk.page->alloc_ticks[chunk.at], (i64)bytes, own};
		if (view_is_freed(&chunk))
			moments[count++] = (struct key_moment){chunk.page->free_ticks[chunk.at],
							       -(i64)bytes, own};
	}
	sum_up(moments, count, peaks);
	free(moments);
	return view_check(scope, err);
}
