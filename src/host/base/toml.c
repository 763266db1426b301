/* SPDX-License-Identifier: MIT
 * Reads TOML, as far as toml.h says.
 * Host. The text is a stranger's: it is looked at byte by byte and never beyond its end.
 * Our own, because tomlc99 is not a package of Debian 12. */
#include "host/base/toml.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "host/base/strbuf.h"

/* Names are compared with all others: more would take long. */
enum { NUMBER_MAX = 64, ITEMS_MAX = 4096 };

struct reader {
	struct toml *out;
	const char *name;
	const u8 *at, *end, *line_start;
	u32 line;
	struct strbuf text; /* of the string that is being read */
	struct err *err;
};

static struct toml_place place_of(const struct reader *self)
{
	return (struct toml_place){self->line, (u32)(self->at - self->line_start) + 1};
}

/* Errors are about the place where the reader is, or another one. */
#define refuse(self, ...) refuse_at(self, place_of(self), __VA_ARGS__)
#define refuse_at(self, place, ...) toml_refuse((self)->err, (self)->name, place, __VA_ARGS__)

int toml_refuse(struct err *err, const char *name, struct toml_place place, const char *format, ...)
{
	struct strbuf text = {0};
	va_list arguments;
	int status;

	va_start(arguments, format);
	strbuf_vaddf(&text, format, arguments);
	va_end(arguments);
	status = err_set(err, ERR_INPUT, "%s:%u:%u: %s", name, place.line, place.column,
			 strbuf_text(&text));
	strbuf_release(&text);
	return status;
}

static int no_memory(struct reader *self) { return err_memory_for(self->err, "%s", self->name); }

/* The byte `ahead` of here; 0 at the end, which no text may hold. */
static u8 peek(const struct reader *self, u32 ahead)
{
	return (u64)(self->end - self->at) > ahead ? self->at[ahead] : 0;
}

static bool follows(const struct reader *self, const char *word)
{
	size_t length = strlen(word);

	return (u64)(self->end - self->at) >= length && memcmp(self->at, word, length) == 0;
}

static bool is_digit(u8 c) { return c >= '0' && c <= '9'; }

static bool is_bare(u8 c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '-';
}

static void skip_blanks(struct reader *self)
{
	while (peek(self, 0) == ' ' || peek(self, 0) == '\t')
		self->at++;
}

