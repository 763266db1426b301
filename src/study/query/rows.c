/* SPDX-License-Identifier: MIT
 * What is left at the end of a pipe, as a result.
 * Host. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/analysis/summary/summary.h"
#include "study/query/run.h"

enum { COLUMNS_MAX = FIELDS + QUERY_KEYS_MAX + 64, TYPES_SHOWN_BELOW = 1000000 };

enum column_kind { COLUMN_TRACE, COLUMN_KEY, COLUMN_SHARE, COLUMN_AGG, COLUMN_STACK };

struct row_column {
	enum column_kind kind;
	struct query_key key;
	u32 number; /* of the entries' key or agg; UINT32_MAX: a field of theirs */
	enum field_type type;
	bool quiet; /* for programs only */
	struct value_plan *plans[QUERY_TRACES];
	const char *const *texts[QUERY_TRACES];
};

struct rows {
	struct run *run;
	struct state *state;
	const struct query_options *options;
	struct result *table;
	struct row_column columns[COLUMNS_MAX];
	u32 count;
	u64 bytes; /* of all entries */
};

/* ---- columns ---- */

static enum value_type value_type_of(enum field_type type, bool fraction)
{
	static const enum value_type types[] = {
		[FIELD_NUMBER] = VALUE_COUNT, [FIELD_BYTES] = VALUE_BYTES,
		[FIELD_TIME] = VALUE_NS,      [FIELD_SHARE] = VALUE_SHARE,
		[FIELD_ID] = VALUE_ID,        [FIELD_ADDRESS] = VALUE_ADDRESS,
		[FIELD_BOOL] = VALUE_BOOL,    [FIELD_TEXT] = VALUE_TEXT,
		[FIELD_TEXTS] = VALUE_STACK,  [FIELD_COLOR] = VALUE_TEXT};

	return type == FIELD_NUMBER && fraction ? VALUE_RATIO : types[type];
}

static bool has_column(const struct rows *self, const struct query_key *key)
{
	for (u32 i = 0; i < self->count; i++) {
		const struct query_key *known = &self->columns[i].key;

		if (self->columns[i].kind == COLUMN_KEY && known->is_user == key->is_user &&
		    (key->is_user ? known->user == key->user : known->field == key->field))
			return true;
	}
	return false;
}

static struct row_column *add_column(struct rows *self, struct row_column column)
{
	if (self->count == COLUMNS_MAX)
		return NULL;
	self->columns[self->count] = column;
	return &self->columns[self->count++];
}

static int add_key(struct rows *self, struct query_key key, u32 number)
{
	struct row_column *column;

	if (has_column(self, &key) || key_type(self->run->query, &key) == FIELD_TEXTS)
		return 0;
	column = add_column(self, (struct row_column){.kind = COLUMN_KEY,
						      .key = key,
						      .number = number,
						      .type = key_type(self->run->query, &key)});
	for (u32 t = 0; column && !self->state->entries && t < self->run->engine->count; t++) {
		struct err err = {0};
		struct planner planner = run_planner(self->run, t, &err);
		u32 texts;

		if (!self->state->sel[t].words)
			continue;
		column->plans[t] = plan_key(&planner, &key);
		column->texts[t] = plan_texts(&planner, &key, &texts);
		if (!column->plans[t] || err.code)
			return run_fail(self->run, &err);
	}
	return 0;
}

static int add_field(struct rows *self, enum field field)
{
	return add_key(self, (struct query_key){.field = field}, UINT32_MAX);
}

/* Fields that the stages from `first` on mention. */
static int add_used(struct rows *self, u32 first)
{
	const struct pipe *pipe = &self->run->query->pipe;
	struct query part = {
		.pipe = {.stages = pipe->stages + first, .stage_count = pipe->stage_count - first}};
	bool used[FIELDS] = {0};
	int status = 0;

	query_used_fields(&part, used);
	for (u32 f = 0; status == 0 && f < FIELDS; f++)
		if (used[f])
			status = add_field(self, (enum field)f);
	for (u32 s = first; status == 0 && s < pipe->stage_count; s++)
		for (u32 k = 0; status == 0 && k < pipe->stages[s].key_count; k++)
			if (pipe->stages[s].keys[k].is_user)
				status = add_key(self, pipe->stages[s].keys[k], UINT32_MAX);
	return status;
}

