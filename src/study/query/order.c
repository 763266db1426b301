/* SPDX-License-Identifier: MIT
 * The first entries of a sequence of chunks, in their order.
 * Host. Keeps no more than are wanted, however many there are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/query/run.h"

struct item {
	double keys[SORTS_MAX]; /* the later sort first; smaller comes first, unknown last */
	struct place place;
};

struct collector {
	struct run *run;
	struct value_plan *plans[SORTS_MAX];
	bool desc[SORTS_MAX];
	u32 count; /* of keys */
	u32 trace;
	u64 most;
	VEC(struct item) heap; /* the last one of those wanted is on top, once there are enough */
	bool failed;
};

static int compare_items(const struct item *a, const struct item *b, u32 keys)
{
	for (u32 i = 0; i < keys; i++) {
		int order = compare_values(a->keys[i], b->keys[i]);

		if (order)
			return order;
	}
	if (a->place.trace != b->place.trace)
		return a->place.trace < b->place.trace ? -1 : 1;
	return a->place.chunk < b->place.chunk ? -1 : a->place.chunk > b->place.chunk;
}

static int compare(const void *a, const void *b, void *keys)
{
	return compare_items(a, b, *(u32 *)keys);
}

static void sift_down(struct collector *self, u64 at)
{
	struct item *heap = self->heap.data;

	for (;;) {
		u64 child = 2 * at + 1;
		struct item swap;

		if (child >= self->heap.count)
			return;
		if (child + 1 < self->heap.count &&
		    compare_items(&heap[child + 1], &heap[child], self->count) > 0)
			child++;
		if (compare_items(&heap[at], &heap[child], self->count) >= 0)
			return;
		swap = heap[at];
		heap[at] = heap[child];
		heap[child] = swap;
		at = child;
	}
}

static bool add(struct collector *self, const struct item *item)
{
	if (self->heap.count < self->most) {
		if (!vec_push(&self->heap, *item))
			return false;
		if (self->heap.count == self->most)
			for (u64 i = self->most / 2 + 1; i-- > 0;)
				sift_down(self, i);
		return true;
	}
	if (compare_items(item, &self->heap.data[0], self->count) < 0) {
		self->heap.data[0] = *item;
		sift_down(self, 0);
	}
	return true;
}

static bool collect(void *data, const struct block *block, const u64 *bits)
{
	struct collector *self = data;
	double keys[SORTS_MAX][BLOCK];

	for (u32 k = 0; k < self->count; k++)
		value_eval(self->plans[k], block, keys[k]);
	for (u32 i = 0; i < BLOCK; i++) {
		struct item item = {.place = {self->trace, block->chunk + i}};

		if (!(bits[i / 64] >> (i % 64) & 1))
			continue;
		for (u32 k = 0; k < self->count; k++)
			item.keys[k] = self->desc[k] ? -keys[k][i] : keys[k][i];
		if (!add(self, &item)) {
			self->failed = true;
			return false;
		}
	}
	/* Without keys the first ones are the first ones. */
	return self->count || self->heap.count < self->most;
}

/* Texts of two traces have numbers of their own: sorting by a text puts one trace after the
 * other. */
static int collect_trace(struct run *run, struct state *state, u32 trace, struct collector *self)
{
	struct err err = {0};
	struct planner planner = run_planner(run, trace, &err);
	struct scan scan = run_scan(run, state, trace);

	self->trace = trace;
	for (u32 k = 0; k < self->count; k++) {
		self->plans[k] = plan_key(&planner, &state->sorts[k]->keys[0]);
		if (!self->plans[k])
			return run_fail(run, &err);
	}
	scan_blocks(&scan, collect, self);
	return self->failed ? run_no_memory(run) : 0;
}

int run_order(struct run *run, struct state *state, u64 most)
{
	struct collector self = {.run = run, .count = state->sort_count, .most = most};
	int status = 0;

	if (state->ordered) {
		if (state->order.count > most)
			state->order.count = most;
		return 0;
	}
	for (u32 k = 0; k < self.count; k++)
		self.desc[k] = state->sorts[k]->desc;
	for (u32 t = 0; status == 0 && most && t < run->engine->count; t++)
		if (state->sel[t].words)
			status = collect_trace(run, state, t, &self);
	if (status == 0 && self.heap.count)
		qsort_r(self.heap.data, self.heap.count, sizeof *self.heap.data, compare,
			&self.count);
	vec_clear(&state->order);
	for (u64 i = 0; status == 0 && i < self.heap.count; i++)
		if (!vec_push(&state->order, self.heap.data[i].place))
			status = run_no_memory(run);
	vec_release(&self.heap);
	state->ordered = status == 0;
	state->sort_count = 0;
	return status;
}
