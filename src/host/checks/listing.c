/* SPDX-License-Identifier: MIT
 * Reads assembler text as gcc writes it; see listing.h. Host. What it does not know is a barrier,
 * so that nobody draws conclusions beyond it. */
#define _GNU_SOURCE
#include "host/checks/listing.h"

#include <string.h>

/* ---- pieces ---- */

bool piece_starts(struct piece piece, const char *text)
{
	u64 bytes = strlen(text);

	return piece.bytes >= bytes && memcmp(piece.at, text, bytes) == 0;
}

bool piece_is(struct piece piece, const char *text)
{
	return piece.bytes == strlen(text) && piece_starts(piece, text);
}

bool piece_equals(struct piece one, struct piece other)
{
	return one.bytes == other.bytes && memcmp(one.at, other.at, one.bytes) == 0;
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct piece piece_trimmed(struct piece piece)
{
	for (; piece.bytes && is_space(*piece.at); piece.bytes--)
		piece.at++;
	while (piece.bytes && is_space(piece.at[piece.bytes - 1]))
		piece.bytes--;
	return piece;
}

/* All but digits has been told apart before; 0 if it is no number that a compiler would write. */
static u64 number_of(struct piece digits)
{
	u64 number = 0;

	if (!digits.bytes || digits.bytes > 12)
		return 0;
	for (u64 i = 0; i < digits.bytes; i++) {
		if (!is_digit(digits.at[i]))
			return 0;
		number = number * 10 + (u64)(digits.at[i] - '0');
	}
	return number;
}

static u64 label_number(struct piece label)
{
	if (!piece_starts(label, ".L"))
		return 0;
	return number_of((struct piece){label.at + 2, label.bytes - 2});
}

/* ---- lines ---- */

bool label_is_mark(struct piece label)
{
	static const char *const marks[] = {".LVL", ".LBB", ".LBE", ".LBI"};

	for (u32 i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (piece_starts(label, marks[i]))
			return number_of((struct piece){label.at + 4, label.bytes - 4}) != 0;
	return false;
}

bool directive_is_harmless(struct piece directive)
{
	return piece_starts(directive, ".loc\t") || piece_starts(directive, ".loc ") ||
	       piece_starts(directive, ".cfi_") || piece_starts(directive, ".p2align");
}

/* False if the line says nothing. */
static bool classify(struct piece line, u8 *kind)
{
	line = piece_trimmed(line);
	if (!line.bytes)
		return false;
	*kind = LINE_BARRIER;
	if (line.at[0] ==
	    '#') /* of -fverbose-asm; but #APP and #NO_APP surround the programmer's own text */
		return piece_starts(line, "#APP") || piece_starts(line, "#NO_APP");
	if (line.at[line.bytes - 1] == ':') {
		struct piece label = {line.at, line.bytes - 1};

		if (label_number(label))
			*kind = LINE_LABEL;
		return !label_is_mark(label);
	}
	if (line.at[0] == '.')
		return !directive_is_harmless(line);
	if (!memchr(line.at, ';', line.bytes) && !memchr(line.at, ':', line.bytes))
		*kind = LINE_INSTRUCTION;
	return true;
}

struct piece listing_text(const struct listing *self, i64 line)
{
	const struct line *at = &self->lines.data[line];

	return (struct piece){self->text + at->start, at->bytes};
}

static bool add_line(struct listing *self, u64 start, u64 bytes)
{
	struct line line = {.start = start, .bytes = (u32)bytes};
	struct piece text = {self->text + start, bytes};

	if (bytes > UINT32_MAX)
		line.kind = LINE_BARRIER;
	else if (!classify(text, &line.kind))
		return true;
	if (line.kind == LINE_LABEL) {
		text = piece_trimmed(text);
		text.bytes--;
		if (!map_put(&self->labels, label_number(text), self->lines.count))
			return false;
	}
	return vec_push(&self->lines, line);
}

/* Counts too much rather than too little: what only looks like a label is one. */
static bool count_mentions(struct listing *self)
{
	const char *end = self->text + self->bytes, *at = self->text;

	while ((at = memmem(at, (u64)(end - at), ".L", 2))) {
		struct piece digits = {at += 2, 0};
		u64 number, *count;

		while (at < end && is_digit(*at))
			at++;
		digits.bytes = (u64)(at - digits.at);
		number = number_of(digits);
		if (!number)
			continue;
		count = map_at(&self->mentions, number);
		if (!count)
			return false;
		++*count;
	}
	return true;
}

static bool read_lines(struct listing *self)
{
	const char *text = self->text;
	u64 bytes = self->bytes;

	for (u64 start = 0, end; start < bytes; start = end) {
		const char *newline = memchr(text + start, '\n', bytes - start);

		end = newline ? (u64)(newline + 1 - text) : bytes;
		if (!add_line(self, start, end - start))
			return false;
	}
	return true;
}

bool listing_read(struct listing *self, const char *text, u64 bytes)
{
	*self = (struct listing){.text = text, .bytes = bytes};
	if (!bytes || (read_lines(self) && count_mentions(self)))
		return true;
	listing_release(self);
	return false;
}

void listing_release(struct listing *self)
{
	vec_release(&self->lines);
	map_release(&self->labels);
	map_release(&self->mentions);
}

/* ---- instructions ---- */

/* Behind a name: operands with commas between them, not those inside brackets; then perhaps a
 * comment. */
static void read_operands(struct instruction *self, struct piece rest)
{
	u64 start = 0, depth = 0;
	const char *comment = memchr(rest.at, '#', rest.bytes);

	if (comment)
		rest.bytes = (u64)(comment - rest.at);
	rest = piece_trimmed(rest);
	for (u64 i = 0; i <= rest.bytes && rest.bytes; i++) {
		char c = i < rest.bytes ? rest.at[i] : ',';

		depth += c == '(';
		depth -= c == ')' && depth;
		if (c != ',' || (depth && i < rest.bytes))
			continue;
		if (self->operands < 2)
			self->operand[self->operands] =
				piece_trimmed((struct piece){rest.at + start, i - start});
		self->operands++;
		start = i + 1;
	}
}

bool listing_instruction(const struct listing *self, i64 line, struct instruction *instruction)
{
	struct piece text;
	u64 name = 0;

	if (line < 0 || (u64)line >= self->lines.count ||
	    self->lines.data[line].kind != LINE_INSTRUCTION)
		return false;
	*instruction = (struct instruction){0};
	text = piece_trimmed(listing_text(self, line));
	while (name < text.bytes && !is_space(text.at[name]))
		name++;
	instruction->name = (struct piece){text.at, name};
	read_operands(instruction, (struct piece){text.at + name, text.bytes - name});
	return true;
}

bool listing_is(const struct listing *self, i64 line, const char *name,
		struct instruction *instruction)
{
	return listing_instruction(self, line, instruction) && piece_is(instruction->name, name);
}

bool listing_label(const struct listing *self, i64 line, struct piece *label)
{
	if (line < 0 || (u64)line >= self->lines.count || self->lines.data[line].kind != LINE_LABEL)
		return false;
	*label = piece_trimmed(listing_text(self, line));
	label->bytes--;
	return true;
}

bool listing_is_label(const struct listing *self, i64 line, struct piece label)
{
	struct piece here;

	return listing_label(self, line, &here) && piece_equals(here, label);
}

i64 listing_find(const struct listing *self, struct piece label)
{
	const u64 *line = label_number(label) ? map_find(&self->labels, label_number(label)) : NULL;

	return line ? (i64)*line : NO_LINE;
}

u64 listing_references(const struct listing *self, struct piece label)
{
	const u64 *mentions = map_find(&self->mentions, label_number(label));

	return mentions ? *mentions - 1 : 0;
}

/* ---- registers ---- */

/* r8 to r15, with d, w or b behind it. */
static int numbered_register(struct piece name)
{
	u64 number, digits = 1;

	while (digits < name.bytes && is_digit(name.at[digits]))
		digits++;
	number = number_of((struct piece){name.at + 1, digits - 1});
	return number >= 8 && number <= 15 ? (int)number : NO_REGISTER;
}

/* Without its percent sign. */
static int named_register(struct piece name)
{
	/* By number; al, ah and ax have the first letter in common, si and sil the first two. */
	static const char first[] = "acdb", *const pairs[] = {"sp", "bp", "si", "di"};

	if (name.bytes >= 2 && name.at[0] == 'r' && is_digit(name.at[1]))
		return numbered_register(name);
	if (name.bytes == 3 && (name.at[0] == 'r' || name.at[0] == 'e'))
		name = (struct piece){name.at + 1, 2};
	for (int i = 0; i < 4; i++)
		if (piece_is(name, pairs[i]) || (name.bytes == 3 && piece_starts(name, pairs[i])))
			return 4 + i;
	for (int i = 0; i < 4; i++)
		if (name.bytes == 2 && name.at[0] == first[i] && memchr("xlh", name.at[1], 3))
			return i;
	return NO_REGISTER;
}

int register_of(struct piece operand)
{
	if (!operand.bytes || operand.at[0] != '%')
		return NO_REGISTER;
	return named_register((struct piece){operand.at + 1, operand.bytes - 1});
}

static bool is_name(char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); }

u32 registers_in(struct piece text)
{
	u32 registers = 0;

	for (u64 i = 0, end; i < text.bytes; i++) {
		int number;

		if (text.at[i] != '%')
			continue;
		for (end = i + 1; end < text.bytes && is_name(text.at[end]);)
			end++;
		number = register_of((struct piece){text.at + i, end - i});
		if (number != NO_REGISTER)
			registers |= 1u << number;
	}
	return registers;
}

bool line_mentions(const struct listing *self, i64 line, int number)
{
	return registers_in(listing_text(self, line)) >> number & 1;
}
