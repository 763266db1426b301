/* SPDX-License-Identifier: MIT
 * join, unify, and the stages after them.
 * Host. */
#include "query/entries.h"

#include <math.h>
#include <string.h>

void entries_free(struct entries *self)
{
	if (!self)
		return;
	for (u32 i = 0; i < QUERY_TRACES; i++)
		free(self->groups[i]);
	for (u32 i = 0; i < FIELDS; i++) {
		free(self->values[i]);
		free((void *)self->texts[i]);
	}
	for (u32 i = 0; i < QUERY_KEYS_MAX; i++)
		free(self->key_values[i]);
	for (u64 i = 0; i < self->aggs.count; i++)
		free(self->aggs.data[i].numbers);
	vec_release(&self->aggs);
	free(self->entry_of);
	free(self->frames);
	free(self->frame_traces);
	free(self);
}

/* ---- texts of two traces as one ---- */

/* By trace: numbers of its texts in the list of both; NULL = they are the same. */
struct renumbering {
	u32 *numbers[QUERY_TRACES];
};

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Texts of a field over all traces of the state, in order, each once; owned by the caller. */
static int merge_texts(struct run *run, const struct state *state, const struct query_key *key,
		       const char *const **out, struct renumbering *numbers)
{
	const char *const *texts[QUERY_TRACES] = {0};
	const char **all;
	u32 counts[QUERY_TRACES] = {0}, count = 0, unique = 0;
	struct err err = {0};

	for (u32 t = 0; t < run->engine->count; t++) {
		struct planner planner = run_planner(run, t, &err);

		if (state->sel[t].words)
			texts[t] = plan_texts(&planner, key, &counts[t]);
		if (err.code)
			return run_fail(run, &err);
		count += counts[t];
	}
	all = malloc((count + 1) * sizeof *all);
	if (!all)
		return run_no_memory(run);
	*out = all;
	count = 0;
	for (u32 t = 0; t < QUERY_TRACES; t++)
		for (u32 i = 0; i < counts[t]; i++)
			all[count++] = texts[t][i];
	qsort(all, count, sizeof *all, compare_texts);
	for (u32 i = 0; i < count; i++)
		if (!unique || strcmp(all[unique - 1], all[i]) != 0)
			all[unique++] = all[i];
	for (u32 t = 0; t < QUERY_TRACES; t++) {
		if (!counts[t] || counts[t] == unique)
			continue;
		numbers->numbers[t] = arena_new_array(&run->arena, u32, counts[t]);
		if (!numbers->numbers[t])
			return run_no_memory(run);
		for (u32 i = 0, at = 0; i < counts[t]; i++) {
			while (strcmp(all[at], texts[t][i]) != 0)
				at++;
			numbers->numbers[t][i] = at;
		}
	}
	return 0;
}

/* ---- the pass that makes groups ---- */

struct column {
	struct value_plan *plan;
	enum field_join rule;
	const u32 *renumber;
	bool weighted;  /* the sum is that of value × weight */
	double *values; /* by group */
};

struct joiner {
	struct run *run;
	struct entries *entries;
	u32 trace;
	const struct domain *domain;
	struct value_plan *keys[QUERY_KEYS_MAX];
	const u32 *key_renumber[QUERY_KEYS_MAX];
	u32 key_count;
	struct column columns[FIELDS];
	u32 column_count;
	enum field column_fields[FIELDS];
	const u32 *frame_by_point; /* frames that are shown: hidden and unified ones left out */
	struct map by_key;
	u32 *small; /* of one key that is a small number: group + 1 */
	u64 small_count;
	u64 room; /* groups that columns have room for */
	bool failed;
};

static bool grow(void *array, u64 count, u64 size)
{
	void **data = array;
	void *larger = realloc(*data, count * size);

	if (larger)
		*data = larger;
	return larger != NULL;
}

static bool make_room(struct joiner *self)
{
	u64 room = self->room ? 2 * self->room : 256;
	struct entries *entries = self->entries;
	bool fine = grow(&entries->frames, room, sizeof *entries->frames) &&
		    grow(&entries->frame_traces, room, 1);

	for (u32 i = 0; fine && i < self->column_count; i++) {
		fine = grow(&entries->values[self->column_fields[i]], room, sizeof(double));
		self->columns[i].values = entries->values[self->column_fields[i]];
	}
	for (u32 i = 0; fine && i < entries->key_count; i++)
		fine = grow(&entries->key_values[i], room, sizeof(double));
	if (fine)
		self->room = room;
	self->failed |= !fine;
	return fine;
}

