/* SPDX-License-Identifier: MIT
 * Runs a pipe: its source, then stage by stage. What where and color leave is kept by its text, so
 * that a query which goes on from there begins there.
 * Host. */
#include <math.h>
#include <string.h>

#include "study/query/mask.h"
#include "study/query/run.h"

int run_fail(struct run *run, const struct err *err) { return query_error_take(run->error, err); }

int run_no_memory(struct run *run)
{
	return query_error_set(run->error, ERR_MEMORY, QUERY_NOWHERE,
			       "out of memory for the query");
}

struct planner run_planner(struct run *run, u32 trace, struct err *err)
{
	return (struct planner){.domain = &run->engine->domains[trace],
				.query = run->query,
				.arena = &run->arena,
				.err = err};
}

/* ---- sources ---- */

/* All chunks of a trace for which the mask holds. */
struct scan run_scan(struct run *run, struct state *state, u32 trace)
{
	return (struct scan){.domain = &run->engine->domains[trace],
			     .selection = &state->sel[trace],
			     .colors = state->colors[trace],
			     .palette = state->palette};
}

static int select_by(struct run *run, u32 trace, struct mask_plan *mask, struct state *out)
{
	const struct domain *domain = &run->engine->domains[trace];
	struct selection *sel = &out->sel[trace];

	if (!selection_init(sel, domain->model))
		return run_no_memory(run);
	memset(sel->words, 0xff, selection_words(sel->count) * sizeof *sel->words);
	scan_filter(&(struct scan){.domain = domain, .selection = sel}, mask);
	return 0;
}

static u64 moment_ns(const struct model *model, const struct source *source)
{
	if (source->moment == AT_TIME)
		return source->time_ns;
	return source->moment == AT_PEAK ? tick_clock_ns(&model->clock, model->totals.peak_ticks)
					 : model_duration_ns(model);
}

static int run_chunks(struct run *run, const struct source *source, u32 trace, struct state *out)
{
	struct err err = {0};
	struct planner planner = run_planner(run, trace, &err);
	struct mask_plan *mask = mask_all(&planner);

	if (source->kind == SOURCE_AT)
		mask = mask_both(&planner, MASK_AND, mask,
				 mask_live_at(&planner, moment_ns(planner.domain->model, source)));
	if (run->window.to_ns && trace == 0 && source->kind != SOURCE_TRACE)
		mask = mask_both(&planner, MASK_AND, mask, mask_window(&planner, &run->window));
	return mask ? select_by(run, trace, mask, out) : run_fail(run, &err);
}

static bool is_trace_name(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path,
		   *dot = strrchr(base, '.');

	if (strcmp(path, name) == 0 || strcmp(base, name) == 0)
		return true;
	return dot && strlen(name) == (size_t)(dot - base) &&
	       strncmp(base, name, strlen(name)) == 0;
}

static int run_trace(struct run *run, const struct source *source, struct state *out)
{
	struct query_engine *engine = run->engine;
	struct nearest nearest = {.word = source->name};

	if (engine->count > 1 && strcmp(source->name, "base") == 0)
		return run_chunks(run, source, 1, out);
	for (u32 i = 0; i < engine->count; i++) {
		const char *path =
			engine->domains[i].trace.name ? engine->domains[i].trace.name : "";
		const char *slash = strrchr(path, '/');

		if (is_trace_name(path, source->name))
			return run_chunks(run, source, i, out);
		nearest_try(&nearest, slash ? slash + 1 : path);
	}
	query_error_set(run->error, ERR_USAGE, source->place, "no trace '%.100s' is open",
			source->name);
	if (nearest.best)
		query_error_hint(run->error, "did you mean '%s'?", nearest.best);
	return ERR_USAGE;
}

/* ---- sets ---- */

