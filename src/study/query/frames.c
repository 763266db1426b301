/* SPDX-License-Identifier: MIT
 * Frames that are shown: those that are hidden are left out, and leaves with few bytes are pruned.
 * Host. */
#include "study/query/frames.h"

int visible_frames(struct run *run, const struct state *state, u32 trace, u32 **out)
{
	struct domain *domain = &run->engine->domains[trace];
	u32 *visible = arena_new_array(&run->arena, u32, domain->frames + 1);
	struct err err = {0};

	if (!visible)
		return run_no_memory(run);
	for (u32 i = 0; i < domain->frames; i++)
		visible[i] = i;
	for (u32 h = 0; h < state->hide_count; h++) {
		struct text_test test;
		u8 *hidden;

		if (!text_test_init(&test, state->hides[h], false))
			return run_no_memory(run);
		hidden = domain_frames_matching(domain, F_STACK, &test, true, &err);
		text_test_release(&test);
		if (!hidden)
			return run_fail(run, &err);
		for (u32 i = 1; i < domain->frames; i++)
			if (hidden[i])
				visible[i] = UINT32_MAX;
		free(hidden);
	}
	for (u32 i = 1; i < domain->frames; i++) {
		u32 parent =
			context_table_frame(&domain->model->contexts, (struct frame_id){i})->parent;

		if (visible[i] == UINT32_MAX)
			visible[i] = parent < i ? visible[parent] : 0;
	}
	*out = visible;
	return 0;
}

static u64 hash_functions(const struct stack_names *names, u64 hash)
{
	for (u32 i = 0; i < names->count; i++)
		hash = hash_u64(hash_text(hash, names->frames[i].function));
	return hash;
}

int number_stacks(struct run *run, const struct state *state, u32 trace,
		  struct stack_numbers *numbers, double **out)
{
	struct domain *domain = &run->engine->domains[trace];
	bool by_name = state_traces(state) > 1;
	const struct model *model = domain->model;
	u64 *keys = arena_new_array(&run->arena, u64, domain->frames + 1);
	double *table = arena_new_array(&run->arena, double, domain->contexts + 1);
	struct err err = {0};
	u32 *visible;
	int status = visible_frames(run, state, trace, &visible);

	if (status < 0)
		return status;
	if (!keys || !table)
		return run_no_memory(run);
	if (domain_need_names(domain, &err) < 0)
		return run_fail(run, &err);
	for (u32 i = 1; i < domain->frames; i++) {
		const struct frame *frame =
			context_table_frame(&model->contexts, (struct frame_id){i});
		const struct stack_names *names = &domain->frame_names[i];
		u64 parent = frame->parent < i ? keys[frame->parent] : 0;

		if (visible[i] != i)
			keys[i] = parent;
		else if (!by_name || !names->count)
			keys[i] = hash_u64(hash_u64(frame->address ^ parent * 3) ^ frame->identity);
		else
			keys[i] = hash_functions(names, parent);
	}
	for (u32 i = 0; i < domain->contexts; i++) {
		u64 *number = map_at(&numbers->by_hash, keys[domain_frame(domain, i, false)]);

		if (!number)
			return run_no_memory(run);
		if (!*number)
			*number = ++numbers->count;
		table[i] = (double)(*number - 1);
	}
	*out = table;
	return 0;
}

struct adder {
	const struct domain *domain;
	const u32 *frames; /* by context: those that are visible */
	u64 *bytes;        /* by frame */
};

static bool add_bytes(void *data, const struct block *block, const u64 *bits)
{
	struct adder *self = data;
	const struct model *model = self->domain->model;

	for (u32 w = 0; w < BLOCK / 64; w++)
		for (u64 word = bits[w]; word; word &= word - 1) {
			u32 at = block->first + 64 * w + (u32)__builtin_ctzll(word);
			u64 units, bytes = block->page->size[at];

			if (model->count_shift)
				model_weigh(model, bytes, &units, &bytes);
			if (block->page->alloc_context[at] < self->domain->contexts)
				self->bytes[self->frames[block->page->alloc_context[at]]] += bytes;
		}
	return true;
}

int unify_frames(struct run *run, struct state *state, u32 trace, u64 limit, u32 **out)
{
	const struct domain *domain = &run->engine->domains[trace];
	u64 *bytes = arena_new_array(&run->arena, u64, domain->frames + 1);
	u32 *target, *frames = arena_new_array(&run->arena, u32, domain->contexts + 1);
	struct adder adder = {.domain = domain, .frames = frames, .bytes = bytes};
	int status = visible_frames(run, state, trace, &target);

	if (status < 0)
		return status;
	if (!bytes || !frames)
		return run_no_memory(run);
	for (u32 i = 0; i < domain->contexts; i++)
		frames[i] = target[domain_frame(domain, i, false)];
	scan_blocks(&(struct scan){.domain = domain, .selection = &state->sel[trace]}, add_bytes,
		    &adder);
	for (u32 i = (u32)domain->frames; i-- > 1;) {
		u32 parent =
			context_table_frame(&domain->model->contexts, (struct frame_id){i})->parent;

		parent = parent < i ? target[parent] : 0;
		if (target[i] != i || bytes[i] >= limit || !parent)
			continue;
		bytes[parent] += bytes[i];
		target[i] = parent;
	}
	for (u32 i = 1; i < domain->frames; i++)
		target[i] = target[target[i]];
	*out = target;
	return 0;
}