static u32 traces_in(const struct rows *self)
{
	u32 count = 0;

	for (u32 t = 0; t < self->run->engine->count; t++)
		count += self->state->sel[t].words != NULL;
	return count;
}

static bool shows_types(const struct rows *self)
{
	for (u32 t = 0; t < self->run->engine->count; t++) {
		const struct domain *domain = &self->run->engine->domains[t];

		if (self->state->sel[t].words && !domain->types_ready &&
		    domain->model->chunks.count >= TYPES_SHOWN_BELOW)
			return false;
	}
	return true;
}

/* Lines have room for one long text: the type if the query is about types, else the function. */
static void hush_texts(struct rows *self)
{
	bool used[FIELDS] = {0}, typed;

	query_used_fields(self->run->query, used);
	typed = used[F_TYPE] || used[F_TEMPLATE] || used[F_TYPE_SOURCE];
	for (u32 i = 0; i < self->count; i++)
		if (self->columns[i].kind == COLUMN_KEY)
			self->columns[i].quiet =
				(self->columns[i].key.field == F_TYPE && !typed) ||
				(self->columns[i].key.field == F_FN && typed && !used[F_FN]);
}

static int chunk_columns(struct rows *self)
{
	static const enum field fields[] = {F_CHUNK, F_ADDR, F_SIZE, F_TYPE,  F_FN,
					    F_ALLOC, F_FREE, F_LIFE, F_THREAD};
	int status = 0;

	if (traces_in(self) > 1)
		add_column(self, (struct row_column){.kind = COLUMN_TRACE, .type = FIELD_TEXT});
	for (u32 i = 0; status == 0 && i < sizeof fields / sizeof *fields; i++)
		if (fields[i] != F_TYPE || shows_types(self))
			status = add_field(self, fields[i]);
	hush_texts(self);
	if (status == 0)
		status = add_used(self, 0);
	if (status == 0 && self->options->stacks)
		add_column(self, (struct row_column){.kind = COLUMN_STACK, .type = FIELD_TEXTS});
	return status;
}

/* Stages after the last that joined. */
static u32 after_join(const struct pipe *pipe)
{
	u32 first = 0;

	for (u32 i = 0; i < pipe->stage_count; i++)
		if (pipe->stages[i].kind == STAGE_JOIN || pipe->stages[i].kind == STAGE_UNIFY ||
		    pipe->stages[i].kind == STAGE_AGG)
			first = i + 1;
	return first;
}

static int entry_columns(struct rows *self)
{
	const struct entries *entries = self->state->entries;
	int status = 0;

	for (u32 k = 0; status == 0 && k < entries->key_count; k++)
		status = add_key(self, entries->keys[k], k);
	if (status == 0 && !entries->aggs.count) {
		status = add_field(self, F_CHUNKS);
		if (status == 0)
			status = add_field(self, F_SIZE);
		add_column(self, (struct row_column){.kind = COLUMN_SHARE, .type = FIELD_SHARE});
	}
	for (u32 i = 0; i < entries->aggs.count; i++)
		add_column(self, (struct row_column){.kind = COLUMN_AGG, .number = i});
	if (status == 0)
		status = add_used(self, after_join(&self->run->query->pipe));
	if (status == 0 && (self->options->stacks || entries->by_stack))
		add_column(self, (struct row_column){.kind = COLUMN_STACK, .type = FIELD_TEXTS});
	return status;
}

/* Texts stand last, where a narrow terminal cuts them; stacks below their rows. */
static void texts_last(struct rows *self)
{
	struct row_column sorted[COLUMNS_MAX];
	u32 count = 0;

	for (u32 pass = 0; pass < 3; pass++)
		for (u32 i = 0; i < self->count; i++) {
			const struct row_column *column = &self->columns[i];
			u32 wanted = column->kind == COLUMN_STACK                               ? 2
				     : column->kind != COLUMN_AGG && column->type == FIELD_TEXT ? 1
												: 0;

			if (wanted == pass)
				sorted[count++] = *column;
		}
	memcpy(self->columns, sorted, count * sizeof *sorted);
}

