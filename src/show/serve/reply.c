/* SPDX-License-Identifier: MIT
 * Answers of the API: the envelope, results in it, columns. Runs on threads of the server. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/base64.h"
#include "host/base/clock.h"
#include "show/render/render.h"
#include "show/serve/reply.h"

/* ---- envelope ---- */

static void put_sums(struct json *json, const char *key, const struct selection *selection)
{
	put_object(json, key, FIELD("chunks", selection->chunks), FIELD("bytes", selection->bytes));
}

static void put_envelope(struct call *call, bool truncated)
{
	struct json *json = &call->json;

	put_fields(json, FIELD("v", 1), FIELD("epoch", call->epoch),
		   FIELD("took_us", (now_ns() - call->start_ns) / 1000));
	if (call->trace) {
		bool narrowed = call->match->route->flags & (ROUTE_SCOPE | ROUTE_PART);

		put_sums(json, "matched", narrowed ? &call->scope.selection : &call->whole->all);
		put_sums(json, "total", &call->whole->all);
	} else { /* not about chunks */
		json_null(json, "matched");
		json_null(json, "total");
	}
	if (call->has_rows_total)
		json_number(json, "rows_total", call->rows_total);
	json_bool(json, "truncated", truncated);
}

static bool body_begin(struct call *call)
{
	call->json = (struct json){0};
	call->write_start_ns = now_ns();
	call->answer->status = 200;
	call->json.out = open_memstream(&call->answer->body, &call->answer->body_bytes);
	return call->json.out || answer_refuse(call->answer, 500, "out of memory");
}

static void body_end(struct call *call)
{
	bool failed = ferror(call->json.out);

	if (fclose(call->json.out) != 0 || failed)
		answer_refuse(call->answer, 500, "out of memory");
	call->answer->write_ns += now_ns() - call->write_start_ns;
}

bool reply_begin(struct call *call, bool truncated)
{
	if (!body_begin(call))
		return false;
	json_open_flat(&call->json, NULL, '{');
	put_envelope(call, truncated);
	return true;
}

void reply_end(struct call *call)
{
	json_close(&call->json, '}');
	json_end(&call->json);
	body_end(call);
}

void reply_result(struct call *call, struct result *result, const struct err *err)
{
	if (!result) {
		call_fail(call, err);
		return;
	}
	if (result_failed(result)) {
		answer_refuse(call->answer, 500, "out of memory");
	} else if (reply_begin(call, call->truncated)) {
		render_json_value(&call->json, "data", result);
		reply_end(call);
	}
	result_free(result);
}

void reply_text(struct call *call, const char *type, char *text, size_t bytes)
{
	if (!text) {
		answer_refuse(call->answer, 500, "out of memory");
		return;
	}
	call->answer->status = 200;
	call->answer->type = type;
	call->answer->body = text;
	call->answer->body_bytes = bytes;
}

/* ---- columns ---- */

bool reply_columns_init(struct reply_columns *self, const struct reply_column *columns, u32 count,
			u64 rows)
{
	*self = (struct reply_columns){.column_count = count, .rows = rows};
	self->columns = arena_new_array(&self->arena, struct reply_column, count);
	/* Each row can bring three strings; 0 is the empty one. */
	self->strings = arena_new_array(&self->arena, const char *, 3 * rows + 1);
	if (!self->columns || !self->strings)
		return false;
	for (u32 i = 0; i < count; i++) {
		self->columns[i] = columns[i];
		self->columns[i].values = arena_new_array(&self->arena, double, rows + 1);
		if (!self->columns[i].values)
			return false;
	}
	self->strings[self->string_count++] = "";
	return true;
}

void reply_columns_release(struct reply_columns *self)
{
	map_release(&self->by_text);
	arena_release(&self->arena);
}

u32 reply_string(struct reply_columns *self, const char *text)
{
	u64 *index = text && *text ? map_at(&self->by_text, (u64)(uintptr_t)text) : NULL;

	if (!index)
		return 0;
	if (!*index && self->string_count < 3 * self->rows + 1) {
		self->strings[self->string_count++] = text;
		*index = self->string_count;
	}
	return *index ? (u32)*index - 1 : 0;
}

static bool is_real(enum column_type type) { return type == COLUMN_F32 || type == COLUMN_F64; }

void put_real(struct json *json, const char *key, double value)
{
	if (isfinite(value) && value == floor(value) && fabs(value) < 9007199254740992.0)
		json_signed(json, key, (i64)value);
	else
		json_real(json, key, value);
}

void put_reals(struct json *json, const char *key, const double *values, u64 count)
{
	json_open_flat(json, key, '[');
	for (u64 i = 0; i < count; i++)
		put_real(json, NULL, values[i]);
	json_close(json, ']');
}

void put_base64(struct json *json, const char *key, const u8 *bytes, u64 count)
{
	char *text = base64_text(bytes, count);

	json_text(json, key, text);
	free(text);
}

static void put_strings(struct json *json, const struct reply_columns *self)
{
	json_open_flat(json, "strings", '[');
	for (u32 i = 0; i < self->string_count; i++)
		json_text(json, NULL, self->strings[i]);
	json_close(json, ']');
}