static u64 hash_values(double values[][BLOCK], u32 count, u32 i)
{
	u64 hash = 0;

	for (u32 k = 0; k < count; k++) {
		double value = isnan(values[k][i]) ? NAN : values[k][i] + 0.0;
		u64 bits;

		memcpy(&bits, &value, sizeof bits);
		hash = hash_u64(hash_u64(bits) + hash * 0x9e3779b97f4a7c15ull);
	}
	return hash;
}

static u32 group_new(struct joiner *self, double keys[][BLOCK], u32 i, u32 frame)
{
	struct entries *entries = self->entries;
	u64 group = entries->group_count;

	if (group == self->room && !make_room(self))
		return NO_ENTRY;
	for (u32 k = 0; k < entries->key_count && k < self->key_count; k++)
		entries->key_values[k][group] = keys[k][i];
	for (u32 c = 0; c < self->column_count; c++)
		self->columns[c].values[group] = NAN;
	entries->frames[group] = frame;
	entries->frame_traces[group] = (u8)self->trace;
	entries->group_count++;
	return (u32)group;
}

static u32 group_of(struct joiner *self, double keys[][BLOCK], u32 i, u32 frame)
{
	u64 *known, number;

	if (self->small && keys[0][i] >= 0 && keys[0][i] < (double)self->small_count) {
		number = (u64)keys[0][i];
		if (!self->small[number])
			self->small[number] = group_new(self, keys, i, frame) + 1;
		return self->small[number] - 1;
	}
	known = map_at(&self->by_key, hash_values(keys, self->key_count, i));
	if (!known) {
		self->failed = true;
		return NO_ENTRY;
	}
	if (!*known)
		*known = (u64)group_new(self, keys, i, frame) + 1;
	return (u32)(*known - 1);
}

static void renumber(double *values, const u32 *numbers)
{
	for (u32 i = 0; numbers && i < BLOCK; i++)
		if (values[i] >= 0)
			values[i] = numbers[(u32)values[i]];
}

/* What several chunks have in common: SAME is unknown (and stays so: INFINITY until the end) once two differ. */
static void column_add(struct column *self, u32 group, double value, double weight)
{
	double *sum = &self->values[group];

	switch (self->rule) {
	case JOIN_SUM:
		if (!isnan(value))
			*sum = (isnan(*sum) ? 0 : *sum) + (self->weighted ? value * weight : value);
		break;
	case JOIN_MIN:
		if (!isnan(value) && !(*sum <= value))
			*sum = value;
		break;
	case JOIN_MAX:
		if (!isnan(value) && !(*sum >= value))
			*sum = value;
		break;
	default:
		*sum = *sum == value ? value : INFINITY;
	}
}

/* The first chunk of a group sets what the others are compared with. */
static void column_first(struct column *self, u32 group, double value, double weight)
{
	if (self->rule == JOIN_SAME)
		self->values[group] = isnan(value) ? INFINITY : value;
	else
		column_add(self, group, value, weight);
}

static bool join_block(void *data, const struct block *block, const u64 *bits)
{
	struct joiner *self = data;
	const struct chunk_page *page = block->page;
	const struct model *model = self->domain->model;
	double keys[QUERY_KEYS_MAX][BLOCK], values[BLOCK];
	u32 groups[BLOCK];
	bool fresh[BLOCK];

	for (u32 k = 0; k < self->key_count; k++) {
		value_eval(self->keys[k], block, keys[k]);
		renumber(keys[k], self->key_renumber[k]);
	}
	for (u32 i = 0; i < BLOCK; i++) {
		u64 before = self->entries->group_count;
		u32 frame;

		if (!(bits[i / 64] >> (i % 64) & 1))
			continue;
		frame = self->frame_by_point
				? self->frame_by_point
					  [model_point_of(model,
							  page->alloc_context[block->first + i])
						   .index]
				: 0;
		groups[i] = group_of(self, keys, i, frame);
		if (self->failed)
			return false;
		fresh[i] = before != self->entries->group_count;
		self->entries->groups[self->trace][block->chunk + i] = groups[i];
		if (self->entries->frames[groups[i]] != frame ||
		    self->entries->frame_traces[groups[i]] != self->trace)
			self->entries->frames[groups[i]] = 0;
	}
	for (u32 c = 0; c < self->column_count; c++) {
		struct column *column = &self->columns[c];

		value_eval(column->plan, block, values);
		renumber(values, column->renumber);
		for (u32 i = 0; i < BLOCK; i++) {
			double weight = 1;

			if (!(bits[i / 64] >> (i % 64) & 1))
				continue;
			if (model->count_shift)
				weight = chunk_weight(model, page->size[block->first + i]);
			if (fresh[i])
				column_first(column, groups[i], values[i], weight);
			else
				column_add(column, groups[i], values[i], weight);
		}
	}
	return true;
}

