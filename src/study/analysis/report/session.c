/* SPDX-License-Identifier: MIT
 * Merges processes; see session.h.
 * Host. Of a process that replaced itself (exec) the image that the model has. */
#include "study/analysis/report/session.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/order.h"
#include "study/result/field.h"

struct session_process {
	u32 pid, parent;
	u64 allocations, frees, bytes, peak_bytes, kept_bytes;
	const char *program;
	bool listed;
};

struct merged_point {
	u64 allocations, bytes, kept_bytes, processes;
	u64 last; /* process that was counted last, + 1 */
	const struct result_stack *stack;
};

struct session_merge {
	struct result *points; /* its arena has all that is kept */
	VEC(struct session_process) processes;
	VEC(struct merged_point) merged;
	struct map by_stack; /* hash of a stack → index in merged, + 1 */
};

struct session_merge *session_merge_new(void)
{
	struct session_merge *self = calloc(1, sizeof *self);

	if (self)
		self->points = result_new(RESULT_TABLE, "points",
					  "Most bytes requested, in all processes");
	if (self && self->points)
		return self;
	free(self);
	return NULL;
}

void session_merge_free(struct session_merge *self)
{
	if (!self)
		return;
	result_free(self->points);
	vec_release(&self->processes);
	vec_release(&self->merged);
	map_release(&self->by_stack);
	free(self);
}

/* ---- stacks ---- */

/* Where a frame is, whatever the addresses of the process. */
static u64 hash_stack(const struct result_stack *stack)
{
	u64 hash = HASH_START;

	for (u32 i = 0; i < stack->count; i++) {
		const struct result_frame *frame = &stack->frames[i];

		hash = hash_text(hash_text(hash, frame->module), frame->function);
		hash = (hash ^ frame->offset) * 0x100000001b3ull;
		hash = (hash ^ frame->line) * 0x100000001b3ull;
	}
	return hash;
}

static const struct result_stack *stack_copy(struct result *to, const struct result_stack *from,
					     u64 number)
{
	struct result_stack *stack = arena_alloc(&to->arena, sizeof *stack);
	struct result_frame *frames = arena_alloc(&to->arena, (from->count + 1) * sizeof *frames);

	if (!stack || !frames)
		return NULL;
	for (u32 i = 0; i < from->count; i++) {
		frames[i] = from->frames[i];
		frames[i].function = result_copy(to, from->frames[i].function);
		frames[i].file = result_copy(to, from->frames[i].file);
		frames[i].module = result_copy(to, from->frames[i].module);
		if (!frames[i].function || !frames[i].file || !frames[i].module)
			return NULL;
	}
	*stack = *from;
	stack->frames = frames;
	stack->number = number;
	return stack;
}

/* The point that has the stack of this frame, made if it is the first; NULL if there is no memory.
 * What is equal is said by whole stacks, however few frames of them are shown. */
static struct merged_point *point_at(struct session_merge *self, const struct stack_source *source,
				     struct frame_id frame, struct result *scratch)
{
	struct stack_source entire = *source;
	const struct result_stack *stack;
	struct merged_point point = {.stack = NULL};
	u64 *index;

	entire.depth = 0;
	entire.fold = false;
	stack = stack_of(&entire, frame, scratch);
	index = stack ? map_at(&self->by_stack, hash_stack(stack)) : NULL;
	if (index && *index)
		return &self->merged.data[*index - 1];
	stack = index ? stack_of(source, frame, scratch) : NULL;
	point.stack = stack ? stack_copy(self->points, stack, self->merged.count + 1) : NULL;
	if (!point.stack || !vec_push(&self->merged, point))
		return NULL;
	*index = self->merged.count;
	return &self->merged.data[self->merged.count - 1];
}

/* ---- processes ---- */

static int points_add(struct session_merge *self, const struct stack_source *source,
		      struct err *err)
{
	const struct model *model = source->model;
	struct result *scratch = result_new(RESULT_TABLE, "scratch", "");
	bool whole = scratch != NULL;

	for (u64 i = 0; whole && i < model->points.count; i++) {
		const struct model_point *from = &model->points.data[i];
		struct merged_point *point = point_at(self, source, from->frame, scratch);

		whole = point != NULL;
		if (!whole)
			break;
		point->allocations += model_count(model, from->allocations);
		point->bytes += from->bytes;
		point->kept_bytes += model_keeps_nothing(model) ? 0 : from->live_bytes;
		point->processes += point->last != self->processes.count;
		point->last = self->processes.count;
	}
	result_free(scratch);
	return whole ? 0 : err_memory(err);
}

int session_merge_add(struct session_merge *self, const struct stack_source *source,
		      struct err *err)
{
	const struct model *model = source->model;
	struct session_process process = {
		.pid = model->image.pid,
		.parent = model->image.parent_pid,
		.allocations = model_count(model, model->totals.allocations),
		.frees = model_frees(model),
		.bytes = model->totals.bytes,
		.peak_bytes = model_peak(model).bytes,
		.kept_bytes = model_keeps_nothing(model) ? 0 : model->totals.live_bytes,
		.program = result_copy(self->points, model->image.command && *model->image.command
							     ? model->image.command
							     : "?"),
	};

	if (!process.program || !vec_push(&self->processes, process))
		return err_memory(err);
	return points_add(self, source, err);
}

/* ---- results ---- */