/* Keys of the stacks of all chunks of a selection. */
static int collect_stacks(struct run *run, const struct state *state, u32 trace, struct map *keys)
{
	struct domain *domain = &run->engine->domains[trace];
	const struct chunk_table *chunks = &domain->model->chunks;
	struct err err = {0};

	if (domain_need_names(domain, &err) < 0)
		return run_fail(run, &err);
	for (u64 i = 0; i < chunks->count; i++) {
		u32 frame;

		if (i % 64 == 0 && !state->sel[trace].words[i / 64]) {
			i += 63;
			continue;
		}
		if (!selection_has(&state->sel[trace], i))
			continue;
		frame = domain_frame(domain, chunk_at(chunks, i)->alloc_context[i % CHUNK_PAGE],
				     false);
		if (!map_put(keys, domain->stack_keys[frame], 1))
			return run_no_memory(run);
	}
	return 0;
}

/* Which chunks of a trace have a stack that the other one has. */
static int mark_stacks(struct run *run, u32 trace, const struct map *keys, struct selection *sel)
{
	struct domain *domain = &run->engine->domains[trace];
	struct err err = {0};
	struct planner planner = run_planner(run, trace, &err);
	struct mask_plan *mask = mask_table(&planner, INDEX_POINT);

	if (!mask || domain_need_names(domain, &err) < 0)
		return run_fail(run, &err);
	for (u64 i = 0; i < mask->count; i++)
		mask->table[i] =
			map_find(keys, domain->stack_keys[domain_frame(domain, (u32)i, false)]) !=
			NULL;
	scan_filter(&(struct scan){.domain = domain, .selection = sel}, mask);
	return 0;
}

/* What of the first trace's chunks the other state has, too: the same chunks, or those of the same
 * stacks in another trace. */
static int in_other(struct run *run, u32 trace, const struct state *b, struct selection *common)
{
	struct map keys = {0};
	int status = 0;

	if (!selection_init(common, run->engine->domains[trace].model))
		return run_no_memory(run);
	for (u32 i = 0; status == 0 && i < run->engine->count; i++)
		if (i != trace && b->sel[i].words)
			status = collect_stacks(run, b, i, &keys);
	if (status == 0 && map_count(&keys)) {
		memset(common->words, 0xff, selection_words(common->count) * sizeof *common->words);
		status = mark_stacks(run, trace, &keys, common);
	}
	for (u64 i = 0; b->sel[trace].words && i < selection_words(common->count); i++)
		common->words[i] |= b->sel[trace].words[i];
	map_release(&keys);
	return status;
}

static int run_minus(struct run *run, enum source_kind kind, struct state *a, const struct state *b)
{
	for (u32 t = 0; t < run->engine->count; t++) {
		struct selection common = {0};
		int status;

		if (!a->sel[t].words)
			continue;
		status = in_other(run, t, b, &common);
		for (u64 i = 0; status == 0 && i < selection_words(common.count); i++)
			a->sel[t].words[i] &=
				kind == SOURCE_DIFF ? ~common.words[i] : common.words[i];
		selection_release(&common);
		if (status < 0)
			return status;
		selection_count(&a->sel[t], run->engine->domains[t].model);
	}
	return 0;
}

/* Colours of the second where the first has none. */
static int add_colors(struct run *run, struct state *a, const struct state *b, u32 trace)
{
	u32 numbers[PALETTE_MAX + 1] = {0};
	u64 count = selection_words(a->sel[trace].count) * 64;

	if (!b->colors[trace])
		return 0;
	if (!state_need_colors(a, trace))
		return run_no_memory(run);
	for (u32 i = 0; i < b->palette_count; i++)
		numbers[i + 1] = run_color(run, a, b->palette[i], NULL);
	for (u64 i = 0; i < count; i++)
		if (!a->colors[trace][i])
			a->colors[trace][i] = (u8)numbers[b->colors[trace][i]];
	return run->error->code;
}

