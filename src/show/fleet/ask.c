/* SPDX-License-Identifier: MIT
 * What the questions to a store have in common.
 * Host. */
#include "show/fleet/ask.h"

#include <stdlib.h>
#include <string.h>

#include "study/analysis/places/stacks.h"
#include "host/base/map.h"
#include "show/fleet/dictionary.h"

static const struct {
	const char *word, *column, *run_column, *words;
	enum value_type type;
} measures[MEASURES] = {
	[MEASURE_TIME] = {"time", "byte_seconds", "byte_seconds", "bytes x s", VALUE_RATIO},
	[MEASURE_PEAK] = {"peak", "own_peak_bytes", "peak_bytes", "peak", VALUE_BYTES},
	[MEASURE_BYTES] = {"bytes", "bytes", "bytes", "bytes", VALUE_BYTES},
	[MEASURE_KEPT] = {"kept", "kept_bytes", "kept_bytes", "kept", VALUE_BYTES},
	[MEASURE_COUNT] = {"count", "allocations", "allocations", "allocations", VALUE_COUNT},
};

bool measure_parse(const char *word, enum fleet_measure *measure)
{
	for (u32 i = 0; i < MEASURES; i++)
		if (strcmp(measures[i].word, word) == 0) {
			*measure = (enum fleet_measure)i;
			return true;
		}
	return false;
}

const char *measure_column(enum fleet_measure measure) { return measures[measure].column; }
const char *measure_run_column(enum fleet_measure measure) { return measures[measure].run_column; }
const char *measure_words(enum fleet_measure measure) { return measures[measure].words; }
enum value_type measure_type(enum fleet_measure measure) { return measures[measure].type; }

struct value measure_value(enum fleet_measure measure, double value)
{
	return measures[measure].type == VALUE_RATIO ? value_real(value)
						     : value_number((u64)(value + 0.5));
}

/* ---- statements ---- */

void ask_table(struct question *self, enum fleet_table table)
{
	strbuf_addf(&self->sql, " FROM %s%s", schema_table(table),
		    self->store->distributed ? "_all" : "");
}

/* A text as a literal. */
static void ask_text(struct strbuf *sql, const char *text)
{
	strbuf_add_char(sql, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			strbuf_add_char(sql, '\\');
		strbuf_add_char(sql, *text);
	}
	strbuf_add_char(sql, '\'');
}

static void ask_labels(struct strbuf *sql, const struct option_strings *labels)
{
	for (u32 i = 0; labels && i < labels->count; i++) {
		const char *equal = strchr(labels->items[i], '=');
		struct strbuf key = {0};

		strbuf_add_bytes(&key, labels->items[i],
				 equal ? (u64)(equal - labels->items[i])
				       : strlen(labels->items[i]));
		strbuf_add(sql, " AND arrayExists((k, v) -> k = ");
		ask_text(sql, strbuf_text(&key));
		strbuf_add(sql, " AND v = ");
		ask_text(sql, equal ? equal + 1 : "");
		strbuf_add(sql, ", `labels.key`, `labels.value`)");
		strbuf_release(&key);
	}
}

static void ask_build(struct strbuf *sql, const char *build)
{
	strbuf_add(sql, " AND (startsWith(build_id, ");
	ask_text(sql, build);
	strbuf_add(sql, ") OR version = ");
	ask_text(sql, build);
	strbuf_add(sql, ")");
}

/* What can be read off the first columns, by which rows are ordered. */
static void ask_range(struct strbuf *sql, const struct fleet_filter *filter)
{
	if (filter->program)
		strbuf_addf(sql, " AND program = %llu",
			    (unsigned long long)name_key(filter->program));
	if (filter->days)
		strbuf_addf(sql, " AND toInt64(today()) - toInt64(day) < %llu",
			    (unsigned long long)filter->days);
}

/* Two who pushed the same trace at the same time have made two runs of it: the first one counts.
 * The subquery is each shard's own, where all rows of its runs are. */
static void ask_runs(struct question *self, const struct fleet_filter *filter)
{
	struct strbuf *sql = &self->sql;

	strbuf_addf(sql, "push IN (SELECT min(push) FROM %s.runs GROUP BY run)",
		    self->store->database);
	ask_range(sql, filter);
	if (filter->build)
		ask_build(sql, filter->build);
	if (filter->host) {
		strbuf_add(sql, " AND host = ");
		ask_text(sql, filter->host);
	}
	ask_labels(sql, filter->labels);
}