/* ---- frames that are shown ---- */

/* By frame: the nearest caller (or itself) that is not hidden. */
static int visible_frames(struct run *run, const struct state *state, u32 trace, u32 **out)
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

/* By frame: the frame that stands for its stack, hidden frames left out. Stacks of several traces are the same if
 * their functions are; `numbers` gives each a number that all traces share. */
struct stack_numbers {
	struct map by_hash;
	u64 count;
};

static u64 hash_functions(const struct stack_names *names, u64 hash)
{
	for (u32 i = 0; i < names->count; i++) {
		for (const char *p = names->frames[i].function; *p; p++)
			hash = hash_u64(hash ^ (u8)*p);
		hash = hash_u64(hash + 1);
	}
	return hash;
}

static int number_stacks(struct run *run, const struct state *state, u32 trace, bool by_name,
			 struct stack_numbers *numbers, double **out)
{
	struct domain *domain = &run->engine->domains[trace];
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

/* ---- join ---- */

static struct value_plan *table_plan(struct run *run, const struct domain *domain,
				     const double *numbers)
{
	struct value_plan *plan = arena_new(&run->arena, struct value_plan);

	if (!plan)
		return NULL;
	plan->op = VALUE_TABLE;
	plan->index = INDEX_POINT;
	plan->table = numbers;
	plan->count = domain->contexts;
	return plan;
}

/* What is asked of entries anywhere in the query, and what is always shown. */
static int plan_columns(struct joiner *self, const struct state *state, struct renumbering *numbers)
{
	bool used[FIELDS] = {[F_CHUNKS] = true, [F_SIZE] = true};
	struct err err = {0};
	struct planner planner = run_planner(self->run, self->trace, &err);

	query_used_fields(self->run->query, used);
	self->column_count = 0;
	for (u32 f = 0; f < FIELDS; f++) {
		struct column *column = &self->columns[self->column_count];

		if (!used[f])
			continue;
		*column = (struct column){.rule = query_fields[f].join,
					  .weighted = f != F_CHUNKS,
					  .renumber = numbers[f].numbers[self->trace],
					  .values = self->entries->values[f]};
		column->plan = plan_field(&planner, (enum field)f);
		if (!column->plan)
			return run_fail(self->run, &err);
		self->column_fields[self->column_count++] = (enum field)f;
	}
	(void)state;
	return 0;
}

/* Shown frames by point; `target` by frame, or NULL. */
static int plan_shown(struct joiner *self, const u32 *target)
{
	const struct model *model = self->domain->model;
	u32 *frames = arena_new_array(&self->run->arena, u32, model->points.count + 1);

	if (!frames)
		return run_no_memory(self->run);
	for (u64 i = 0; i < model->points.count; i++)
		frames[i] = target ? target[model->points.data[i].frame.index]
				   : model->points.data[i].frame.index;
	self->frame_by_point = frames;
	return 0;
}

/* One key whose values are numbers of a dictionary needs no hashing. */
static void plan_small(struct joiner *self)
{
	u64 most = 0;
	const struct value_plan *key = self->keys[0];

	if (self->key_count != 1 || key->op != VALUE_TABLE || self->small ||
	    self->run->engine->count > 1)
		return;
	for (u64 i = 0; i < key->count; i++)
		if (key->table[i] > (double)most)
			most = (u64)key->table[i];
	if (most > 1 << 24)
		return;
	self->small = calloc(most + 1, sizeof *self->small);
	self->small_count = self->small ? most + 1 : 0;
}

static int join_trace(struct joiner *self, struct state *state)
{
	struct entries *entries = self->entries;
	struct selection *sel = &state->sel[self->trace];

	entries->groups[self->trace] = malloc((selection_words(sel->count) * 64 + 1) * sizeof(u32));
	if (!entries->groups[self->trace])
		return run_no_memory(self->run);
	plan_small(self);
	scan_blocks(self->domain, sel, state->colors[self->trace], state->palette, join_block,
		    self);
	return self->failed ? run_no_memory(self->run) : 0;
}

/* After the pass each group is an entry, and what differed within one is unknown. */
static int finish(struct joiner *self, struct state *state)
{
	struct entries *entries = self->entries;

	entries->count = entries->group_count;
	entries->entry_of = malloc((entries->group_count + 1) * sizeof *entries->entry_of);
	if (!entries->entry_of || (!entries->count && !make_room(self)))
		return run_no_memory(self->run);
	for (u64 i = 0; i < entries->group_count; i++)
		entries->entry_of[i] = (u32)i;
	for (u32 f = 0; f < FIELDS; f++)
		for (u64 i = 0; entries->values[f] && i < entries->count; i++)
			if (isinf(entries->values[f][i]))
				entries->values[f][i] = NAN;
	state->entries = entries;
	state->sort_count = 0;
	state->ordered = false;
	vec_release(&state->order);
	return 0;
}

static u32 traces_of(const struct run *run, const struct state *state)
{
	u32 count = 0;

	for (u32 t = 0; t < run->engine->count; t++)
		count += state->sel[t].words != NULL;
	return count;
}

/* keys: what to join by; targets: by trace and frame what unify made of it, or NULL. */
struct join_by {
	const struct query_key *keys;
	u32 key_count;
	u32 *targets[QUERY_TRACES];
	bool unify;
};

static int plan_keys(struct joiner *self, const struct state *state, const struct join_by *by,
		     struct renumbering *key_numbers, struct stack_numbers *stacks)
{
	struct err err = {0};
	struct planner planner = run_planner(self->run, self->trace, &err);
	bool by_name = traces_of(self->run, state) > 1;
	double *numbers = NULL;
	int status;

