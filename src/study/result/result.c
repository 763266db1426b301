/* SPDX-License-Identifier: MIT
 * Builds results. Host. A failure for want of memory sticks to the result, so that builders need
 * not ask at each step. */
#include "study/result/result.h"

#include <inttypes.h>
#include <string.h>

struct result *result_new(enum result_shape shape, const char *name, const char *title)
{
	struct result *self = calloc(1, sizeof *self);

	if (!self)
		return NULL;
	self->shape = shape;
	self->name = name;
	self->title = title;
	return self;
}

void result_free(struct result *self)
{
	if (!self)
		return;
	for (u64 i = 0; i < self->parts.count; i++)
		result_free(self->parts.data[i]);
	vec_release(&self->parts);
	vec_release(&self->columns);
	vec_release(&self->cells);
	vec_release(&self->caveats);
	arena_release(&self->arena);
	free(self);
}

void result_set_columns(struct result *self, const struct result_column *columns, u64 count)
{
	for (u64 i = 0; i < count; i++)
		if (!vec_push(&self->columns, columns[i]))
			self->failed = true;
}

struct result *result_new_table(const char *name, const char *title,
				const struct result_column *columns, u64 count)
{
	struct result *self = result_new(RESULT_TABLE, name, title);

	if (self)
		result_set_columns(self, columns, count);
	return self;
}

struct value *result_add_row(struct result *self)
{
	u64 first = self->cells.count;

	if (self->failed || !vec_extend(&self->cells, first + self->columns.count)) {
		self->failed = true;
		return NULL;
	}
	return self->cells.data + first;
}

void result_add_field(struct result *self, struct result_column column, struct value value)
{
	if (!vec_push(&self->columns, column) || !vec_push(&self->cells, value))
		self->failed = true;
}

void result_add_part(struct result *self, struct result *part)
{
	if (part && vec_push(&self->parts, part))
		return;
	result_free(part);
	self->failed = true;
}

void result_put_row(struct result *self, const struct value *values, u64 count)
{
	struct value *row = result_add_row(self);

	if (row)
		memcpy(row, values, result_top(self->columns.count, count) * sizeof *values);
}

void result_add_more(struct result *self, u64 rows, u64 top)
{
	if (rows > result_top(rows, top))
		result_add_caveat(self, "%" PRIu64 " more: --top 0 shows all", rows - top);
}

const char *result_format(struct result *self, const char *format, ...)
{
	va_list arguments;
	const char *text;

	va_start(arguments, format);
	text = arena_vformat(&self->arena, format, arguments);
	va_end(arguments);
	self->failed |= !text;
	return text;
}

const char *result_take(struct result *self, struct strbuf *text)
{
	const char *copy = text->failed ? NULL : arena_copy(&self->arena, strbuf_text(text));

	strbuf_release(text);
	self->failed |= !copy;
	return copy;
}

struct value result_text(struct result *self, const char *text)
{
	return value_text(text ? result_copy(self, text) : NULL);
}

void result_add_caveat(struct result *self, const char *format, ...)
{
	va_list arguments;
	const char *text;

	va_start(arguments, format);
	text = arena_vformat(&self->arena, format, arguments);
	va_end(arguments);
	if (!text || !vec_push(&self->caveats, text))
		self->failed = true;
}

const char *result_copy(struct result *self, const char *text)
{
	const char *copy = arena_copy(&self->arena, text);

	self->failed |= !copy;
	return copy;
}

u64 result_rows(const struct result *self)
{
	return self->columns.count ? self->cells.count / self->columns.count : 0;
}

const struct value *result_cell(const struct result *self, u64 row, u64 column)
{
	return &self->cells.data[row * self->columns.count + column];
}

const struct value *result_field(const struct result *self, const char *name)
{
	for (u64 i = 0; i < self->columns.count && i < self->cells.count; i++)
		if (strcmp(self->columns.data[i].name, name) == 0)
			return &self->cells.data[i];
	return NULL;
}

bool result_failed(const struct result *self)
{
	if (self->failed)
		return true;
	for (u64 i = 0; i < self->parts.count; i++)
		if (result_failed(self->parts.data[i]))
			return true;
	return false;
}

const char *value_unit(enum value_type type)
{
	switch (type) {
	case VALUE_TEXT: return "text";
	case VALUE_PATH: return "path";
	case VALUE_COUNT: return "count";
	case VALUE_BYTES: return "bytes";
	case VALUE_NS: return "ns";
	case VALUE_SHARE: return "share";
	case VALUE_RATIO: return "ratio";
	case VALUE_SIGNED: return "number";
	case VALUE_DELTA: return "count";
	case VALUE_DELTA_BYTES: return "bytes";
	case VALUE_DELTA_NS: return "ns";
	case VALUE_CHANGE: return "share";
	case VALUE_ID: return "id";
	case VALUE_ADDRESS: return "address";
	case VALUE_BOOL: return "bool";
	case VALUE_STACK: return "stack";
	}
	return "";
}
