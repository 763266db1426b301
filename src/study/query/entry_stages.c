/* SPDX-License-Identifier: MIT
 * Stages over entries: join them again, leave some out, colour, sort and cut them.
 * Host. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/query/run.h"

/* Plans for the entries of a state. */
static struct planner entry_planner(struct run *run, const struct entries *entries, struct err *err)
{
	struct planner planner = run_planner(run, 0, err);

	planner.entries = entries;
	return planner;
}

struct value_plan *run_plan_entries(struct run *run, const struct entries *entries,
				    const struct query_key *key)
{
	struct err err = {0};
	struct planner planner = entry_planner(run, entries, &err);
	struct value_plan *plan = plan_key(&planner, key);

	if (!plan)
		run_fail(run, &err);
	return plan;
}

static struct mask_plan *plan_condition(struct run *run, const struct entries *entries,
					const struct expr *expr)
{
	struct err err = {0};
	struct planner planner = entry_planner(run, entries, &err);
	struct mask_plan *plan = plan_mask(&planner, expr);

	if (!plan)
		run_fail(run, &err);
	return plan;
}

/* By entry where it is now, or NO_ENTRY. */
static void apply_places(struct entries *self, const u32 *places, u64 count)
{
	for (u64 g = 0; g < self->group_count; g++) {
		if (self->entry_of[g] != NO_ENTRY)
			self->entry_of[g] = places[self->entry_of[g]];
		self->dropped |= self->entry_of[g] == NO_ENTRY;
	}
	self->count = count;
}

/* What was entry from[i] becomes entry i; all others are left out. */
static int pick(struct run *run, struct entries *self, const u32 *from, u64 count)
{
	double *scratch = arena_new_array(&run->arena, double, count + 1);
	u32 *places = arena_new_array(&run->arena, u32, self->count + 1);

	if (!scratch || !places)
		return run_no_memory(run);
	for (u64 c = 0; c < self->columns.count; c++) {
		double *column = self->columns.data[c];

		for (u64 i = 0; column && i < count; i++)
			scratch[i] = column[from[i]];
		if (column)
			memcpy(column, scratch, count * sizeof *column);
	}
	for (u64 i = 0; i < self->count; i++)
		places[i] = NO_ENTRY;
	for (u64 i = 0; i < count; i++)
		places[from[i]] = (u32)i;
	apply_places(self, places, count);
	return 0;
}

/* ---- join ---- */

/* What an entry has when another one is added to it. */
static double combined(u64 column, double a, double b)
{
	enum field_join rule;

	if (column == ENTRY_STACK)
		return a == b ? a : 0;
	if (column >= FIELDS) /* all of them have the keys; what agg calculated stays */
		return a;
	rule = query_fields[column].join;
	if (rule == JOIN_SAME)
		return a == b ? a : NAN;
	if (isnan(a) || isnan(b))
		return isnan(a) ? b : a;
	if (rule == JOIN_SUM)
		return a + b;
	return rule == JOIN_MIN ? fmin(a, b) : fmax(a, b);
}

/* Of the values of its keys, as new columns. */
static u64 hash_keys(const struct entries *self, const struct stage *stage, double **values,
		     u64 entry)
{
	u64 hash = 0;

	for (u32 k = 0; k < stage->key_count; k++) {
		bool stack = !stage->keys[k].is_user && stage->keys[k].field == F_STACK;

		hash = hash_value(hash,
				  (stack ? self->columns.data[ENTRY_STACK] : values[k])[entry]);
	}
	return hash;
}

static int new_keys(struct run *run, struct entries *self, const struct stage *stage,
		    double **values)
{
	for (u32 k = 0; k < stage->key_count; k++) {
		struct value_plan *plan = run_plan_entries(run, self, &stage->keys[k]);

		if (!plan)
			return run->error->code;
		values[k] = malloc((self->count + 1) * sizeof **values);
		if (!values[k])
			return run_no_memory(run);
		for (u64 i = 0; i < self->count; i++)
			values[k][i] = value_of_entry(plan, i);
	}
	return 0;
}

