/* SPDX-License-Identifier: MIT
 * A result as JSON.
 * Host. Locale-free: numbers are plain decimals. */
#include <string.h>

#include "show/render/fields.h"
#include "show/render/render.h"

static void put_frame(struct json *json, const struct result_frame *frame)
{
	put_object(json, NULL, NAME("function", frame->function), NAME("file", frame->file),
		   SOME("line", frame->line), NAME("module", frame->module),
		   FIELD("offset", frame->offset), FLAG("inlined", frame->inlined));
}

static void put_stack(struct json *json, const char *key, const struct result_stack *stack)
{
	json_open(json, key, '[');
	for (u32 i = 0; i < stack->count; i++)
		put_frame(json, &stack->frames[i]);
	json_close(json, ']');
}

static void put_value(struct json *json, const char *key, enum value_type type,
		      const struct value *value)
{
	if (!value->known) {
		json_null(json, key);
		return;
	}
	switch (type) {
	case VALUE_TEXT:
	case VALUE_PATH: json_text(json, key, value->text); break;
	case VALUE_SHARE:
	case VALUE_RATIO:
	case VALUE_CHANGE: json_real(json, key, value->real); break;
	case VALUE_SIGNED:
	case VALUE_DELTA:
	case VALUE_DELTA_BYTES:
	case VALUE_DELTA_NS: json_signed(json, key, value->integer); break;
	case VALUE_BOOL: json_bool(json, key, value->number != 0); break;
	case VALUE_STACK: put_stack(json, key, value->stack); break;
	case VALUE_COUNT:
	case VALUE_BYTES:
	case VALUE_NS:
	case VALUE_ID:
	case VALUE_ADDRESS: json_number(json, key, value->number); break;
	}
}

struct hex_text hex_text(u64 address)
{
	struct hex_text hex;

	snprintf(hex.text, sizeof hex.text, "0x%llx", (unsigned long long)address);
	return hex;
}

void put_number_item(struct json *json, const void *numbers, u64 i)
{
	json_number(json, NULL, ((const u64 *)numbers)[i]);
}

void put_text_item(struct json *json, const void *texts, u64 i)
{
	json_text(json, NULL, ((const char *const *)texts)[i]);
}

void put_whole_result(struct json *json, const char *name, const void *result)
{
	render_json_value(json, name, result);
}

static void put_field(struct json *json, const struct named_value *field)
{
	bool list = field->shape == FIELD_LIST;

	if (field->shape == FIELD_ABSENT)
		return;
	if (field->shape == FIELD_VALUE || !field->value.known) {
		put_value(json, field->name, field->type, &field->value);
		return;
	}
	if (field->shape == FIELD_WRITTEN) {
		field->write(json, field->name, field->list);
		return;
	}
	json_open_flat(json, field->name, list ? '[' : '{');
	if (!list)
		render_json_fields(json, field->members, field->count);
	for (u64 i = 0; list && i < field->count; i++)
		field->put(json, field->list, i);
	json_close(json, list ? ']' : '}');
}

void render_json_fields(struct json *json, const struct named_value *fields, u64 count)
{
	for (u64 i = 0; i < count; i++)
		put_field(json, &fields[i]);
}

static void put_cells(struct json *json, const struct result_column *columns, u64 count,
		      const struct value *row)
{
	for (u64 i = 0; i < count; i++)
		put_value(json, columns[i].name, columns[i].type, &row[i]);
}

void render_json_rows(struct json *json, const char *key, const struct result *table)
{
	json_open(json, key, '[');
	for (u64 row = 0; row < result_rows(table); row++) {
		json_open(json, NULL, '{');
		put_cells(json, table->columns.data, table->columns.count,
			  result_cell(table, row, 0));
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_columns(struct json *json, const char *key, const struct result *result)
{
	json_open(json, key, '[');
	for (u64 i = 0; i < result->columns.count; i++) {
		const struct result_column *column = &result->columns.data[i];

		put_object(json, NULL, FIELD("name", column->name),
			   FIELD("unit", value_unit(column->type)),
			   FIELD("meaning", column->meaning));
	}
	json_close(json, ']');
}

/* Names with dots are paths: "peak.bytes" is the field bytes of the object peak, which is open
 * as long as names with its prefix follow each other. */
struct nest {
	struct json *json;
	char group[64]; /* prefix of the object that is open, "" = none */
};

/* Opens or closes the group of name; returns the key inside it. */
static const char *nest_enter(struct nest *self, const char *name)
{
	const char *dot = strchr(name, '.');
	size_t length = dot ? (size_t)(dot - name) : 0;

	if (length >= sizeof self->group)
		return name;
	if (*self->group &&
	    (strlen(self->group) != length || strncmp(self->group, name, length) != 0)) {
		json_close(self->json, '}');
		*self->group = 0;
	}
	if (!dot)
		return name;
	if (!*self->group) {
		memcpy(self->group, name, length);
		self->group[length] = 0;
		json_open(self->json, self->group, '{');
	}
	return dot + 1;
}

static void nest_leave(struct nest *self)
{
	if (*self->group)
		json_close(self->json, '}');
	*self->group = 0;
}

static void list_caveats(struct json *json, const struct result *result)
{
	for (u64 i = 0; i < result->caveats.count; i++)
		json_text(json, NULL, result->caveats.data[i]);
	for (u64 i = 0; i < result->parts.count; i++)
		list_caveats(json, result->parts.data[i]);
}

static void put_caveats(struct json *json, const struct result *result)
{
	json_open(json, "caveats", '[');
	list_caveats(json, result);
	json_close(json, ']');
}

static void put_record(struct json *json, const struct result *record)
{
	struct nest nest = {.json = json};

	for (u64 i = 0; i < record->columns.count; i++) {
		const struct result_column *column = &record->columns.data[i];

		put_value(json, nest_enter(&nest, column->name), column->type,
			  result_cell(record, 0, i));
	}
	for (u64 i = 0; i < record->parts.count; i++) {
		const struct result *part = record->parts.data[i];
		const char *key = nest_enter(&nest, part->name);

		if (part->shape == RESULT_TABLE) {
			render_json_rows(json, key, part);
		} else {
			json_open(json, key, '{');
			put_record(json, part);
			json_close(json, '}');
		}
	}
	nest_leave(&nest);
}

static void put_schema(struct json *json, const struct result *record)
{
	json_open(json, "schema", '{');
	put_columns(json, record->name, record);
	for (u64 i = 0; i < record->parts.count; i++)
		put_columns(json, record->parts.data[i]->name, record->parts.data[i]);
	json_close(json, '}');
}

void render_json_value(struct json *json, const char *key, const struct result *result)
{
	json_open(json, key, '{');
	if (result->shape == RESULT_RECORD) {
		put_record(json, result);
		put_caveats(json, result);
		put_schema(json, result);
	} else {
		json_text(json, "title", result->title);
		put_columns(json, "columns", result);
		render_json_rows(json, "rows", result);
		put_caveats(json, result);
	}
	json_close(json, '}');
}

void render_json(const struct result *result, FILE *out)
{
	struct json json = {.out = out};

	render_json_value(&json, NULL, result);
	json_end(&json);
}

void render_json_line(const struct result_column *columns, u64 count, const struct value *row,
		      FILE *out)
{
	struct json json = {.out = out};

	json_open_flat(&json, NULL, '{');
	put_cells(&json, columns, count, row);
	json_close(&json, '}');
	json_end(&json);
}
