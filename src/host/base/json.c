/* SPDX-License-Identifier: MIT
 * A JSON writer.
 * Host. Writes to the given stream only; write errors are the stream owner's to see. */
#include "host/base/json.h"

#include <inttypes.h>
#include <math.h>

#include "host/base/text.h"

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

/* Characters beyond U+FFFF are two units of UTF-16. */
static void put_escaped(FILE *out, u32 code)
{
	if (code == '\n')
		fputs("\\n", out);
	else if (code == '\t')
		fputs("\\t", out);
	else if (code < 0x10000)
		fprintf(out, "\\u%04x", code);
	else
		fprintf(out, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
			0xdc00 + (code & 0x3ff));
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
		if (!text_is_harmless(text, length)) {
			put_escaped(out, utf8_code(text, length));
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