/* Numbers the groups of equal keys in the order in which they come. */
static int group_keys(struct run *run, const struct entries *self, const struct stage *stage,
		      double **values, u32 *places)
{
	struct map known = {0};
	u64 count = 0;

	for (u64 i = 0; i < self->count; i++) {
		u64 *place = map_at(&known, hash_keys(self, stage, values, i));

		if (!place) {
			map_release(&known);
			return run_no_memory(run);
		}
		if (!*place)
			*place = ++count;
		places[i] = (u32)(*place - 1);
	}
	map_release(&known);
	return 0;
}

int entries_join(struct run *run, struct entries *self, const struct stage *stage)
{
	u32 *places = arena_new_array(&run->arena, u32, self->count + 1);
	double *values[QUERY_KEYS_MAX] = {0};
	u64 count = 0;
	int status = places ? new_keys(run, self, stage, values) : run_no_memory(run);

	if (status == 0)
		status = group_keys(run, self, stage, values, places);
	for (u32 k = 0; k < QUERY_KEYS_MAX; k++) {
		free(self->columns.data[ENTRY_KEYS + k]);
		self->columns.data[ENTRY_KEYS + k] = values[k];
	}
	memcpy(self->keys, stage->keys, sizeof self->keys);
	self->key_count = stage->key_count;
	for (u64 c = 0; status == 0 && c < self->columns.count; c++) {
		double *column = self->columns.data[c];

		count = 0;
		for (u64 i = 0; i < self->count; i++) {
			bool first = places[i] == count;

			count += first;
			if (column)
				column[places[i]] =
					first ? column[i]
					      : combined(c, column[places[i]], column[i]);
		}
	}
	if (status == 0)
		apply_places(self, places, count);
	return status;
}

/* ---- stages after a join ---- */

int run_entries_where(struct run *run, struct state *state, const struct stage *stage)
{
	struct entries *self = state->entries;
	struct mask_plan *mask = plan_condition(run, self, stage->expr);
	u32 *kept = arena_new_array(&run->arena, u32, self->count + 1);
	u64 count = 0;

	if (!mask || !kept)
		return mask ? run_no_memory(run) : run->error->code;
	for (u64 i = 0; i < self->count; i++)
		if (mask_of_entry(mask, i))
			kept[count++] = (u32)i;
	return pick(run, self, kept, count);
}

int run_entries_color(struct run *run, struct state *state, const struct stage *stage)
{
	struct entries *self = state->entries;
	struct mask_plan *mask = NULL;
	struct value_plan *by = NULL;

	if (stage->expr && !(mask = plan_condition(run, self, stage->expr)))
		return run->error->code;
	if (stage->color_mode == COLOR_BY && !(by = run_plan_entries(run, self, &stage->keys[0])))
		return run->error->code;
	for (u64 i = 0; i < self->count; i++) {
		double value = by ? value_of_entry(by, i) : 0;
		double *color = &self->columns.data[F_COLOR][i];

		if (mask && !mask_of_entry(mask, i))
			continue;
		if (stage->color_mode == COLOR_FIXED)
			*color = stage->rgb;
		else if (stage->color_mode == COLOR_ALTERNATE)
			*color = color_cycle[i % 2];
		else
			*color = isnan(value) ? NAN : color_cycle[(u64)fabs(value) % COLOR_CYCLE];
	}
	return 0;
}

int run_entries_limit(struct run *run, struct state *state, u64 count)
{
	struct entries *self = state->entries;
	u32 *kept = arena_new_array(&run->arena, u32, self->count + 1);

	if (!kept)
		return run_no_memory(run);
	for (u64 i = 0; i < self->count; i++)
		kept[i] = (u32)i;
	return pick(run, self, kept, self->count < count ? self->count : count);
}

struct sorted {
	double key;
	u32 entry;
};

