/* SPDX-License-Identifier: MIT
 * A JSON writer.
 * Host. Writes to the given stream only; write errors are the stream owner's to see. */
#include "output/json.h"

#include <inttypes.h>
#include <math.h>

static bool is_flat(const struct json *self)
{
	return self->flat_depth && self->depth >= self->flat_depth;
}

static void new_line(struct json *self)
{
	if (is_flat(self)) {
		fputc(' ', self->out);
		return;
	}
	fputc('\n', self->out);
	for (u32 i = 0; i < self->depth; i++)
		fputs("  ", self->out);
}

u32 utf8_length(const char *text)
{
	const u8 *p = (const u8 *)text;
	u32 length, lowest, code;

	if (p[0] < 0x80)
		return p[0] ? 1 : 0;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	length = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	code = p[0] & (0x7f >> length);
	for (u32 i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	lowest = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
	if (code < lowest || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return length;
}

static void put_escaped(FILE *out, char c)
{
	if (c == '\n')
		fputs("\\n", out);
	else if (c == '\t')
		fputs("\\t", out);
	else
		fprintf(out, "\\u%04x", (u8)c);
}

static void put_string(FILE *out, const char *text)
{
	fputc('"', out);
	while (*text) {
		u32 length = utf8_length(text);

		if (length == 0) {
			fputs("\xef\xbf\xbd", out);
			text++;
			continue;
		}
		if (length == 1 && ((u8)*text < 0x20 || *text == 0x7f)) {
			put_escaped(out, *text);
		} else {
			if (*text == '"' || *text == '\\')
				fputc('\\', out);
			fwrite(text, 1, length, out);
		}
		text += length;
	}
	fputc('"', out);
}

/* What comes before any value: comma, line, key. */
static void lead(struct json *self, const char *key)
{
	if (self->filled)
		fputc(',', self->out);
	if (self->depth)
		new_line(self);
	self->filled = true;
	if (!key)
		return;
	put_string(self->out, key);
	fputs(": ", self->out);
}

void json_open(struct json *self, const char *key, char bracket)
{
	lead(self, key);
	fputc(bracket, self->out);
	self->depth++;
	self->filled = false;
}

void json_open_flat(struct json *self, const char *key, char bracket)
{
	json_open(self, key, bracket);
	if (!self->flat_depth)
		self->flat_depth = self->depth;
}

void json_close(struct json *self, char bracket)
{
	bool flat = is_flat(self);

	self->depth--;
	if (self->filled) {
		if (flat)
			fputc(' ', self->out);
		else
			new_line(self);
	}
	if (self->depth < self->flat_depth)
		self->flat_depth = 0;
	fputc(bracket, self->out);
	self->filled = true;
}

void json_text(struct json *self, const char *key, const char *text)
{
	if (!text) {
		json_null(self, key);
		return;
	}
	lead(self, key);
	put_string(self->out, text);
}

void json_number(struct json *self, const char *key, u64 number)
{
	lead(self, key);
	fprintf(self->out, "%" PRIu64, number);
}

void json_signed(struct json *self, const char *key, i64 number)
{
	lead(self, key);
	fprintf(self->out, "%" PRId64, number);
}

void json_real(struct json *self, const char *key, double number)
{
	if (!isfinite(number)) {
		json_null(self, key);
		return;
	}
	lead(self, key);
	fprintf(self->out, "%.9g", number);
}

void json_bool(struct json *self, const char *key, bool value)
{
	lead(self, key);
	fputs(value ? "true" : "false", self->out);
}

void json_null(struct json *self, const char *key)
{
	lead(self, key);
	fputs("null", self->out);
}

void json_raw(struct json *self, const char *key, const char *value)
{
	lead(self, key);
	fputs(value, self->out);
}

void json_end(struct json *self)
{
	fputc('\n', self->out);
	self->filled = false;
}
