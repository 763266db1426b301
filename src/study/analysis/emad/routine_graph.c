/* SPDX-License-Identifier: MIT
 * Steps of threads → nodes and edges; see routine_graph.h.
 * Host. Keeps one stack per thread and no step. What cannot be (an end without a beginning, a stack
 * that never shrinks) is counted: a trace may be incomplete, or anything at all. */
#include "study/analysis/emad/routine_graph.h"

#include <string.h>

#include "host/base/keyed.h"

enum {
	THREADS_MAX = 1 << 20,
	FRAMES_MAX = 1 << 23, /* on all stacks: 384 MiB */
	CUT_MIN = 1 << 10,    /* frames of a stack that is cut */
};

/* ---- nodes and edges ---- */

/* The node of a place, made when it is new. */
static int node_of_place(struct routine_graph *self, u32 module, u64 address, u32 *node)
{
	u64 hash = hash_u64(address ^ (u64)(module + 1) << 44);

	for (;; hash = hash_u64(hash + 1)) {
		const struct routine_node *found =
			vec_at_key(&self->nodes, &self->by_place, hash,
				   (struct routine_node){.module = module, .address = address});

		if (!found || self->nodes.count > UINT32_MAX)
			return ERR_MEMORY;
		*node = (u32)(found - self->nodes.data);
		if (found->module == module && found->address == address)
			return 0;
	}
}

static int node_find(struct routine_graph *self, const struct stream_routine *row, u32 *node)
{
	u32 generation = modmap_generation_at(&self->modules, row->ticks);
	u32 at = (u32)(hash_u64(row->address) % ROUTINE_RECENT);
	const struct modmap_module *module;
	int status;

	if (likely(self->recent[at].node && self->recent[at].address == row->address &&
		   self->recent[at].generation == generation)) {
		*node = self->recent[at].node - 1;
		return 0;
	}
	module = modmap_find(&self->modules, row->address, generation);
	status = node_of_place(self, module ? module->id : NO_ROUTINE_MODULE,
			       row->address - (module ? module->base : 0), node);
	if (status < 0)
		return status;
	self->recent[at].address = row->address;
	self->recent[at].generation = generation;
	self->recent[at].node = *node + 1;
	return 0;
}

/* AddEdge of the paper. Mostly a routine is called by whom it was called last. */
static int edge_add(struct routine_graph *self, u32 caller, u32 callee)
{
	struct routine_node *node = &self->nodes.data[callee];
	struct routine_edge *edge;

	if (unlikely(!node->edge || self->edges.data[node->edge - 1].caller.index != caller)) {
		edge = vec_at_key(&self->edges, &self->by_edge, (u64)caller << 32 | callee,
				  (struct routine_edge){{caller}, {callee}, 0});
		if (!edge || self->edges.count >= UINT32_MAX)
			return ERR_MEMORY;
		node->edge = (u32)(edge - self->edges.data) + 1;
	}
	self->edges.data[node->edge - 1].calls++;
	return 0;
}

/* ---- stacks ---- */

static void stack_release(struct routine_stack *self)
{
	vec_release(&self->frames);
	map_release(&self->on_stack);
}

/* What a routine did is added to its node, and its time and what it allocated to its caller. */
static void frame_settle(struct routine_graph *self, const struct routine_frame *frame,
			 struct routine_frame *caller, u64 ticks)
{
	struct routine_node *node = &self->nodes.data[frame->node];
	u64 spent = ticks > frame->enter_ticks ? ticks - frame->enter_ticks : 0;

	node->exclusive_ticks += spent > frame->child_ticks ? spent - frame->child_ticks : 0;
	if (frame->outermost) {
		node->inclusive_ticks += spent;
		node->below_allocations += frame->allocations;
		node->below_bytes += frame->bytes;
	}
	if (!caller)
		return;
	caller->child_ticks += spent;
	caller->allocations += frame->allocations;
	caller->bytes += frame->bytes;
}

