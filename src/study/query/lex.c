/* SPDX-License-Identifier: MIT
 * Text → words.
 * Host. The text comes from strangers: its length is bounded before anything else. */
#include "study/query/lex.h"

#include <ctype.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "host/base/pattern.h"

static const double WHOLE_MAX = 0x1p53; /* beyond, not every whole number is a double */

static bool fail(struct lexer *self, u32 at, u32 length, const char *message)
{
	query_error_set(self->error, ERR_USAGE, (struct query_place){at, length}, "%s", message);
	self->failed = true;
	self->token = (struct token){.kind = TOKEN_END, .place.at = self->length};
	return false;
}

static bool no_memory(struct lexer *self)
{
	query_error_memory(self->error);
	self->failed = true;
	self->token = (struct token){.kind = TOKEN_END, .place.at = self->length};
	return false;
}

static char peek(const struct lexer *self, u32 ahead)
{
	return self->at + ahead < self->length ? self->text[self->at + ahead] : 0;
}

static bool is_word(char c) { return isalnum((u8)c) || c == '_'; }

/* ---- comments and positions ---- */

bool query_is_id(const char *text)
{
	size_t length = strlen(text);

	for (const char *p = text; *p; p++)
		if (!isalnum((u8)*p) && !strchr("_-.:", *p))
			return false;
	return length > 0 && length <= QUERY_NAME_MAX;
}

/* One short line, whatever it was. */
static void clean_label(char *label)
{
	size_t length = strlen(label);

	for (char *p = label; *p; p++)
		if ((u8)*p < 0x20)
			*p = ' ';
	if (length > QUERY_LABEL_MAX)
		for (length = QUERY_LABEL_MAX; length && ((u8)label[length] & 0xc0) == 0x80;)
			length--;
	while (length && label[length - 1] == ' ')
		length--;
	label[length] = 0;
}

/* "#@ box ID X Y [LABEL]": where an editor put a box. Any other shape is a comment like others. */
static bool read_position(struct lexer *self, const char *line, u32 length)
{
	struct query_position position = {0};
	char id[64], text[512];
	int used = 0;

	if (length >= sizeof text)
		return true;
	memcpy(text, line, length);
	text[length] = 0;
	if (sscanf(text, "#@ box %63s %lf %lf%n", id, &position.x, &position.y, &used) != 3 ||
	    !isfinite(position.x) || !isfinite(position.y) || !query_is_id(id))
		return true;
	while (text[used] == ' ')
		used++;
	clean_label(text + used);
	position.id = arena_copy(&self->query->arena, id);
	position.label = arena_copy(&self->query->arena, text + used);
	return (position.id && position.label && vec_push(&self->query->positions, position)) ||
	       no_memory(self);
}

static bool is_comment(const struct lexer *self)
{
	char next = peek(self, 1);

	return peek(self, 0) == '#' && (!next || next == ' ' || next == '\t' || next == '\n' ||
					next == '\r' || next == '@' || next == '!' || next == '#');
}

static bool skip_blank(struct lexer *self)
{
	for (;;) {
		u32 start = self->at;

		if (self->at < self->length && isspace((u8)peek(self, 0))) {
			self->at++;
			continue;
		}
		if (!is_comment(self))
			return true;
		while (self->at < self->length && peek(self, 0) != '\n')
			self->at++;
		if (!read_position(self, self->text + start, self->at - start))
			return false;
	}
}

/* ---- numbers ---- */

static const struct {
	const char *name;
	double factor;
	enum number_unit unit;
} units[] = {
	{"", 1, UNIT_NONE},          {"B", 1, UNIT_BYTES},        {"kB", 1e3, UNIT_BYTES},
	{"MB", 1e6, UNIT_BYTES},     {"GB", 1e9, UNIT_BYTES},     {"TB", 1e12, UNIT_BYTES},
	{"KiB", 0x1p10, UNIT_BYTES}, {"MiB", 0x1p20, UNIT_BYTES}, {"GiB", 0x1p30, UNIT_BYTES},
	{"TiB", 0x1p40, UNIT_BYTES}, {"ns", 1, UNIT_TIME},        {"us", 1e3, UNIT_TIME},
	{"ms", 1e6, UNIT_TIME},      {"s", 1e9, UNIT_TIME},       {"min", 60e9, UNIT_TIME},
	{"%", 1, UNIT_PERCENT},
};

