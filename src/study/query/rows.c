/* SPDX-License-Identifier: MIT
 * What is left at the end of a pipe, as a result.
 * Host. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/analysis/summary/summary.h"
#include "study/query/run.h"
#include "study/result/field.h"

enum { COLUMNS_MAX = FIELDS + QUERY_KEYS_MAX + 64, TYPES_SHOWN_BELOW = 1000000 };

enum cell_kind { CELL_KEY, CELL_AGG, CELL_TRACE, CELL_SHARE, CELL_STACK };

struct row_column {
	enum cell_kind kind;
	struct query_key key; /* CELL_KEY */
	enum field_type type;
	bool fraction; /* a number that need not be whole */
	struct result_column shown;
	/* Of chunks by trace; of entries the first. */
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

static enum value_type value_type_of(const struct row_column *column)
{
	static const enum value_type types[] = {
		[FIELD_NUMBER] = VALUE_COUNT, [FIELD_BYTES] = VALUE_BYTES,
		[FIELD_TIME] = VALUE_NS,      [FIELD_SHARE] = VALUE_SHARE,
		[FIELD_ID] = VALUE_ID,        [FIELD_ADDRESS] = VALUE_ADDRESS,
		[FIELD_BOOL] = VALUE_BOOL,    [FIELD_TEXT] = VALUE_TEXT,
		[FIELD_TEXTS] = VALUE_STACK,  [FIELD_COLOR] = VALUE_TEXT};

	return column->type == FIELD_NUMBER && column->fraction ? VALUE_RATIO : types[column->type];
}

static bool has_column(const struct rows *self, const struct query_key *key)
{
	for (u32 i = 0; i < self->count; i++)
		if (self->columns[i].kind == CELL_KEY && key_same(&self->columns[i].key, key))
			return true;
	return false;
}

static struct row_column *add_column(struct rows *self, struct row_column column, const char *name,
				     const char *meaning)
{
	const char *copy = result_copy(self->table, name);

	if (self->count == COLUMNS_MAX)
		return NULL;
	copy = copy ? copy : "";
	column.shown = (struct result_column)COLUMN(copy, copy, value_type_of(&column), meaning);
	self->columns[self->count] = column;
	return &self->columns[self->count++];
}

/* A column of the entries as it is. */
static struct value_plan *plan_column(struct rows *self, u64 column)
{
	struct err err = {0};
	struct planner planner = run_planner(self->run, 0, &err);
	const struct entries *entries = self->state->entries;
	struct value_plan *plan =
		value_table(&planner, INDEX_ENTRY, entries->columns.data[column], entries->count);

	if (!plan)
		run_fail(self->run, &err);
	return plan;
}

static int plan_chunks(struct rows *self, struct row_column *column)
{
	for (u32 t = 0; t < self->run->engine->count; t++) {
		struct err err = {0};
		struct planner planner = run_planner(self->run, t, &err);
		u32 texts;

		if (!self->state->sel[t].words)
			continue;
		column->plans[t] = plan_key(&planner, &column->key);
		column->texts[t] = plan_texts(&planner, &column->key, &texts);
		if (!column->plans[t] || err.code)
			return run_fail(self->run, &err);
	}
	return 0;
}

/* joined: the number of the entries' own key; UINT32_MAX: none of these. */
static int add_key(struct rows *self, struct query_key key, u32 joined)
{
	struct row_column column = {.kind = CELL_KEY,
				    .key = key,
				    .type = key_type(self->run->query, &key),
				    .fraction = key.is_user};
	const struct entries *entries = self->state->entries;
	struct row_column *added;

	if (has_column(self, &key) || column.type == FIELD_TEXTS)
		return 0;
	added = add_column(self, column, key_name(self->run->query, &key),
			   key.is_user ? "defined in the query" : query_fields[key.field].meaning);
	if (!added)
		return 0;
	if (!entries)
		return plan_chunks(self, added);
	added->texts[0] = key.is_user ? NULL : entries->texts[key.field];
	added->plans[0] = joined == UINT32_MAX ? run_plan_entries(self->run, entries, &key)
					       : plan_column(self, ENTRY_KEYS + joined);
	return added->plans[0] ? 0 : self->run->error->code;
}