/* Pops the innermost routine and adds the edge that led to it. */
static int stack_pop(struct routine_graph *self, struct routine_stack *stack, u64 ticks)
{
	struct routine_frame frame = stack->frames.data[--stack->frames.count];
	struct routine_frame *caller =
		stack->frames.count ? &stack->frames.data[stack->frames.count - 1] : NULL;

	self->frames--;
	if (frame.outermost)
		map_remove(&stack->on_stack, frame.node, NULL);
	frame_settle(self, &frame, caller, ticks);
	return caller ? edge_add(self, caller->node, frame.node) : 0;
}

/* The outer half of a stack is closed, as if its ends were missing; what it called goes on without
 * a caller. */
static int stack_cut(struct routine_graph *self, struct routine_stack *stack, u64 ticks)
{
	struct routine_frame *frames = stack->frames.data;
	u64 half = stack->frames.count / 2, rest = stack->frames.count - half;
	int status = 0;

	for (u64 i = half + 1; i-- > 0 && status == 0;) {
		if (i < half)
			frame_settle(self, &frames[i], i ? &frames[i - 1] : NULL, ticks);
		if (i > 0)
			status = edge_add(self, frames[i - 1].node, frames[i].node);
	}
	memmove(frames, frames + half, rest * sizeof(*frames));
	stack->frames.count = rest;
	self->frames -= half;
	self->counts.cut_frames += half;
	map_clear(&stack->on_stack);
	for (u64 i = 0; i < rest && status == 0; i++) {
		u64 *seen = map_at(&stack->on_stack, frames[i].node);

		if (!seen)
			return ERR_MEMORY;
		frames[i].outermost = !*seen;
		*seen = 1;
	}
	return status;
}

/* Algorithm 2. */
static int stack_enter(struct routine_graph *self, struct routine_stack *stack, u32 node, u64 ticks)
{
	struct routine_frame frame = {.node = node, .enter_ticks = ticks};
	u64 *seen;

	if (unlikely(self->frames >= FRAMES_MAX && stack->frames.count >= CUT_MIN) &&
	    stack_cut(self, stack, ticks) < 0)
		return ERR_MEMORY;
	seen = map_at(&stack->on_stack, node);
	if (!seen)
		return ERR_MEMORY;
	frame.outermost = !*seen;
	*seen = 1;
	if (!vec_push(&stack->frames, frame))
		return ERR_MEMORY;
	self->frames++;
	self->counts.enters++;
	self->nodes.data[node].calls++;
	return 0;
}

/* Algorithm 3; but an end of a routine that is not on the stack would empty it, and is ignored. */
static int stack_leave(struct routine_graph *self, struct routine_stack *stack, u32 node, u64 ticks)
{
	int status = 0;

	self->counts.leaves++;
	if (!stack->frames.count || !map_find(&stack->on_stack, node)) {
		self->counts.strange_exits++;
		return 0;
	}
	while (status == 0 && stack->frames.data[stack->frames.count - 1].node != node) {
		self->counts.missing_exits++;
		status = stack_pop(self, stack, ticks);
	}
	return status < 0 ? status : stack_pop(self, stack, ticks);
}

/* Charged to the innermost routine. A wrapper that is told as an allocator of its own returns the
 * block that it was given: it is one allocation. */
static void stack_allocate(struct routine_graph *self, struct routine_stack *stack,
			   const struct stream_routine *row)
{
	struct routine_frame *frame;
	struct routine_node *node;

	if (!row->address || row->address == stack->last_block)
		return;
	stack->last_block = row->address;
	self->counts.allocations++;
	self->counts.bytes += row->value;
	if (!stack->frames.count) {
		self->counts.outside_allocations++;
		self->counts.outside_bytes += row->value;
		return;
	}
	frame = &stack->frames.data[stack->frames.count - 1];
	node = &self->nodes.data[frame->node];
	frame->allocations++;
	frame->bytes += row->value;
	node->allocations++;
	node->bytes += row->value;
}

/* ---- the stream ---- */