static int compare_sorted(const void *pa, const void *pb)
{
	const struct sorted *a = pa, *b = pb;
	int order = compare_values(a->key, b->key);

	if (order)
		return order;
	return a->entry < b->entry ? -1 : a->entry > b->entry;
}

static bool same_agg(const struct query_agg *a, const struct query_agg *b)
{
	return a->kind == b->kind && a->has_key == b->has_key && a->percent == b->percent &&
	       (!a->has_key || key_same(&a->key, &b->key));
}

/* What the stage sorts by: a value that agg calculated, or a key. */
static struct value_plan *plan_sort(struct run *run, const struct entries *self,
				    const struct stage *stage)
{
	struct err err = {0};
	struct planner planner = entry_planner(run, self, &err);
	u64 agg = self->aggs.count;

	if (!stage->sort_agg)
		return run_plan_entries(run, self, &stage->keys[0]);
	while (agg && !same_agg(&self->aggs.data[agg - 1], &stage->aggs[0]))
		agg--;
	if (agg)
		return value_table(&planner, INDEX_ENTRY, self->columns.data[ENTRY_AGGS + agg - 1],
				   self->count);
	query_error_set(run->error, ERR_USAGE, stage->place, "this value was not computed before");
	query_error_hint(run->error, "put agg before sort");
	return NULL;
}

int run_entries_sort(struct run *run, struct state *state, const struct stage *stage)
{
	struct entries *self = state->entries;
	struct sorted *rows = arena_new_array(&run->arena, struct sorted, self->count + 1);
	u32 *order = arena_new_array(&run->arena, u32, self->count + 1);
	struct value_plan *plan = plan_sort(run, self, stage);

	if (!rows || !order || !plan)
		return run->error->code ? run->error->code : run_no_memory(run);
	for (u64 i = 0; i < self->count; i++) {
		double key = value_of_entry(plan, i);

		rows[i] = (struct sorted){stage->desc ? -key : key, (u32)i};
	}
	qsort(rows, self->count, sizeof *rows, compare_sorted);
	for (u64 i = 0; i < self->count; i++)
		order[i] = rows[i].entry;
	return pick(run, self, order, self->count);
}

/* ---- back to chunks ---- */

static int settle_colors(struct run *run, struct state *state, u32 trace)
{
	struct entries *entries = state->entries;
	const double *colors = entries->columns.data[F_COLOR];

	if (!colors)
		return 0;
	if (!state_need_colors(state, trace))
		return run_no_memory(run);
	for (u64 i = 0; i < state->sel[trace].count; i++) {
		double rgb;

		if (!selection_has(&state->sel[trace], i))
			continue;
		rgb = colors[entries->entry_of[entries->groups[trace][i]]];
		if (!isnan(rgb))
			state->colors[trace][i] = (u8)run_color(run, state, (u32)rgb, NULL);
	}
	return run->error->code;
}

void entries_narrow(struct run *run, struct state *state)
{
	const struct entries *entries = state->entries;

	for (u32 t = 0; entries->dropped && t < run->engine->count; t++) {
		struct selection *sel = &state->sel[t];

		for (u64 w = 0; sel->words && w < selection_words(sel->count); w++)
			for (u64 word = sel->words[w]; word; word &= word - 1) {
				u32 bit = (u32)__builtin_ctzll(word);

				if (entries->entry_of[entries->groups[t][64 * w + bit]] == NO_ENTRY)
					sel->words[w] &= ~(1ull << bit);
			}
		if (sel->words)
			selection_count(sel, run->engine->domains[t].model);
	}
}

int run_settle(struct run *run, struct state *state)
{
	struct entries *entries = state->entries;

	if (!entries)
		return 0;
	entries_narrow(run, state);
	for (u32 t = 0; t < run->engine->count; t++) {
		int status = state->sel[t].words ? settle_colors(run, state, t) : 0;

		if (status < 0)
			return status;
	}
	entries_free(entries);
	state->entries = NULL;
	return 0;
}
