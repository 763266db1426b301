/* SPDX-License-Identifier: MIT
 * join and unify: one pass over the chunks puts each into a group.
 * Host. */
#include <math.h>
#include <string.h>

#include "study/query/frames.h"
#include "study/query/run.h"

/* ---- texts of two traces as one ---- */

/* By trace: numbers of its texts in the list of both; NULL = they are the same. */
struct renumbering {
	u32 *numbers[QUERY_TRACES];
};

/* Texts of a field over all traces of the state, in order, each once; owned by the caller. */
static int merge_texts(struct run *run, const struct state *state, const struct query_key *key,
		       struct entries *entries, struct renumbering *numbers)
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
	entries->texts[key->field] = all;
	count = 0;
	for (u32 t = 0; t < QUERY_TRACES; t++)
		for (u32 i = 0; i < counts[t]; i++)
			/* Names of categories are the query's own, and entries may outlive it. */
			all[count++] = names_keep(&run->engine->domains[0].names, texts[t][i]);
	texts_sort(all, count);
	for (u32 i = 0; i < count; i++)
		if (!unique || strcmp(all[unique - 1], all[i]) != 0)
			all[unique++] = all[i];
	entries->text_counts[key->field] = unique;
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
	bool weighted; /* the sum is that of value × weight */
	enum field field;
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
	bool filled[ENTRY_AGGS];     /* columns of the entries that are */
	const u32 *frame_by_context; /* frames that are shown: hidden and unified ones left out */
	struct map by_key;
	u32 *small; /* of one key that is a small number: group + 1 */
	u64 small_count;
	u64 room;    /* groups that columns have room for */
	bool stacks; /* stacks are looked at, and may differ within an entry */
	bool failed;
};

/* Columns that are filled: those of fields, keys and the stack. */
static bool make_room(struct joiner *self)
{
	u64 room = self->room ? 2 * self->room : 256;
	bool fine = true;

	for (u32 i = 0; fine && i < ENTRY_AGGS; i++) {
		double **column = &self->entries->columns.data[i];
		double *larger =
			self->filled[i] ? realloc(*column, room * sizeof **column) : *column;

		fine = larger || !self->filled[i];
		*column = larger ? larger : *column;
	}
	if (fine)
		self->room = room;
	self->failed |= !fine;
	return fine;
}

static u64 hash_values(double values[][BLOCK], u32 count, u32 i)
{
	u64 hash = 0;

	for (u32 k = 0; k < count; k++)
		hash = hash_value(hash, values[k][i]);
	return hash;
}

static u32 group_new(struct joiner *self, double keys[][BLOCK], u32 i, u32 frame)
{
	struct entries *entries = self->entries;
	u64 group = entries->group_count;
	double **columns = entries->columns.data;

	if (group == self->room && !make_room(self))
		return NO_ENTRY;
	for (u32 k = 0; k < entries->key_count && k < self->key_count; k++)
		columns[ENTRY_KEYS + k][group] = keys[k][i];
	for (u32 c = 0; c < self->column_count; c++)
		columns[self->columns[c].field][group] =
			self->columns[c].rule == JOIN_SAME ? -INFINITY : NAN;
	columns[ENTRY_STACK][group] = entry_stack(self->trace, frame);
	entries->group_count++;
	return (u32)group;
}