static int add_field(struct rows *self, enum field field)
{
	return add_key(self, (struct query_key){.field = field}, UINT32_MAX);
}

static int add_agg(struct rows *self, u64 number)
{
	const struct query_agg *agg = &self->state->entries->aggs.data[number];
	bool of_key = agg->has_key && agg->kind != AGG_COUNT;
	struct row_column column = {.kind = CELL_AGG,
				    .type = of_key ? key_type(self->run->query, &agg->key)
						   : FIELD_NUMBER,
				    .fraction =
					    agg->kind == AGG_AVG || (of_key && agg->key.is_user)};
	struct strbuf name = {0};

	column.plans[0] = plan_column(self, ENTRY_AGGS + number);
	agg_print(self->run->query, agg, &name);
	add_column(self, column, strbuf_text(&name), "computed over the chunks of the row");
	strbuf_release(&name);
	return column.plans[0] ? 0 : self->run->error->code;
}

static void add_stack(struct rows *self)
{
	add_column(self, (struct row_column){.kind = CELL_STACK, .type = FIELD_TEXTS}, "stack",
		   "innermost frame first");
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

/* Lines have room for one long text: the type if the query is about types, else the function. The
 * other one is for programs only. */
static void hush_texts(struct rows *self)
{
	bool used[FIELDS] = {0}, typed;

	query_used_fields(self->run->query, used);
	typed = used[F_TYPE] || used[F_TEMPLATE] || used[F_TYPE_SOURCE];
	for (u32 i = 0; i < self->count; i++) {
		struct row_column *column = &self->columns[i];

		if (column->kind == CELL_KEY &&
		    ((column->key.field == F_TYPE && !typed) ||
		     (column->key.field == F_FN && typed && !used[F_FN])))
			column->shown.label = NULL;
	}
}

static int chunk_columns(struct rows *self)
{
	static const enum field fields[] = {F_CHUNK, F_ADDR, F_SIZE, F_TYPE,  F_FN,
					    F_ALLOC, F_FREE, F_LIFE, F_THREAD};
	struct row_column *trace;
	int status = 0;

	if (state_traces(self->state) > 1) {
		trace = add_column(self,
				   (struct row_column){.kind = CELL_TRACE, .type = FIELD_TEXT},
				   "trace", "trace that contains it");
		trace->shown.type = VALUE_PATH;
	}
	for (u32 i = 0; status == 0 && i < sizeof fields / sizeof *fields; i++)
		if (fields[i] != F_TYPE || shows_types(self))
			status = add_field(self, fields[i]);
	hush_texts(self);
	if (status == 0)
		status = add_used(self, 0);
	if (self->options->stacks)
		add_stack(self);
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
		add_column(self, (struct row_column){.kind = CELL_SHARE, .type = FIELD_SHARE},
			   "share", "share of the bytes of all rows");
	}
	for (u64 i = 0; status == 0 && i < entries->aggs.count; i++)
		status = add_agg(self, i);
	if (status == 0)
		status = add_used(self, after_join(&self->run->query->pipe));
	if (self->options->stacks || entries->by_stack)
		add_stack(self);
	return status;
}

/* Texts stand last, where a narrow terminal cuts them; stacks below their rows. */
static void set_columns(struct rows *self)
{
	struct row_column sorted[COLUMNS_MAX];
	struct result_column shown[COLUMNS_MAX];
	u32 count = 0;

	for (u32 pass = 0; pass < 3; pass++)
		for (u32 i = 0; i < self->count; i++) {
			enum field_type type = self->columns[i].type;
			u32 wanted = type == FIELD_TEXTS ? 2 : type == FIELD_TEXT;

			if (wanted == pass)
				sorted[count++] = self->columns[i];
		}
	memcpy(self->columns, sorted, count * sizeof *sorted);
	for (u32 i = 0; i < count; i++)
		shown[i] = sorted[i].shown;
	result_set_columns(self->table, shown, count);
}

/* ---- values ---- */

