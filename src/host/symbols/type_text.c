/* SPDX-License-Identifier: MIT
 * A parser of readable names.
 * Host. Never reads beyond its text; nesting is bounded; a name that makes no sense has no
 * parts. */
#include "host/symbols/type_text.h"

#include <ctype.h>
#include <string.h>

enum { NESTING_MAX = 256 };

struct span span_of(const char *text) { return (struct span){text, (u32)strlen(text)}; }

bool span_is(struct span self, const char *text)
{
	return strlen(text) == self.bytes && memcmp(self.text, text, self.bytes) == 0;
}

bool span_starts(struct span self, const char *text)
{
	size_t bytes = strlen(text);

	return bytes <= self.bytes && memcmp(self.text, text, bytes) == 0;
}

bool span_starts_one(struct span self, const char *const *list, u32 count)
{
	for (u32 i = 0; i < count; i++)
		if (span_starts(self, list[i]))
			return true;
	return false;
}

struct span span_between(const char *from, const char *end)
{
	while (from < end && *from == ' ')
		from++;
	while (end > from && end[-1] == ' ')
		end--;
	return (struct span){from, (u32)(end - from)};
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

static bool is_word_at(const char *p, const char *start, const char *end, const char *word)
{
	size_t bytes = strlen(word);

	return (size_t)(end - p) >= bytes && memcmp(p, word, bytes) == 0 &&
	       (p == start || !in_word(p[-1])) && (p + bytes == end || !in_word(p[bytes]));
}

/* The symbol behind the word "operator" (p is behind it), which may look like brackets. */
static const char *skip_operator(const char *p, const char *end)
{
	static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
					      ">>", "<=", ">=",  "->",  "<",   ">"};

	for (u32 i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		size_t bytes = strlen(symbols[i]);

		if ((size_t)(end - p) >= bytes && memcmp(p, symbols[i], bytes) == 0)
			return p + bytes;
	}
	return p;
}

static char closing(char open)
{
	return open == '<' ? '>' : open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : 0;
}

/* A '<' or '>' in parentheses may be a comparison: the closing parenthesis settles that. */
const char *name_skip_brackets(const char *p, const char *end)
{
	char open[NESTING_MAX];
	const char *start = p;
	u32 depth = 0;

	while (p < end) {
		if (closing(*p)) {
			if (depth == NESTING_MAX)
				return NULL;
			open[depth++] = *p;
		} else if (*p == '>') {
			if (depth && open[depth - 1] == '<' && p[-1] != '-')
				depth--;
		} else if (*p == ')' || *p == ']' || *p == '}') {
			while (depth && open[depth - 1] == '<')
				depth--;
			if (!depth || closing(open[--depth]) != *p)
				return NULL;
		}
		if (is_word_at(p, start, end, "operator"))
			p = skip_operator(p + 8, end);
		else
			p++;
		if (!depth)
			return p;
	}
	return NULL;
}

const char *name_find_outside(const char *p, const char *end, const char *stops)
{
	const char *start = p;

	while (p < end && !strchr(stops, *p)) {
		if (is_word_at(p, start, end, "operator"))
			p = skip_operator(p + 8, end);
		else if (closing(*p)) {
			p = name_skip_brackets(p, end);
			if (!p)
				return NULL;
		} else
			p++;
	}
	return p;
}

static bool add_arguments(struct name_part *part, const char *p, const char *end)
{
	part->is_template = true;
	while (p < end) {
		const char *comma = name_find_outside(p, end, ",");
		struct span one;

		if (!comma)
			return false;
		one = span_between(p, comma);
		if (one.bytes && part->argument_count < NAME_ARGUMENTS)
			part->arguments[part->argument_count++] = one;
		p = comma + 1;
	}
	return true;
}

static bool is_inline_space(struct span name)
{
	return span_is(name, "__cxx11") || span_is(name, "__1") || span_is(name, "__2") ||
	       span_is(name, "__ndk1") || span_is(name, "_V2") || span_is(name, "__8") ||
	       span_is(name, "__debug") || span_is(name, "__cxx1998");
}

struct parsing {
	struct name_parts *out;
	const char *p, *end;
	struct name_part part; /* that is being read */
	const char *name;      /* where its name begins */
	bool behind;           /* parameters or arguments of it were read */
};

static bool finish_part(struct parsing *self)
{
	if (!self->part.name.bytes)
		self->part.name = span_between(self->name, self->p);
	if (self->part.name.bytes && !is_inline_space(self->part.name)) {
		if (self->out->count == NAME_PARTS)
			return false;
		self->out->parts[self->out->count++] = self->part;
	}
	self->part = (struct name_part){0};
	self->behind = false;
	return true;
}

/* "operator new", "operator<", "operator std::string": p is at the word. The rest is the name up to
 * the parameters. */
static bool read_operator(struct parsing *self)
{
	const char *p = skip_operator(self->p + 8, self->end);

	if (p == self->p + 8)
		p = name_find_outside(p, self->end, "(");
	if (!p)
		return false;
	self->part.name = span_between(self->name, p);
	/* "operator< <int>" */
	self->p = p + (self->end - p > 1 && p[0] == ' ' && p[1] == '<');
	return true;
}

