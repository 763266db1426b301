/* SPDX-License-Identifier: MIT
 * A result as comma-separated values.
 * Host. Numbers are raw, as in JSON. */
#include <inttypes.h>
#include <string.h>

#include "host/base/text.h"
#include "show/render/render.h"

/* There are no escapes: characters that are not harmless are lost. Ends of lines may stand inside
 * quotes. */
static void put_text(FILE *out, const char *text)
{
	bool quoted = text[strcspn(text, ",\"\r\n")];
	const char *as_is = text;

	if (quoted)
		fputc('"', out);
	while (*text) {
		u32 length = utf8_length(text);
		bool kept = *text == '\n' || *text == '\t' || text_is_harmless(text, length);

		if (kept && *text != '"') {
			text += length;
			continue;
		}
		fwrite(as_is, 1, (size_t)(text - as_is), out);
		fputs(kept ? "\"\"" : "?", out);
		text += length ? length : 1;
		as_is = text;
	}
	fputs(as_is, out);
	if (quoted)
		fputc('"', out);
}

/* Innermost first, separated by " < ". */
static void put_stack(FILE *out, const struct result_stack *stack)
{
	struct strbuf text = {0};

	for (u32 i = 0; i < stack->count; i++) {
		const struct result_frame *frame = &stack->frames[i];

		strbuf_add(&text, i ? " < " : "");
		if (*frame->function)
			strbuf_add(&text, frame->function);
		else
			strbuf_addf(&text, "%s+0x%" PRIx64, frame->module, frame->offset);
		if (*frame->file)
			strbuf_addf(&text, " %s:%u", frame->file, frame->line);
	}
	put_text(out, strbuf_text(&text));
	strbuf_release(&text);
}

static void put_value(FILE *out, enum value_type type, const struct value *value)
{
	if (!value->known)
		return;
	switch (type) {
	case VALUE_TEXT:
	case VALUE_PATH: put_text(out, value->text); break;
	case VALUE_SHARE:
	case VALUE_RATIO:
	case VALUE_CHANGE: fprintf(out, "%.9g", value->real); break;
	case VALUE_SIGNED:
	case VALUE_DELTA:
	case VALUE_DELTA_BYTES:
	case VALUE_DELTA_NS: fprintf(out, "%" PRId64, value->integer); break;
	case VALUE_BOOL: fputs(value->number ? "true" : "false", out); break;
	case VALUE_STACK: put_stack(out, value->stack); break;
	case VALUE_ADDRESS: fprintf(out, "0x%" PRIx64, value->number); break;
	case VALUE_COUNT:
	case VALUE_BYTES:
	case VALUE_NS:
	case VALUE_ID: fprintf(out, "%" PRIu64, value->number); break;
	}
}

void render_csv_row(const struct result_column *columns, u64 count, const struct value *row,
		    FILE *out)
{
	for (u64 i = 0; i < count; i++) {
		if (row)
			put_value(out, columns[i].type, &row[i]);
		else
			put_text(out, columns[i].name);
		fputs(i + 1 < count ? "," : "\n", out);
	}
}

static void put_table(FILE *out, const struct result *table)
{
	u64 columns = table->columns.count;

	render_csv_row(table->columns.data, columns, NULL, out);
	for (u64 row = 0; row < result_rows(table); row++)
		render_csv_row(table->columns.data, columns, result_cell(table, row, 0), out);
}

static void put_record(FILE *out, const struct result *record)
{
	fputs("field,value,unit,meaning\n", out);
	for (u64 i = 0; i < record->columns.count; i++) {
		const struct result_column *column = &record->columns.data[i];

		put_text(out, column->name);
		fputc(',', out);
		put_value(out, column->type, result_cell(record, 0, i));
		fprintf(out, ",%s,", value_unit(column->type));
		put_text(out, column->meaning ? column->meaning : "");
		fputs("\n", out);
	}
	for (u64 i = 0; i < record->caveats.count; i++) {
		fputs("caveat,", out);
		put_text(out, record->caveats.data[i]);
		fputs(",text,\n", out);
	}
}

void render_csv(const struct result *result, FILE *out)
{
	bool first = true;

	if (result->columns.count) {
		if (result->shape == RESULT_RECORD)
			put_record(out, result);
		else
			put_table(out, result);
		first = false;
	}
	for (u64 i = 0; i < result->parts.count; i++) {
		if (!first)
			fputs("\n", out);
		render_csv(result->parts.data[i], out);
		first = false;
	}
}
