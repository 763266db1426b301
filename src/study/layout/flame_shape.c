/* SPDX-License-Identifier: MIT
 * Trees of calls for flame graphs, merged by function.
 * Host. A tree depends on stacks alone: no metric, selection or moment changes it. */
#define _GNU_SOURCE
#include <string.h>

#include "study/analysis/places/wrappers.h"
#include "study/layout/flame.h"
#include "study/layout/pattern.h"
#include "study/layout/slots.h"

enum { SHAPES_MAX = 8, DEPTH_MAX = UINT16_MAX - 1 };

struct flame_shapes {
	pthread_mutex_t lock; /* for the list; held while a shape is made */
	struct flame_shape *newest;
};

/* ---- building ---- */

struct builder {
	struct flame_shape *shape;
	const struct study *trace;
	struct map children; /* parent << 32 | function → node */
	struct map lines;    /* parent << 32 | line → node */
	u8 *hidden;          /* by function */
	u32 pivot;           /* function, or UINT32_MAX */
};

static u32 add_node(struct builder *self, u32 parent, u32 call, u8 flags)
{
	struct flame_shape *shape = self->shape;
	const struct mprof_call *of = &shape->calls->calls.data[call];
	u64 key = (u64)parent << 32 | of->function.index;
	u64 *known = map_at(&self->children, key ^ (u64)(flags & FLAME_CALLER) << 26);
	struct flame_node node = {.parent = parent,
				  .function = of->function.index,
				  .call = call,
				  .depth = (u16)(shape->nodes.data[parent].depth + 1),
				  .flags = flags};

	if (!known)
		return UINT32_MAX;
	if (*known)
		return (u32)*known;
	node.next = shape->nodes.data[parent].first_child;
	if (of->inlined)
		node.flags |= FLAME_INLINE;
	for (u32 up = parent; up; up = shape->nodes.data[up].parent)
		if (shape->nodes.data[up].function == node.function) {
			node.flags |= FLAME_RECURSION;
			break;
		}
	if (shape->nodes.count >= UINT32_MAX || !vec_push(&shape->nodes, node))
		return UINT32_MAX;
	*known = shape->nodes.count - 1;
	shape->nodes.data[parent].first_child = (u32)*known;
	return (u32)*known;
}

/* The node below `parent` for a call, which may be none of its own. */
static u32 step(struct builder *self, u32 parent, u32 call, u8 flags)
{
	struct flame_node *at = &self->shape->nodes.data[parent];
	u32 function = self->shape->calls->calls.data[call].function.index;

	if (self->hidden && self->hidden[function])
		return parent;
	if (self->shape->fold_recursion && at->function == function) {
		at->flags |= FLAME_RECURSION;
		return parent;
	}
	/* What is deeper than any stack that is recorded is one box. */
	return at->depth >= DEPTH_MAX ? parent : add_node(self, parent, call, flags);
}

/* The innermost call of the function that a point is counted to, whose own may be hidden.
 * 0 = none. */
static u32 tip_call(const struct builder *self, u64 point)
{
	const struct mprof_calls *calls = self->shape->calls;
	u32 function = self->shape->nodes.data[self->shape->tip[point]].function;
	u32 call = calls->points.data[point].call;

	while (call && calls->calls.data[call].function.index != function)
		call = calls->calls.data[call].caller;
	return call;
}

/* Where in that function it allocates. 0: nobody knows. */
static u32 line_of(const struct builder *self, u64 point)
{
	const struct mprof_calls *calls = self->shape->calls;
	const struct mprof_call *call = &calls->calls.data[tip_call(self, point)];
	struct stack_names names;

	if (call == calls->calls.data)
		return 0;
	names = stack_names(&self->trace->stacks, call->frame);
	for (u32 i = 0; i < names.count; i++)
		if (strcmp(names.frames[i].function,
			   calls->functions.data[call->function.index].name) == 0)
			return names.frames[i].line;
	return 0;
}

/* The box of a line below that of its function. */
static u32 line_node(struct builder *self, u64 point, u32 line)
{
	struct flame_shape *shape = self->shape;
	u32 parent = shape->tip[point];
	u64 *known = map_at(&self->lines, (u64)parent << 32 | line);
	struct flame_node node = shape->nodes.data[parent];

	if (!known || *known || node.depth >= DEPTH_MAX)
		return !known ? UINT32_MAX : *known ? (u32)*known : parent;
	node.next = node.first_child;
	node.first_child = 0;
	node.parent = parent;
	node.call = tip_call(self, point);
	node.line = line;
	node.depth++;
	node.flags = FLAME_SPLIT;
	if (shape->nodes.count >= UINT32_MAX || !vec_push(&shape->nodes, node))
		return UINT32_MAX;
	*known = shape->nodes.count - 1;
	shape->nodes.data[parent].first_child = (u32)*known;
	return (u32)*known;
}