static struct result_column agg_column(struct rows *self, const struct query_agg *agg)
{
	enum field_type type = agg->has_key ? key_type(self->run->query, &agg->key) : FIELD_NUMBER;
	bool fraction = agg->kind == AGG_AVG || (agg->has_key && agg->key.is_user);
	struct strbuf name = {0};
	const char *copy;

	if (agg->kind == AGG_COUNT)
		type = FIELD_NUMBER;
	agg_print(self->run->query, agg, &name);
	copy = result_copy(self->table, strbuf_text(&name));
	strbuf_release(&name);
	copy = copy ? copy : "";
	return (struct result_column)COLUMN(copy, copy,
					    value_type_of(type, agg->kind != AGG_COUNT && fraction),
					    "computed over the chunks of the row");
}

static struct result_column key_column(struct rows *self, const struct row_column *column)
{
	const char *name = result_copy(self->table, key_name(self->run->query, &column->key));
	const char *meaning = column->key.is_user ? "defined in the query"
						  : query_fields[column->key.field].meaning;

	name = name ? name : "";
	return (struct result_column)COLUMN(name, column->quiet ? NULL : name,
					    value_type_of(column->type, column->key.is_user),
					    meaning);
}

static void set_columns(struct rows *self)
{
	struct result_column columns[COLUMNS_MAX];

	for (u32 i = 0; i < self->count; i++) {
		const struct row_column *column = &self->columns[i];

		switch (column->kind) {
		case COLUMN_TRACE:
			columns[i] = (struct result_column)COLUMN("trace", "trace", VALUE_PATH,
								  "trace that contains it");
			break;
		case COLUMN_KEY: columns[i] = key_column(self, column); break;
		case COLUMN_SHARE:
			columns[i] = (struct result_column)COLUMN("share", "share", VALUE_SHARE,
								  "share of the bytes of all rows");
			break;
		case COLUMN_AGG:
			columns[i] =
				agg_column(self,
					   &self->state->entries->aggs.data[column->number].agg);
			break;
		case COLUMN_STACK:
			columns[i] = (struct result_column)COLUMN("stack", "stack", VALUE_STACK,
								  "innermost frame first");
		}
	}
	result_set_columns(self->table, columns, self->count);
}

/* ---- values ---- */

static struct value value_of(struct rows *self, enum field_type type, bool fraction, double number,
			     const char *const *texts)
{
	char color[16];

	if (isnan(number))
		return value_unknown();
	switch (value_type_of(type, fraction)) {
	case VALUE_TEXT:
		if (type == FIELD_COLOR) {
			snprintf(color, sizeof color, "#%06x", (u32)number & 0xffffff);
			return value_text(result_copy(self->table, color));
		}
		return texts ? value_text(result_copy(self->table, texts[(u64)number]))
			     : value_unknown();
	case VALUE_SHARE:
	case VALUE_RATIO: return isfinite(number) ? value_real(number) : value_unknown();
	default:
		return number >= 0 && number < 0x1p63 ? value_number((u64)(number + 0.5))
						      : value_unknown();
	}
}

static bool is_hidden(struct rows *self, struct text_test *tests, const char *function)
{
	for (u32 i = 0; *function && i < self->state->hide_count; i++)
		if (text_test_holds(&tests[i], function))
			return true;
	return false;
}

static void hide_frames(struct rows *self, struct result_stack *stack)
{
	struct text_test tests[HIDES_MAX];
	u32 ready = 0, kept = 0;

	while (ready < self->state->hide_count &&
	       text_test_init(&tests[ready], self->state->hides[ready], false))
		ready++;
	for (u32 i = 0; ready == self->state->hide_count && i < stack->count; i++)
		if (!is_hidden(self, tests, stack->frames[i].function))
			stack->frames[kept++] = stack->frames[i];
	if (ready == self->state->hide_count)
		stack->count = kept;
	while (ready)
		text_test_release(&tests[--ready]);
}

static struct value stack_value(struct rows *self, u32 trace, u32 frame)
{
	struct stack_source source = self->run->engine->domains[trace].source;
	const struct result_stack *stack;

