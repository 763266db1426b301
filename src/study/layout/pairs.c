/* SPDX-License-Identifier: MIT
 * Points of two traces by the names of their stacks.
 * Host. */
#define _GNU_SOURCE
#include "study/layout/pairs.h"

#include <stdlib.h>
#include <string.h>

struct stack_key {
	u64 names, lines;
	u32 point;
};

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A frame without names is known by its place in the file. */
static void add_frame(const struct study *trace, u32 index, u64 *names, u64 *lines)
{
	struct stack_names known = stack_names(&trace->stacks, (struct frame_id){index});
	const struct frame *frame = &trace->model->contexts.frames.data[index];

	for (u32 i = known.count; i-- > 0;) {
		*names = hash_text(*names, known.frames[i].function);
		*lines = hash_u64(*lines ^ known.frames[i].line);
	}
	if (!known.count)
		*names = hash_u64(hash_text(*names, file_name(known.module)) ^ frame->address);
}

struct stack_keys {             /* of all points */
	struct stack_key *data; /* NULL = there was no memory */
	u64 count;
};

/* Callers come before what they call. */
static struct stack_keys keys_make(const struct study *trace)
{
	const struct model *model = trace->model;
	u64 frames = model->contexts.frames.count;
	u64 *names = calloc(frames + 1, sizeof *names), *lines = calloc(frames + 1, sizeof *lines);
	struct stack_key *keys = calloc(model->points.count + 1, sizeof *keys);

	for (u32 i = 1; names && lines && i < frames; i++) {
		u32 parent = model->contexts.frames.data[i].parent;

		names[i] = parent < i ? names[parent] : 0;
		lines[i] = parent < i ? lines[parent] : 0;
		add_frame(trace, i, &names[i], &lines[i]);
	}
	for (u32 i = 0; names && lines && keys && i < model->points.count; i++) {
		u32 frame = model->points.data[i].frame.index;

		keys[i] = (struct stack_key){names[frame], lines[frame], i};
	}
	if (!names || !lines) {
		free(keys);
		keys = NULL;
	}
	free(names);
	free(lines);
	return (struct stack_keys){keys, model->points.count};
}

/* By names, and by lines if these matter. */
static int compare(const struct stack_key *a, const struct stack_key *b, bool lines)
{
	if (a->names != b->names)
		return a->names < b->names ? -1 : 1;
	if (lines && a->lines != b->lines)
		return a->lines < b->lines ? -1 : 1;
	return 0;
}

static int order(const void *a, const void *b, void *lines)
{
	const struct stack_key *x = a, *y = b;
	int step = compare(x, y, *(bool *)lines);

	return step ? step : x->point < y->point ? -1 : x->point > y->point;
}

/* Pairs what is equal and is not paired yet, in order. */
static void pair(struct view_pairs *self, const struct stack_keys *ours,
		 const struct stack_keys *theirs, bool lines)
{
	qsort_r(ours->data, ours->count, sizeof *ours->data, order, &lines);
	qsort_r(theirs->data, theirs->count, sizeof *theirs->data, order, &lines);
	for (u64 i = 0, k = 0; i < ours->count && k < theirs->count;) {
		const struct stack_key *our = &ours->data[i], *their = &theirs->data[k];
		int step = compare(our, their, lines);

		if (step < 0 || (step == 0 && self->base_of[our->point])) {
			i++;
		} else if (step > 0 || self->taken[their->point]) {
			k++;
		} else {
			self->base_of[our->point] = their->point + 1;
			self->taken[their->point] = 1;
			i++, k++;
		}
	}
}

int view_pairs_make(struct view_pairs *self, const struct study *trace, const struct study *base,
		    struct err *err)
{
	struct stack_keys ours = keys_make(trace), theirs = keys_make(base);
	bool done;

	self->base_of = calloc(ours.count + 1, sizeof *self->base_of);
	self->taken = calloc(theirs.count + 1, 1);
	done = ours.data && theirs.data && self->base_of && self->taken;
	if (done) {
		pair(self, &ours, &theirs, true);
		pair(self, &ours, &theirs, false);
	}
	free(ours.data);
	free(theirs.data);
	return done ? 0 : err_memory_for(err, "a comparison");
}

void view_pairs_release(struct view_pairs *self)
{
	free(self->base_of);
	free(self->taken);
	*self = (struct view_pairs){0};
}