static struct value value_of(struct rows *self, const struct row_column *column, double number,
			     const char *const *texts)
{
	char color[16];

	if (isnan(number))
		return value_unknown();
	switch (column->shown.type) {
	case VALUE_TEXT:
		if (column->type == FIELD_COLOR) {
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

static void fill_entry(struct rows *self, u64 entry, struct value *row)
{
	double *const *columns = self->state->entries->columns.data;

	for (u32 i = 0; i < self->count; i++) {
		const struct row_column *column = &self->columns[i];
		double stack = columns[ENTRY_STACK][entry], size = columns[F_SIZE][entry];

		if (column->kind == CELL_STACK)
			row[i] = stack_value(self, entry_trace(stack), entry_frame(stack));
		else if (column->kind == CELL_SHARE)
			row[i] = value_real(self->bytes ? size / (double)self->bytes : 0);
		else
			row[i] = value_of(self, column, value_of_entry(column->plans[0], entry),
					  column->texts[0]);
	}
}

static void fill_chunk(struct rows *self, struct place place, struct value *row)
{
	const struct domain *domain = &self->run->engine->domains[place.trace];
	u32 at = (u32)(place.chunk % CHUNK_PAGE);
	const u8 *colors = self->state->colors[place.trace];
	struct block block = {.domain = domain,
			      .page = chunk_at(&domain->model->chunks, place.chunk),
			      .first = at,
			      .count = 1,
			      .chunk = place.chunk,
			      .colors = colors ? colors + place.chunk : NULL,
			      .palette = self->state->palette};

	for (u32 i = 0; i < self->count; i++) {
		const struct row_column *column = &self->columns[i];
		double number;

		if (column->kind == CELL_TRACE) {
			row[i] = value_text(domain->trace.name ? domain->trace.name : "");
		} else if (column->kind == CELL_STACK) {
			row[i] = stack_value(self, place.trace,
					     domain_frame(domain, block.page->alloc_context[at],
							  false));
		} else {
			value_eval(column->plans[place.trace], &block, &number);
			row[i] = value_of(self, column, number, column->texts[place.trace]);
		}
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
	u64 count = self->state->entries->count, wanted = self->options->rows;

	for (u64 i = self->options->skip;
	     i < count && (!wanted || i - self->options->skip < wanted); i++) {
		struct value *row = result_add_row(self->table);

		if (!row)
			break;
		fill_entry(self, i, row);
	}
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
	result_field(record, "query", NULL, VALUE_TEXT,
		     value_text(result_copy(record, strbuf_text(&text))),
		     "canonical text of the query");
	strbuf_release(&text);
	result_field(record, "view", NULL, VALUE_TEXT, value_text(self->state->view),
		     "view selected by the query");
	result_field(record, "entries", "rows", VALUE_COUNT,
		     value_number(self->state->entries ? self->state->entries->count : chunks),
		     "rows at the end of the query");
	result_field(record, "matched.chunks", "chunks", VALUE_COUNT, value_number(chunks),
		     "recorded chunks of these rows");
	result_field(record, "matched.bytes", "bytes", VALUE_BYTES, value_number(self->bytes),
		     "requested bytes of these chunks");
	result_field(record, "total.chunks", "of chunks", VALUE_COUNT,
		     value_number(model->recorded_allocations), "recorded chunks of the trace");
	result_field(record, "total.bytes", "of bytes", VALUE_BYTES,
		     value_number(model->recorded_bytes), "requested bytes of the trace");
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
	const struct domain *domain = &self->run->engine->domains[0];
	const struct model *model = domain->model;

	query_used_fields(self->run->query, used);
	for (u32 f = 0; f < FIELDS; f++) {
		if (used[f] && (query_fields[f].needs & NEEDS_ACCESS) && !model->has_access)
			result_add_caveat(record, "'%s' is unknown: accesses were not recorded",
					  query_fields[f].name);
		if (used[f] && (query_fields[f].needs & NEEDS_SCAN) &&
		    model->scan.state != SCAN_DONE)
			result_add_caveat(record, "'%s' is unknown: there was no leak scan",
					  query_fields[f].name);
		if (used[f] && (query_fields[f].needs & NEEDS_OWNERS) && !domain->has_owners)
			result_add_caveat(record,
					  "'%s' is unknown: no pointers were recorded; record with "
					  "'heapwise run --owners PROGRAM'",
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
