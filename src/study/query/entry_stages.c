/* SPDX-License-Identifier: MIT
 * Stages over entries: join them again, leave some out, colour, sort and cut them.
 * Host. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/query/run.h"

/* Adds entry `from` to entry `into`; into is before it, and may be the same for the first of a
 * group. */
static void combine(double *values, enum field_join rule, u64 into, u64 from)
{
	double a = values[into], b = values[from];

	if (isnan(b) && rule != JOIN_SAME)
		return;
	if (isnan(a) && rule != JOIN_SAME)
		values[into] = b;
	else if (rule == JOIN_SUM)
		values[into] = a + b;
	else if (rule == JOIN_MIN)
		values[into] = a < b ? a : b;
	else if (rule == JOIN_MAX)
		values[into] = a > b ? a : b;
	else
		values[into] = a == b ? a : NAN;
}

static void move_entry(struct entries *self, u64 to, u64 from)
{
	for (u32 f = 0; f < FIELDS; f++)
		if (self->values[f])
			self->values[f][to] = self->values[f][from];
	for (u32 k = 0; k < self->key_count; k++)
		self->key_values[k][to] = self->key_values[k][from];
	for (u64 a = 0; a < self->aggs.count; a++)
		self->aggs.data[a].numbers[to] = self->aggs.data[a].numbers[from];
	self->frames[to] = self->frames[from];
	self->frame_traces[to] = self->frame_traces[from];
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

static u64 hash_keys(struct entry_eval *eval, const struct stage *stage, u64 entry)
{
	u64 hash = 0;

	for (u32 k = 0; k < stage->key_count; k++) {
		double value = entry_key(eval, &stage->keys[k], entry);
		u64 bits;

		if (!stage->keys[k].is_user && stage->keys[k].field == F_STACK)
			value = eval->entries->frames[entry] +
				eval->entries->frame_traces[entry] * 0x1p32;
		value = isnan(value) ? NAN : value + 0.0;
		memcpy(&bits, &value, sizeof bits);
		hash = hash_u64(hash_u64(bits) + hash * 0x9e3779b97f4a7c15ull);
	}
	return hash;
}

static int new_keys(struct run *run, struct entries *self, const struct stage *stage,
		    double **values)
{
	struct entry_eval eval = {.run = run, .entries = self};

	for (u32 k = 0; k < stage->key_count; k++) {
		values[k] = malloc((self->count + 1) * sizeof **values);
		if (!values[k])
			return run_no_memory(run);
		for (u64 i = 0; i < self->count; i++)
			values[k][i] = entry_key(&eval, &stage->keys[k], i);
	}
	entry_eval_release(&eval);
	return 0;
}

static void merge_entry(struct entries *self, u64 into, u64 from)
{
	for (u32 f = 0; f < FIELDS; f++)
		if (self->values[f])
			combine(self->values[f], query_fields[f].join, into, from);
	if (self->frames[into] != self->frames[from] ||
	    self->frame_traces[into] != self->frame_traces[from])
		self->frames[into] = 0;
}

int entries_join(struct run *run, struct entries *self, const struct stage *stage)
{
	struct entry_eval eval = {.run = run, .entries = self};
	u32 *places = arena_new_array(&run->arena, u32, self->count + 1);
	u64 *hashes = arena_new_array(&run->arena, u64, self->count + 1);
	double *values[QUERY_KEYS_MAX] = {0};
	struct map known = {0};
	u64 count = 0;
	int status = places && hashes ? new_keys(run, self, stage, values) : run_no_memory(run);

	for (u64 i = 0; status == 0 && i < self->count; i++)
		hashes[i] = hash_keys(&eval, stage, i);
	for (u32 k = 0; status == 0 && k < QUERY_KEYS_MAX; k++) {
		free(self->key_values[k]);
		self->key_values[k] = values[k];
		if (k < stage->key_count)
			self->keys[k] = stage->keys[k];
	}
	self->key_count = stage->key_count;
	for (u64 i = 0; status == 0 && i < self->count; i++) {
		u64 *place = map_at(&known, hashes[i]);

		if (!place) {
			status = run_no_memory(run);
		} else if (*place) {
			merge_entry(self, *place - 1, i);
			places[i] = (u32)(*place - 1);
		} else {
			move_entry(self, count, i);
			places[i] = (u32)count;
			*place = ++count;
		}
	}
	if (status == 0)
		apply_places(self, places, count);
	map_release(&known);
	entry_eval_release(&eval);
	return status;
}

/* ---- stages after a join ---- */

int run_entries_where(struct run *run, struct state *state, const struct stage *stage)
{
	struct entries *self = state->entries;
	struct entry_eval eval = {.run = run, .entries = self};
	u32 *places = arena_new_array(&run->arena, u32, self->count + 1);
	u64 count = 0;

	if (!places)
		return run_no_memory(run);
	for (u64 i = 0; i < self->count; i++) {
		places[i] = NO_ENTRY;
		if (!entry_holds(&eval, stage->expr, i))
			continue;
		move_entry(self, count, i);
		places[i] = (u32)count++;
	}
	apply_places(self, places, count);
	entry_eval_release(&eval);
	return 0;
}

int run_entries_color(struct run *run, struct state *state, const struct stage *stage)
{
	struct entries *self = state->entries;
	struct entry_eval eval = {.run = run, .entries = self};

	for (u64 i = 0; i < self->count; i++) {
		double value =
			stage->color_mode == COLOR_BY ? entry_key(&eval, &stage->keys[0], i) : 0;
		double *color = &self->values[F_COLOR][i];

		if (stage->expr && !entry_holds(&eval, stage->expr, i))
			continue;
		if (stage->color_mode == COLOR_FIXED)
			*color = stage->rgb;
		else if (stage->color_mode == COLOR_ALTERNATE)
			*color = color_cycle[i % 2];
		else
			*color = isnan(value) ? NAN : color_cycle[(u64)fabs(value) % COLOR_CYCLE];
	}
	entry_eval_release(&eval);
	return 0;
}

int run_entries_limit(struct run *run, struct state *state, u64 count)
{
	struct entries *self = state->entries;
	u32 *places = arena_new_array(&run->arena, u32, self->count + 1);

	if (!places)
		return run_no_memory(run);
	for (u64 i = 0; i < self->count; i++)
		places[i] = i < count ? (u32)i : NO_ENTRY;
	apply_places(self, places, self->count < count ? self->count : count);
	return 0;
}

struct sorted {
	double key;
	u32 entry;
};

static int compare_sorted(const void *pa, const void *pb)
{
	const struct sorted *a = pa, *b = pb;

	if (isnan(a->key) != isnan(b->key))
		return isnan(a->key) ? 1 : -1;
	if (!isnan(a->key) && a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->entry < b->entry ? -1 : a->entry > b->entry;
}

static bool same_agg(const struct query_agg *a, const struct query_agg *b)
{
	return a->kind == b->kind && a->has_key == b->has_key && a->percent == b->percent &&
	       (!a->has_key ||
		(a->key.is_user == b->key.is_user &&
		 (a->key.is_user ? a->key.user == b->key.user : a->key.field == b->key.field)));
}

static int sort_values(struct run *run, struct entries *self, const struct stage *stage,
		       struct sorted *rows)
{
	struct entry_eval eval = {.run = run, .entries = self};
	const double *numbers = NULL;

	for (u64 a = 0; stage->sort_agg && a < self->aggs.count; a++)
		if (same_agg(&self->aggs.data[a].agg, &stage->aggs[0]))
			numbers = self->aggs.data[a].numbers;
	if (stage->sort_agg && !numbers) {
		query_error_set(run->error, ERR_USAGE, stage->at, stage->length,
				"this value was not computed before");
		query_error_hint(run->error, "put agg before sort");
		return ERR_USAGE;
	}
	for (u64 i = 0; i < self->count; i++) {
		double key = numbers ? numbers[i] : entry_key(&eval, &stage->keys[0], i);

		rows[i] = (struct sorted){stage->desc ? -key : key, (u32)i};
	}
	entry_eval_release(&eval);
	return 0;
}

static void permute(double *values, const struct sorted *rows, double *scratch, u64 count)
{
	if (!values)
		return;
	for (u64 i = 0; i < count; i++)
		scratch[i] = values[rows[i].entry];
	memcpy(values, scratch, count * sizeof *values);
}

static void permute_frames(struct entries *self, const struct sorted *rows, u64 *scratch)
{
	for (u64 i = 0; i < self->count; i++)
		scratch[i] =
			(u64)self->frames[rows[i].entry] << 8 | self->frame_traces[rows[i].entry];
	for (u64 i = 0; i < self->count; i++) {
		self->frames[i] = (u32)(scratch[i] >> 8);
		self->frame_traces[i] = (u8)scratch[i];
	}
}

int run_entries_sort(struct run *run, struct state *state, const struct stage *stage)
{
	struct entries *self = state->entries;
	struct sorted *rows = arena_new_array(&run->arena, struct sorted, self->count + 1);
	double *scratch = arena_new_array(&run->arena, double, self->count + 1);
	u32 *places = arena_new_array(&run->arena, u32, self->count + 1);
	int status;

	if (!rows || !scratch || !places)
		return run_no_memory(run);
	status = sort_values(run, self, stage, rows);
	if (status < 0)
		return status;
	qsort(rows, self->count, sizeof *rows, compare_sorted);
	for (u32 f = 0; f < FIELDS; f++)
		permute(self->values[f], rows, scratch, self->count);
	for (u32 k = 0; k < self->key_count; k++)
		permute(self->key_values[k], rows, scratch, self->count);
	for (u64 a = 0; a < self->aggs.count; a++)
		permute(self->aggs.data[a].numbers, rows, scratch, self->count);
	permute_frames(self, rows, (u64 *)scratch);
	for (u64 i = 0; i < self->count; i++)
		places[rows[i].entry] = (u32)i;
	apply_places(self, places, self->count);
	return 0;
}

/* ---- back to chunks ---- */

static int settle_colors(struct run *run, struct state *state, u32 trace)
{
	struct entries *entries = state->entries;
	u64 count = selection_words(state->sel[trace].count) * 64;

	if (!entries->values[F_COLOR])
		return 0;
	if (!state->colors[trace])
		state->colors[trace] = calloc(count + 1, 1);
	if (!state->colors[trace])
		return run_no_memory(run);
	for (u64 i = 0; i < state->sel[trace].count; i++) {
		double rgb;

		if (!selection_has(&state->sel[trace], i))
			continue;
		rgb = entries->values[F_COLOR][entries->entry_of[entries->groups[trace][i]]];
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
