/* SPDX-License-Identifier: MIT
 * Text built piece by piece. Runs on the host. Never prints; after a failure it only remembers
 * it. */
#include "host/base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct strbuf *buf, u64 extra)
{
	u64 wanted, capacity;
	char *grown;

	if (buf->failed)
		return false;
	if (__builtin_add_overflow(buf->count + 1, extra, &wanted) || wanted > PTRDIFF_MAX)
		goto fail;
	if (wanted <= buf->capacity)
		return true;
	capacity = buf->capacity + buf->capacity / 2;
	if (capacity < wanted)
		capacity = wanted < 64 ? 64 : wanted;
	grown = realloc(buf->text, capacity);
	if (!grown)
		goto fail;
	buf->text = grown;
	buf->capacity = capacity;
	return true;
fail:
	buf->failed = true;
	return false;
}

void strbuf_add_bytes(struct strbuf *buf, const void *bytes, u64 count)
{
	if (!reserve(buf, count))
		return;
	if (count)
		memcpy(buf->text + buf->count, bytes, count);
	buf->count += count;
	buf->text[buf->count] = '\0';
}

void strbuf_add(struct strbuf *buf, const char *text) { strbuf_add_bytes(buf, text, strlen(text)); }

void strbuf_add_char(struct strbuf *buf, char c) { strbuf_add_bytes(buf, &c, 1); }

void strbuf_add_utf8(struct strbuf *buf, u32 code)
{
	if (code < 0x80) {
		strbuf_add_char(buf, (char)code);
	} else if (code < 0x800) {
		strbuf_add_char(buf, (char)(0xc0 | code >> 6));
		strbuf_add_char(buf, (char)(0x80 | (code & 0x3f)));
	} else if (code < 0x10000) {
		strbuf_add_char(buf, (char)(0xe0 | code >> 12));
		strbuf_add_char(buf, (char)(0x80 | (code >> 6 & 0x3f)));
		strbuf_add_char(buf, (char)(0x80 | (code & 0x3f)));
	} else {
		strbuf_add_char(buf, (char)(0xf0 | code >> 18));
		strbuf_add_char(buf, (char)(0x80 | (code >> 12 & 0x3f)));
		strbuf_add_char(buf, (char)(0x80 | (code >> 6 & 0x3f)));
		strbuf_add_char(buf, (char)(0x80 | (code & 0x3f)));
	}
}

void strbuf_vaddf(struct strbuf *buf, const char *format, va_list args)
{
	va_list again;
	int length;

	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0) {
		buf->failed = true;
		return;
	}
	if (!reserve(buf, (u64)length))
		return;
	vsnprintf(buf->text + buf->count, (size_t)length + 1, format, args);
	buf->count += (u64)length;
}

void strbuf_addf(struct strbuf *buf, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	strbuf_vaddf(buf, format, args);
	va_end(args);
}

void strbuf_clear(struct strbuf *buf)
{
	buf->count = 0;
	buf->failed = false;
	if (buf->text)
		buf->text[0] = '\0';
}

const char *strbuf_text(const struct strbuf *buf) { return buf->text ? buf->text : ""; }

char *strbuf_take(struct strbuf *buf)
{
	char *text;

	strbuf_add_bytes(buf, "", 0); /* an empty text is a text */
	if (buf->failed) {
		strbuf_release(buf);
		return NULL;
	}
	text = buf->text;
	*buf = (struct strbuf){0};
	return text;
}

void strbuf_release(struct strbuf *buf)
{
	free(buf->text);
	*buf = (struct strbuf){0};
}
