/* SPDX-License-Identifier: MIT
 * Looks for types in a line of C or C++.
 * Host. Knows no grammar: what it finds must fit the size of the chunk before it is believed. */
#include "host/symbols/types/source.h"

#include <ctype.h>
#include <string.h>

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static const char *skip_spaces(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

static bool is_word(const char *p, const char *word)
{
	size_t bytes = strlen(word);

	return strncmp(p, word, bytes) == 0 && !in_word(p[bytes]);
}

static const char *skip_words(const char *p, const char *const *words, u32 count)
{
	for (u32 i = 0; i < count;) {
		bool is_it = is_word(p, words[i]);

		p = is_it ? skip_spaces(p + strlen(words[i])) : p;
		i = is_it ? 0 : i + 1;
	}
	return p;
}

/* Behind "A::B<int>::C"; p itself if there is no name. */
static const char *skip_name(const char *p, const char *end)
{
	const char *at = p;

	for (;;) {
		if (at[0] == ':' && at[1] == ':')
			at += 2;
		if (!isalpha((unsigned char)*at) && *at != '_')
			return p;
		while (in_word(*at))
			at++;
		if (*at == '<') {
			const char *behind = name_skip_brackets(at, end);

			if (!behind)
				return p;
			at = behind;
		}
		if (at[0] != ':' || at[1] != ':')
			return at;
	}
}

/* "unsigned long int": words of the language. */
static const char *skip_scalar(const char *p)
{
	static const char *const words[] = {"unsigned", "signed", "long",  "short", "int",
					    "char",     "double", "float", "bool",  "wchar_t"};
	const char *end = p, *at = p;

	for (u32 i = 0; i < sizeof words / sizeof *words;) {
		bool is_it = is_word(at, words[i]);

		if (is_it) {
			end = at + strlen(words[i]);
			at = skip_spaces(end);
		}
		i = is_it ? 0 : i + 1;
	}
	return end;
}

/* p is where a type begins. */
static void add_type(struct source_types *out, const char *line, const char *from, const char *p,
		     bool is_new)
{
	static const char *const qualifiers[] = {"const", "struct",   "union",
						 "class", "volatile", "typename"};
	const char *end = line + strlen(line), *behind;
	struct source_type row = {.column = (u32)(from - line) + 1, .is_new = is_new};

	p = skip_words(p, qualifiers, sizeof qualifiers / sizeof *qualifiers);
	if (p[0] == ':' && p[1] == ':')
		p += 2;
	behind = skip_scalar(p);
	if (behind == p)
		behind = skip_name(p, end);
	if (behind == p || out->count == SOURCE_TYPES_MAX)
		return;
	row.name = (struct span){p, (u32)(behind - p)};
	p = skip_spaces(behind);
	p = skip_words(p, qualifiers, 1);
	row.pointer = *p == '*';
	out->rows[out->count++] = row;
}

static void add_new(struct source_types *out, const char *line, const char *at)
{
	const char *p = skip_spaces(at + 3), *end = line + strlen(line);

	/* "new (place) X" and "new (X)(…)": what follows the parentheses tells. */
	if (*p == '(') {
		const char *behind = name_skip_brackets(p, end);

		if (!behind)
			return;
		behind = skip_spaces(behind);
		p = isalpha((unsigned char)*behind) || *behind == '_' ? behind : skip_spaces(p + 1);
	}
	add_type(out, line, at, p, true);
}

/* "throw X(…)" and "throw X{…}"; the value of a variable or of a function may be anything, but a
 * function has no size. */
static void add_thrown(struct source_types *out, const char *line, const char *at)
{
	struct source_type *row = &out->rows[out->count];
	u32 count = out->count;
	const char *behind;

	add_type(out, line, at, skip_spaces(at + 5), false);
	if (out->count == count)
		return;
	behind = skip_spaces(row->name.text + row->name.bytes);
	row->is_thrown = *behind == '(' || *behind == '{';
	if (!row->is_thrown)
		out->count = count;
}

void source_types_find(const char *line, struct source_types *out)
{
	out->count = 0;
	for (const char *p = line; *p; p++) {
		if (p > line && in_word(p[-1]))
			continue;
		if (p[0] == '/' && p[1] == '/')
			return;
		if (is_word(p, "new"))
			add_new(out, line, p);
		else if (is_word(p, "throw"))
			add_thrown(out, line, p);
		else if (is_word(p, "sizeof")) {
			const char *open = skip_spaces(p + 6);

			add_type(out, line, p, skip_spaces(open + (*open == '(')), false);
		}
	}
}

const char *source_standard_exception(const char *name, u64 *size)
{
	static const struct {
		const char *name;
		u64 size; /* in libstdc++ and libc++ */
	} classes[] = {
		{"std::exception", 8},         {"std::bad_alloc", 8},
		{"std::bad_cast", 8},          {"std::bad_typeid", 8},
		{"std::bad_function_call", 8}, {"std::logic_error", 16},
		{"std::domain_error", 16},     {"std::invalid_argument", 16},
		{"std::length_error", 16},     {"std::out_of_range", 16},
		{"std::runtime_error", 16},    {"std::range_error", 16},
		{"std::overflow_error", 16},   {"std::underflow_error", 16},
		{"std::system_error", 32},     {"std::ios_base::failure", 32},
	};

	for (u32 i = 0; i < sizeof classes / sizeof *classes; i++)
		if (strcmp(classes[i].name, name) == 0 || strcmp(classes[i].name + 5, name) == 0) {
			*size = classes[i].size;
			return classes[i].name;
		}
	return NULL;
}

u64 source_scalar_size(const char *name)
{
	static const struct {
		const char *name;
		u64 size;
	} scalars[] = {
		{"char", 1},
		{"signed char", 1},
		{"unsigned char", 1},
		{"bool", 1},
		{"short", 2},
		{"unsigned short", 2},
		{"int", 4},
		{"unsigned", 4},
		{"unsigned int", 4},
		{"float", 4},
		{"wchar_t", 4},
		{"long", 8},
		{"unsigned long", 8},
		{"long long", 8},
		{"unsigned long long", 8},
		{"double", 8},
		{"long double", 16},
		{"uint8_t", 1},
		{"int8_t", 1},
		{"uint16_t", 2},
		{"int16_t", 2},
		{"uint32_t", 4},
		{"int32_t", 4},
		{"uint64_t", 8},
		{"int64_t", 8},
		{"size_t", 8},
		{"std::size_t", 8},
		{"u8", 1},
		{"i8", 1},
		{"u16", 2},
		{"i16", 2},
		{"u32", 4},
		{"i32", 4},
		{"f32", 4},
		{"u64", 8},
		{"i64", 8},
		{"f64", 8},
		{"usize", 8},
		{"isize", 8},
		{"u128", 16},
		{"i128", 16},
	};

	for (u32 i = 0; i < sizeof scalars / sizeof *scalars; i++)
		if (strcmp(scalars[i].name, name) == 0)
			return scalars[i].size;
	return 0;
}
