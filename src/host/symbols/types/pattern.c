/* SPDX-License-Identifier: MIT
 * Takes readable C++ names apart.
 * Runs on the host. Names come from debug info: any text is safe, a strange one gives no answer. */
#include "host/symbols/types/pattern.h"

#include <ctype.h>
#include <string.h>

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

/* Behind the bracket that closes the one at text; NULL if there is none. */
static const char *skip_brackets(const char *text)
{
	u32 depth = 0;

	for (; *text; text++) {
		if (strchr("<([{", *text))
			depth++;
		else if (*text == '>' && text[1] == '=')
			text++;
		else if (strchr(">)]}", *text) && --depth == 0)
			return text + 1;
	}
	return NULL;
}

/* Behind "operator" and its sign at text. */
static const char *skip_operator(const char *text)
{
	text += 8;
	if (!strncmp(text, "()", 2))
		return text + 2;
	while (*text && strchr("<>=-+*/%^&|~!,", *text))
		text++;
	return text;
}

/* Where the parameters begin, or the end. */
static const char *parameters_of(const char *function)
{
	static const char nameless[] = "(anonymous namespace)";
	const char *at = function;

	while (*at) {
		const char *after = at + 1;

		if (!strncmp(at, nameless, sizeof nameless - 1))
			after = at + sizeof nameless - 1;
		else if (*at == '(')
			break;
		else if (!strncmp(at, "operator", 8) && (at == function || !is_word(at[-1])))
			after = skip_operator(at);
		else if (*at == '<' || *at == '{')
			after = skip_brackets(at);
		if (!after)
			break;
		at = after;
	}
	return at;
}

void function_base(const char *function, struct strbuf *out)
{
	const char *end = parameters_of(function), *start;
	const char *operator_new = NULL;

	for (const char *at = function; at < end; at++)
		if (!strncmp(at, "operator new", 12))
			operator_new = at;
	strbuf_clear(out);
	if (operator_new) {
		strbuf_add(out, "operator new");
		return;
	}
	for (const char *at = function; at < end; at++) /* name.part.0 */
		if (*at == '.' && at > function) {
			end = at;
			break;
		}
	if (end > function && end[-1] == '>') {
		u32 depth = 0;

		while (end > function) {
			end--;
			depth += *end == '>';
			if (*end == '<' && --depth == 0)
				break;
		}
	}
	start = end;
	while (start > function && is_word(start[-1]))
		start--;
	if (!strncmp(start, "__GI_", 5)) /* the C library's names for itself */
		start += 5;
	while (end - start > 2 && !strncmp(start, "__", 2))
		start += 2;
	strbuf_add_bytes(out, start, (u64)(end - start));
}

/* Argument number `index` of the template in the function's name; false if there is none. */
static bool template_argument(const char *function, const char *name, u64 name_bytes, u32 index,
			      struct strbuf *out)
{
	const char *end = parameters_of(function);

	for (const char *at = function; at + name_bytes < end; at++) {
		const char *argument, *close;

		if (strncmp(at, name, name_bytes) || at[name_bytes] != '<' ||
		    (at > function && is_word(at[-1])))
			continue;
		close = skip_brackets(at + name_bytes);
		if (!close)
			return false;
		argument = at + name_bytes + 1;
		for (const char *c = argument; c < close; c++) {
			const char *after = strchr("<([{", *c) ? skip_brackets(c) : NULL;

			if (after) {
				c = after - 1;
				continue;
			}
			if (*c != ',' && c + 1 != close)
				continue;
			if (index-- == 0) {
				while (c > argument && c[-1] == ' ')
					c--;
				strbuf_add_bytes(out, argument, (u64)(c - argument));
				return c > argument;
			}
			argument = c + 1;
			while (*argument == ' ')
				argument++;
		}
		return false;
	}
	return false;
}

/* Finds the word among the parameters of the pattern; 1 = filled in, 0 = no parameter, -1 = not
 * told. */
static int fill_word(const char *word, u64 bytes, const char *pattern, const char *function,
		     struct strbuf *out)
{
	while (*pattern) {
		u64 name_bytes = strcspn(pattern, " ;");
		const char *at = pattern + name_bytes;

		for (u32 index = 0; *at == ' '; index++) {
			u64 length = strcspn(++at, " ;");

			if (length == bytes && !strncmp(at, word, bytes))
				return template_argument(function, pattern, name_bytes, index, out)
					       ? 1
					       : -1;
			at += length;
		}
		pattern = *at == ';' ? at + 1 : at;
	}
	return 0;
}

bool pattern_fill(const char *type, const char *pattern, const char *function, struct strbuf *out)
{
	bool any = false;

	strbuf_clear(out);
	while (*type) {
		const char *end = type;
		int filled;

		while (is_word(*end))
			end++;
		if (end == type) {
			strbuf_add_char(out, *type++);
			continue;
		}
		filled = fill_word(type, (u64)(end - type), pattern, function, out);
		/* T::node is whatever the argument says: no text tells. */
		if (filled < 0 || (filled && !strncmp(end, "::", 2)))
			return false;
		any |= filled > 0;
		if (!filled)
			strbuf_add_bytes(out, type, (u64)(end - type));
		type = end;
	}
	return any && !out->failed && strncmp(strbuf_text(out), "typename ", 9);
}