	if (!frame)
		return value_unknown();
	/* What is hidden must not count as shown: then all frames are looked at first. */
	source.depth = self->state->hide_count ? 0 : self->options->depth;
	source.fold = self->options->fold && !self->state->hide_count;
	stack = stack_of(&source, (struct frame_id){frame}, self->table);
	if (stack && self->state->hide_count) {
		struct result_stack *own = (struct result_stack *)stack;

		hide_frames(self, own);
		own->number = 0;
		if (self->options->depth && own->count > self->options->depth) {
			own->hidden += own->count - self->options->depth;
			own->count = self->options->depth;
		}
	}
	return value_stack(stack);
}

/* ---- rows ---- */

static void fill_entry(struct rows *self, struct entry_eval *eval, u64 entry, struct value *row)
{
	struct entries *entries = self->state->entries;

	for (u32 i = 0; i < self->count; i++) {
		const struct row_column *column = &self->columns[i];
		double number;

		if (column->kind == COLUMN_STACK) {
			row[i] = stack_value(self, entries->frame_traces[entry],
					     entries->frames[entry]);
		} else if (column->kind == COLUMN_SHARE) {
			number = entries->values[F_SIZE][entry];
			row[i] = value_real(self->bytes ? number / (double)self->bytes : 0);
		} else if (column->kind == COLUMN_AGG) {
			const struct agg_column *agg = &entries->aggs.data[column->number];
			enum field_type type = agg->agg.has_key && agg->agg.kind != AGG_COUNT
						       ? key_type(self->run->query, &agg->agg.key)
						       : FIELD_NUMBER;

			row[i] = value_of(self, type,
					  agg->agg.kind == AGG_AVG ||
						  (agg->agg.kind != AGG_COUNT && agg->agg.has_key &&
						   agg->agg.key.is_user),
					  agg->numbers[entry], NULL);
		} else {
			number = column->number != UINT32_MAX
					 ? entries->key_values[column->number][entry]
					 : entry_key(eval, &column->key, entry);
			row[i] = value_of(self, column->type, column->key.is_user, number,
					  column->key.is_user ? NULL
							      : entries->texts[column->key.field]);
		}
	}
}

static void fill_chunk(struct rows *self, struct place place, struct value *row)
{
	const struct domain *domain = &self->run->engine->domains[place.trace];
	u32 at = (u32)(place.chunk % CHUNK_PAGE), first = at / BLOCK * BLOCK;
	const u8 *colors = self->state->colors[place.trace];
	struct block block = {.domain = domain,
			      .page = chunk_at(&domain->model->chunks, place.chunk),
			      .first = first,
			      .chunk = place.chunk - (at - first),
			      .colors = colors ? colors + (place.chunk - (at - first)) : NULL,
			      .palette = self->state->palette};

	for (u32 i = 0; i < self->count; i++) {
		const struct row_column *column = &self->columns[i];

		if (column->kind == COLUMN_TRACE)
			row[i] = value_text(domain->trace.name ? domain->trace.name : "");
		else if (column->kind == COLUMN_STACK)
			row[i] = stack_value(self, place.trace,
					     domain_frame(domain, block.page->alloc_context[at],
							  false));
		else
			row[i] = value_of(self, column->type, column->key.is_user,
					  value_one(column->plans[place.trace], &block, at - first),
					  column->texts[place.trace]);
	}
}

static int fill_chunks(struct rows *self)
{
	u64 skip = self->options->skip, wanted = self->options->rows;
	int status = run_order(self->run, self->state,
			       wanted && wanted < UINT64_MAX - skip ? skip + wanted : UINT64_MAX);

	for (u64 i = skip; status == 0 && i < self->state->order.count; i++) {
		struct value *row = result_add_row(self->table);

		if (!row)
			return run_no_memory(self->run);
		fill_chunk(self, self->state->order.data[i], row);
	}
	return status;
}

static int fill_entries(struct rows *self)
{
	struct entry_eval eval = {.run = self->run, .entries = self->state->entries};
	u64 count = self->state->entries->count, wanted = self->options->rows;

	for (u64 i = self->options->skip;
	     i < count && (!wanted || i - self->options->skip < wanted); i++) {
		struct value *row = result_add_row(self->table);

		if (!row)
			break;
		fill_entry(self, &eval, i, row);
	}
	entry_eval_release(&eval);
	return result_failed(self->table) ? run_no_memory(self->run) : 0;
}

/* ---- the record ---- */

