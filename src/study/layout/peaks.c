/* SPDX-License-Identifier: MIT
 * Peaks by key: changes in the order of time, which the index has; else those of few chunks are put
 * in order.
 * Host. */
#include "study/layout/peaks.h"

#include <math.h>
#include <stdlib.h>

#include "study/layout/divide.h"

enum { EVENTS_MAX = 8 << 20 };

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

void peaks_raise(struct key_moment *moments, u64 count, double *peaks)
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

u32 peak_moments(const struct view_scope *scope, const struct view_chunk *chunk, u32 key,
		 struct key_moment *moments)
{
	const struct chunk_page *page = chunk->page;
	u64 units, bytes;

	if (!view_is_ever_live(chunk))
		return 0;
	view_weigh_chunk(scope, chunk, &units, &bytes);
	moments[0] = (struct key_moment){page->alloc_ticks[chunk->at], (i64)bytes, key};
	moments[1] = (struct key_moment){page->free_ticks[chunk->at], -(i64)bytes, key};
	return view_is_freed(chunk) ? 2 : 1;
}

/* ---- from the order of events ---- */

enum { EVENTS_FEW = 1 << 15 }; /* sooner sorted than found among all */

struct rise { /* of a key, in one part of the events */
	i64 live, high;
};

struct rising {
	const struct view_scope *scope;
	u32 (*key)(const struct view_scope *scope, const struct view_chunk *chunk);
};

/* Each part begins with nothing live: what was before it is added at the end. */
static int rise_part(void *data, const struct view_part *part, struct err *err)
{
	const struct rising *self = data;
	const struct view_scope *scope = self->scope;
	u64 events = scope->trace->model->order.count;
	/* It is events that are divided, not chunks. */
	u64 from = events * part->number / part->parts;
	u64 to = events * (part->number + 1) / part->parts;
	struct rise *rises = part->room;

	for (u64 i = from; i < to; i += VIEW_PICK) {
		u32 codes[VIEW_PICK];
		u32 picked = view_pick(scope, i, to - i < VIEW_PICK ? to - i : VIEW_PICK, codes);

		view_pass_events(scope, i);
		if ((i - from) % (1 << 20) == 0 && view_check(scope, err) < 0)
			return err->code;
		for (u32 k = 0; k < picked; k++) {
			u64 number = codes[k] >> 1, units, bytes;
			struct view_chunk chunk = view_chunk_at(scope, number);
			struct rise *rise = &rises[self->key(scope, &chunk)];

			view_weigh_chunk(scope, &chunk, &units, &bytes);
			rise->live += codes[k] & 1 ? -(i64)bytes : (i64)bytes;
			if (rise->live > rise->high)
				rise->high = rise->live;
		}
	}
	return 0;
}

static int peaks_of_order(struct rising *self, double *peaks, u64 keys, struct err *err)
{
	struct view_division division = {.parts = view_parts(self->scope),
					 .bytes = keys * sizeof(struct rise),
					 .what = "the peaks"};
	int status = view_divide(self->scope, &division, rise_part, self, err);

	for (u64 k = 0; k < keys && status == 0; k++) {
		i64 before = 0, high = 0;

		for (u32 i = 0; i < division.parts; i++) {
			const struct rise *rise = (struct rise *)division.rooms[i] + k;

			if (before + rise->high > high)
				high = before + rise->high;
			before += rise->live;
		}
		peaks[k] = (double)high;
	}
	view_division_release(&division);
	return status;
}

int view_peaks(const struct view_scope *scope,
	       u32 (*key)(const struct view_scope *scope, const struct view_chunk *chunk),
	       double *peaks, u64 keys, struct err *err)
{
	struct rising rising = {.scope = scope, .key = key};
	u64 room = 2 * scope->selection.chunks, count = 0;
	struct key_moment *moments;
	struct view_chunk chunk;

	if (room > EVENTS_FEW && scope->trace->model->order.count)
		return peaks_of_order(&rising, peaks, keys, err);
	for (u64 i = 0; i < keys; i++)
		peaks[i] = room > EVENTS_MAX ? NAN : 0;
	if (room > EVENTS_MAX)
		return 0;
	moments = malloc((room + 1) * sizeof *moments);
	if (!moments)
		return err_memory_for(err, "the peaks");
	for (u64 at = 0; count + 2 <= room && view_next(scope, &at, &chunk);)
		count += peak_moments(scope, &chunk, key(scope, &chunk), &moments[count]);
	peaks_raise(moments, count, peaks);
	free(moments);
	return view_check(scope, err);
}
