/* SPDX-License-Identifier: MIT
 * Cutting of texts to columns.
 * Host. Works on names from strangers: never assumes balanced brackets or valid UTF-8. */
#include "host/base/text_width.h"

#include <string.h>

#include "host/base/text.h"

u32 text_columns(const char *text)
{
	u32 columns = 0;

	while (*text) {
		u32 length = utf8_length(text);

		text += length ? length : 1;
		columns++;
	}
	return columns;
}

/* The end of the first `columns` characters. */
static const char *end_of(const char *text, u32 columns)
{
	for (; *text && columns; columns--) {
		u32 length = utf8_length(text);

		text += length ? length : 1;
	}
	return text;
}

void text_add_cut(struct strbuf *out, const char *text, u32 columns)
{
	struct strbuf start = {0};

	if (!columns || text_columns(text) <= columns) {
		text_add_clean(out, text);
		return;
	}
	strbuf_add_bytes(&start, text, (u64)(end_of(text, columns - 1) - text));
	text_add_clean(out, strbuf_text(&start));
	strbuf_add(out, "…");
	strbuf_release(&start);
}

void text_add_path(struct strbuf *out, const char *path, u32 columns)
{
	u32 have = text_columns(path);
	const char *slash;

	if (!columns || have <= columns) {
		text_add_clean(out, path);
		return;
	}
	path = end_of(path, have - columns + 1); /* leaves room for the "…" */
	slash = strchr(path, '/');
	strbuf_add(out, "…");
	text_add_clean(out, slash && slash[1] ? slash : path);
}

/* The end of the bracket that opens at text, or NULL. "->" and "operator<" must not count as
 * one. */
static const char *bracket_end(const char *text)
{
	char open = *text, close = open == '(' ? ')' : '>';
	u32 depth = 0;

	for (; *text; text++) {
		if (*text == open)
			depth++;
		else if (*text == close && text[-1] != '-' && --depth == 0)
			return text;
	}
	return NULL;
}

/* Copies name with the contents of every outermost bracket of that kind replaced by "…". */
static void elide(struct strbuf *out, const char *name, char open)
{
	const char *start = name;

	for (; *name; name++) {
		bool is_operator = name - start >= 8 && strncmp(name - 8, "operator", 8) == 0;
		const char *end =
			*name == open && !is_operator && name > start ? bracket_end(name) : NULL;

		strbuf_add_char(out, *name);
		if (end && end > name + 1) {
			strbuf_add(out, "…");
			name = end - 1;
		}
	}
}

void text_add_function(struct strbuf *out, const char *name, u32 columns)
{
	struct strbuf shorter = {0}, shortest = {0};

	if (!columns || text_columns(name) <= columns) {
		text_add_clean(out, name);
		return;
	}
	elide(&shorter, name, '(');
	if (text_columns(strbuf_text(&shorter)) > columns) {
		elide(&shortest, strbuf_text(&shorter), '<');
		text_add_cut(out, strbuf_text(&shortest), columns);
	} else {
		text_add_clean(out, strbuf_text(&shorter));
	}
	strbuf_release(&shorter);
	strbuf_release(&shortest);
}

void text_pad(struct strbuf *out, u32 columns)
{
	while (columns--)
		strbuf_add_char(out, ' ');
}