static int run_plus(struct run *run, struct state *a, struct state *b)
{
	for (u32 t = 0; t < run->engine->count; t++) {
		int status;

		if (!b->sel[t].words)
			continue;
		if (!a->sel[t].words && !selection_init(&a->sel[t], run->engine->domains[t].model))
			return run_no_memory(run);
		status = add_colors(run, a, b, t);
		if (status < 0)
			return status;
		for (u64 i = 0; i < selection_words(a->sel[t].count); i++)
			a->sel[t].words[i] |= b->sel[t].words[i];
		selection_count(&a->sel[t], run->engine->domains[t].model);
	}
	return 0;
}

/* A set has no order, no joined entries and no hidden frames. */
static void forget_order(struct state *state)
{
	vec_release(&state->order);
	state->ordered = false;
	state->sort_count = state->hide_count = 0;
	state->view = NULL;
}

static int run_set(struct run *run, const struct source *source, struct state *out)
{
	struct state b = {0};
	int status = run_pipe(run, source->inputs[0], UINT32_MAX, out);

	if (status == 0)
		status = run_settle(run, out);
	if (status == 0)
		status = run_pipe(run, source->inputs[1], UINT32_MAX, &b);
	if (status == 0)
		status = run_settle(run, &b);
	if (status == 0)
		status = source->kind == SOURCE_UNION ? run_plus(run, out, &b)
						      : run_minus(run, source->kind, out, &b);
	state_release(&b);
	forget_order(out);
	return status;
}

static int run_name(struct run *run, u32 let, struct state *out)
{
	int status;

	if (run->lets_known[let])
		return state_copy(out, &run->lets[let]) ? 0 : run_no_memory(run);
	status = run_pipe(run, &run->query->lets.data[let].pipe, UINT32_MAX, out);
	if (status < 0 || out->entries)
		return status;
	if (!state_copy(&run->lets[let], out))
		return run_no_memory(run);
	run->lets_known[let] = true;
	return 0;
}

static int run_source(struct run *run, const struct source *source, struct state *out)
{
	switch (source->kind) {
	case SOURCE_NAME: return run_name(run, source->let, out);
	case SOURCE_TRACE: return run_trace(run, source, out);
	case SOURCE_UNION:
	case SOURCE_DIFF:
	case SOURCE_COMMON: return run_set(run, source, out);
	default: return run_chunks(run, source, 0, out);
	}
}

/* ---- stages ---- */

/* What is no longer selected leaves the order, too. */
static void filter_order(struct state *state)
{
	u64 kept = 0;

	for (u64 i = 0; i < state->order.count; i++) {
		struct place place = state->order.data[i];

		if (selection_has(&state->sel[place.trace], place.chunk))
			state->order.data[kept++] = place;
	}
	state->order.count = kept;
}

static int run_where(struct run *run, struct state *state, const struct stage *stage)
{
	if (state->entries)
		return run_entries_where(run, state, stage);
	for (u32 t = 0; t < run->engine->count; t++) {
		struct err err = {0};
		struct planner planner = run_planner(run, t, &err);
		struct scan scan = run_scan(run, state, t);
		struct mask_plan *mask;

		if (!state->sel[t].words)
			continue;
		mask = plan_mask(&planner, stage->expr);
		if (!mask)
			return run_fail(run, &err);
		scan_filter(&scan, mask);
	}
	filter_order(state);
	return 0;
}

u32 run_color(struct run *run, struct state *state, u32 rgb, const struct stage *stage)
{
	for (u32 i = 0; i < state->palette_count; i++)
		if (state->palette[i] == rgb)
			return i + 1;
	if (state->palette_count == PALETTE_MAX) {
		query_error_set(run->error, ERR_USAGE, stage ? stage->place : QUERY_NOWHERE,
				"too many colours");
		return 0;
	}
	state->palette[state->palette_count++] = rgb;
	return state->palette_count;
}

struct painter {
	struct mask_plan *mask;   /* NULL = all */
	struct value_plan *value; /* NULL = number */
	u8 number;
	u8 cycle[COLOR_CYCLE];
	u8 *colors; /* of the trace */
	bool alternate;
	u64 seen;
};