static bool apply_unit(struct lexer *self, struct token *token, const char *unit)
{
	struct nearest nearest = {.word = unit};

	for (u32 i = 0; i < sizeof units / sizeof *units; i++) {
		if (strcmp(units[i].name, unit) == 0) {
			token->number *= units[i].factor;
			token->unit = units[i].unit;
			return true;
		}
		if (*units[i].name)
			nearest_try(&nearest, units[i].name);
	}
	query_error_set(self->error, ERR_USAGE, token->place, "unknown unit '%s'", unit);
	query_error_suggest(self->error, nearest.best,
			    "units are B KiB MiB GiB kB MB GB, ns us ms s min, and %");
	self->failed = true;
	return false;
}

/* Digits, a fraction and an exponent; the text is not terminated there, so they are copied. */
static bool read_digits(struct lexer *self, struct token *token)
{
	char digits[64];
	u32 n = 0;
	bool hex = peek(self, 0) == '0' && (peek(self, 1) == 'x' || peek(self, 1) == 'X');

	for (char c; (c = peek(self, 0)) != 0; self->at++) {
		bool exponent = !hex && (c == 'e' || c == 'E') &&
				(isdigit((u8)peek(self, 1)) ||
				 ((peek(self, 1) == '-' || peek(self, 1) == '+') &&
				  isdigit((u8)peek(self, 2))));
		bool sign = n && (c == '-' || c == '+') && !hex &&
			    (digits[n - 1] == 'e' || digits[n - 1] == 'E');
		bool point = !hex && c == '.' && isdigit((u8)peek(self, 1));
		bool prefix = hex && n == 1;

		if (!(hex ? isxdigit((u8)c) || prefix
			  : isdigit((u8)c) || exponent || sign || point))
			break;
		if (n + 1 >= sizeof digits)
			return fail(self, token->place.at, n, "the number is too long");
		digits[n++] = c;
	}
	digits[n] = 0;
	if (hex && n == 2)
		return fail(self, token->place.at, n, "expected hexadecimal digits after 0x");
	token->number = hex ? (double)strtoull(digits, NULL, 16) : strtod(digits, NULL);
	return true;
}

/* "1 MiB": blanks before a word that is a unit do not count. */
static void skip_to_unit(struct lexer *self)
{
	u32 blanks = 0, n = 0;

	while (peek(self, blanks) == ' ')
		blanks++;
	while (isalnum((u8)peek(self, blanks + n)) || peek(self, blanks + n) == '_')
		n++;
	for (u32 i = 0; blanks && n && i < sizeof units / sizeof *units; i++)
		if (strlen(units[i].name) == n &&
		    memcmp(units[i].name, self->text + self->at + blanks, n) == 0)
			self->at += blanks;
}

static bool read_number(struct lexer *self, struct token *token)
{
	char unit[16];
	u32 n = 0;

	token->kind = TOKEN_NUMBER;
	if (!read_digits(self, token))
		return false;
	skip_to_unit(self);
	while (n + 1 < sizeof unit &&
	       (isalpha((u8)peek(self, 0)) || (n == 0 && peek(self, 0) == '%'))) {
		unit[n++] = peek(self, 0);
		self->at++;
		if (unit[n - 1] == '%')
			break;
	}
	unit[n] = 0;
	token->place.length = self->at - token->place.at;
	if (!apply_unit(self, token, unit))
		return false;
	if (!(token->number <= WHOLE_MAX))
		return fail(self, token->place.at, token->place.length, "the number is too large");
	return true;
}

