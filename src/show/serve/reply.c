/* SPDX-License-Identifier: MIT
 * Answers of the API: the envelope, results in it, columns. Runs on threads of the server. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/layout/timeline.h"
#include "host/base/base64.h"
#include "host/base/clock.h"
#include "show/render/render.h"
#include "show/serve/api.h"

/* ---- envelope ---- */

/* Chunks of the trace; and what they stand for where that is not the same. */
static struct named_value amount_field(const char *name, struct call *call,
				       const struct selection *chunks)
{
	struct selection_sums sums = selection_weigh(chunks, call->whole->model);
	bool same = sums.allocations == chunks->chunks && sums.bytes == chunks->bytes;

	return KEPT(name, call, FIELD("chunks", chunks->chunks), FIELD("bytes", chunks->bytes),
		    field_when(!same, FIELD("allocs", sums.allocations)),
		    field_when(!same, FIELD("requested", sums.bytes)));
}

static struct named_value unknown(const char *name) { return field_if(false, FIELD(name, 0)); }

static void put_envelope(struct call *call, bool truncated)
{
	bool narrowed = call->match->route->flags & (ROUTE_SCOPE | ROUTE_PART);
	bool about_chunks = call->trace;
	const struct selection *total = about_chunks ? &call->whole->all : NULL,
			       *matched = narrowed ? &call->scope.selection : total;

	put_fields(&call->json, FIELD("v", 1), FIELD("epoch", call->epoch),
		   FIELD("took_us", (now_ns() - call->start_ns) / 1000),
		   about_chunks ? amount_field("matched", call, matched) : unknown("matched"),
		   about_chunks ? amount_field("total", call, total) : unknown("total"),
		   field_when(call->has_rows_total, FIELD("rows_total", call->rows_total)),
		   FLAG("truncated", truncated));
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

static bool reply_begin(struct call *call, bool truncated)
{
	if (!body_begin(call))
		return false;
	json_open_flat(&call->json, NULL, '{');
	put_envelope(call, truncated);
	return true;
}

static void reply_end(struct call *call)
{
	json_close(&call->json, '}');
	json_end(&call->json);
	body_end(call);
}

void reply_fields(struct call *call, bool truncated, const struct named_value *fields, u64 count)
{
	if (!reply_begin(call, truncated))
		return;
	render_json_fields(&call->json, fields, count);
	reply_end(call);
	if (call->holder->failed)
		answer_refuse(call->answer, 500, "out of memory");
}

void reply_result(struct call *call, struct result *result, const struct err *err)
{
	if (!result)
		call_fail(call, err);
	else if (result_failed(result))
		answer_refuse(call->answer, 500, "out of memory");
	else
		reply_fields(call, call->truncated, MEMBERS(RESULT("data", result)));
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

/* ---- fields ---- */

static bool is_whole(double value)
{
	return isfinite(value) && value == floor(value) && fabs(value) < 9007199254740992.0;
}

struct named_value field_whole(const char *name, double value)
{
	return is_whole(value) ? FIELD(name, (i64)value) : FIELD(name, value);
}

void put_real_item(struct json *json, const void *values, u64 i)
{
	double value = ((const double *)values)[i];

	if (is_whole(value))
		json_signed(json, NULL, (i64)value);
	else
		json_real(json, NULL, value);
}

void put_axis_end(struct json *json, const void *axis, u64 i)
{
	json_number(json, NULL, time_axis_end(axis, (u32)i));
}

struct named_value field_words(const char *name, struct call *call, struct strbuf *text)
{
	const char *copy = result_copy(call->holder, strbuf_text(text));

	bool failed = text->failed;

	strbuf_release(text);
	return field_if(!failed, NAME(name, copy));
}

struct named_value field_base64(const char *name, struct call *call, const u8 *bytes, u64 count)
{
	char *text = base64_text(bytes, count);
	const char *copy = text ? result_copy(call->holder, text) : NULL;

	free(text);
	return FIELD(name, copy);
}

struct named_value field_kept(const char *name, struct call *call,
			      const struct named_value *members, u64 count)
{
	struct named_value *copy = arena_new_array(&call->holder->arena, struct named_value, count);

	if (copy)
		memcpy(copy, members, count * sizeof *copy);
	else
		call->holder->failed = true;
	return field_if(copy, field_object(name, copy, count));
}

static void put_frame(struct json *json, const void *list, u64 i)
{
	const struct result_frame *frame = &((const struct result_stack *)list)->frames[i];

	put_object(json, NULL, NAME("fn", frame->function), NAME("module", frame->module),
		   NAME("file", frame->file), SOME("line", frame->line), SOME("col", frame->column),
		   FLAG("inline", frame->inlined), FLAG("library", frame->minor),
		   FIELD("addr", hex_text(frame->offset).text));
}

struct named_value field_stack(const char *name, struct call *call, struct frame_id frame)
{
	const struct result_stack *stack = stack_of(&call->trace->stacks, frame, call->holder);

	return LIST(name, stack ? stack->count : 0, put_frame, stack);
}

/* ---- columns ---- */

static const struct {
	const char *name;
	u32 bytes;
} types[] = {[COLUMN_U8] = {"u8", 1},
	     [COLUMN_U16] = {"u16", 2},
	     [COLUMN_U32] = {"u32", 4},
	     [COLUMN_F32] = {"f32", 4},
	     [COLUMN_F64] = {"f64", 8}};

/* Gives the columns memory for their values, and fills them. */
static bool columns_fill(struct reply_columns *self)
{
	struct reply_column *columns =
		arena_new_array(&self->arena, struct reply_column, self->column_count);
	double *values = arena_new_array(&self->arena, double, self->column_count);

	/* Each row can bring three strings; 0 is the empty one. */
	self->strings = arena_new_array(&self->arena, const char *, 3 * self->rows + 1);
	if (!columns || !values || !self->strings)
		return false;
	for (u32 i = 0; i < self->column_count; i++) {
		columns[i] = self->columns[i];
		columns[i].values = arena_new_array(&self->arena, double, self->rows + 1);
		if (!columns[i].values)
			return false;
	}
	self->columns = columns;
	self->strings[self->string_count++] = "";
	for (u64 row = 0; row < self->rows; row++) {
		self->fill(self, row, values);
		for (u32 i = 0; i < self->column_count; i++)
			columns[i].values[row] = values[i];
	}
	return true;
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

static u64 padded(u64 bytes) { return (bytes + 7) / 8 * 8; }

static u64 column_bytes(const struct reply_columns *self, u64 i)
{
	return padded(self->rows * types[self->columns[i].type].bytes);
}

/* Where each column is in the binary form. */
static void put_column_place(struct json *json, const void *list, u64 i)
{
	const struct reply_columns *self = list;
	u64 offset = 0;

	for (u64 before = 0; before < i; before++)
		offset += column_bytes(self, before);
	put_object(json, NULL, FIELD("n", self->columns[i].name),
		   FIELD("t", types[self->columns[i].type].name), FIELD("o", offset),
		   FIELD("l", self->rows));
}

static void put_table(struct json *json, const struct reply_columns *self,
		      struct named_value columns)
{
	render_json_fields(json, self->head, self->head_count);
	put_fields(json, FIELD("rows", self->rows), columns,
		   TEXTS("strings", self->strings, self->string_count));
}

static void send_json(struct call *call, struct reply_columns *self)
{
	struct named_value *columns =
		arena_new_array(&self->arena, struct named_value, self->column_count);

	if (!columns) {
		answer_refuse(call->answer, 500, "out of memory");
		return;
	}
	for (u32 i = 0; i < self->column_count; i++)
		columns[i] = REALS(self->columns[i].name, self->columns[i].values, self->rows);
	if (!reply_begin(call, self->truncated))
		return;
	json_open_flat(&call->json, "data", '{');
	put_table(&call->json, self, field_object("columns", columns, self->column_count));
	json_close(&call->json, '}');
	reply_end(call);
}

/* All hosts of ours are little-endian, and so is the format. */
static void put_value(u8 *to, enum column_type type, double value)
{
	bool real = type == COLUMN_F32 || type == COLUMN_F64;
	u32 whole = real || !(value >= 0) ? 0 : (u32)value;
	float single = (float)value;

	if (type == COLUMN_F32)
		memcpy(to, &single, sizeof single);
	else
		memcpy(to, real ? (const void *)&value : &whole, types[type].bytes);
}

static void write_values(FILE *out, const struct reply_column *column, u64 rows)
{
	u64 bytes = types[column->type].bytes, used = 0;
	u8 buffer[8192];

	for (u64 row = 0; row < rows; row++) {
		put_value(buffer + used, column->type, column->values[row]);
		used += bytes;
		if (used + bytes > sizeof buffer || row + 1 == rows) {
			fwrite(buffer, 1, used, out);
			used = 0;
		}
	}
}

static void write_padding(FILE *out, u64 bytes)
{
	for (u64 i = bytes; i < padded(bytes); i++)
		fputc(0, out);
}

static void send_binary(struct call *call, const struct reply_columns *self)
{
	char *header = NULL;
	size_t header_bytes = 0;
	u32 length;
	FILE *out;

	if (!body_begin(call))
		return;
	call->answer->type = "application/vnd.heapwise.columns";
	out = call->json.out;
	call->json.out = open_memstream(&header, &header_bytes);
	if (call->json.out) {
		json_open_flat(&call->json, NULL, '{');
		put_envelope(call, self->truncated);
		put_table(&call->json, self,
			  LIST("columns", self->column_count, put_column_place, self));
		json_close(&call->json, '}');
		fclose(call->json.out);
	}
	call->json.out = out;
	if (!header) {
		fclose(out);
		answer_refuse(call->answer, 500, "out of memory");
		return;
	}
	length = (u32)header_bytes;
	fwrite("HWC1", 1, 4, out);
	fwrite(&length, 1, sizeof length, out);
	fwrite(header, 1, header_bytes, out);
	write_padding(out, 8 + header_bytes);
	for (u32 i = 0; i < self->column_count; i++) {
		write_values(out, &self->columns[i], self->rows);
		write_padding(out, self->rows * types[self->columns[i].type].bytes);
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

void reply_columns_send(struct call *call, struct reply_columns *self,
			const struct named_value *head, u64 head_count)
{
	const char *format = call_text(call, "format");
	bool binary = call_wants_columns(call);

	self->head = head;
	self->head_count = head_count;
	if (!columns_fill(self))
		answer_refuse(call->answer, 500, "out of memory");
	else if (format && !binary && strcmp(format, "json") != 0)
		call_bad(call, "format", "json or columns");
	else if (binary)
		send_binary(call, self);
	else
		send_json(call, self);
	map_release(&self->by_text);
	arena_release(&self->arena);
}