static bool paint(void *data, const struct block *block, const u64 *bits)
{
	struct painter *self = data;
	u8 holds[BLOCK];
	double values[BLOCK];

	if (self->mask)
		mask_eval(self->mask, block, holds);
	if (self->value)
		value_eval(self->value, block, values);
	for (u32 i = 0; i < BLOCK; i++) {
		u8 *color = &self->colors[block->chunk + i];

		if (!(bits[i / 64] >> (i % 64) & 1) || (self->mask && !holds[i]))
			continue;
		if (self->alternate)
			*color = self->cycle[self->seen++ % 2];
		else if (self->value)
			*color = isnan(values[i]) ? 0
						  : self->cycle[(u64)fabs(values[i]) % COLOR_CYCLE];
		else
			*color = self->number;
	}
	return true;
}

/* Plans of one trace, and the colours that it takes. */
static int painter_init(struct run *run, struct state *state, const struct stage *stage, u32 trace,
			struct painter *self)
{
	struct err err = {0};
	struct planner planner = run_planner(run, trace, &err);

	if (stage->expr && !(self->mask = plan_mask(&planner, stage->expr)))
		return run_fail(run, &err);
	if (stage->color_mode == COLOR_BY && !(self->value = plan_key(&planner, &stage->keys[0])))
		return run_fail(run, &err);
	self->alternate = stage->color_mode == COLOR_ALTERNATE;
	if (stage->color_mode == COLOR_FIXED)
		self->number = (u8)run_color(run, state, stage->rgb, stage);
	for (u32 i = 0; stage->color_mode != COLOR_FIXED && i < (self->alternate ? 2 : COLOR_CYCLE);
	     i++)
		self->cycle[i] = (u8)run_color(run, state, color_cycle[i], stage);
	if (!state_need_colors(state, trace))
		return run_no_memory(run);
	self->colors = state->colors[trace];
	return run->error->code;
}

static int run_paint(struct run *run, struct state *state, const struct stage *stage)
{
	struct painter painter = {0};

	if (state->entries)
		return run_entries_color(run, state, stage);
	for (u32 t = 0; t < run->engine->count; t++) {
		struct scan scan;
		int status;

		if (!state->sel[t].words)
			continue;
		status = painter_init(run, state, stage, t, &painter);
		if (status < 0)
			return status;
		scan = run_scan(run, state, t); /* after the painter, which makes the colours */
		scan_blocks(&scan, paint, &painter);
	}
	return 0;
}

static int run_sort(struct run *run, struct state *state, const struct stage *stage)
{
	if (state->entries)
		return run_entries_sort(run, state, stage);
	if (stage->sort_agg) {
		query_error_set(run->error, ERR_USAGE, stage->place,
				"no computed value to sort by");
		query_error_hint(run->error, "put agg before sort");
		return ERR_USAGE;
	}
	if (state->sort_count == SORTS_MAX)
		state->sort_count--;
	memmove(state->sorts + 1, state->sorts, state->sort_count * sizeof *state->sorts);
	state->sorts[0] = stage;
	state->sort_count++;
	state->ordered = false;
	vec_clear(&state->order);
	return 0;
}

static int run_limit(struct run *run, struct state *state, const struct stage *stage)
{
	int status;

	if (state->entries)
		return run_entries_limit(run, state, stage->number);
	status = run_order(run, state, stage->number);
	if (status < 0)
		return status;
	for (u32 t = 0; t < run->engine->count; t++)
		if (state->sel[t].words)
			memset(state->sel[t].words, 0,
			       selection_words(state->sel[t].count) * sizeof *state->sel[t].words);
	for (u64 i = 0; i < state->order.count; i++) {
		struct place place = state->order.data[i];

		state->sel[place.trace].words[place.chunk / 64] |= 1ull << (place.chunk % 64);
	}
	for (u32 t = 0; t < run->engine->count; t++)
		if (state->sel[t].words)
			selection_count(&state->sel[t], run->engine->domains[t].model);
	return 0;
}