static u32 group_of(struct joiner *self, double keys[][BLOCK], u32 i, u32 frame)
{
	u64 *known, number;

	if (!self->key_count)
		return self->entries->group_count ? 0 : group_new(self, keys, i, frame);
	if (self->small && !(keys[0][i] >= (double)self->small_count)) {
		/* The last one is for what is unknown. */
		number = isnan(keys[0][i]) ? self->small_count : (u64)keys[0][i];
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

/* Chunks of a block that are selected, and where they belong. */
struct chosen {
	u32 count;
	u16 at[BLOCK];
	u32 groups[BLOCK];
	double weights[BLOCK]; /* of sampled traces only */
};

/* What several chunks have in common: -INFINITY before the first, INFINITY once two differ or one
 * is unknown. */
static void add_same(double *groups, const struct chosen *chosen, const double *values)
{
	for (u32 i = 0; i < chosen->count; i++) {
		double *same = &groups[chosen->groups[i]], value = values[chosen->at[i]];

		if (*same == -INFINITY)
			*same = isnan(value) ? INFINITY : value;
		else if (*same != value)
			*same = INFINITY;
	}
}

static void add_sum(double *groups, const struct chosen *chosen, const double *values,
		    bool weighted)
{
	for (u32 i = 0; i < chosen->count; i++) {
		double *sum = &groups[chosen->groups[i]], value = values[chosen->at[i]];

		if (weighted)
			value *= chosen->weights[i];
		if (!isnan(value))
			*sum = isnan(*sum) ? value : *sum + value;
	}
}

static void add_extreme(double *groups, const struct chosen *chosen, const double *values,
			bool least)
{
	for (u32 i = 0; i < chosen->count; i++) {
		double *best = &groups[chosen->groups[i]], value = values[chosen->at[i]];

		if (!isnan(value) && !(least ? *best <= value : *best >= value))
			*best = value;
	}
}

static void choose(const struct block *block, const u64 *bits, struct chosen *chosen)
{
	const struct model *model = block->domain->model;

	chosen->count = 0;
	for (u32 w = 0; w < BLOCK / 64; w++)
		for (u64 word = bits[w]; word; word &= word - 1)
			chosen->at[chosen->count++] = (u16)(64 * w + (u32)__builtin_ctzll(word));
	for (u32 i = 0; model->count_shift && i < chosen->count; i++)
		chosen->weights[i] =
			chunk_weight(model, block->page->size[block->first + chosen->at[i]]);
}

static u32 frame_of(const struct joiner *self, const struct block *block, u32 at)
{
	u32 context = block->page->alloc_context[block->first + at];

	return context < self->domain->contexts ? self->frame_by_context[context] : 0;
}

/* The stack of an entry is that of its chunks, while they have the same. */
static void compare_stacks(struct joiner *self, const struct block *block,
			   const struct chosen *chosen)
{
	double *stacks = self->entries->columns.data[ENTRY_STACK];

	for (u32 i = 0; i < chosen->count; i++) {
		double *stack = &stacks[chosen->groups[i]];

		if (*stack != entry_stack(self->trace, frame_of(self, block, chosen->at[i])))
			*stack = 0;
	}
}

static bool find_groups(struct joiner *self, const struct block *block, double keys[][BLOCK],
			struct chosen *chosen)
{
	u32 *groups = self->entries->groups[self->trace] + block->chunk;

	for (u32 i = 0; i < chosen->count; i++) {
		u32 at = chosen->at[i];
		double key = keys[0][at];
		u32 known = self->small && key >= 0 && key < (double)self->small_count
				    ? self->small[(u32)key]
				    : 0;

		groups[at] = chosen->groups[i] =
			known ? known - 1 : group_of(self, keys, at, frame_of(self, block, at));
		if (self->failed)
			return false;
	}
	if (self->stacks)
		compare_stacks(self, block, chosen);
	return true;
}

static bool join_block(void *data, const struct block *block, const u64 *bits)
{
	struct joiner *self = data;
	bool sampled = self->domain->model->count_shift != 0;
	double keys[QUERY_KEYS_MAX][BLOCK], values[BLOCK];
	struct chosen chosen;

	if (!self->key_count)
		memset(keys[0], 0, sizeof keys[0]);

	for (u32 k = 0; k < self->key_count; k++) {
		value_eval(self->keys[k], block, keys[k]);
		renumber(keys[k], self->key_renumber[k]);
	}
	choose(block, bits, &chosen);
	if (!find_groups(self, block, keys, &chosen))
		return false;
	for (u32 c = 0; c < self->column_count; c++) {
		const struct column *column = &self->columns[c];
		double *groups = self->entries->columns.data[column->field];

		value_eval(column->plan, block, values);
		renumber(values, column->renumber);
		if (column->rule == JOIN_SAME)
			add_same(groups, &chosen, values);
		else if (column->rule == JOIN_SUM)
			add_sum(groups, &chosen, values, sampled && column->weighted);
		else
			add_extreme(groups, &chosen, values, column->rule == JOIN_MIN);
	}
	return true;
}

/* ---- join ---- */

/* The key itself is what all of an entry's chunks have. */
static bool is_key(const struct entries *entries, enum field field)
{
	for (u32 k = 0; k < entries->key_count; k++)
		if (!entries->keys[k].is_user && entries->keys[k].field == field)
			return query_fields[field].join == JOIN_SAME &&
			       query_fields[field].type != FIELD_TEXTS;
	return false;
}

/* What is asked of entries anywhere in the query, and what is always shown. */
static int plan_columns(struct joiner *self, const struct renumbering *numbers)
{
	bool used[FIELDS] = {[F_CHUNKS] = true, [F_SIZE] = true};
	struct err err = {0};
	struct planner planner = run_planner(self->run, self->trace, &err);

	query_used_fields(self->run->query, used);
	self->column_count = 0;
	for (u32 f = 0; f < FIELDS; f++) {
		struct column *column = &self->columns[self->column_count];

		if (!used[f] || is_key(self->entries, (enum field)f))
			continue;
		*column = (struct column){.plan = plan_field(&planner, (enum field)f),
					  .rule = query_fields[f].join,
					  .weighted = f != F_CHUNKS,
					  .renumber = numbers[f].numbers[self->trace],
					  .field = (enum field)f};
		if (!column->plan)
			return run_fail(self->run, &err);
		self->filled[f] = true;
		self->column_count++;
	}
	return 0;
}

/* Shown frames by context; `target` by frame, or NULL. */
static int plan_shown(struct joiner *self, const u32 *target)
{
	u32 *frames = arena_new_array(&self->run->arena, u32, self->domain->contexts + 1);

	if (!frames)
		return run_no_memory(self->run);
	for (u32 i = 0; i < self->domain->contexts; i++) {
		u32 frame = domain_frame(self->domain, i, false);

		frames[i] = target ? target[frame] : frame;
	}
	self->frame_by_context = frames;
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
	self->small = calloc(most + 2, sizeof *self->small);
	self->small_count = self->small ? most + 1 : 0;
}

static int join_trace(struct joiner *self, struct state *state)
{
	struct entries *entries = self->entries;
	struct scan scan = run_scan(self->run, state, self->trace);

	entries->groups[self->trace] =
		malloc((selection_words(scan.selection->count) * 64 + 1) * sizeof(u32));
	if (!entries->groups[self->trace])
		return run_no_memory(self->run);
	plan_small(self);
	scan_blocks(&scan, join_block, self);
	return self->failed ? run_no_memory(self->run) : 0;
}

/* After the pass each group is an entry, and what differed within one is unknown. */
static int finish(struct joiner *self, struct state *state)
{
	struct entries *entries = self->entries;
	double **columns = entries->columns.data;

	entries->count = entries->group_count;
	entries->entry_of = malloc((entries->group_count + 1) * sizeof *entries->entry_of);
	if (!entries->entry_of || (!entries->count && !make_room(self)))
		return run_no_memory(self->run);
	for (u64 i = 0; i < entries->group_count; i++)
		entries->entry_of[i] = (u32)i;
	for (u32 f = 0; f < FIELDS; f++)
		for (u64 i = 0; columns[f] && i < entries->count; i++)
			if (isinf(columns[f][i]))
				columns[f][i] = NAN;
	for (u32 k = 0; k < entries->key_count; k++) {
		enum field field = entries->keys[k].field;

		if (entries->keys[k].is_user || !is_key(entries, field) || columns[field])
			continue;
		columns[field] = malloc((entries->count + 1) * sizeof(double));
		if (!columns[field])
			return run_no_memory(self->run);
		memcpy(columns[field], columns[ENTRY_KEYS + k], entries->count * sizeof(double));
	}
	state->entries = entries;
	state->sort_count = 0;
	state->ordered = false;
	vec_release(&state->order);
	return 0;
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
	double *numbers = NULL;
	int status;

	self->key_count = by->key_count;
	for (u32 k = 0; k < by->key_count; k++) {
		const struct query_key *key = &by->keys[k];

		self->key_renumber[k] = key_numbers[k].numbers[self->trace];
		if (!key->is_user && key->field == F_STACK) {
			status = number_stacks(self->run, state, self->trace, stacks, &numbers);
			if (status < 0)
				return status;
			self->keys[k] =
				value_table(&planner, INDEX_POINT, numbers, self->domain->contexts);
		} else {
			self->keys[k] = plan_key(&planner, key);
		}
		if (!self->keys[k])
			return run_fail(self->run, &err);
	}
	return 0;
}

/* Groups of unified frames: each trace has its own. */
static int plan_unified(struct joiner *self, const struct join_by *by)
{
	double *numbers = arena_new_array(&self->run->arena, double, self->domain->contexts + 1);
	struct err err = {0};
	struct planner planner = run_planner(self->run, self->trace, &err);

	if (!numbers)
		return run_no_memory(self->run);
	for (u32 i = 0; i < self->domain->contexts; i++)
		numbers[i] = by->targets[self->trace][domain_frame(self->domain, i, false)] +
			     (double)self->trace * 0x1p32;
	self->keys[0] = value_table(&planner, INDEX_POINT, numbers, self->domain->contexts);
	self->key_renumber[0] = NULL;
	self->key_count = 1;
	return self->keys[0] ? 0 : run_fail(self->run, &err);
}

static int join_all(struct joiner *self, struct state *state, const struct join_by *by)
{
	struct renumbering field_numbers[FIELDS] = {0}, key_numbers[QUERY_KEYS_MAX] = {0};
	struct stack_numbers stacks = {0};
	bool used[FIELDS] = {0};
	int status = 0;

	query_used_fields(self->run->query, used);
	for (u32 f = 0; f < FIELDS; f++)
		self->stacks |= used[f] && query_fields[f].type == FIELD_TEXTS;
	self->stacks = (self->stacks || self->run->stacks) && !self->entries->by_stack;
	for (u32 f = 0; status == 0 && f < FIELDS; f++)
		if (used[f] && query_fields[f].type == FIELD_TEXT)
			status = merge_texts(self->run, state,
					     &(struct query_key){.field = (enum field)f},
					     self->entries, &field_numbers[f]);
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
			status = plan_columns(self, field_numbers);
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
	struct joiner joiner = {.run = run,
				.entries = entries_new(),
				.filled = {[ENTRY_STACK] = true}};
	int status;

	if (!joiner.entries)
		return run_no_memory(run);
	joiner.entries->key_count = by->key_count;
	if (by->key_count)
		memcpy(joiner.entries->keys, by->keys, by->key_count * sizeof *by->keys);
	joiner.entries->by_stack = by->unify;
	for (u32 k = 0; k < by->key_count; k++) {
		joiner.filled[ENTRY_KEYS + k] = true;
		joiner.entries->by_stack |= !by->keys[k].is_user && (by->keys[k].field == F_STACK ||
								     by->keys[k].field == F_POINT);
	}
	status = join_all(&joiner, state, by);
	if (status == 0)
		status = finish(&joiner, state);
	if (status < 0)
		entries_free(joiner.entries);
	map_release(&joiner.by_key);
	free(joiner.small);
	return status;
}

int run_join(struct run *run, struct state *state, const struct stage *stage)
{
	struct join_by by = {.keys = stage->keys, .key_count = stage->key_count};
	int status = 0;

	if (state->entries)
		return entries_join(run, state->entries, stage);
	for (u32 t = 0; status == 0 && state->hide_count && t < run->engine->count; t++)
		if (state->sel[t].words)
			status = visible_frames(run, state, t, &by.targets[t]);
	return status < 0 ? status : join_chunks(run, state, &by);
}

/* ---- unify ---- */

int run_unify(struct run *run, struct state *state, const struct stage *stage)
{
	struct join_by by = {.unify = true};

	if (state->entries) {
		query_error_set(run->error, ERR_USAGE, stage->place,
				"unify needs single chunks, but these are already joined");
		query_error_hint(run->error, "put unify before join");
		return ERR_USAGE;
	}
	for (u32 t = 0; t < run->engine->count; t++) {
		int status;

		if (!state->sel[t].words)
			continue;
		status = unify_frames(run, state, t, stage->number, &by.targets[t]);
		if (status < 0)
			return status;
	}
	return join_chunks(run, state, &by);
}
