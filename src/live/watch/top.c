/* SPDX-License-Identifier: MIT
 * Points by live bytes; see top.h. Runs on the drain thread: one look at each area. */
#include "live/watch/top.h"

#include <stdlib.h>

#include "host/base/order.h"

static void count(struct top_row *row, const struct area *area)
{
	row->areas++;
	row->bytes += area->size;
}

static bool count_thread(struct top_found *found, const struct area *area)
{
	u64 known = found->threads.count;

	if (!vec_extend(&found->threads, (u64)area->thread + 1))
		return false;
	for (; known < found->threads.count; known++)
		found->threads.data[known].context = (u32)known;
	count(&found->threads.data[area->thread], area);
	return true;
}

static bool count_point(struct top_found *found, struct map *places, const struct area *area)
{
	u64 *place = map_at(places, area->context);

	if (!place ||
	    (!*place && !vec_push(&found->rows, (struct top_row){.context = area->context})))
		return false;
	if (!*place)
		*place = found->rows.count;
	count(&found->rows.data[*place - 1], area);
	return true;
}

/* A total order, so that the same question gets the same rows. */
static int compare(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	return falling(x->bytes, y->bytes) ?: rising(x->context, y->context);
}

bool top_points(const struct areas *areas, u32 thread, struct top_found *found)
{
	struct map places = {0}; /* context -> index in rows + 1 */
	bool good = true;

	for (u64 i = 0; i < areas->list.count && good; i++) {
		const struct area *area = areas->list.data[i];

		good = count_thread(found, area) &&
		       ((thread != TOP_ALL_THREADS && area->thread != thread) ||
			count_point(found, &places, area));
	}
	map_release(&places);
	vec_sort(&found->rows, compare);
	return good;
}

void top_release(struct top_found *found)
{
	vec_release(&found->rows);
	vec_release(&found->threads);
}
