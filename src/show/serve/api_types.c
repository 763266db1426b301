/* SPDX-License-Identifier: MIT
 * Types over HTTP, alone or beside those of another trace. Runs on threads of the server. */
#include <string.h>

#include "study/analysis/types/result.h"
#include "show/render/render.h"
#include "show/serve/api.h"

enum { ROWS_MAX = 500 };

static struct result *types_result(struct study *trace, const struct types_query *query,
				   const char *fields, bool guess, struct err *err)
{
	struct type_query ask = {.source = &trace->stacks, .guess = guess};
	struct type_cascade types = {0};
	struct result *result;

	if (type_cascade_init(&types, &ask, err) < 0)
		return NULL;
	result = fields ? analyse_fields(&types, fields, err) : analyse_types(&types, query, err);
	type_cascade_release(&types);
	return result;
}

/* ---- types beside those of another trace ---- */

enum { TYPE_NUMBERS = 4 };
static const char *const type_numbers[TYPE_NUMBERS] = {"chunks", "bytes", "at_peak_bytes",
						       "kept_bytes"};

/* Where the numbers are in a table of types. */
struct types_side {
	const struct result *table; /* NULL = there is none */
	u64 name, number[TYPE_NUMBERS];
};

static u64 column_find(const struct result *table, const char *name)
{
	u64 i = 0;

	while (i < table->columns.count && strcmp(table->columns.data[i].name, name) != 0)
		i++;
	return i;
}

static struct types_side types_table(const struct result *result)
{
	struct types_side self = {0};

	for (u64 i = 0; i < result->parts.count && !self.table; i++)
		if (strcmp(result->parts.data[i]->name, "types") == 0)
			self.table = result->parts.data[i];
	if (!self.table)
		return self;
	self.name = column_find(self.table, "type");
	for (u32 i = 0; i < TYPE_NUMBERS; i++)
		self.number[i] = column_find(self.table, type_numbers[i]);
	return self;
}

static const char *type_name(const struct types_side *self, u64 row)
{
	const struct value *value = result_cell(self->table, row, self->name);

	return value->known ? value->text : "";
}

enum { NO_ROW = -1 };

static u64 type_number(const struct types_side *self, i64 row, u32 number)
{
	return row == NO_ROW ? 0 : result_cell(self->table, (u64)row, self->number[number])->number;
}

struct type_pairs {
	struct types_side sides[2];
	struct map *by_name; /* row of the base + 1; 0 = it stands beside one of ours */
};

/* A row of ours beside that of the base; one of them may be NO_ROW. */
static void put_pair(struct json *json, const struct type_pairs *self, i64 ours, i64 theirs)
{
	struct named_value base[TYPE_NUMBERS], delta[TYPE_NUMBERS];

	for (u32 i = 0; i < TYPE_NUMBERS; i++) {
		u64 now = type_number(&self->sides[0], ours, i),
		    then = type_number(&self->sides[1], theirs, i);

		base[i] = FIELD(type_numbers[i], then);
		delta[i] = FIELD(type_numbers[i], (double)now - (double)then);
	}
	put_object(json, NULL,
		   NAME("type", ours == NO_ROW ? type_name(&self->sides[1], (u64)theirs)
					       : type_name(&self->sides[0], (u64)ours)),
		   field_if(theirs != NO_ROW, field_object("base", base, TYPE_NUMBERS)),
		   field_object("delta", delta, TYPE_NUMBERS));
}

/* A row for each of ours, in their order, and then those that only the base has. */
static void put_type_pair(struct json *json, const void *list, u64 i)
{
	const struct type_pairs *self = list;
	u64 own_rows = result_rows(self->sides[0].table);
	bool is_own = i < own_rows;
	u64 row = is_own ? i : i - own_rows;
	u64 *found = map_find(self->by_name,
			      hash_text(HASH_START, type_name(&self->sides[!is_own], row)));

	if (!is_own && found && *found == row + 1)
		put_pair(json, self, NO_ROW, (i64)row);
	if (!is_own)
		return;
	put_pair(json, self, (i64)row, found ? (i64)*found - 1 : NO_ROW);
	if (found)
		*found = 0;
}