/* ---- texts and patterns ---- */

static int hex_digit(char c)
{
	return isdigit((u8)c) ? c - '0' : isxdigit((u8)c) ? tolower((u8)c) - 'a' + 10 : -1;
}

/* What follows a backslash in a text; false if that is nothing we know. */
static bool read_escape(struct lexer *self, struct strbuf *out)
{
	static const char plain[] = "\"\\nt", meant[] = "\"\\\n\t";
	char c = peek(self, 1);
	const char *found = c ? strchr(plain, c) : NULL;
	int high = hex_digit(peek(self, 2)), low = hex_digit(peek(self, 3));

	if (found) {
		strbuf_add_char(out, meant[found - plain]);
		self->at += 2;
		return true;
	}
	if (c != 'x' || high < 0 || low < 0 || high + low == 0)
		return fail(self, self->at, 2, "expected one of \" \\ n t xHH after a backslash");
	strbuf_add_char(out, (char)(high << 4 | low));
	self->at += 4;
	return true;
}

static bool keep(struct lexer *self, struct token *token, struct strbuf *text)
{
	token->text =
		text->failed ? NULL
			     : arena_copy_text(&self->query->arena, strbuf_text(text), text->count);
	strbuf_release(text);
	token->place.length = self->at - token->place.at;
	return token->text || no_memory(self);
}

static bool read_text(struct lexer *self, struct token *token)
{
	struct strbuf text = {0};

	token->kind = TOKEN_TEXT;
	self->at++;
	while (peek(self, 0) != '"') {
		bool escaped = peek(self, 0) == '\\';

		if (self->at >= self->length || peek(self, 0) == '\n') {
			strbuf_release(&text);
			return fail(self, token->place.at, self->at - token->place.at,
				    "unterminated text: the closing \" is missing");
		}
		if (escaped && !read_escape(self, &text)) {
			strbuf_release(&text);
			return false;
		}
		if (!escaped)
			strbuf_add_char(&text, self->text[self->at++]);
	}
	self->at++;
	return keep(self, token, &text);
}

static bool check_pattern(struct lexer *self, const struct token *token)
{
	const char *trouble = strlen(token->text) > QUERY_PATTERN_MAX
				      ? "the pattern is too long"
				      : pattern_trouble(token->text);
	regex_t regex;
	char why[128];
	int status;

	if (trouble)
		return fail(self, token->place.at, token->place.length, trouble);
	status = regcomp(&regex, token->text, REG_EXTENDED | REG_NOSUB);
	if (status == 0) {
		regfree(&regex);
		return true;
	}
	regerror(status, &regex, why, sizeof why);
	query_error_set(self->error, ERR_USAGE, token->place, "invalid pattern: %s", why);
	self->failed = true;
	return false;
}

static bool read_regex(struct lexer *self, struct token *token)
{
	struct strbuf text = {0};

	token->kind = TOKEN_REGEX;
	for (self->at++; peek(self, 0) != '/'; self->at++) {
		if (self->at >= self->length || peek(self, 0) == '\n') {
			strbuf_release(&text);
			return fail(self, token->place.at, self->at - token->place.at,
				    "unterminated pattern: the closing / is missing");
		}
		if (peek(self, 0) == '\\' && peek(self, 1) == '/') {
			self->at++;
		} else if (peek(self, 0) == '\\' && self->at + 1 < self->length &&
			   peek(self, 1) != '\n') {
			strbuf_add_char(&text, '\\');
			self->at++;
		}
		strbuf_add_char(&text, self->text[self->at]);
	}
	self->at++;
	if (peek(self, 0) == 'i' && !is_word(peek(self, 1))) {
		token->nocase = true;
		self->at++;
	}
	return keep(self, token, &text) && check_pattern(self, token);
}

/* ---- the rest ---- */

