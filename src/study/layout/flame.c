/* SPDX-License-Identifier: MIT
 * Weighs a tree of calls and lays it out: what is too narrow to be seen is merged with its
 * neighbours, what is outside of the window is left out.
 * Host. */
#define _GNU_SOURCE
#include "study/layout/flame.h"

#include <string.h>

void weighed_release(struct weighed *self, struct study *trace)
{
	flame_shape_put(trace, self->shape);
	free(self->points);
	free(self->totals);
	free(self->bases);
	free(self->matches);
}

struct weighed_ending flame_ending(const struct weighed *self, const struct study *trace, u32 node)
{
	const struct flame_shape *shape = self->shape;
	struct weighed_ending ending = {.point = FLAME_NO_POINT};
	double heaviest = 0;

	for (u32 i = shape->first_ending[node]; i < shape->first_ending[node + 1]; i++) {
		u32 point = shape->ending[i];
		double weight = self->points[point];

		if (!(weight > 0))
			continue;
		ending.self += weight;
		if (trace->severity && trace->severity[point] > ending.severity)
			ending.severity = trace->severity[point];
		if (weight > heaviest) {
			heaviest = weight;
			ending.point = point;
		}
	}
	return ending;
}

/* Callers of a pivot hang below it, but their weight is its own already. */
static bool joins_parent(const struct flame_shape *shape, const struct flame_node *node)
{
	return !(node->flags & FLAME_CALLER) ||
	       (shape->nodes.data[node->parent].flags & FLAME_CALLER);
}

static void sum_up(struct weighed *self, u64 points)
{
	const struct flame_shape *shape = self->shape;

	for (u64 i = 0; i < points; i++) {
		if (!(self->points[i] > 0) || shape->tip[i] == UINT32_MAX)
			continue;
		self->totals[shape->tip[i]] += self->points[i];
		if (shape->dir == FLAME_PIVOT && shape->above[i] != UINT32_MAX)
			self->totals[shape->above[i]] += self->points[i];
	}
	for (u64 i = shape->nodes.count; i-- > 1;) {
		const struct flame_node *node = &shape->nodes.data[i];

		if (!(self->totals[i] > 0))
			continue;
		if (joins_parent(shape, node))
			self->totals[node->parent] += self->totals[i];
		self->nodes++;
		if (node->depth > self->max_depth)
			self->max_depth = node->depth;
	}
}

int flame_weigh(struct weighed *self, const struct view_scope *scope,
		const struct flame_query *query, struct err *err)
{
	const char *search = query->search && *query->search ? query->search : NULL;

	if (study_scores(scope->trace, err) < 0)
		return err->code;
	self->at_ns = query->at_ns;
	self->shape = flame_shape_get(scope->trace, query, err);
	if (!self->shape)
		return err->code;
	self->points = calloc(scope->trace->model->points.count + 1, sizeof *self->points);
	self->totals = calloc(self->shape->nodes.count, sizeof *self->totals);
	if (!self->points || !self->totals)
		return err_memory_for(err, "the flame graph");
	self->matches = flame_matching(self->shape->calls, search, err);
	if ((search && !self->matches) ||
	    view_weigh(scope, query->metric, &self->at_ns, self->points, err) < 0)
		return err->code;
	sum_up(self, scope->trace->model->points.count);
	return 0;
}

/* ---- boxes ---- */

/* Where the function's own code calls from, as the symbols of one of its frames say. */
static void place_box(struct flame_box *box, const struct study *trace,
		      const struct mprof_calls *calls, u32 call)
{
	struct frame_id frame = calls->calls.data[call].frame;
	struct stack_names names = stack_names(&trace->stacks, frame);

	box->module = names.module;
	box->file = "";
	for (u32 i = 0; i < names.count; i++)
		if (strcmp(names.frames[i].function, box->name) == 0) {
			box->file = names.frames[i].file;
			box->line = names.frames[i].line;
			return;
		}
}

