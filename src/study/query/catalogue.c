/* SPDX-License-Identifier: MIT
 * The words of the query language.
 * Host. */
#include "study/query/catalogue.h"

#include <stdio.h>
#include <string.h>

#include "host/base/options.h"

const struct query_field query_fields[FIELDS] = {
#define QUERY_FIELD_ROW(id, name_, type_, level_, needs_, join_, meaning_)                         \
	[F_##id] = {name_, FIELD_##type_, LEVEL_##level_, needs_, JOIN_##join_, meaning_},
	QUERY_FIELDS(QUERY_FIELD_ROW)
#undef QUERY_FIELD_ROW
};

bool field_find(const char *name, enum field *field)
{
	if (strcmp(name, "class") == 0) /* its former name */
		name = "leak_kind";
	for (u32 i = 0; i < FIELDS; i++) {
		if (strcmp(query_fields[i].name, name) != 0)
			continue;
		*field = (enum field)i;
		return true;
	}
	return false;
}

const char *field_type_name(enum field_type type)
{
	static const char *const names[] = {"number",  "bytes",     "time", "share", "number",
					    "address", "yes or no", "text", "texts", "colour"};

	return names[type];
}

const char *field_level_name(enum field_level level)
{
	static const char *const names[] = {"chunk", "point", "free stack", "type", "thread"};

	return names[level];
}

const struct query_box query_boxes[BOXES] = {
	[SOURCE_ALL] = {"all", "Input", 0, 1, "", "all", "all chunks of the trace"},
	[SOURCE_AT] = {"at", "Input", 0, 1, "time", "at 2s",
		       "chunks live at a moment: a time, peak or end"},
	[BOX_PASS] = {"pass", "Input", 1, 1, "", "NAME",
		      "output of another box, under a second name"},
	[SOURCE_TRACE] = {"trace", "Input", 0, 1, "name", "trace \"base\"",
			  "all chunks of one of the open traces"},
	[SOURCE_UNION] = {"union", "Set", 2, 1, "", "union(all, at peak)", "rows of both"},
	[SOURCE_DIFF] = {"diff", "Set", 2, 1, "", "diff(at 2s, at 1s)",
			 "rows of the first that are not in the second"},
	[SOURCE_COMMON] = {"common", "Set", 2, 1, "", "common(at 1s, at 2s)",
			   "rows of the first that are also in the second"},
	[BOX_STAGES + STAGE_WHERE] = {"where", "Filter", 1, 1, "expr", "where size >= 1KiB",
				      "keeps the rows for which the expression is true"},
	[BOX_STAGES +
		STAGE_COLOR] = {"color", "Colour", 1, 1, "[color] [if] [alternate] [by]",
				"color #3b6fb6 if type ~ /^std::/",
				"colours the rows: one colour, two in turn, or one per value"},
	[BOX_STAGES + STAGE_JOIN] = {"join", "Transform", 1, 1, "keys", "join type",
				     "merges all rows with the same values into one"},
	[BOX_STAGES + STAGE_UNIFY] = {"unify", "Transform", 1, 1, "until", "unify until 1MiB",
				      "prunes the leaves of the call tree until each has that many "
				      "bytes"},
	[BOX_STAGES + STAGE_SORT] = {"sort", "Transform", 1, 1, "field [desc]", "sort size desc",
				     "sorts the rows"},
	[BOX_STAGES + STAGE_LIMIT] = {"limit", "Transform", 1, 1, "count", "limit 10",
				      "keeps the first rows"},
	[BOX_STAGES + STAGE_AGG] = {"agg", "Calculate", 1, 1, "calls", "agg sum(size), p99(life)",
				    "computes numbers over all rows, or over each joined row"},
	[BOX_STAGES + STAGE_HIDE] = {"hide", "Transform", 1, 1, "pattern", "hide \"std::\"",
				     "removes frames from stacks"},
	[BOX_STAGES + STAGE_SHOW] = {"show", "Output", 1, 1, "view", "show flame",
				     "selects the view that shows the result"},
	[BOX_SCORE] = {"score", "Calculate", 0, 0, "name expr", "let score churn = chunks / life",
		       "a user-defined metric, usable as a field"},
	[BOX_CATEGORY] = {"category", "Filter", 0, 0, "name expr",
			  "let category strings = type ~ \"basic_string\"",
			  "a user-defined category, for the field category"},
};

const char *const agg_names[AGGS] = {"count", "sum", "avg", "min", "max", "p"};

const char *const view_names[] = {"text",   "csv",    "flame", "timeline", "map",
				  "points", "chunks", "types", "threads",  NULL};

const struct query_color color_names[] = {
	{"red", 0xd02d2a},   {"orange", 0xe69f00}, {"yellow", 0xf0e442}, {"green", 0x009e73},
	{"blue", 0x3b6fb6},  {"cyan", 0x56b4e9},   {"purple", 0x9467bd}, {"pink", 0xcc79a7},
	{"brown", 0x8c564b}, {"gray", 0x999999},   {"black", 0x000000},  {"white", 0xffffff},
	{NULL, 0},
};

bool color_find(const char *name, u32 *rgb)
{
	for (const struct query_color *color = color_names; color->name; color++)
		if (strcmp(color->name, name) == 0) {
			*rgb = color->rgb;
			return true;
		}
	return false;
}

const u32 color_cycle[COLOR_CYCLE] = {0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7, 0x56b4e9, 0xd55e00,
				      0xf0e442, 0x9467bd, 0x8c564b, 0x17becf, 0xbcbd22, 0x7f7f7f};

void nearest_try(struct nearest *self, const char *candidate)
{
	u32 distance = word_distance(self->word, candidate);
	u32 most = strlen(self->word) <= 3 ? 1 : 2;

	if (distance > most || (self->best && distance >= self->distance))
		return;
	self->best = candidate;
	self->distance = distance;
}

static const char *const words[] = {"let",   "score", "category", "all",   "at",        "trace",
				    "union", "diff",  "common",   "where", "color",     "join",
				    "unify", "until", "sort",     "asc",   "desc",      "limit",
				    "agg",   "hide",  "show",     "if",    "alternate", "by",
				    "in",    "and",   "or",       "not",   "true",      "false",
				    "peak",  "end",   "known",    "min",   "max",       "log2",
				    NULL};

bool word_is_reserved(const char *word)
{
	enum field field;

	for (u32 i = 0; words[i]; i++)
		if (strcmp(words[i], word) == 0)
			return true;
	return field_find(word, &field);
}

/* ---- for readers ---- */

static const char *needs_text(u32 needs)
{
	if (needs & NEEDS_ACCESS)
		return "accesses";
	if (needs & NEEDS_SCAN)
		return "leak scan";
	if (needs & NEEDS_OWNERS)
		return "owners";
	return "";
}

struct result *query_fields_result(void)
{
	static const struct result_column columns[] = {
		COLUMN("name", "field", VALUE_TEXT, "name of the field"),
		COLUMN("type", "type", VALUE_TEXT, "kind of value"),
		COLUMN("level", "of", VALUE_TEXT, "to what it belongs"),
		COLUMN("needs", "needs", VALUE_TEXT, "what must have been recorded"),
		COLUMN("join", NULL, VALUE_TEXT, "its value for a row of several chunks"),
		COLUMN("meaning", "meaning", VALUE_TEXT, "meaning"),
	};
	static const char *const joins[] = {"same", "sum", "min", "max"};
	struct result *result = result_new(RESULT_TABLE, "fields", "Fields of a row");

	if (!result)
		return NULL;
	result_set_columns(result, columns, sizeof columns / sizeof *columns);
	for (u32 i = 0; i < FIELDS; i++) {
		const struct query_field *field = &query_fields[i];
		struct value *row = result_add_row(result);

		if (!row)
			break;
		row[0] = value_text(field->name);
		row[1] = value_text(field_type_name(field->type));
		row[2] = value_text(field_level_name(field->level));
		row[3] = value_text(needs_text(field->needs));
		row[4] = value_text(joins[field->join]);
		row[5] = value_text(field->meaning);
	}
	return result;
}

struct result *query_boxes_result(void)
{
	static const struct result_column columns[] = {
		COLUMN("kind", "box", VALUE_TEXT, "kind of the box"),
		COLUMN("group", "group", VALUE_TEXT, "group in a palette"),
		COLUMN("inputs", "in", VALUE_COUNT, "number of inputs"),
		COLUMN("outputs", "out", VALUE_COUNT, "whether it has an output"),
		COLUMN("arguments", "arguments", VALUE_TEXT, "names of its arguments"),
		COLUMN("example", "example", VALUE_TEXT, "example in the query language"),
		COLUMN("help", "meaning", VALUE_TEXT, "effect"),
	};
	struct result *result = result_new(RESULT_TABLE, "boxes", "Boxes of filter graphs");

	if (!result)
		return NULL;
	result_set_columns(result, columns, sizeof columns / sizeof *columns);
	for (u32 i = 0; i < BOXES; i++) {
		const struct query_box *box = &query_boxes[i];
		struct value *row = result_add_row(result);

		if (!row)
			break;
		row[0] = value_text(box->kind);
		row[1] = value_text(box->group);
		row[2] = value_number(box->inputs);
		row[3] = value_number(box->outputs);
		row[4] = value_text(box->arguments);
		row[5] = value_text(box->example);
		row[6] = value_text(box->help);
	}
	return result;
}