/* A function that allocates at several lines has a box for each of them below its own: they may
 * differ as much as two functions do, and each has a severity. */
static int split_lines(struct builder *self)
{
	struct flame_shape *shape = self->shape;
	u64 points = shape->calls->points.count, nodes = shape->nodes.count;
	u32 *lines = calloc(points + 1, sizeof *lines);
	u32 *first = calloc(nodes, sizeof *first);
	u8 *several = calloc(nodes, 1);
	int status = lines && first && several ? 0 : ERR_MEMORY;

	for (u64 i = 0; i < points && status == 0; i++) {
		u32 tip = shape->tip[i];

		lines[i] = line_of(self, i);
		if (lines[i] && first[tip] && first[tip] != lines[i])
			several[tip] = 1;
		if (!first[tip])
			first[tip] = lines[i];
	}
	for (u64 i = 0; i < nodes && status == 0; i++)
		shape->nodes.data[i].line = several[i] ? 0 : first[i];
	for (u64 i = 0; i < points && status == 0; i++)
		if (lines[i] && several[shape->tip[i]]) {
			shape->tip[i] = line_node(self, i, lines[i]);
			status = shape->tip[i] == UINT32_MAX ? ERR_MEMORY : 0;
		}
	free(lines);
	free(first);
	free(several);
	return status;
}

/* Calls come after their callers, so one pass is enough. */
static int build_down(struct builder *self)
{
	const struct mprof_calls *calls = self->shape->calls;
	u32 *node_of = calloc(calls->calls.count + 1, sizeof *node_of);
	int status = node_of ? 0 : ERR_MEMORY;

	for (u32 i = 1; i < calls->calls.count && status == 0; i++) {
		node_of[i] = step(self, node_of[calls->calls.data[i].caller], i, 0);
		status = node_of[i] == UINT32_MAX ? ERR_MEMORY : 0;
	}
	for (u64 i = 0; i < calls->points.count && status == 0; i++)
		self->shape->tip[i] = node_of[calls->points.data[i].call];
	free(node_of);
	return status == 0 ? split_lines(self) : status;
}

/* From a call to the outermost one, below `node`. */
static u32 climb(struct builder *self, u32 node, u32 call, u8 flags)
{
	const struct mprof_calls *calls = self->shape->calls;

	for (; call && node != UINT32_MAX; call = calls->calls.data[call].caller)
		node = step(self, node, call, flags);
	return node;
}

static int build_up(struct builder *self)
{
	const struct mprof_calls *calls = self->shape->calls;

	for (u64 i = 0; i < calls->points.count; i++) {
		self->shape->tip[i] = climb(self, 0, calls->points.data[i].call, 0);
		if (self->shape->tip[i] == UINT32_MAX)
			return ERR_MEMORY;
	}
	return 0;
}

/* Stacks on which the function is: down from its outermost call, and up from there. */
static int build_pivot(struct builder *self)
{
	const struct mprof_calls *calls = self->shape->calls;
	u64 count = calls->calls.count;
	u32 *node_of = calloc(count + 1, sizeof *node_of); /* 0: not below the function */
	u32 *start_of = calloc(count + 1, sizeof *start_of);
	int status = node_of && start_of ? 0 : ERR_MEMORY;

	for (u32 i = 1; i < count && status == 0; i++) {
		const struct mprof_call *call = &calls->calls.data[i];
		bool below = node_of[call->caller] != 0;

		if (!below && call->function.index != self->pivot)
			continue;
		start_of[i] = below ? start_of[call->caller] : i;
		node_of[i] =
			below ? step(self, node_of[call->caller], i, 0) : add_node(self, 0, i, 0);
		status = node_of[i] == UINT32_MAX ? ERR_MEMORY : 0;
	}
	for (u64 i = 0; i < calls->points.count && status == 0; i++) {
		u32 call = calls->points.data[i].call, top;

		self->shape->tip[i] = node_of[call] ? node_of[call] : UINT32_MAX;
		self->shape->above[i] = UINT32_MAX;
		if (!node_of[call])
			continue;
		top = node_of[start_of[call]];
		self->shape->above[i] =
			climb(self, top, calls->calls.data[start_of[call]].caller, FLAME_CALLER);
		status = self->shape->above[i] == UINT32_MAX ? ERR_MEMORY : 0;
		if (self->shape->above[i] == top)
			self->shape->above[i] = UINT32_MAX; /* nobody called it */
	}
	free(node_of);
	free(start_of);
	return status;
}

