/* SPDX-License-Identifier: MIT
 * One rendering of a result for each reader: people, programs, spreadsheets. */
#ifndef SHOW_RENDER_RENDER_H
#define SHOW_RENDER_RENDER_H

#include <stdio.h>

#include "host/base/strbuf.h"
#include "study/result/result.h"

struct text_style {
	u32 width;   /* columns of the terminal; 0 = no limit */
	bool colour; /* may use bold and dim */
};

/* Aligned columns, human units, stacks below their rows. Control characters in names that come from
 * a trace are shown as '?', so that no trace can drive the terminal. */
void render_text(const struct result *result, const struct text_style *style, FILE *out);

/* Raw numbers. A table: {"title", "columns": [{name, unit, meaning}], "rows": [{…}], "caveats"}.
 * A record: its fields, nested at the dots of their names; parts under their names, tables as
 * arrays of rows; "caveats"; and "schema", which has the columns of the record and of each part
 * by name. */
void render_json(const struct result *result, FILE *out);

struct json;

/* The same as one value of a document: with a key in an object, with NULL in an array. */
void render_json_value(struct json *json, const char *key, const struct result *result);

/* The rows of a table as an array of objects, without their columns. */
void render_json_rows(struct json *json, const char *key, const struct result *table);

/* A header line and rows, raw numbers, quoted as RFC 4180 says, lines end in \n. A record is one
 * line per field: field, value, unit, meaning. Parts follow after an empty line each. */
void render_csv(const struct result *result, FILE *out);

/* One line of a table that is too long to be kept: the names of the columns if row is NULL. And one
 * row as a JSON object in one line. */
void render_csv_row(const struct result_column *columns, u64 count, const struct value *row,
		    FILE *out);
void render_json_line(const struct result_column *columns, u64 count, const struct value *row,
		      FILE *out);

/* One value as text does it: "1.5 MiB", "12,345", "yes"; "-" if unknown. Not for stacks. */
void value_format(enum value_type type, const struct value *value, struct strbuf *out);

#endif