/* Length of the UTF-8 character here; 0 if there is none. */
static u32 character(const struct reader *self)
{
	static const u32 lowest[] = {0, 0, 0x80, 0x800, 0x10000};
	u8 first = peek(self, 0);
	u32 length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	u32 code = length == 1 ? first : first & (0x7fu >> length);

	for (u32 i = 1; i < length; i++) {
		if ((peek(self, i) & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (peek(self, i) & 0x3f);
	}
	if (length &&
	    (code < lowest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)))
		return 0;
	return length;
}

/* Takes one character of a comment or a string; control characters other than tab are not
 * allowed. */
static int take_character(struct reader *self, struct strbuf *out)
{
	u32 length = character(self);

	if (!length)
		return refuse(self, "the file is not UTF-8");
	if ((*self->at < 0x20 && *self->at != '\t') || *self->at == 0x7f)
		return refuse(self, "control character 0x%02x is not allowed", *self->at);
	if (out)
		strbuf_add_bytes(out, self->at, length);
	self->at += length;
	return 0;
}

static bool at_line_end(const struct reader *self)
{
	return self->at == self->end || *self->at == '\n' ||
	       (*self->at == '\r' && peek(self, 1) == '\n');
}

static void take_line_end(struct reader *self)
{
	if (self->at == self->end)
		return;
	self->at += *self->at == '\r' ? 2 : 1;
	self->line++;
	self->line_start = self->at;
}

static int skip_comment(struct reader *self)
{
	int status = 0;

	skip_blanks(self);
	if (peek(self, 0) == '#')
		while (status == 0 && !at_line_end(self))
			status = take_character(self, NULL);
	return status;
}

/* Nothing but a comment may follow on the line. */
static int finish_line(struct reader *self)
{
	int status = skip_comment(self);

	if (status < 0)
		return status;
	if (!at_line_end(self))
		return refuse(self, "unexpected text; only a comment may follow on this line");
	take_line_end(self);
	return 0;
}

/* ---- strings ---- */

static int hex_digit(u8 c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* \uXXXX or \UXXXXXXXX, of which the letter is the next byte. */
static int take_code(struct reader *self)
{
	u32 digits = *self->at == 'u' ? 4 : 8, code = 0;

	for (u32 i = 1; i <= digits; i++) {
		int digit = hex_digit(peek(self, i));

		if (digit < 0)
			return refuse(self,
				      "expected %c and %u hexadecimal digits after the backslash",
				      *self->at, digits);
		code = code << 4 | (u32)digit;
	}
	if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return refuse(self, "there is no such Unicode character");
	if (!code)
		return refuse(self, "a zero byte is not allowed");
	strbuf_add_utf8(&self->text, code);
	self->at += digits + 1;
	return 0;
}

static int take_escape(struct reader *self)
{
	static const char letters[] = "btnfr\"\\", meanings[] = "\b\t\n\f\r\"\\";
	const char *letter;

	self->at++;
	if (peek(self, 0) == 'u' || peek(self, 0) == 'U')
		return take_code(self);
	letter = peek(self, 0) ? strchr(letters, *self->at) : NULL;
	if (!letter)
		return refuse(self, "unknown escape; expected one of \\b \\t \\n"
				    " \\f \\r \\\" \\\\ \\uXXXX \\UXXXXXXXX");
	strbuf_add_char(&self->text, meanings[letter - letters]);
	self->at++;
	return 0;
}

/* "…" with escapes or '…' without, into self->text. */
static int take_string(struct reader *self)
{
	u8 quote = *self->at;
	struct toml_place start = place_of(self);
	int status = 0;

	if (peek(self, 1) == quote && peek(self, 2) == quote)
		return refuse(self, "multi-line strings are not supported");
	strbuf_clear(&self->text);
	self->at++;
	while (status == 0 && !at_line_end(self) && *self->at != quote)
		status = *self->at == '\\' && quote == '"' ? take_escape(self)
							   : take_character(self, &self->text);
	if (status < 0)
		return status;
	if (at_line_end(self))
		return refuse_at(self, start, "unterminated string");
	self->at++;
	return self->text.failed ? no_memory(self) : 0;
}

static const char *keep_text(struct reader *self)
{
	return arena_copy_text(&self->out->arena, strbuf_text(&self->text), self->text.count);
}

/* ---- numbers ---- */

/* Digits with single underscores between them; false if there are none or an underscore stands
 * wrong. */
static bool take_digits(const u8 **at, const u8 *end, char *out, u32 *used)
{
	bool digit = false;

	for (; *at < end && (is_digit(**at) || **at == '_'); (*at)++) {
		if (**at == '_' && (!digit || *at + 1 == end || !is_digit((*at)[1])))
			return false;
		digit = **at != '_';
		if (digit)
			out[(*used)++] = (char)**at;
	}
	return digit;
}

/* Whether [from, end) is an integer or a real number; without underscores in `out`. */
static bool number_shape(const u8 *from, const u8 *end, char *out, bool *real)
{
	u32 used = 0, first;

	*real = false;
	if (from < end && (*from == '+' || *from == '-'))
		out[used++] = (char)*from++;
	first = used;
	if (!take_digits(&from, end, out, &used) || (out[first] == '0' && used > first + 1))
		return false;
	if (from < end && *from == '.') {
		*real = true;
		out[used++] = (char)*from++;
		if (!take_digits(&from, end, out, &used))
			return false;
	}
	if (from < end && (*from == 'e' || *from == 'E')) {
		*real = true;
		out[used++] = (char)*from++;
		if (from < end && (*from == '+' || *from == '-'))
			out[used++] = (char)*from++;
		if (!take_digits(&from, end, out, &used))
			return false;
	}
	out[used] = 0;
	return from == end;
}

static int take_number(struct reader *self, struct toml_value *value)
{
	const u8 *end = self->at;
	char digits[NUMBER_MAX + 1];
	bool real;

	while (end < self->end && (is_bare(*end) || *end == '+' || *end == '.' || *end == ':'))
		end++;
	if (end == self->at)
		return refuse(self, "expected a value: a string in quotes, a number, true, false "
				    "or an array");
	if (end - self->at > NUMBER_MAX || !number_shape(self->at, end, digits, &real))
		return refuse(self,
			      "'%.*s' is not a number, true or false; put strings in quotes (dates "
			      "and numbers in other bases are not supported)",
			      (int)(end - self->at < 40 ? end - self->at : 40),
			      (const char *)self->at);
	errno = 0;
	if (real) {
		value->type = TOML_REAL;
		value->real = strtod(digits, NULL);
	} else {
		value->type = TOML_INTEGER;
		value->integer = strtoll(digits, NULL, 10);
	}
	if ((real && !isfinite(value->real)) || (!real && errno))
		return refuse(self, "the number is too large");
	self->at = end;
	return 0;
}

/* ---- values ---- */

static int take_value(struct reader *self, struct toml_value *value, bool inside);

/* Line ends and comments between the items of an array. */
static int skip_lines(struct reader *self)
{
	for (;;) {
		int status = skip_comment(self);

		if (status < 0)
			return status;
		if (self->at == self->end || !at_line_end(self))
			return 0;
		take_line_end(self);
	}
}

static int take_items(struct reader *self, struct toml_value *array)
{
	VEC(struct toml_value) items = {0};
	struct toml_value *kept;
	int status;

	self->at++;
	for (;;) {
		struct toml_value item;

		status = skip_lines(self);
		if (status < 0 || peek(self, 0) == ']')
			break;
		if (self->at == self->end)
			status = refuse_at(self, array->place, "unterminated array");
		else if (items.count == ITEMS_MAX)
			status = refuse(self, "more than %d items", ITEMS_MAX);
		else
			status = take_value(self, &item, true);
		if (status == 0 && !vec_push(&items, item))
			status = no_memory(self);
		if (status == 0)
			status = skip_lines(self);
		if (status < 0 || peek(self, 0) == ']')
			break;
		if (peek(self, 0) != ',') {
			status = self->at == self->end
					 ? refuse_at(self, array->place, "unterminated array")
					 : refuse(self, "expected a comma or ]");
			break;
		}
		self->at++;
	}
	kept = status < 0 ? NULL
			  : arena_new_array(&self->out->arena, struct toml_value, items.count);
	if (kept && items.count)
		memcpy(kept, items.data, items.count * sizeof *kept);
	if (status == 0 && !kept)
		status = no_memory(self);
	array->items = kept;
	array->count = (u32)items.count;
	vec_release(&items);
	self->at += status == 0;
	return status;
}

static bool take_word(struct reader *self, const char *word)
{
	if (!follows(self, word) || is_bare(peek(self, (u32)strlen(word))))
		return false;
	self->at += strlen(word);
	return true;
}

static int take_text_value(struct reader *self, struct toml_value *value)
{
	int status = take_string(self);

	if (status < 0)
		return status;
	value->type = TOML_STRING;
	value->text = keep_text(self);
	return value->text ? 0 : no_memory(self);
}

/* inside: of an array, where no other array may be. */
static int take_value(struct reader *self, struct toml_value *value, bool inside)
{
	*value = (struct toml_value){.place = place_of(self)};
	switch (peek(self, 0)) {
	case '"':
	case '\'': return take_text_value(self, value);
	case '[':
		if (inside)
			return refuse(self, "nested arrays are not supported");
		value->type = TOML_ARRAY;
		return take_items(self, value);
	case '{': return refuse(self, "inline tables are not supported");
	default: break;
	}
	value->type = TOML_BOOL;
	value->boolean = true;
	if (take_word(self, "true"))
		return 0;
	value->boolean = false;
	if (take_word(self, "false"))
		return 0;
	return take_number(self, value);
}

/* ---- keys and tables ---- */

static int take_key(struct reader *self, const char **key)
{
	const u8 *from = self->at;
	int status = 0;

	if (peek(self, 0) == '"' || peek(self, 0) == '\'') {
		status = take_string(self);
	} else {
		while (is_bare(peek(self, 0)))
			self->at++;
		strbuf_clear(&self->text);
		strbuf_add_bytes(&self->text, from, (u64)(self->at - from));
		if (self->at == from)
			return refuse(self, "expected a key");
	}
	if (status < 0)
		return status;
	*key = keep_text(self);
	if (!*key)
		return no_memory(self);
	skip_blanks(self);
	return peek(self, 0) == '.' ? refuse(self, "keys with dots are not supported") : 0;
}

static int take_pair(struct reader *self)
{
	struct toml *out = self->out;
	struct toml_entry entry = {.table = (u32)out->tables.count - 1, .place = place_of(self)};
	int status = take_key(self, &entry.key);

	if (status < 0)
		return status;
	if (peek(self, 0) != '=')
		return refuse(self, "expected =");
	for (u64 i = out->entries.count; i-- > 0 && out->entries.data[i].table == entry.table;)
		if (strcmp(out->entries.data[i].key, entry.key) == 0)
			return refuse_at(self, entry.place, "'%.100s' is already set in line %u",
					 entry.key, out->entries.data[i].place.line);
	self->at++;
	skip_blanks(self);
	status = take_value(self, &entry.value, false);
	if (status < 0)
		return status;
	if (out->entries.count == ITEMS_MAX)
		return refuse(self, "more than %d settings", ITEMS_MAX);
	if (!vec_push(&out->entries, entry))
		return no_memory(self);
	return finish_line(self);
}

/* Names are unique, but for those of arrays, and no pair may be called like a table. */
static int check_table(struct reader *self, const struct toml_table *table, struct toml_place place)
{
	struct toml *out = self->out;

	for (u64 i = 1; i < out->tables.count; i++)
		if (strcmp(out->tables.data[i].name, table->name) == 0 &&
		    !(table->array && out->tables.data[i].array))
			return refuse_at(self, place, "table '%.100s' is already in line %u",
					 table->name, out->tables.data[i].line);
	for (u64 i = 0; i < out->entries.count && out->entries.data[i].table == 0; i++)
		if (strcmp(out->entries.data[i].key, table->name) == 0)
			return refuse_at(self, place, "'%.100s' is already set in line %u",
					 table->name, out->entries.data[i].place.line);
	return 0;
}

static int take_table(struct reader *self)
{
	struct toml_table table = {.line = self->line, .array = peek(self, 1) == '['};
	struct toml_place place = place_of(self);
	int status;

	self->at += table.array ? 2 : 1;
	skip_blanks(self);
	status = take_key(self, &table.name);
	if (status == 0)
		status = check_table(self, &table, place);
	if (status < 0)
		return status;
	if (!follows(self, table.array ? "]]" : "]"))
		return refuse(self, "expected %s", table.array ? "]]" : "]");
	self->at += table.array ? 2 : 1;
	if (self->out->tables.count == ITEMS_MAX)
		return refuse(self, "more than %d tables", ITEMS_MAX);
	if (!vec_push(&self->out->tables, table))
		return no_memory(self);
	return finish_line(self);
}

static int take_line(struct reader *self)
{
	skip_blanks(self);
	if (at_line_end(self) || peek(self, 0) == '#')
		return finish_line(self);
	return peek(self, 0) == '[' ? take_table(self) : take_pair(self);
}

int toml_read(struct toml *self, const char *text, u64 bytes, const char *name, struct err *err)
{
	struct reader reader = {.out = self,
				.name = name,
				.at = (const u8 *)text,
				.end = (const u8 *)text + bytes,
				.line_start = (const u8 *)text,
				.line = 1,
				.err = err};
	int status = 0;

	if (bytes > TOML_MAX_BYTES)
		return err_set(err, ERR_INPUT, "%s is larger than %d bytes", name, TOML_MAX_BYTES);
	if (follows(&reader, "\xef\xbb\xbf"))
		reader.at = reader.line_start = reader.at + 3;
	if (!vec_push(&self->tables, (struct toml_table){.name = ""}))
		return no_memory(&reader);
	while (status == 0 && reader.at < reader.end)
		status = take_line(&reader);
	strbuf_release(&reader.text);
	return status;
}

void toml_release(struct toml *self)
{
	vec_release(&self->tables);
	vec_release(&self->entries);
	arena_release(&self->arena);
}

const char *toml_type_name(enum toml_type type)
{
	static const char *const names[] = {[TOML_STRING] = "string",
					    [TOML_INTEGER] = "integer",
					    [TOML_REAL] = "real number",
					    [TOML_BOOL] = "boolean",
					    [TOML_ARRAY] = "array"};

	return names[type];
}