/* ---- patterns ---- */

u8 *flame_matching(const struct mprof_calls *calls, const char *text, struct err *err)
{
	struct view_pattern pattern;
	u8 *matching;

	if (!text)
		return NULL;
	matching = calloc(calls->functions.count + 1, 1);
	if (!matching) {
		err_memory_for(err, "the flame graph");
		return NULL;
	}
	if (view_pattern_init(&pattern, text, err) < 0) {
		free(matching);
		matching = NULL;
	}
	for (u64 i = 0; matching && i < calls->functions.count; i++)
		matching[i] = view_pattern_matches(&pattern, calls->functions.data[i].name);
	view_pattern_release(&pattern);
	return matching;
}

/* The dynamic linker, which runs constructors before main. */
static bool is_linker(const char *name)
{
	return strncmp(name, "_dl_", 4) == 0 || strcmp(name, "call_init") == 0;
}

static bool is_library(const struct mprof_function *function)
{
	return function->startup || function->minor || function->hands_out ||
	       is_linker(function->name) || wrapper_name_is_allocator(function->name);
}

static int find_hidden(struct builder *self, const struct flame_query *query, struct err *err)
{
	const struct mprof_calls *calls = self->shape->calls;

	self->hidden = flame_matching(calls, query->hide, err);
	if (query->hide && !self->hidden)
		return err->code;
	if (!query->fold_library)
		return 0;
	if (!self->hidden)
		self->hidden = calloc(calls->functions.count + 1, 1);
	if (!self->hidden)
		return err_memory_for(err, "the flame graph");
	for (u64 i = 0; i < calls->functions.count; i++)
		self->hidden[i] |= is_library(&calls->functions.data[i]);
	return 0;
}

static int find_pivot(struct builder *self, const char *name, struct err *err)
{
	const struct mprof_calls *calls = self->shape->calls;

	self->pivot = UINT32_MAX;
	if (self->shape->dir != FLAME_PIVOT)
		return 0;
	for (u32 i = 0; i < calls->functions.count; i++)
		if (strcmp(calls->functions.data[i].name, name) == 0) {
			self->pivot = i;
			return 0;
		}
	return err_set(err, ERR_USAGE, "unknown function '%.200s'", name);
}

/* ---- shapes ---- */

static void shape_free(struct flame_shape *self)
{
	if (!self)
		return;
	vec_release(&self->nodes);
	free(self->tip);
	free(self->above);
	free(self->ending);
	free(self->first_ending);
	free(self->pivot);
	free(self->hide);
	free(self);
}

/* Points in the order of the nodes where they end. False without memory. */
static bool find_endings(struct flame_shape *self, u64 points)
{
	u64 nodes = self->nodes.count;
	u32 *first = self->first_ending = calloc(nodes + 2, sizeof *first);

	self->ending = calloc(points + 1, sizeof *self->ending);
	if (!first || !self->ending)
		return false;
	for (u64 i = 0; i < points; i++)
		if (self->tip[i] != UINT32_MAX)
			first[self->tip[i] + 2]++;
	for (u64 i = 2; i < nodes + 2; i++)
		first[i] += first[i - 1];
	for (u32 i = 0; i < points; i++)
		if (self->tip[i] != UINT32_MAX)
			self->ending[first[self->tip[i] + 1]++] = i;
	return true;
}

static int shape_build(struct flame_shape *self, const struct study *trace,
		       const struct flame_query *query, struct err *err)
{
	struct builder builder = {.shape = self, .trace = trace};
	int status = find_pivot(&builder, query->pivot ? query->pivot : "", err);

	if (status == 0)
		status = find_hidden(&builder, query, err);
	if (status == 0) {
		static int (*const builds[])(struct builder *) = {[FLAME_DOWN] = build_down,
								  [FLAME_UP] = build_up,
								  [FLAME_PIVOT] = build_pivot};

		status = builds[self->dir](&builder);
		if (status == 0 && !find_endings(self, trace->model->points.count))
			status = ERR_MEMORY;
		if (status < 0)
			err_set(err, status, "out of memory for the flame graph");
	}
	map_release(&builder.children);
	map_release(&builder.lines);
	free(builder.hidden);
	return status;
}