static int take_step(struct routine_graph *self, const struct stream_routine *row)
{
	struct routine_stack *stack;
	u32 node;
	int status;

	if (row->thread >= THREADS_MAX || !vec_extend(&self->stacks, (u64)row->thread + 1))
		return ERR_MEMORY;
	stack = &self->stacks.data[row->thread];
	stack->last_ticks = row->ticks;
	if (row->step == ROUTINE_ALLOCATION) {
		stack_allocate(self, stack, row);
		return 0;
	}
	if (row->step == ROUTINE_FREE) {
		if (row->address == stack->last_block)
			stack->last_block = 0;
		return 0;
	}
	status = node_find(self, row, &node);
	if (status < 0)
		return status;
	if (row->step == ROUTINE_ENTER)
		return stack_enter(self, stack, node, row->ticks);
	self->counts.unwound += row->how == HW_LEAVE_UNWOUND;
	return stack_leave(self, stack, node, row->ticks);
}

static int take_routines(void *opaque, const struct stream_routine *rows, u64 count,
			 struct err *err)
{
	for (u64 i = 0; i < count; i++)
		if (unlikely(take_step(opaque, &rows[i]) < 0))
			return err_memory_for(err, "the call graph");
	return 0;
}

static int take_image(void *opaque, const struct stream_image *image, struct err *err)
{
	struct routine_graph *self = opaque;

	routine_graph_release(self);
	self->image = image->number;
	self->program = arena_copy(&self->arena, image->program ? image->program : "");
	if (!self->program || !tick_clock_start(&self->clock, image->start_ticks, image->start_ns))
		return err_memory_for(err, "the call graph");
	return 0;
}

static int take_module(void *opaque, const struct stream_module *module, struct err *err)
{
	struct routine_graph *self = opaque;

	memset(self->recent, 0, sizeof(self->recent));
	return modmap_tell(&self->modules, module, err);
}

static int take_clock(void *opaque, const struct stream_clock *clock, struct err *err)
{
	struct routine_graph *self = opaque;

	return tick_clock_tell(&self->clock, clock) ? 0 : err_memory_for(err, "the call graph");
}

static int take_note(void *opaque, const char *key, const char *value, struct err *err)
{
	struct routine_graph *self = opaque;
	struct routine_note note;

	if (strncmp(key, "routine", 7) != 0)
		return 0;
	note.key = arena_copy(&self->arena, key);
	note.value = arena_copy(&self->arena, value);
	return note.key && note.value && vec_push(&self->notes, note)
		       ? 0
		       : err_memory_for(err, "the call graph");
}

static int take_image_end(void *opaque, const struct stream_image_end *end, struct err *err)
{
	struct routine_graph *self = opaque;

	self->counts.lost_events = end->totals.lost_events;
	return routine_graph_finish(self, err);
}

struct stream_sink routine_graph_sink(struct routine_graph *self)
{
	return (struct stream_sink){
		.self = self,
		.image = take_image,
		.module = take_module,
		.clock = take_clock,
		.routines = take_routines,
		.note = take_note,
		.image_end = take_image_end,
	};
}

/* Algorithm 1, from line 17 on. */
int routine_graph_finish(struct routine_graph *self, struct err *err)
{
	for (u64 i = 0; i < self->stacks.count; i++) {
		struct routine_stack *stack = &self->stacks.data[i];

		while (stack->frames.count) {
			self->counts.unfinished++;
			if (stack_pop(self, stack, stack->last_ticks) < 0)
				return err_memory_for(err, "the call graph");
		}
		stack_release(stack);
	}
	return 0;
}

const char *routine_graph_note(const struct routine_graph *self, const char *key)
{
	for (u64 i = 0; i < self->notes.count; i++)
		if (strcmp(self->notes.data[i].key, key) == 0)
			return self->notes.data[i].value;
	return NULL;
}

void routine_graph_release(struct routine_graph *self)
{
	for (u64 i = 0; i < self->stacks.count; i++)
		stack_release(&self->stacks.data[i]);
	vec_release(&self->stacks);
	vec_release(&self->notes);
	vec_release(&self->nodes);
	vec_release(&self->edges);
	map_release(&self->by_place);
	map_release(&self->by_edge);
	modmap_release(&self->modules);
	tick_clock_release(&self->clock);
	arena_release(&self->arena);
	memset(self, 0, sizeof(*self));
}
