/* SPDX-License-Identifier: MIT
 * Points summed by stack, function and call.
 * Host. */
#include "show/formats/measured.h"

#include "host/base/order.h"

static void add(struct measures *sum, const struct measures *more)
{
	for (u32 i = 0; i < EXPORT_METRICS; i++)
		sum->of[i] += more->of[i];
}

/* Walks the stacks of all points; take() gets the number of each, from 1, and what it measures. */
static int each_point(struct places *places, const struct export_job *job,
		      bool (*take)(void *self, u64 stamp, const struct measures *values),
		      void *self, struct err *err)
{
	const struct model *model = job->stacks.model;
	struct export_sum sums[EXPORT_METRICS] = {{0}};

	places_init(places, &job->stacks);
	for (u64 i = 0; i < model->points.count && !places->failed; i++) {
		const struct model_point *point = &model->points.data[i];
		struct measures values;

		export_values(model, point, sums, values.of);
		places_walk(places, point->frame);
		if (!places->failed && !take(self, i + 1, &values))
			places->failed = true;
	}
	return places->failed ? err_memory_for(err, "the export") : 0;
}

static bool add_to_tree(void *self_, u64 stamp, const struct measures *values)
{
	struct measured *self = self_;
	u32 node;

	(void)stamp;
	if (!call_tree_add(&self->tree, &self->places, false, &node) ||
	    !vec_extend(&self->own, self->tree.nodes.count))
		return false;
	add(&self->own.data[node], values);
	add(&self->sum, values);
	return true;
}

int measured_build(struct measured *self, const struct export_job *job, struct err *err)
{
	return each_point(&self->places, job, add_to_tree, self, err);
}

void measured_release(struct measured *self)
{
	places_release(&self->places);
	call_tree_release(&self->tree);
	vec_release(&self->own);
}

/* ---- calls ---- */

static struct measured_line *line_of(struct measured_calls *self, u32 function, u32 line)
{
	u64 *known = map_at(&self->by_line, (u64)function << 32 | line);
	struct measured_line fresh = {.function = function, .line = line};

	if (!known || (!*known && !vec_push(&self->lines, fresh)))
		return NULL;
	if (!*known)
		*known = self->lines.count;
	return &self->lines.data[*known - 1];
}

static struct measured_call *call_of(struct measured_calls *self, struct measured_call wanted)
{
	u64 key = hash_u64((u64)wanted.caller << 32 | wanted.callee) + wanted.line;

	for (;; key++) {
		u64 *known = map_at(&self->by_call, key);
		struct measured_call *call;

		if (!known)
			return NULL;
		if (!*known) {
			if (!vec_push(&self->calls, wanted))
				return NULL;
			*known = self->calls.count;
			return &self->calls.data[*known - 1];
		}
		call = &self->calls.data[*known - 1];
		if (call->caller == wanted.caller && call->callee == wanted.callee &&
		    call->line == wanted.line)
			return call;
	}
}

/* stamp tells this stack from all others. */
static bool add_within(struct measured_calls *self, u32 function, u64 stamp,
		       const struct measures *values)
{
	u64 functions = self->places.functions.count;

	if (!vec_extend(&self->within, functions) || !vec_extend(&self->stamps, functions))
		return false;
	if (self->stamps.data[function] != stamp)
		add(&self->within.data[function], values);
	self->stamps.data[function] = stamp;
	return true;
}

static bool add_stack(void *self_, u64 stamp, const struct measures *values)
{
	struct measured_calls *self = self_;
	const struct places *places = &self->places;
	const struct place_line *inner = &places->lines.data[places->path.data[0]];
	struct measured_line *own = line_of(self, inner->function, inner->line);

	if (!own || !add_within(self, inner->function, stamp, values))
		return false;
	add(&own->sum, values);
	add(&self->sum, values);
	for (u64 i = 1; i < places->path.count; i++) {
		const struct place_line *outer = &places->lines.data[places->path.data[i]];
		struct measured_call *call =
			call_of(self,
				(struct measured_call){.caller = outer->function,
						       .callee = inner->function,
						       .line = self->with_lines ? outer->line : 0});

		if (!call || !add_within(self, outer->function, stamp, values))
			return false;
		if (call->stamp != stamp)
			add(&call->sum, values);
		call->stamp = stamp;
		inner = outer;
	}
	return true;
}

static int compare_calls(const void *a, const void *b)
{
	const struct measured_call *x = a, *y = b;

	return rising(x->caller, y->caller)
		       ?: rising(x->line, y->line) ?: rising(x->callee, y->callee);
}

static int compare_lines(const void *a, const void *b)
{
	const struct measured_line *x = a, *y = b;

	return rising(x->function, y->function) ?: rising(x->line, y->line);
}

int measured_calls_build(struct measured_calls *self, const struct export_job *job, bool with_lines,
			 struct err *err)
{
	int status;

	self->with_lines = with_lines;
	status = each_point(&self->places, job, add_stack, self, err);
	vec_sort(&self->calls, compare_calls);
	vec_sort(&self->lines, compare_lines);
	return status;
}

void measured_calls_release(struct measured_calls *self)
{
	places_release(&self->places);
	vec_release(&self->calls);
	vec_release(&self->lines);
	vec_release(&self->within);
	vec_release(&self->stamps);
	map_release(&self->by_call);
	map_release(&self->by_line);
}