/* Rust: "<T as Trait>::f" and "<T>::f" are functions of T. */
static bool read_self_type(struct parsing *self)
{
	const char *behind = name_skip_brackets(self->p, self->end), *p = self->p + 1, *as;

	if (!behind)
		return false;
	for (as = p; as && as < behind - 1;) {
		as = name_find_outside(as, behind - 1, " ");
		if (!as || as == behind - 1 || is_word_at(as + 1, p, behind - 1, "as"))
			break;
		as++;
	}
	if (!as || !name_parse_span(span_between(p, as < behind ? as : behind - 1), self->out))
		return false;
	self->p = behind;
	self->name = behind;
	return true;
}

/* p is at '<': arguments, which Rust's demangler puts behind "::". */
static bool read_arguments(struct parsing *self)
{
	const char *behind = name_skip_brackets(self->p, self->end);
	struct name_part *part = &self->part;

	if (!behind)
		return false;
	if (!part->name.bytes)
		part->name = span_between(self->name, self->p);
	if (!part->name.bytes && self->out->count)
		part = &self->out->parts[self->out->count - 1];
	if (!part->is_template && !add_arguments(part, self->p + 1, behind - 1))
		return false;
	self->p = behind;
	if (part != &self->part)
		self->name = behind;
	return true;
}

/* What may stand behind parameters: " const", " &&". */
static const char *skip_qualifiers(const char *p, const char *end)
{
	static const char *const words[] = {" const", " volatile", " noexcept", " &&", " &"};

	for (u32 i = 0; i < sizeof words / sizeof *words;) {
		size_t bytes = strlen(words[i]);
		bool is_it = (size_t)(end - p) >= bytes && memcmp(p, words[i], bytes) == 0;

		p += is_it ? bytes : 0;
		i = is_it ? 0 : i + 1;
	}
	return p;
}

/* p is at '(': "(anonymous namespace)", or parameters, after which a local name may follow. */
static bool read_parentheses(struct parsing *self, bool *done)
{
	const char *behind = name_skip_brackets(self->p, self->end);

	*done = false;
	if (!behind)
		return false;
	if (self->p == self->name &&
	    span_starts((struct span){self->p, (u32)(behind - self->p)}, "(anonymous")) {
		self->p = behind;
		return true;
	}
	if (self->p == self->name && !self->part.name.bytes)
		return false; /* a pointer to a function comes back: "void (*f())(int)" */
	if (!self->part.name.bytes)
		self->part.name = span_between(self->name, self->p);
	self->p = behind;
	if (span_is(self->part.name, "decltype"))
		return true;
	behind = skip_qualifiers(behind, self->end);
	if (self->end - behind > 1 && behind[0] == ':' && behind[1] == ':') {
		self->p = behind;
		return true;
	}
	self->out->is_function = true;
	*done = true;
	return true;
}

/* A return type ends here. */
static void restart(struct parsing *self)
{
	self->out->count = 0;
	self->part = (struct name_part){0};
	self->p++;
	self->name = self->p;
}

static bool step(struct parsing *self, bool *done)
{
	const char *p = self->p;

	if (p[0] == ':' && p + 1 < self->end && p[1] == ':') {
		if (!finish_part(self))
			return false;
		self->p += 2;
		self->name = self->p;
		return true;
	}
	if (is_word_at(p, self->name, self->end, "operator"))
		return read_operator(self);
	if (*p == '<' && p == self->name && !self->out->count)
		return read_self_type(self);
	if (*p == '<')
		return read_arguments(self);
	if (*p == '(')
		return read_parentheses(self, done);
	if (*p == '[' || *p == '{') {
		const char *behind = name_skip_brackets(p, self->end);

		self->p = behind;
		return behind != NULL;
	}
	if (*p == ' ' || *p == '*' || *p == '&')
		restart(self);
	else
		self->p++;
	return true;
}

bool name_parse_span(struct span text, struct name_parts *out)
{
	struct parsing self = {.out = out, .end = text.text + text.bytes};
	const char *clone = memmem(text.text, text.bytes, " [clone", 7);
	bool done = false;

	out->count = 0;
	out->is_function = false;
	if (clone)
		self.end = clone;
	for (self.p = self.name = text.text; self.p < self.end && !done;)
		if (!step(&self, &done))
			return false;
	return finish_part(&self) && out->count;
}

bool name_parse(const char *text, struct name_parts *out)
{
	return name_parse_span(span_of(text), out);
}

void name_path(const struct name_parts *self, u32 count, struct strbuf *out)
{
	strbuf_clear(out);
	for (u32 i = 0; i < count && i < self->count; i++) {
		strbuf_add(out, i ? "::" : "");
		strbuf_add_bytes(out, self->parts[i].name.text, self->parts[i].name.bytes);
	}
}

void type_add_folded(struct strbuf *out, const char *type)
{
	const char *end = type + strlen(type);

	for (const char *p = type; p < end;) {
		const char *behind = *p == '<' ? name_skip_brackets(p, end) : NULL;

		if (is_word_at(p, type, end, "operator"))
			behind = skip_operator(p + 8, end);
		else if (behind && behind - p > 2) {
			strbuf_add(out, "<*>");
			p = behind;
			continue;
		}
		if (!behind)
			behind = p + 1;
		strbuf_add_bytes(out, p, (u64)(behind - p));
		p = behind;
	}
}