static int apply_stage(struct run *run, struct state *state, const struct stage *stage)
{
	switch (stage->kind) {
	case STAGE_WHERE: return run_where(run, state, stage);
	case STAGE_COLOR: return run_paint(run, state, stage);
	case STAGE_JOIN: return run_join(run, state, stage);
	case STAGE_UNIFY: return run_unify(run, state, stage);
	case STAGE_SORT: return run_sort(run, state, stage);
	case STAGE_LIMIT: return run_limit(run, state, stage);
	case STAGE_AGG: return run_agg(run, state, stage);
	case STAGE_HIDE:
		if (state->hide_count == HIDES_MAX)
			return query_error_set(run->error, ERR_USAGE, stage->place,
					       "too many frames are hidden");
		state->hides[state->hide_count++] = stage->expr;
		return 0;
	default: state->view = stage->view; return 0;
	}
}

/* Plans of a stage end with it: those of all stages would be many times the entries. */
static int run_stage(struct run *run, struct state *state, const struct stage *stage)
{
	struct arena before = run->arena;
	int status;

	run->arena = (struct arena){0};
	status = apply_stage(run, state, stage);
	arena_release(&run->arena);
	run->arena = before;
	return status;
}

/* ---- pipes ---- */

/* How many stages at the beginning leave nothing but bits and colours. */
static u32 plain_stages(const struct pipe *pipe, u32 stages)
{
	u32 n = 0;

	while (n < stages && n < pipe->stage_count && pipe->stages[n].kind <= STAGE_COLOR)
		n++;
	return n;
}

static void make_key(const struct run *run, const struct pipe *pipe, u32 stages, struct strbuf *key)
{
	strbuf_clear(key);
	if (run->window.to_ns)
		strbuf_addf(key, "%llu-%llu/%u ", (unsigned long long)run->window.from_ns,
			    (unsigned long long)run->window.to_ns, run->window.mode);
	pipe_print_whole(run->query, pipe, stages, key);
}

/* A let that is joined leaves entries, which are not kept. */
static bool is_kept(const struct state *state)
{
	return !state->entries && !state->ordered && !state->sort_count && !state->hide_count &&
	       !state->view;
}

/* The longest beginning of the pipe that is known: its number of stages + 1, or 0. */
static u32 find_known(struct run *run, const struct pipe *pipe, u32 most, struct state *out)
{
	struct strbuf key = {0};
	u32 known = 0;

	for (u32 n = most + 1; n-- > 0 && !known;) {
		const struct state *state;

		make_key(run, pipe, n, &key);
		state = key.failed ? NULL : cache_find(&run->engine->cache, strbuf_text(&key));
		if (state && state_copy(out, state))
			known = n + 1;
		else if (state)
			state_release(out);
	}
	strbuf_release(&key);
	return known;
}

static void keep(struct run *run, const struct pipe *pipe, u32 stages, const struct state *state)
{
	struct strbuf key = {0};

	if (!is_kept(state))
		return;
	make_key(run, pipe, stages, &key);
	if (!key.failed)
		cache_put(&run->engine->cache, strbuf_text(&key), state);
	strbuf_release(&key);
}

int run_pipe(struct run *run, const struct pipe *pipe, u32 stages, struct state *out)
{
	u32 plain = plain_stages(pipe, stages), known = find_known(run, pipe, plain, out), at = 0;
	int status = 0;

	if (known) {
		at = known - 1;
	} else {
		status = run_source(run, &pipe->source, out);
		if (status == 0)
			keep(run, pipe, 0, out);
	}
	for (; status == 0 && at < pipe->stage_count && at < stages; at++) {
		status = run_stage(run, out, &pipe->stages[at]);
		if (status == 0 && at < plain)
			keep(run, pipe, at + 1, out);
	}
	return status;
}