void ask_pushes(struct question *self, const struct fleet_filter *filter)
{
	strbuf_addf(&self->sql, "push IN (SELECT push FROM %s.runs WHERE ", self->store->database);
	ask_runs(self, filter);
	strbuf_add(&self->sql, ")");
	ask_range(&self->sql, filter);
}

void ask_from(struct question *self, enum fleet_table table, const char *condition,
	      const struct fleet_filter *filter)
{
	ask_table(self, table);
	strbuf_addf(&self->sql, " WHERE %s", condition);
	if (table == TABLE_RUNS)
		ask_runs(self, filter);
	else
		ask_pushes(self, filter);
}

void ask_limit(struct question *self, u64 rows)
{
	if (rows)
		strbuf_addf(&self->sql, " LIMIT %llu", (unsigned long long)rows);
}

/* ---- stacks ---- */

enum { FRAMES_MAX = 1024 };

struct stack_row {
	u64 key;
	u64 count;
	u64 *columns[6]; /* functions, files, lines, modules, offsets, inlined */
};

struct stack_book {
	struct arena arena;
	VEC(struct stack_row) rows;
	struct map by_key; /* row + 1 */
	struct map names;  /* key → address of the text */
	VEC(u64) wanted;   /* keys of names */
};

static bool read_stack(struct stack_book *self, char **fields)
{
	struct stack_row row = {.key = reply_number(fields[0])};

	for (u32 i = 0; i < 6; i++) {
		u64 numbers[FRAMES_MAX], count;

		if (!reply_ids(fields[1 + i], numbers, FRAMES_MAX, &count) ||
		    (i && count != row.count))
			return false;
		row.count = count;
		row.columns[i] = arena_new_array(&self->arena, u64, count + 1);
		if (!row.columns[i])
			return false;
		memcpy(row.columns[i], numbers, count * sizeof *numbers);
	}
	for (u64 i = 0; i < row.count; i++)
		if (!vec_push(&self->wanted, row.columns[0][i]) ||
		    !vec_push(&self->wanted, row.columns[1][i]) ||
		    !vec_push(&self->wanted, row.columns[3][i]))
			return false;
	return vec_push(&self->rows, row) && map_put(&self->by_key, row.key, self->rows.count);
}

static int take_stack(void *self, char **fields, struct err *err)
{
	return read_stack(self, fields)
		       ? 0
		       : err_set(err, ERR_INPUT, "a stack in the store cannot be read");
}

