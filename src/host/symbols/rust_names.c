/* SPDX-License-Identifier: MIT
 * Puts types into Rust's older names.
 * Host. Both texts come from strangers: any is safe. */
#include "host/symbols/rust_names.h"

#include <ctype.h>
#include <string.h>

enum { HASH_BYTES = 16 };

bool rust_is_legacy(const char *linker_name)
{
	size_t bytes = strlen(linker_name);
	const char *hash = linker_name + bytes - HASH_BYTES - 1;

	return bytes > 3 + 3 + HASH_BYTES && strncmp(linker_name, "_ZN", 3) == 0 &&
	       linker_name[bytes - 1] == 'E' && memcmp(hash - 3, "17h", 3) == 0 &&
	       strspn(hash, "0123456789abcdef") == HASH_BYTES;
}

struct arguments {
	struct span data[RUST_PARAMETERS];
	bool used[RUST_PARAMETERS];
	u32 count;
};

static bool is_global(struct span type) { return span_is(type, "alloc::alloc::Global"); }

/* Values are arguments, too, but no parameters of debug info. */
static bool is_value(struct span argument)
{
	char first = argument.bytes ? argument.text[0] : '0';

	return isdigit((unsigned char)first) || first == '-' || first == '\'' || first == '{' ||
	       span_is(argument, "true") || span_is(argument, "false");
}

static bool split(const char *plain, struct arguments *out)
{
	const char *open = strchr(plain, '<'), *end = plain + strlen(plain);

	if (!open || name_skip_brackets(open, end) != end)
		return false;
	for (const char *p = open + 1; p < end - 1;) {
		const char *comma = name_find_outside(p, end - 1, ",");
		struct span one;

		if (!comma)
			return false;
		one = span_between(p, comma);
		p = comma + 1;
		if (is_value(one))
			continue;
		if (out->count == RUST_PARAMETERS)
			return false;
		out->data[out->count++] = one;
	}
	return true;
}

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_' || (c & 0x80); }

static void add_type(struct strbuf *out, struct span type)
{
	static const char global[] = ", alloc::alloc::Global";

	for (const char *p = type.text, *end = p + type.bytes; p < end;) {
		const char *at = memmem(p, (size_t)(end - p), global, sizeof global - 1),
			   *behind = at ? at + sizeof global - 1 : end;

		strbuf_add_bytes(out, p,
				 (u64)((at && (behind == end || !in_word(*behind)) ? at : behind) -
				       p));
		p = behind;
	}
}

/* "RawVecInner<>" of a parameter that was left out. */
static void drop_empty(struct strbuf *out)
{
	if (out->count > 2 && memcmp(out->text + out->count - 2, "<>", 2) == 0)
		out->text[out->count -= 2] = 0;
}

/* A word of the name becomes the type that it stands for. */
static void add_word(struct strbuf *out, struct span word, struct arguments *arguments,
		     const struct span *parameters)
{
	char before = out->count ? out->text[out->count - 1] : 0, behind = word.text[word.bytes];
	bool is_path = before == ':',
	     is_whole = (before == '<' || before == ' ') && (behind == '>' || behind == ',');

	for (u32 i = 0; i < arguments->count && !is_path; i++) {
		if (word.bytes != parameters[i].bytes ||
		    memcmp(word.text, parameters[i].text, word.bytes) != 0)
			continue;
		arguments->used[i] = true;
		if (!is_global(arguments->data[i]) || !is_whole)
			add_type(out, arguments->data[i]);
		else if (before == ' ' && out->count > 1 && out->text[out->count - 2] == ',')
			out->text[out->count -= 2] = 0;
		return;
	}
	strbuf_add_bytes(out, word.text, word.bytes);
}

/* What the name itself has no place for. */
static void add_rest(struct strbuf *out, const struct arguments *arguments)
{
	bool any = false;

	for (u32 i = 0; i < arguments->count; i++) {
		if (arguments->used[i] || is_global(arguments->data[i]))
			continue;
		strbuf_add(out, any ? ", " : "::<");
		add_type(out, arguments->data[i]);
		any = true;
	}
	if (any)
		strbuf_add_char(out, '>');
}

/* A word that begins with a capital: "T", "BorrowType", but not "alloc::alloc::Global". */
static bool is_parameter(struct span word)
{
	u32 bytes = 0;

	while (bytes < word.bytes && in_word(word.text[bytes]))
		bytes++;
	return bytes && bytes == word.bytes && isupper((unsigned char)word.text[0]);
}

u32 rust_parameters(const char *readable, const char *plain, struct span *out)
{
	const char *open = strchr(readable, '<'),
		   *end = open ? name_skip_brackets(open, open + strlen(open)) : NULL;
	struct arguments arguments = {0};
	u32 count = 0;

	if ((strncmp(readable, "alloc::", 7) != 0 && strncmp(readable, "hashbrown::", 11) != 0) ||
	    !split(plain, &arguments))
		return 0;
	for (const char *p = open + 1; end && p < end - 1;) {
		const char *comma = name_find_outside(p, end - 1, ",");
		struct span one = comma ? span_between(p, comma) : (struct span){"", 0};

		p = comma ? comma + 1 : end;
		if (!is_parameter(one))
			continue;
		if (count == arguments.count)
			return 0;
		out[count++] = one;
	}
	while (count < arguments.count) /* the function's own */
		out[count++] = (struct span){"", 0};
	return count;
}

bool rust_name_fill(const char *readable, const char *plain, const struct span *parameters,
		    u32 count, struct strbuf *out)
{
	struct arguments arguments = {0};

	if (!split(plain, &arguments) || !count || arguments.count != count)
		return false;
	for (const char *p = readable; *p;) {
		const char *end = p;

		while (in_word(*end))
			end++;
		if (end > p) {
			add_word(out, (struct span){p, (u32)(end - p)}, &arguments, parameters);
			p = end;
			continue;
		}
		strbuf_add_char(out, *p);
		drop_empty(out);
		if (*p++ == ',' && *p != ' ')
			strbuf_add_char(out, ' ');
	}
	add_rest(out, &arguments);
	return !out->failed;
}