static void send_json(struct call *call, const struct reply_columns *self, bool truncated,
		      void (*put_head)(struct call *call, const void *data), const void *data)
{
	struct json *json = &call->json;

	if (!reply_begin(call, truncated))
		return;
	json_open_flat(json, "data", '{');
	if (put_head)
		put_head(call, data);
	json_number(json, "rows", self->rows);
	json_open_flat(json, "columns", '{');
	for (u32 i = 0; i < self->column_count; i++)
		put_reals(json, self->columns[i].name, self->columns[i].values, self->rows);
	json_close(json, '}');
	put_strings(json, self);
	json_close(json, '}');
	reply_end(call);
}

static u32 type_bytes(enum column_type type)
{
	static const u8 bytes[] = {[COLUMN_U8] = 1,  [COLUMN_U16] = 2, [COLUMN_U32] = 4,
				   [COLUMN_I32] = 4, [COLUMN_F32] = 4, [COLUMN_F64] = 8};

	return bytes[type];
}

static const char *type_name(enum column_type type)
{
	static const char *const names[] = {"u8", "u16", "u32", "i32", "f32", "f64"};

	return names[type];
}

static u64 padded(u64 bytes) { return (bytes + 7) / 8 * 8; }

/* All hosts of ours are little-endian, and so is the format. */
static void write_value(FILE *out, enum column_type type, double value)
{
	u32 whole = is_real(type) || !(value >= 0) ? 0 : (u32)value;
	i32 integer = type == COLUMN_I32 ? (i32)value : 0;
	float single = (float)value;

	switch (type) {
	case COLUMN_U8:
	case COLUMN_U16:
	case COLUMN_U32: fwrite(&whole, 1, type_bytes(type), out); break;
	case COLUMN_I32: fwrite(&integer, 1, sizeof integer, out); break;
	case COLUMN_F32: fwrite(&single, 1, sizeof single, out); break;
	case COLUMN_F64: fwrite(&value, 1, sizeof value, out); break;
	}
}

static void write_padding(FILE *out, u64 bytes)
{
	for (u64 i = bytes; i < padded(bytes); i++)
		fputc(0, out);
}

static void put_header(struct call *call, const struct reply_columns *self, bool truncated,
		       void (*put_head)(struct call *call, const void *data), const void *data)
{
	struct json *json = &call->json;
	u64 offset = 0;

	json_open_flat(json, NULL, '{');
	put_envelope(call, truncated);
	if (put_head)
		put_head(call, data);
	json_number(json, "rows", self->rows);
	json_open_flat(json, "columns", '[');
	for (u32 i = 0; i < self->column_count; i++) {
		put_object(json, NULL, FIELD("n", self->columns[i].name),
			   FIELD("t", type_name(self->columns[i].type)), FIELD("o", offset),
			   FIELD("l", self->rows));
		offset = padded(offset + self->rows * type_bytes(self->columns[i].type));
	}
	json_close(json, ']');
	put_strings(json, self);
	json_close(json, '}');
}

static void send_binary(struct call *call, const struct reply_columns *self, bool truncated,
			void (*put_head)(struct call *call, const void *data), const void *data)
{
	char *header = NULL;
	size_t header_bytes = 0;
	u32 length;
	FILE *out;

	call->json = (struct json){.out = open_memstream(&header, &header_bytes)};
	if (!call->json.out) {
		answer_refuse(call->answer, 500, "out of memory");
		return;
	}
	put_header(call, self, truncated, put_head, data);
	fclose(call->json.out);
	if (!header || !body_begin(call)) {
		free(header);
		return;
	}
	call->answer->type = "application/vnd.heapwise.columns";
	out = call->json.out;
	length = (u32)header_bytes;
	fwrite("HWC1", 1, 4, out);
	fwrite(&length, 1, sizeof length, out);
	fwrite(header, 1, header_bytes, out);
	write_padding(out, 8 + header_bytes);
	for (u32 i = 0; i < self->column_count; i++) {
		for (u64 row = 0; row < self->rows; row++)
			write_value(out, self->columns[i].type, self->columns[i].values[row]);
		write_padding(out, self->rows * type_bytes(self->columns[i].type));
	}
	free(header);
	body_end(call);
}

bool call_wants_columns(const struct call *call)
{
	const char *format = call_text(call, "format");

	return format ? strcmp(format, "columns") == 0
		      : header_has(call->request->accept, "application/vnd.heapwise.columns");
}

void reply_columns_send(struct call *call, struct reply_columns *self, bool truncated,
			void (*put_head)(struct call *call, const void *data), const void *data)
{
	const char *format = call_text(call, "format");
	bool binary = call_wants_columns(call);

	if (format && !binary && strcmp(format, "json") != 0)
		call_bad(call, "format", "json or columns");
	else if (binary)
		send_binary(call, self, truncated, put_head, data);
	else
		send_json(call, self, truncated, put_head, data);
}

/* ---- pieces ---- */

static void put_frame(struct json *json, const struct result_frame *frame)
{
	put_object(json, NULL, NAME("fn", frame->function), NAME("module", frame->module),
		   NAME("file", frame->file), SOME("line", frame->line), SOME("col", frame->column),
		   FLAG("inline", frame->inlined), FLAG("library", frame->minor),
		   FIELD("addr", hex_text(frame->offset).text));
}

void put_stack(struct call *call, const char *key, struct frame_id frame)
{
	struct result *holder = result_new(RESULT_RECORD, "stack", "");
	const struct result_stack *stack =
		holder ? stack_of(&call->trace->stacks, frame, holder) : NULL;

	json_open_flat(&call->json, key, '[');
	for (u32 i = 0; stack && i < stack->count; i++)
		put_frame(&call->json, &stack->frames[i]);
	json_close(&call->json, ']');
	result_free(holder);
}