static void reply_type_pairs(struct call *call, const struct result *ours,
			     const struct result *theirs)
{
	struct map by_name = {0};
	struct type_pairs pairs = {{types_table(ours), types_table(theirs)}, &by_name};
	u64 base_rows = result_rows(pairs.sides[1].table);

	for (u64 i = 0; i < base_rows; i++)
		map_put(&by_name, hash_text(HASH_START, type_name(&pairs.sides[1], i)), i + 1);
	reply_fields(call, false,
		     MEMBERS(RESULT("data", ours),
			     LIST("base", result_rows(pairs.sides[0].table) + base_rows,
				  put_type_pair, &pairs)));
	map_release(&by_name);
}

static struct result *types_of(struct study *trace, const struct types_query *query, bool guess,
			       struct err *err)
{
	const struct type_list *list = guess ? study_type_list(trace, err) : NULL;
	struct result *result;

	if (guess)
		return list ? type_list_result(list, query, err) : NULL;
	pthread_mutex_lock(&trace->analysis_lock);
	result = types_result(trace, query, NULL, guess, err);
	pthread_mutex_unlock(&trace->analysis_lock);
	return result;
}

/* All types of the base: those that are not among our first ones are no news. */
static void reply_types_beside(struct call *call, const struct types_query *query, bool guess)
{
	struct types_query all = *query;
	struct err err = {0};
	struct result *ours, *theirs;

	all.top = all.offset = 0;
	ours = types_of(call->trace, &all, guess, &err);
	theirs = ours ? types_of(call->base_part, &all, guess, &err) : NULL;
	if (!theirs || result_failed(ours) || result_failed(theirs))
		call_fail(call, &err);
	else
		reply_type_pairs(call, ours, theirs);
	result_free(ours);
	result_free(theirs);
}

static bool types_read(struct call *call, struct types_query *query, bool *guess)
{
	const char *sort = call_text(call, "sort"), *fold = call_text(call, "fold");

	if (sort && !types_by_parse(sort + (*sort == '-'), &query->by))
		return call_bad(call, "sort", "peak, bytes, count or kept");
	query->fold = fold && strcmp(fold, "template") == 0;
	return call_number(call, "top", 0, ROWS_MAX, &query->top) &&
	       call_number(call, "offset", 0, UINT32_MAX, &query->offset) &&
	       call_u32(call, "spark", 0, TYPE_BINS, &query->spark) &&
	       call_bool(call, "guess", guess);
}

/* How many rows there are if nothing is cut. */
static u64 types_count(struct study *trace, const struct types_query *query, bool guess)
{
	struct types_query all = {.by = query->by,
				  .fold = query->fold,
				  .thresholds = query->thresholds};
	struct err err = {0};
	const struct type_list *list = guess && !query->fold ? study_type_list(trace, &err) : NULL;
	struct result *result = list ? NULL : types_of(trace, &all, guess, &err);
	const struct result *table = result ? types_table(result).table : NULL;
	u64 count = list ? list->rows.count : table ? result_rows(table) : 0;

	result_free(result);
	return count;
}

static void reply_types(struct call *call, const struct types_query *query, bool guess)
{
	struct err err = {0};
	struct result *result = types_of(call->trace, query, guess, &err);

	if (result) {
		call_rows_total(call, types_count(call->trace, query, guess));
		call->truncated = query->top && query->offset + query->top < call->rows_total;
	}
	reply_result(call, result, &err);
}

void api_types(struct call *call)
{
	struct types_query query = {.top = 100, .thresholds = THRESHOLDS_DEFAULT};
	bool guess = true;

	if (!types_read(call, &query, &guess) || !call_base_part(call))
		return;
	if (call_is_compared(call))
		reply_types_beside(call, &query, guess);
	else
		reply_types(call, &query, guess);
}

void api_fields(struct call *call)
{
	const char *type = call_text(call, "type");
	struct result *result;
	struct err err = {0};

	if (!type) {
		call_bad(call, "type", "the name of a type");
		return;
	}
	pthread_mutex_lock(&call->trace->analysis_lock);
	result = types_result(call->trace, NULL, type, true, &err);
	pthread_mutex_unlock(&call->trace->analysis_lock);
	reply_result(call, result, &err);
}