static int compare_keys(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static int take_name(void *book, char **fields, struct err *err)
{
	struct stack_book *self = book;
	const char *text = arena_copy(&self->arena, fields[1]);

	return text && map_put(&self->names, reply_number(fields[0]), (u64)(uintptr_t)text)
		       ? 0
		       : err_memory(err);
}

/* Sorts the keys, and leaves each but 0 once. */
static void unique_keys(struct stack_book *self)
{
	u64 *keys = self->wanted.data, count = 0;

	if (self->wanted.count)
		qsort(keys, self->wanted.count, sizeof *keys, compare_keys);
	for (u64 i = 0; i < self->wanted.count; i++)
		if (keys[i] && (!count || keys[count - 1] != keys[i]))
			keys[count++] = keys[i];
	self->wanted.count = count;
}

/* A copy that the result has. */
static const char *name_of(const struct stack_book *self, struct result *result, u64 key)
{
	const u64 *text = key ? map_find(&self->names, key) : NULL;
	const char *copy = text ? result_copy(result, (const char *)(uintptr_t)*text) : "";

	return copy ? copy : "";
}

static const struct result_stack *show_stack(const struct stack_book *self,
					     const struct stack_row *row, u32 depth,
					     struct result *result)
{
	u64 shown = depth && depth < row->count ? depth : row->count;
	struct result_stack *stack = arena_new(&result->arena, struct result_stack);
	struct result_frame *frames =
		arena_new_array(&result->arena, struct result_frame, shown + 1);

	if (!stack || !frames) {
		result->failed = true;
		return NULL;
	}
	for (u64 i = 0; i < shown; i++) {
		struct result_frame *frame = &frames[i];

		frame->function = name_of(self, result, row->columns[0][i]);
		frame->file = name_of(self, result, row->columns[1][i]);
		frame->line = (u32)row->columns[2][i];
		frame->module = name_of(self, result, row->columns[3][i]);
		frame->offset = row->columns[4][i];
		frame->inlined = row->columns[5][i] != 0;
		frame->minor = function_is_minor(frame->function, frame->file);
	}
	*stack = (struct result_stack){.frames = frames,
				       .count = (u32)shown,
				       .hidden = (u32)(row->count - shown),
				       .number = row->key};
	return stack;
}

int ask_stacks(struct store *store, const u64 *keys, u32 depth, struct result *table,
	       struct err *err)
{
	u64 count = result_rows(table), columns = table->columns.count;
	struct stack_book book = {0};
	const struct key_question ask_stacks = {
		.store = store,
		.columns = "stack, functions, files, lines, modules, offsets, inlined",
		.table = "stacks",
		.key = "stack",
		.rest = " LIMIT 1 BY stack",
		.fields = 7,
		.row = take_stack,
		.self = &book};
	const struct key_question ask_names = {.store = store,
					       .columns = "name, text",
					       .table = "names",
					       .key = "name",
					       .rest = " LIMIT 1 BY name",
					       .fields = 2,
					       .row = take_name,
					       .self = &book};
	int status = question_keys(&ask_stacks, keys, count, err);

	unique_keys(&book);
	if (status == 0)
		status = question_keys(&ask_names, book.wanted.data, book.wanted.count, err);
	for (u64 i = 0; i < count && status == 0; i++) {
		const u64 *row = map_find(&book.by_key, keys[i]);

		if (row)
			table->cells.data[(i + 1) * columns - 1] = value_stack(
				show_stack(&book, &book.rows.data[*row - 1], depth, table));
	}
	vec_release(&book.rows);
	vec_release(&book.wanted);
	map_release(&book.by_key);
	map_release(&book.names);
	arena_release(&book.arena);
	return status;
}

void found_points_release(struct found_points *self)
{
	vec_release(&self->places);
	vec_release(&self->stacks);
}

static int take_runs(void *runs, char **fields, struct err *err)
{
	return map_put(runs, reply_number(fields[0]), reply_number(fields[1])) ? 0
									       : err_memory(err);
}

/* Only for points that are shown: to count the runs of all would take a set for each. */
static int count_runs(struct store *store, const struct fleet_query *query,
		      const struct found_points *found, struct map *runs, struct err *err)
{
	struct question filter = {.store = store};
	struct key_question ask = {.store = store,
				   .columns = "place, uniqExact(push)",
				   .table = "points",
				   .key = found->key,
				   .fields = 2,
				   .row = take_runs,
				   .self = runs};

	strbuf_add(&filter.sql, " AND ");
	ask_pushes(&filter, &query->filter);
	strbuf_add(&filter.sql, " GROUP BY place");
	ask.rest = strbuf_text(&filter.sql);
	filter.status = filter.sql.failed
				? err_memory(err)
				: question_keys(&ask, found->places.data, found->places.count, err);
	return question_end(&filter);
}

int ask_found(struct store *store, const struct fleet_query *query,
	      const struct found_points *found, struct result *table, struct err *err)
{
	u64 columns = table->columns.count, runs_column = 0;
	struct map runs = {0};
	int status = count_runs(store, query, found, &runs, err);

	while (runs_column < columns && strcmp(table->columns.data[runs_column].name, "runs") != 0)
		runs_column++;
	for (u64 i = 0; i < result_rows(table) && status == 0; i++) {
		const u64 *in = map_find(&runs, found->places.data[i]);

		table->cells.data[i * columns + runs_column] = value_number(in ? *in : 0);
	}
	if (status == 0 && found->places.count)
		status = ask_stacks(store, found->stacks.data, query->depth, table, err);
	map_release(&runs);
	return status;
}

struct result *ask_done(struct result *result, int status, struct err *err)
{
	if (status == 0 && (!result || result_failed(result)))
		status = err_memory_for(err, "the answer");
	if (status == 0)
		return result;
	result_free(result);
	return NULL;
}

struct value ask_hex(struct result *result, u64 number)
{
	return value_text(result_format(result, "%016llx", (unsigned long long)number));
}

struct value ask_copy(struct result *result, const char *text)
{
	return value_text(text ? result_copy(result, text) : NULL);
}

struct value ask_value(struct result *result, enum value_type type, const char *field)
{
	switch (type) {
	case VALUE_TEXT: return ask_copy(result, field);
	case VALUE_RATIO: return value_real(strtod(field, NULL));
	default: return value_number(reply_number(field));
	}
}