static bool read_color(struct lexer *self, struct token *token)
{
	u32 rgb = 0, n = 0;

	for (self->at++; hex_digit(peek(self, 0)) >= 0; self->at++, n++)
		rgb = rgb << 4 | (u32)hex_digit(peek(self, 0));
	token->kind = TOKEN_COLOR;
	token->place.length = self->at - token->place.at;
	token->number = rgb;
	if (n == 6 && !is_word(peek(self, 0)))
		return true;
	fail(self, token->place.at, token->place.length ? token->place.length : 1,
	     "a colour must be # and six hexadecimal digits");
	query_error_hint(self->error, "a comment begins with # and a space");
	return false;
}

static bool read_mark(struct lexer *self, struct token *token)
{
	static const char *const marks[] = {"==", "!=", "<=", ">=", "..", "|", ";", ",", "(",
					    ")",  "=",  "<",  ">",  "~",  "+", "-", "*", "/"};
	static const struct {
		const char *wrong, *right;
	} hints[] = {{"&&", "and"}, {"||", "or"}, {"!~", "not ... ~"}, {"!", "not"}, {"&", "and"}};
	const char *rest = self->text + self->at;

	for (u32 i = 0; i < sizeof hints / sizeof *hints; i++)
		if (strncmp(rest, hints[i].wrong, strlen(hints[i].wrong)) == 0 &&
		    strncmp(rest, "!=", 2) != 0) {
			fail(self, self->at, (u32)strlen(hints[i].wrong), "unknown operator");
			query_error_hint(self->error, "write '%s'", hints[i].right);
			return false;
		}
	for (u32 i = 0; i < sizeof marks / sizeof *marks; i++) {
		if (strncmp(rest, marks[i], strlen(marks[i])) != 0)
			continue;
		token->kind = TOKEN_MARK;
		token->place.length = (u32)strlen(marks[i]);
		memcpy(token->mark, marks[i], token->place.length + 1);
		self->at += token->place.length;
		return true;
	}
	if (*rest == '\'')
		query_error_hint((fail(self, self->at, 1, "texts must be in double quotes"),
				  self->error),
				 "write \"...\"");
	return fail(self, self->at, 1, "unexpected character");
}

static bool read_word(struct lexer *self, struct token *token)
{
	token->kind = TOKEN_WORD;
	while (is_word(peek(self, 0)))
		self->at++;
	token->place.length = self->at - token->place.at;
	token->text = arena_copy_text(&self->query->arena, self->text + token->place.at,
				      token->place.length);
	return token->text || no_memory(self);
}

static bool read_token(struct lexer *self)
{
	struct token token = {.place.at = self->at};
	char c = peek(self, 0);
	bool fine;

	if (self->at >= self->length)
		fine = true;
	else if (isdigit((u8)c))
		fine = read_number(self, &token);
	else if (is_word(c))
		fine = read_word(self, &token);
	else if (c == '"')
		fine = read_text(self, &token);
	else if (c == '/' && self->pattern)
		fine = read_regex(self, &token);
	else if (c == '#')
		fine = read_color(self, &token);
	else
		fine = read_mark(self, &token);
	if (!fine) {
		self->failed = true;
		self->token = (struct token){.kind = TOKEN_END, .place.at = self->length};
		return false;
	}
	self->token = token;
	return true;
}

bool lexer_next(struct lexer *self)
{
	const struct token *last = &self->token;

	if (self->failed)
		return false;
	self->end = last->place.at + last->place.length;
	self->pattern = (last->kind == TOKEN_MARK && last->mark[0] == '~') ||
			(last->kind == TOKEN_WORD && strcmp(last->text, "hide") == 0);
	return skip_blank(self) && read_token(self);
}

bool lexer_start(struct lexer *self, const char *text, struct query *query,
		 struct query_error *error)
{
	size_t length = strlen(text);

	*self = (struct lexer){.text = text, .query = query, .error = error};
	if (length > QUERY_TEXT_MAX)
		return fail(self, QUERY_TEXT_MAX, 0, "the text is too long");
	self->length = (u32)length;
	return lexer_next(self);
}
