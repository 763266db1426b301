/* SPDX-License-Identifier: MIT
 * Texts made harmless. Runs on the host. Never assumes valid UTF-8, never allocates but in a
 * strbuf. */
#include "host/base/text.h"

#include <string.h>

u32 utf8_code(const char *text, u32 length)
{
	const u8 *p = (const u8 *)text;
	u32 code = length == 1 ? p[0] : p[0] & (0x7fu >> length);

	for (u32 i = 1; i < length; i++)
		code = code << 6 | (p[i] & 0x3f);
	return code;
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
	for (u32 i = 1; i < length; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	code = utf8_code(text, length);
	lowest = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
	if (code < lowest || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return length;
}

bool text_is_harmless(const char *text, u32 length)
{
	static const struct {
		u32 first, last;
	} obeyed[] = {
		{0x80, 0x9f},     /* C1: U+009B begins commands of terminals */
		{0xad, 0xad},     /* soft hyphen */
		{0x61c, 0x61c},   /* Arabic letter mark */
		{0x180e, 0x180e}, /* Mongolian vowel separator */
		/* no width; U+200C and U+200D are parts of words and of emoji */
		{0x200b, 0x200b},
		{0x200e, 0x200f},   /* direction marks */
		{0x2028, 0x202e},   /* ends of lines and paragraphs, embeddings and overrides */
		{0x2060, 0x206f},   /* invisible, isolates */
		{0xfeff, 0xfeff},   /* byte order mark */
		{0xfff9, 0xfffb},   /* annotations */
		{0xe0000, 0xe01ef}, /* tags, variations */
	};
	u32 code;

	if (length == 1)
		return (u8)*text >= 0x20 && *text != 0x7f;
	code = length ? utf8_code(text, length) : 0x80;
	for (u32 i = 0; i < sizeof obeyed / sizeof *obeyed && obeyed[i].first <= code; i++)
		if (code <= obeyed[i].last)
			return false;
	return true;
}

void text_add_clean(struct strbuf *out, const char *text)
{
	while (*text) {
		u32 length = utf8_length(text);

		if (text_is_harmless(text, length))
			strbuf_add_bytes(out, text, length);
		else
			strbuf_add_char(out, '?');
		text += length ? length : 1;
	}
}

void text_put(FILE *out, const char *text, const char *special, char instead)
{
	const char *as_is = text;

	while (*text) {
		u32 length = utf8_length(text);

		if (text_is_harmless(text, length) && !strchr(special, *text)) {
			text += length;
			continue;
		}
		fwrite(as_is, 1, (size_t)(text - as_is), out);
		fputc(instead, out);
		text += length ? length : 1;
		as_is = text;
	}
	fputs(as_is, out);
}

void text_clean(char *text)
{
	char *out = text;

	while (*text) {
		u32 length = utf8_length(text);

		if (text_is_harmless(text, length)) {
			memmove(out, text, length);
			out += length;
		} else {
			*out++ = '?';
		}
		text += length ? length : 1;
	}
	*out = 0;
}

/* XML knows no control characters but three, not even escaped. */
void text_put_xml(FILE *out, const char *text)
{
	while (*text) {
		u32 length = utf8_length(text);
		u8 c = (u8)*text;

		if (c == '<')
			fputs("&lt;", out);
		else if (c == '>')
			fputs("&gt;", out);
		else if (c == '&')
			fputs("&amp;", out);
		else if (c == '"')
			fputs("&quot;", out);
		else if (c == '\n' || c == '\t')
			fprintf(out, "&#%u;", c);
		else if (!text_is_harmless(text, length) || strncmp(text, "\xef\xbf\xbe", 3) == 0 ||
			 strncmp(text, "\xef\xbf\xbf", 3) == 0)
			fputs("\xef\xbf\xbd", out);
		else
			fwrite(text, 1, length, out);
		text += length ? length : 1;
	}
}
