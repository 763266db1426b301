/* SPDX-License-Identifier: MIT
 * A flame graph beside that of another trace: boxes are the same if the names on the way to them
 * are, and for boxes of one line the line is.
 * Host. */
#include "study/layout/flame.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/map.h"

struct base {
	struct weighed *ours;
	struct weighed theirs;
	const struct study *their_trace;
	struct map children; /* node of theirs and name of a callee → node */
	u32 *our_node;       /* by node of theirs: node of ours; UINT32_MAX = only they have it */
};

static const char *name_of(const struct weighed *weighed, u32 node)
{
	return weighed->shape->calls->functions.data[weighed->shape->nodes.data[node].function]
		.name;
}

/* Callers of a pivot are apart from what it calls, and lines of a function from each other. */
static u64 kind_of(const struct weighed *weighed, u32 node)
{
	const struct flame_node *of = &weighed->shape->nodes.data[node];

	return (u64)(of->flags & FLAME_SPLIT ? of->line : 0) << 8 |
	       (of->flags & (FLAME_CALLER | FLAME_SPLIT));
}

static u64 key_of(const struct weighed *weighed, u32 parent, u32 node)
{
	u64 start = HASH_START ^ kind_of(weighed, node);

	return hash_u64(hash_text(start, name_of(weighed, node)) ^ hash_u64(parent + 1));
}

static u32 node_find(const struct base *self, u32 parent, u32 ours)
{
	u64 key = key_of(self->ours, parent, ours);

	for (;; key = hash_u64(key + 1)) {
		const u64 *found = map_find(&self->children, key);

		if (!found || !*found)
			return UINT32_MAX;
		if (self->theirs.shape->nodes.data[*found].parent == parent &&
		    kind_of(&self->theirs, (u32)*found) == kind_of(self->ours, ours) &&
		    strcmp(name_of(&self->theirs, (u32)*found), name_of(self->ours, ours)) == 0)
			return (u32)*found;
	}
}

static bool node_add(struct base *self, u32 node)
{
	u64 key = key_of(&self->theirs, self->theirs.shape->nodes.data[node].parent, node);

	for (;; key = hash_u64(key + 1)) {
		u64 *place = map_at(&self->children, key);

		if (!place)
			return false;
		if (*place == 0) {
			*place = node;
			return true;
		}
	}
}

/* A function that allocates at one line only has no box for it: is that the line of a box of the
 * other trace, whose function allocates at several? */
static bool is_only_line(const struct flame_node *function, const struct flame_node *box)
{
	return (box->flags & FLAME_SPLIT) && function->line == box->line;
}

/* Parents come before their children, so that one pass finds all. */
static bool match(struct base *self)
{
	const struct flame_shape *ours = self->ours->shape, *theirs = self->theirs.shape;
	u32 *their_node = calloc(ours->nodes.count + 1, sizeof *their_node);
	bool done = their_node != NULL;

	for (u32 i = 1; i < theirs->nodes.count && done; i++) {
		done = node_add(self, i);
		self->our_node[i] = UINT32_MAX;
	}
	for (u32 i = 0; i < ours->nodes.count && done; i++) {
		u32 parent = i ? their_node[ours->nodes.data[i].parent] : 0;
		u32 found = !i ? 0 : parent == UINT32_MAX ? UINT32_MAX : node_find(self, parent, i);

		their_node[i] = found;
		if (found == UINT32_MAX && parent != UINT32_MAX &&
		    is_only_line(&theirs->nodes.data[parent], &ours->nodes.data[i]))
			self->ours->bases[i] =
				flame_ending(&self->theirs, self->their_trace, parent).self;
		if (found == UINT32_MAX)
			continue;
		self->ours->bases[i] = self->theirs.totals[found];
		if (!(self->ours->totals[i] > 0) && i)
			continue; /* nobody sees it: only they have it */
		self->our_node[found] = i;
	}
	free(their_node);
	return done;
}

static int heaviest_first(const void *a, const void *b)
{
	const struct flame_gone *x = a, *y = b;

	if (x->base != y->base)
		return x->base > y->base ? -1 : 1;
	return strcmp(x->name, y->name);
}

static bool find_gone(struct flame_view *self, const struct base *base)
{
	const struct flame_shape *ours = base->ours->shape, *theirs = base->theirs.shape;

	for (u32 i = 1; i < theirs->nodes.count; i++) {
		u32 parent = base->our_node[theirs->nodes.data[i].parent];
		struct flame_gone gone = {.parent = parent,
					  .name = name_of(&base->theirs, i),
					  .base = base->theirs.totals[i]};

		if (base->our_node[i] != UINT32_MAX || parent == UINT32_MAX || !(gone.base > 0) ||
		    is_only_line(&ours->nodes.data[parent], &theirs->nodes.data[i]))
			continue;
		if (!(theirs->nodes.data[i].flags & FLAME_CALLER))
			self->gone_total += gone.base;
		if (!vec_push(&self->gone, gone))
			return false;
	}
	if (self->gone.count)
		qsort(self->gone.data, self->gone.count, sizeof *self->gone.data, heaviest_first);
	if (self->gone.count > FLAME_GONE_MAX)
		self->gone.count = FLAME_GONE_MAX;
	return true;
}

static int compare(struct flame_view *self, struct base *base, struct err *err)
{
	base->our_node = calloc(base->theirs.shape->nodes.count + 1, sizeof *base->our_node);
	base->ours->bases = calloc(base->ours->shape->nodes.count, sizeof *base->ours->bases);
	self->base_total = base->theirs.totals[0];
	if (base->our_node && base->ours->bases && match(base) && find_gone(self, base))
		return 0;
	return err_memory_for(err, "the flame graph");
}

int flame_base_find(struct flame_view *self, struct weighed *weighed,
		    const struct flame_query *query, struct err *err)
{
	struct base base = {.ours = weighed, .their_trace = query->base->trace};
	struct err their_err = {0};
	const char *missing = view_metric_missing(query->base->trace->model, query->metric);
	int status;

	if (missing)
		return err_set(err, ERR_USAGE, "the trace to compare with: %s", missing);
	status = flame_weigh(&base.theirs, query->base, query, &their_err);
	if (status == 0)
		status = compare(self, &base, err);
	else if (their_err.code == ERR_USAGE && !view_check(query->base, err))
		status = 0; /* the base has no such function: nothing of it is there */
	else
		*err = their_err;
	weighed_release(&base.theirs, query->base->trace);
	map_release(&base.children);
	free(base.our_node);
	return status;
}