struct layout {
	struct flame_view *view;
	const struct weighed *weighed;
	const struct study *trace;
	const struct flame_query *query;
	double narrowest;  /* part of the root */
	VEC(u32) children; /* scratch, by weight */
};

static struct flame_box box_of(const struct layout *self, u32 id, double x0)
{
	const struct weighed *weighed = self->weighed;
	const struct flame_node *node = &weighed->shape->nodes.data[id];

	return (struct flame_box){.id = id,
				  .parent = node->parent,
				  .depth = node->depth,
				  .flags = node->flags,
				  .severity = FLAME_NO_SEVERITY,
				  .x0 = x0,
				  .x1 = x0 + weighed->totals[id] / self->view->root_total,
				  .total = weighed->totals[id],
				  .base = weighed->bases ? weighed->bases[id] : 0,
				  .point = FLAME_NO_POINT};
}

/* What has no part in where the box is. */
static void describe(const struct layout *self, struct flame_box *box)
{
	const struct weighed *weighed = self->weighed;
	const struct flame_node *node = &weighed->shape->nodes.data[box->id];
	struct weighed_ending ending;

	if (box->flags & FLAME_MERGED)
		return;
	ending = flame_ending(weighed, self->trace, box->id);
	box->self = ending.self;
	box->point = ending.point;
	if (ending.self > 0)
		box->flags |= FLAME_LEAF;
	if (ending.severity)
		box->severity = ending.severity;
	box->name = box->module = box->file = "";
	if (!box->id) {
		box->name = "all";
		return;
	}
	box->name = weighed->shape->calls->functions.data[node->function].name;
	if (weighed->matches && weighed->matches[node->function])
		box->flags |= FLAME_MATCH;
	place_box(box, self->trace, weighed->shape->calls, node->call);
}

static struct flame_box merged_box(const struct layout *self, const u32 *ids, u64 count, double x0)
{
	const struct weighed *weighed = self->weighed;
	const struct flame_node *first = &weighed->shape->nodes.data[ids[0]];
	struct flame_box box = {.id = ids[0],
				.parent = first->parent,
				.depth = first->depth,
				.flags = FLAME_MERGED | (first->flags & FLAME_CALLER),
				.severity = FLAME_NO_SEVERITY,
				.x0 = x0,
				.name = "(merged)",
				.module = "",
				.file = "",
				.point = FLAME_NO_POINT,
				.merged = (u32)count};

	for (u64 i = 0; i < count; i++) {
		u32 function = weighed->shape->nodes.data[ids[i]].function;

		box.total += weighed->totals[ids[i]];
		box.base += weighed->bases ? weighed->bases[ids[i]] : 0;
		if (weighed->matches && weighed->matches[function])
			box.flags |= FLAME_MATCH;
	}
	box.x1 = x0 + box.total / self->view->root_total;
	return box;
}

/* Heaviest first, so that what is narrow is together at the right; equals by name. */
static int by_weight(const void *a, const void *b, void *data)
{
	const struct weighed *weighed = data;
	u32 x = *(const u32 *)a, y = *(const u32 *)b;
	const struct mprof_function *functions = weighed->shape->calls->functions.data;
	int names;

	if (weighed->totals[x] != weighed->totals[y])
		return weighed->totals[x] > weighed->totals[y] ? -1 : 1;
	names = strcmp(functions[weighed->shape->nodes.data[x].function].name,
		       functions[weighed->shape->nodes.data[y].function].name);
	return names ? names : x < y ? -1 : x > y;
}

/* Of a pivot one side at a time: both begin at the same place. */
static bool children_find(struct layout *self, u32 id, bool callers)
{
	const struct flame_shape *shape = self->weighed->shape;

	vec_clear(&self->children);
	for (u32 child = shape->nodes.data[id].first_child; child;
	     child = shape->nodes.data[child].next)
		if (self->weighed->totals[child] > 0 &&
		    !!(shape->nodes.data[child].flags & FLAME_CALLER) == callers &&
		    !vec_push(&self->children, child))
			return false;
	if (self->children.count)
		qsort_r(self->children.data, self->children.count, sizeof(u32), by_weight,
			(void *)self->weighed);
	return true;
}