static char *copy_text(const char *text) { return text ? strdup(text) : NULL; }

static struct flame_shape *shape_new(struct study *trace, const struct flame_query *query,
				     struct err *err)
{
	struct flame_shape *self = calloc(1, sizeof *self);
	u64 points = trace->model->points.count;

	if (!self) {
		err_memory_for(err, "the flame graph");
		return NULL;
	}
	self->dir = query->dir;
	self->fold_recursion = query->fold_recursion;
	self->fold_library = query->fold_library;
	self->pivot = copy_text(query->pivot);
	self->hide = copy_text(query->hide);
	self->tip = calloc(points + 1, sizeof *self->tip);
	self->above = calloc(points + 1, sizeof *self->above);
	self->calls = study_calls(trace, err);
	if (!self->calls) {
		shape_free(self);
		return NULL;
	}
	if (!self->tip || !self->above ||
	    !vec_push(&self->nodes, (struct flame_node){.function = UINT32_MAX})) {
		err_memory_for(err, "the flame graph");
		shape_free(self);
		return NULL;
	}
	if (shape_build(self, trace, query, err) == 0)
		return self;
	shape_free(self);
	return NULL;
}

static bool same_text(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

static bool shape_is(const struct flame_shape *self, const struct flame_query *query)
{
	return self->dir == query->dir && self->fold_recursion == query->fold_recursion &&
	       self->fold_library == query->fold_library && same_text(self->pivot, query->pivot) &&
	       same_text(self->hide, query->hide);
}

/* Makes room: the oldest ones that nobody uses go. */
static void shapes_trim(struct flame_shapes *self)
{
	u32 count = 0;

	for (struct flame_shape **at = &self->newest; *at;) {
		struct flame_shape *shape = *at;

		if (++count <= SHAPES_MAX || shape->users) {
			at = &shape->older;
			continue;
		}
		*at = shape->older;
		shape_free(shape);
	}
}

static void *shapes_make(struct study *trace, u32 slot, struct err *err)
{
	struct flame_shapes *self = calloc(1, sizeof *self);

	(void)trace, (void)slot;
	if (self)
		pthread_mutex_init(&self->lock, NULL);
	else
		err_memory_for(err, "the flame graph");
	return self;
}

static void shapes_free(void *self_)
{
	struct flame_shapes *self = self_;

	while (self->newest) {
		struct flame_shape *shape = self->newest;

		self->newest = shape->older;
		shape_free(shape);
	}
	free(self);
}

static struct flame_shapes *shapes_of(struct study *trace, struct err *err)
{
	return study_slot(trace, SLOT_FLAME, shapes_make, shapes_free, err);
}

/* Moves the shape to the front. */
static struct flame_shape *shapes_find(struct flame_shapes *self, const struct flame_query *query)
{
	for (struct flame_shape **at = &self->newest; *at; at = &(*at)->older) {
		struct flame_shape *shape = *at;

		if (!shape_is(shape, query))
			continue;
		*at = shape->older;
		shape->older = self->newest;
		return self->newest = shape;
	}
	return NULL;
}

struct flame_shape *flame_shape_get(struct study *trace, const struct flame_query *query,
				    struct err *err)
{
	struct flame_shapes *shapes = shapes_of(trace, err);
	struct flame_shape *shape;

	if (!shapes)
		return NULL;
	pthread_mutex_lock(&shapes->lock);
	shape = shapes_find(shapes, query);
	if (!shape) {
		shape = shape_new(trace, query, err);
		if (shape) {
			shape->older = shapes->newest;
			shapes->newest = shape;
		}
	}
	if (shape)
		shape->users++;
	shapes_trim(shapes);
	pthread_mutex_unlock(&shapes->lock);
	return shape;
}

void flame_shape_put(struct study *trace, struct flame_shape *shape)
{
	struct err err = {0};
	struct flame_shapes *shapes = shape ? shapes_of(trace, &err) : NULL;

	if (!shapes)
		return;
	pthread_mutex_lock(&shapes->lock);
	shape->users--;
	pthread_mutex_unlock(&shapes->lock);
}