static const struct result_column columns[] = {
	COLUMN("command", "process", VALUE_TEXT,
	       "command line; text output shows it under its parent's"),
	COLUMN("pid", "pid", VALUE_ID, "process id"),
	COLUMN("parent_pid", NULL, VALUE_ID, "process id of the parent"),
	COLUMN("depth", NULL, VALUE_COUNT, "generations below the first process"),
	COLUMN("allocations", "allocations", VALUE_COUNT, "allocations of the process"),
	COLUMN("bytes", "bytes", VALUE_BYTES, "bytes requested by the process"),
	COLUMN("peak_bytes", "peak", VALUE_BYTES,
	       "highest live bytes of the process at any moment"),
	COLUMN("kept_bytes", "kept", VALUE_BYTES, "bytes never freed"),
};

static void process_row(struct result *table, const struct session_process *process, u64 depth)
{
	result_row(table,
		   value_shown(result_text(table, process->program),
			       result_format(table, "%*s%.60s",
					     (int)(2 * (depth < 20 ? depth : 20)), "",
					     process->program)),
		   value_number(process->pid), value_number(process->parent), value_number(depth),
		   value_number(process->allocations), value_number(process->bytes),
		   value_number(process->peak_bytes), value_number(process->kept_bytes));
}

/* The process and what it started, in the order of their traces. Each is listed once, so that
 * numbers that came twice make no circle. */
static void tree_rows(struct session_merge *self, struct result *table, u64 at, u64 depth)
{
	struct session_process *process = &self->processes.data[at];

	process->listed = true;
	process_row(table, process, depth);
	for (u64 i = 0; i < self->processes.count; i++)
		if (!self->processes.data[i].listed &&
		    self->processes.data[i].parent == process->pid)
			tree_rows(self, table, i, depth + 1);
}

static bool has_parent(const struct session_merge *self, u64 at)
{
	for (u64 i = 0; i < self->processes.count; i++)
		if (i != at && self->processes.data[i].pid == self->processes.data[at].parent)
			return true;
	return false;
}

static struct result *processes_table(struct session_merge *self)
{
	struct result *table = result_table("processes", "Processes", columns);

	if (!table)
		return NULL;
	table->grid = true;
	for (u64 i = 0; i < self->processes.count; i++)
		if (!self->processes.data[i].listed && !has_parent(self, i))
			tree_rows(self, table, i, 0);
	for (u64 i = 0; i < self->processes.count; i++)
		if (!self->processes.data[i].listed)
			tree_rows(self, table, i, 0);
	return table;
}

static int most_bytes_first(const void *a, const void *b)
{
	const struct merged_point *x = a, *y = b;

	return falling(x->bytes, y->bytes);
}

static void points_fill(struct session_merge *self, u64 top)
{
	static const struct result_column point_columns[] = {
		COLUMN("bytes", "bytes", VALUE_BYTES,
		       "bytes requested by the point, in all processes"),
		COLUMN("kept_bytes", "kept", VALUE_BYTES, "bytes never freed"),
		COLUMN("allocations", "allocations", VALUE_COUNT, "allocations by the point"),
		COLUMN("processes", "processes", VALUE_COUNT,
		       "processes in which the point allocated"),
		COLUMN("stack", "stack", VALUE_STACK, "innermost frame first"),
	};

	self->points->empty = "nothing was allocated";
	result_set_columns(self->points, point_columns,
			   sizeof point_columns / sizeof *point_columns);
	vec_sort(&self->merged, most_bytes_first);
	for (u64 i = 0; i < result_top(self->merged.count, top); i++) {
		const struct merged_point *point = &self->merged.data[i];

		result_row(self->points, value_number(point->bytes),
			   value_number(point->kept_bytes), value_number(point->allocations),
			   value_number(point->processes), value_stack(point->stack));
	}
}

static struct session_process sum_of(const struct session_merge *self)
{
	struct session_process all = {0};

	for (u64 i = 0; i < self->processes.count; i++) {
		all.allocations += self->processes.data[i].allocations;
		all.frees += self->processes.data[i].frees;
		all.bytes += self->processes.data[i].bytes;
		all.kept_bytes += self->processes.data[i].kept_bytes;
	}
	return all;
}

static void sums_fill(const struct session_merge *self, struct result *record)
{
	struct session_process all = sum_of(self);

	result_field(record, "process_count", "processes", VALUE_COUNT,
		     value_number(self->processes.count), "recorded processes");
	result_field(record, "allocations", "allocations", VALUE_COUNT,
		     value_number(all.allocations), "of all processes");
	result_field(record, "frees", "frees", VALUE_COUNT, value_number(all.frees),
		     "of all processes");
	result_field(record, "bytes", "bytes", VALUE_BYTES, value_number(all.bytes),
		     "requested by all processes");
	result_field(record, "kept_bytes", "kept", VALUE_BYTES, value_number(all.kept_bytes),
		     "never freed, in all processes");
}

struct result *session_merge_result(struct session_merge *self, u64 top, struct err *err)
{
	struct result *record = result_new(RESULT_RECORD, "recording", "Recording, all processes");

	if (record) {
		sums_fill(self, record);
		points_fill(self, top);
		result_add_part(record, processes_table(self));
		result_add_part(record, self->points);
		self->points = NULL;
	}
	if (record && !result_failed(record))
		return record;
	result_free(record);
	err_memory(err);
	return NULL;
}