static bool is_seen(const struct layout *self, const struct flame_box *box)
{
	return box->x1 > self->query->x0 && box->x0 < self->query->x1 &&
	       box->x1 - box->x0 >= self->narrowest;
}

static bool push_children(struct layout *self, u32 id, double x0, bool callers)
{
	u64 i = 0;

	if (!children_find(self, id, callers))
		return false;
	for (; i < self->children.count; i++) {
		u32 child = self->children.data[i];
		double width = self->weighed->totals[child] / self->view->root_total;
		struct flame_box box;

		if (width < self->narrowest)
			break;
		if (x0 + width > self->query->x0 && x0 < self->query->x1) {
			box = box_of(self, child, x0);
			if (!vec_push(&self->view->boxes, box))
				return false;
		}
		x0 += width;
	}
	if (i < self->children.count) {
		struct flame_box box =
			merged_box(self, &self->children.data[i], self->children.count - i, x0);

		if (is_seen(self, &box) && !vec_push(&self->view->boxes, box))
			return false;
	}
	return true;
}

/* Level by level, so that boxes are in order. False without memory. */
static bool lay_out(struct layout *self)
{
	vec_clear(&self->view->boxes);
	if (!vec_push(&self->view->boxes, box_of(self, self->query->root, 0)))
		return false;
	for (u64 i = 0; i < self->view->boxes.count; i++) {
		struct flame_box box = self->view->boxes.data[i];

		if (box.flags & FLAME_MERGED)
			continue;
		if (!push_children(self, box.id, box.x0, false) ||
		    !push_children(self, box.id, box.x0, true))
			return false;
		if (self->view->boxes.count > 4 * FLAME_NODES_MAX)
			return true; /* too many anyway */
	}
	return true;
}

/* What the root is part of. False without memory. */
static bool put_path(struct layout *self)
{
	const struct flame_shape *shape = self->weighed->shape;
	struct flame_view *view = self->view;

	for (u32 id = self->query->root; id; id = shape->nodes.data[id].parent)
		if (!vec_push(&view->path, box_of(self, shape->nodes.data[id].parent, 0)))
			return false;
	for (u64 i = 0; i < view->path.count / 2; i++) {
		struct flame_box box = view->path.data[i];

		view->path.data[i] = view->path.data[view->path.count - 1 - i];
		view->path.data[view->path.count - 1 - i] = box;
	}
	return true;
}

/* How many nodes there are at and below the root, and how deep they are. False without memory. */
static bool count_all(struct flame_view *view, const struct weighed *weighed, u32 root)
{
	const struct flame_shape *shape = weighed->shape;
	u8 *below;

	view->nodes_all = 1 + weighed->nodes;
	view->max_depth = weighed->max_depth;
	if (!root)
		return true;
	below = calloc(shape->nodes.count, 1);
	view->nodes_all = below != NULL;
	view->max_depth = shape->nodes.data[root].depth;
	for (u32 i = root + 1; below && i < shape->nodes.count; i++) {
		const struct flame_node *node = &shape->nodes.data[i];

		below[i] = node->parent == root || below[node->parent];
		if (!below[i] || !(weighed->totals[i] > 0))
			continue;
		view->nodes_all++;
		if (node->depth > view->max_depth)
			view->max_depth = node->depth;
	}
	free(below);
	return view->nodes_all;
}

static int make_boxes(struct flame_view *self, const struct weighed *weighed,
		      const struct view_scope *scope, const struct flame_query *query,
		      struct err *err)
{
	struct layout layout = {.view = self,
				.weighed = weighed,
				.trace = scope->trace,
				.query = query,
				.narrowest = (query->x1 - query->x0) / query->px};
	bool done = true;