	self->key_count = by->key_count;
	for (u32 k = 0; k < by->key_count; k++) {
		const struct query_key *key = &by->keys[k];

		self->key_renumber[k] = key_numbers[k].numbers[self->trace];
		if (!key->is_user && key->field == F_STACK) {
			status = number_stacks(self->run, state, self->trace, by_name, stacks,
					       &numbers);
			if (status < 0)
				return status;
			self->keys[k] = table_plan(self->run, self->domain, numbers);
		} else {
			self->keys[k] = plan_key(&planner, key);
		}
		if (!self->keys[k])
			return err.code ? run_fail(self->run, &err) : run_no_memory(self->run);
	}
	return 0;
}

/* Groups of unified frames: each trace has its own. */
static int plan_unified(struct joiner *self, const struct join_by *by)
{
	double *numbers = arena_new_array(&self->run->arena, double, self->domain->contexts + 1);

	if (!numbers)
		return run_no_memory(self->run);
	for (u32 i = 0; i < self->domain->contexts; i++)
		numbers[i] = by->targets[self->trace][domain_frame(self->domain, i, false)] +
			     (double)self->trace * 0x1p32;
	self->keys[0] = table_plan(self->run, self->domain, numbers);
	self->key_renumber[0] = NULL;
	self->key_count = 1;
	return self->keys[0] ? 0 : run_no_memory(self->run);
}

static int join_all(struct joiner *self, struct state *state, const struct join_by *by)
{
	struct renumbering field_numbers[FIELDS] = {0}, key_numbers[QUERY_KEYS_MAX] = {0};
	struct stack_numbers stacks = {0};
	bool used[FIELDS] = {0};
	int status = 0;

	query_used_fields(self->run->query, used);
	for (u32 f = 0; status == 0 && f < FIELDS; f++)
		if (used[f] && query_fields[f].type == FIELD_TEXT)
			status = merge_texts(self->run, state,
					     &(struct query_key){.field = (enum field)f},
					     &self->entries->texts[f], &field_numbers[f]);
	for (u32 k = 0; k < by->key_count; k++)
		if (!by->keys[k].is_user)
			key_numbers[k] = field_numbers[by->keys[k].field];
	for (u32 t = 0; status == 0 && t < self->run->engine->count; t++) {
		if (!state->sel[t].words)
			continue;
		self->trace = t;
		self->domain = &self->run->engine->domains[t];
		status = by->unify ? plan_unified(self, by)
				   : plan_keys(self, state, by, key_numbers, &stacks);
		if (status == 0)
			status = plan_columns(self, state, field_numbers);
		if (status == 0)
			status = plan_shown(self, by->targets[t]);
		if (status == 0)
			status = join_trace(self, state);
	}
	map_release(&stacks.by_hash);
	return status;
}

static int join_chunks(struct run *run, struct state *state, const struct join_by *by)
{
	struct joiner joiner = {.run = run, .entries = calloc(1, sizeof *joiner.entries)};
	int status;

	if (!joiner.entries)
		return run_no_memory(run);
	joiner.entries->key_count = by->key_count;
	if (by->key_count)
		memcpy(joiner.entries->keys, by->keys, by->key_count * sizeof *by->keys);
	joiner.entries->by_stack = by->unify;
	for (u32 k = 0; k < by->key_count; k++)
		joiner.entries->by_stack |= !by->keys[k].is_user && (by->keys[k].field == F_STACK ||
								     by->keys[k].field == F_POINT);
	status = join_all(&joiner, state, by);
	if (status == 0)
		status = finish(&joiner, state);
	if (status < 0)
		entries_free(joiner.entries);
	map_release(&joiner.by_key);
	free(joiner.small);
	return status;
}

/* ---- join of entries ---- */

/* Adds entry `from` to entry `into`; into is before it, and may be the same for the first of a group. */
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
	for (u64 g = 0; g < self->group_count; g++)
		if (self->entry_of[g] != NO_ENTRY)
			self->entry_of[g] = places[self->entry_of[g]];
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

static int join_entries(struct run *run, struct entries *self, const struct stage *stage)
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

int run_join(struct run *run, struct state *state, const struct stage *stage)
{
	struct join_by by = {.keys = stage->keys, .key_count = stage->key_count};
	int status = 0;

	if (state->entries)
		return join_entries(run, state->entries, stage);
	for (u32 t = 0; status == 0 && state->hide_count && t < run->engine->count; t++)
		if (state->sel[t].words)
			status = visible_frames(run, state, t, &by.targets[t]);
	return status < 0 ? status : join_chunks(run, state, &by);
}

/* ---- unify ---- */

struct adder {
	const struct domain *domain;
	const u32 *visible;
	u64 *bytes; /* by frame */
};

static bool add_bytes(void *data, const struct block *block, const u64 *bits)
{
	struct adder *self = data;
	const struct model *model = self->domain->model;

	for (u32 i = 0; i < BLOCK; i++) {
		u32 at = block->first + i;
		u64 units, bytes;

		if (!(bits[i / 64] >> (i % 64) & 1))
			continue;
		model_weigh(model, block->page->size[at], &units, &bytes);
		self->bytes[self->visible[domain_frame(self->domain, block->page->alloc_context[at],
						       false)]] += bytes;
	}
	return true;
}

/* From the innermost frames outwards: what has less than the limit is its caller's. */
static int unify_trace(struct run *run, struct state *state, u32 trace, u64 limit, u32 **out)
{
	const struct domain *domain = &run->engine->domains[trace];
	u64 *bytes = arena_new_array(&run->arena, u64, domain->frames + 1);
	u32 *target;
	struct adder adder = {.domain = domain, .bytes = bytes};
	int status = visible_frames(run, state, trace, &target);

	if (status < 0)
		return status;
	if (!bytes)
		return run_no_memory(run);
	adder.visible = target;
	scan_blocks(domain, &state->sel[trace], NULL, NULL, add_bytes, &adder);
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

int run_unify(struct run *run, struct state *state, const struct stage *stage)
{
	struct join_by by = {.unify = true};

	if (state->entries) {
		query_error_set(run->error, ERR_USAGE, stage->at, stage->length,
				"unify works on chunks, and these are joined already");
		query_error_hint(run->error, "put unify before join");
		return ERR_USAGE;
	}
	for (u32 t = 0; t < run->engine->count; t++) {
		int status;

		if (!state->sel[t].words)
			continue;
		status = unify_trace(run, state, t, stage->number, &by.targets[t]);
		if (status < 0)
			return status;
	}
	return join_chunks(run, state, &by);
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
				"this was not calculated before");
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

int run_settle(struct run *run, struct state *state)
{
	struct entries *entries = state->entries;

	for (u32 t = 0; entries && t < run->engine->count; t++) {
		struct selection *sel = &state->sel[t];
		int status;

		if (!sel->words)
			continue;
		for (u64 i = 0; i < sel->count; i++)
			if (selection_has(sel, i) &&
			    entries->entry_of[entries->groups[t][i]] == NO_ENTRY)
				sel->words[i / 64] &= ~(1ull << (i % 64));
		selection_count(sel, run->engine->domains[t].model);
		status = settle_colors(run, state, t);
		if (status < 0)
			return status;
	}
	entries_free(entries);
	state->entries = NULL;
	return 0;
}