static void add_totals(struct rows *self, struct result *record)
{
	const struct model *model = self->run->engine->domains[0].model;
	struct strbuf text = {0};
	u64 chunks = 0;

	for (u32 t = 0; t < self->run->engine->count; t++) {
		if (!self->state->sel[t].words)
			continue;
		chunks += self->state->sel[t].chunks;
	}
	query_print(self->run->query, &text);
	result_add_field(record,
			 (struct result_column)COLUMN("query", NULL, VALUE_TEXT,
						      "canonical text of the query"),
			 value_text(result_copy(record, strbuf_text(&text))));
	strbuf_release(&text);
	result_add_field(record,
			 (struct result_column)COLUMN("view", NULL, VALUE_TEXT,
						      "view selected by the query"),
			 value_text(self->state->view));
	result_add_field(record,
			 (struct result_column)COLUMN("entries", "rows", VALUE_COUNT,
						      "rows at the end of the query"),
			 value_number(self->state->entries ? self->state->entries->count : chunks));
	result_add_field(record,
			 (struct result_column)COLUMN("matched.chunks", "chunks", VALUE_COUNT,
						      "recorded chunks of these rows"),
			 value_number(chunks));
	result_add_field(record,
			 (struct result_column)COLUMN("matched.bytes", "bytes", VALUE_BYTES,
						      "requested bytes of these chunks"),
			 value_number(self->bytes));
	result_add_field(record,
			 (struct result_column)COLUMN("total.chunks", "of chunks", VALUE_COUNT,
						      "recorded chunks of the trace"),
			 value_number(model->recorded_allocations));
	result_add_field(record,
			 (struct result_column)COLUMN("total.bytes", "of bytes", VALUE_BYTES,
						      "requested bytes of the trace"),
			 value_number(model->recorded_bytes));
}

static void count_entries(struct rows *self)
{
	if (self->state->entries)
		entries_narrow(self->run, self->state);
	for (u32 t = 0; t < self->run->engine->count; t++)
		self->bytes += self->state->sel[t].words ? self->state->sel[t].bytes : 0;
}

static void add_own_caveats(struct rows *self, struct result *record)
{
	bool used[FIELDS] = {0};
	const struct model *model = self->run->engine->domains[0].model;

	query_used_fields(self->run->query, used);
	for (u32 f = 0; f < FIELDS; f++) {
		if (used[f] && (query_fields[f].needs & NEEDS_ACCESS) && !model->has_access)
			result_add_caveat(record, "'%s' is unknown: accesses were not recorded",
					  query_fields[f].name);
		if (used[f] && (query_fields[f].needs & NEEDS_SCAN) &&
		    model->scan.state != SCAN_DONE)
			result_add_caveat(record, "'%s' is unknown: there was no leak scan",
					  query_fields[f].name);
	}
	if (model->aggregated)
		result_add_caveat(
			record,
			"part of the run is kept only as totals (--max-size) and cannot be queried "
			"by chunk");
	if (model->count_shift)
		result_add_caveat(
			record, "the recording is sampled: sums of chunks and size are estimates; "
				"selections count recorded chunks");
	if (!tick_clock_known(&model->clock))
		result_add_caveat(record, "the clock's rate is unknown: times are in ticks");
}

int run_rows(struct run *run, struct state *state, const struct query_options *options,
	     struct result **out)
{
	struct rows self = {.run = run, .state = state, .options = options};
	struct result *record = result_new(RESULT_RECORD, "query", "Query");
	int status;

	self.table = result_new(RESULT_TABLE, "rows", "Rows");
	if (!record || !self.table) {
		result_free(record);
		result_free(self.table);
		return run_no_memory(run);
	}
	self.table->empty = "no row matches";
	count_entries(&self);
	status = state->entries ? entry_columns(&self) : chunk_columns(&self);
	if (status == 0) {
		add_totals(&self, record);
		add_caveats(record, run->engine->domains[0].model, NULL);
		add_own_caveats(&self, record);
		texts_last(&self);
		set_columns(&self);
		status = state->entries ? fill_entries(&self) : fill_chunks(&self);
	}
	result_add_part(record, self.table);
	if (status == 0 && result_failed(record))
		status = run_no_memory(run);
	if (status == 0)
		*out = record;
	else
		result_free(record);
	return status;
}