	if (query->root >= weighed->shape->nodes.count)
		return err_set(err, ERR_USAGE, "there is no frame %u in this flame graph",
			       query->root);
	self->at_ns = weighed->at_ns;
	self->total = weighed->totals[0];
	self->root_total = weighed->totals[query->root];
	done = count_all(self, weighed, query->root);
	if (done && self->root_total > 0)
		done = put_path(&layout) && lay_out(&layout);
	while (done && self->boxes.count > FLAME_NODES_MAX) {
		self->truncated = true;
		layout.narrowest *= 1.5;
		done = lay_out(&layout);
	}
	for (u64 i = 0; i < self->boxes.count; i++)
		describe(&layout, &self->boxes.data[i]);
	for (u64 i = 0; i < self->path.count; i++)
		describe(&layout, &self->path.data[i]);
	vec_release(&layout.children);
	return done ? 0 : err_memory_for(err, "the flame graph");
}

int flame_view_make(struct flame_view *self, const struct view_scope *scope,
		    const struct flame_query *query, struct err *err)
{
	struct weighed weighed = {0};
	int status = flame_weigh(&weighed, scope, query, err);

	if (status == 0 && query->base)
		status = flame_base_find(self, &weighed, query, err);
	if (status == 0)
		status = make_boxes(self, &weighed, scope, query, err);
	weighed_release(&weighed, scope->trace);
	return status;
}

void flame_view_release(struct flame_view *self)
{
	vec_release(&self->boxes);
	vec_release(&self->path);
	vec_release(&self->gone);
}

/* ---- search ---- */

/* Stacks with a match: those that end at or below a node that matches. */
static double sum_matching(const struct weighed *weighed, u8 *covered)
{
	const struct flame_shape *shape = weighed->shape;
	double total = 0;

	for (u64 i = 0; i < shape->nodes.count; i++) {
		const struct flame_node *node = &shape->nodes.data[i];

		covered[i] = i && (covered[node->parent] || weighed->matches[node->function]);
		if (covered[i] && !(i && covered[node->parent]) && !(node->flags & FLAME_CALLER))
			total += weighed->totals[i];
	}
	return total;
}

static void take_first(struct flame_search *self, const struct weighed *weighed, u32 *ids,
		       u64 count)
{
	qsort_r(ids, count, sizeof *ids, by_weight, (void *)weighed);
	self->frames = count;
	for (u64 i = 0; i < count && i < FLAME_FIRST; i++)
		self->first[self->first_count++] = ids[i];
}

static int search(struct flame_search *self, const struct weighed *weighed, struct err *err)
{
	const struct flame_shape *shape = weighed->shape;
	u8 *covered = calloc(shape->nodes.count, 1);
	u32 *ids = calloc(shape->nodes.count, sizeof *ids);
	u64 count = 0;

	if (!covered || !ids) {
		free(covered);
		free(ids);
		return err_memory_for(err, "the search");
	}
	self->whole = weighed->totals[0];
	self->total = sum_matching(weighed, covered);
	for (u32 i = 1; i < shape->nodes.count; i++)
		if (weighed->matches[shape->nodes.data[i].function] && weighed->totals[i] > 0 &&
		    !(shape->nodes.data[i].flags & FLAME_SPLIT))
			ids[count++] = i;
	take_first(self, weighed, ids, count);
	free(covered);
	free(ids);
	return 0;
}

int flame_search_make(struct flame_search *self, const struct view_scope *scope,
		      const struct flame_query *query, struct err *err)
{
	struct weighed weighed = {0};
	int status;

	*self = (struct flame_search){0};
	if (!query->search || !*query->search)
		return err_set(err, ERR_USAGE, "parameter 's' is missing: the text to search for");
	status = flame_weigh(&weighed, scope, query, err);
	if (status == 0)
		status = search(self, &weighed, err);
	weighed_release(&weighed, scope->trace);
	return status;
}
