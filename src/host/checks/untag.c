/* SPDX-License-Identifier: MIT
 * Finds where checks read the shadow in aarch64 text; see untag.h. Host. What a register may hold
 * is gathered over the whole of a function, in no order: a load too many is masked for nothing, one
 * too few would end a program that has tags. */
#define _GNU_SOURCE
#include "host/checks/untag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/vec.h"
#include "host/checks/listing.h"

enum { REGISTERS = 31, OPERANDS = 4, LOOK_BACK = 40, FRAME = 29, STACK = 31, KEPT_BITS = 53 };

/* What a register, or a place on the stack, may hold. */
enum {
	HOLDS_SHADOW = 1 /* the shadow's start */,
	HOLDS_SHIFTED = 2,
	HOLDS_BYTE = 4 /* the address of a byte of the shadow */
};

enum row_kind { ROW_CODE, ROW_LABEL, ROW_MARK /* nothing jumps here */, ROW_BARRIER };

enum row_fate {
	ROW_STAYS,
	ROW_CUT,   /* lsr: bits of the tag do not come along */
	ROW_INDEX, /* a load: of the index */
	ROW_SUM,   /* a load: of the sum of base and index */
	ROW_BASE,  /* a load: of the only register, behind which an offset may follow */
	ROW_THEN,  /* such a load that adds to the register */
	ROW_FIRST, /* and one that does it before */
};

struct row {
	u64 start;
	u32 bytes;
	u8 kind, fate;
	u8 index, shadow; /* registers of a load */
};

struct code {
	struct piece name, operand[OPERANDS];
	u32 operands;
};

/* [base, index] or [base, offset]; nothing else, and no register changes. */
struct place {
	int base, index; /* index may be NO_REGISTER */
	i64 offset;
};

struct slot {
	int base;
	u32 holds;
	i64 offset;
};

struct text {
	const struct untag_job *job;
	VEC(struct row) rows;
	VEC(struct slot) slots; /* of the function at hand */
	u8 holds[REGISTERS];
	bool changed; /* something new is held */
	u64 count;
};

/* ---- pieces ---- */

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_' || c == '.';
}

static struct piece uncommented(struct piece piece)
{
	const char *comment = memmem(piece.at, piece.bytes, "//", 2);

	if (comment)
		piece.bytes = (u64)(comment - piece.at);
	return piece_trimmed(piece);
}

/* 3, #3, #0x3. */
static bool number_in(struct piece piece, i64 *number)
{
	char digits[32], *end;

	if (piece.bytes && *piece.at == '#')
		piece = (struct piece){piece.at + 1, piece.bytes - 1};
	if (!piece.bytes || piece.bytes >= sizeof(digits))
		return false;
	memcpy(digits, piece.at, piece.bytes);
	digits[piece.bytes] = 0;
	*number = strtoll(digits, &end, 0);
	return !*end;
}

static bool is_number(struct piece piece, u64 wanted)
{
	i64 number;

	return number_in(piece, &number) && (u64)number == wanted;
}

/* x0 to x30 or w0 to w30, as `letter` says; NO_REGISTER for all else. */
static int number_of(struct piece piece, char letter)
{
	i64 number;

	if (piece.bytes < 2 || piece.bytes > 3 || piece.at[0] != letter || piece.at[1] < '0' ||
	    piece.at[1] > '9')
		return NO_REGISTER;
	piece = (struct piece){piece.at + 1, piece.bytes - 1};
	return number_in(piece, &number) && number < REGISTERS ? (int)number : NO_REGISTER;
}

static int x_of(struct piece piece) { return number_of(piece, 'x'); }

/* ---- rows ---- */

static u8 kind_of(struct piece line)
{
	if (line.at[0] == '#')
		return ROW_BARRIER;
	if (line.at[line.bytes - 1] == ':')
		return label_is_mark((struct piece){line.at, line.bytes - 1}) ? ROW_MARK
									      : ROW_LABEL;
	if (line.at[0] == '.')
		return directive_is_harmless(line) ? ROW_MARK : ROW_BARRIER;
	return memchr(line.at, ';', line.bytes) || memchr(line.at, ':', line.bytes) ? ROW_BARRIER
										    : ROW_CODE;
}

static struct piece row_text(const struct text *self, u64 row)
{
	return uncommented((struct piece){self->job->text + self->rows.data[row].start,
					  self->rows.data[row].bytes});
}

/* The programmer's own lines are between #APP and #NO_APP, with clang //APP and //NO_APP. */
static bool read_rows(struct text *self)
{
	const char *text = self->job->text;
	bool own = false;

	for (u64 start = 0, end; start < self->job->bytes; start = end) {
		const char *newline = memchr(text + start, '\n', self->job->bytes - start);
		struct row row = {.start = start};
		struct piece line;

		end = newline ? (u64)(newline + 1 - text) : self->job->bytes;
		line = piece_trimmed((struct piece){text + start, end - start});
		row.bytes = (u32)(end - start);
		if (end - start > UINT32_MAX)
			return false;
		if (piece_starts(line, "#APP") || piece_starts(line, "//APP"))
			own = true;
		else if (piece_starts(line, "#NO_APP") || piece_starts(line, "//NO_APP"))
			own = false;
		line = uncommented(line);
		if (!line.bytes)
			continue;
		row.kind = own ? ROW_BARRIER : kind_of(line);
		if (!vec_push(&self->rows, row))
			return false;
	}
	return true;
}

/* A name and its operands; what is in brackets is one. */
static bool read_code(const struct text *self, u64 row, struct code *code)
{
	struct piece line;
	u64 start, depth = 0;

	*code = (struct code){0};
	if (row >= self->rows.count || self->rows.data[row].kind != ROW_CODE)
		return false;
	line = row_text(self, row);
	for (start = 0; start < line.bytes && line.at[start] != ' ' && line.at[start] != '\t';)
		start++;
	code->name = (struct piece){line.at, start};
	for (u64 i = start; i <= line.bytes && start < line.bytes; i++) {
		char c = i < line.bytes ? line.at[i] : ',';

		depth += c == '[' || c == '{';
		depth -= (c == ']' || c == '}') && depth;
		if (c != ',' || (depth && i < line.bytes))
			continue;
		if (code->operands == OPERANDS)
			return false;
		code->operand[code->operands++] =
			piece_trimmed((struct piece){line.at + start, i - start});
		start = i + 1;
	}
	return true;
}

static int base_of(struct piece piece) { return piece_is(piece, "sp") ? STACK : x_of(piece); }

static bool read_place(struct piece operand, struct place *place)
{
	const char *comma;
	struct piece base, rest;

	*place = (struct place){.index = NO_REGISTER};
	if (operand.bytes < 4 || operand.at[0] != '[' || operand.at[operand.bytes - 1] != ']')
		return false;
	base = (struct piece){operand.at + 1, operand.bytes - 2};
	comma = memchr(base.at, ',', base.bytes);
	if (!comma) {
		place->base = base_of(piece_trimmed(base));
		return place->base != NO_REGISTER;
	}
	rest = piece_trimmed((struct piece){comma + 1, base.bytes - (u64)(comma + 1 - base.at)});
	place->base = base_of(piece_trimmed((struct piece){base.at, (u64)(comma - base.at)}));
	place->index = x_of(rest);
	return place->base != NO_REGISTER &&
	       (place->index != NO_REGISTER || number_in(rest, &place->offset));
}

/* ---- what registers hold ---- */

static void add_to_register(struct text *self, int number, u32 holds)
{
	if (number == NO_REGISTER || (self->holds[number] | holds) == self->holds[number])
		return;
	self->holds[number] |= (u8)holds;
	self->changed = true;
}

static u32 held(const struct text *self, int number)
{
	return number == NO_REGISTER ? 0 : self->holds[number];
}

static bool add_to_slot(struct text *self, int base, i64 offset, u32 holds)
{
	if (!holds)
		return true;
	for (u64 i = 0; i < self->slots.count; i++) {
		struct slot *slot = &self->slots.data[i];

		if (slot->base != base || slot->offset != offset)
			continue;
		self->changed |= (slot->holds | holds) != slot->holds;
		slot->holds |= holds;
		return true;
	}
	self->changed = true;
	return vec_push(&self->slots, ((struct slot){base, holds, offset}));
}

static u32 held_on_stack(const struct text *self, int base, i64 offset)
{
	for (u64 i = 0; i < self->slots.count; i++)
		if (self->slots.data[i].base == base && self->slots.data[i].offset == offset)
			return self->slots.data[i].holds;
	return 0;
}

/* What registers are saved as, one or two at a time. */
static bool follow_stack(struct text *self, const struct code *code)
{
	bool store = piece_starts(code->name, "st"),
	     pair = code->name.bytes == 3 && code->name.at[2] == 'p';
	struct place place;

	if (code->operands != 2u + pair || !read_place(code->operand[1 + pair], &place) ||
	    place.index != NO_REGISTER || (place.base != STACK && place.base != FRAME))
		return true;
	for (u32 i = 0; i < 1u + pair; i++) {
		int number = x_of(code->operand[i]);
		i64 offset = place.offset + 8 * i;

		if (!store)
			add_to_register(self, number, held_on_stack(self, place.base, offset));
		else if (!add_to_slot(self, place.base, offset, held(self, number)))
			return false;
	}
	return true;
}

static bool is_shift(struct piece operand)
{
	return piece_starts(operand, "lsr") &&
	       is_number(piece_trimmed((struct piece){operand.at + 3, operand.bytes - 3}), 3);
}

static bool is_byte(u32 holds)
{
	return holds & HOLDS_BYTE || (holds & HOLDS_SHADOW && holds & HOLDS_SHIFTED);
}

/* Loops compute one address of the shadow from another. */
static void follow_sum(struct text *self, const struct code *code)
{
	u32 holds = held(self, x_of(code->operand[1]));

	if (code->operands == 4)
		holds |= is_shift(code->operand[3]) ? HOLDS_SHIFTED : 0;
	else if (code->operands == 3)
		holds |= held(self, x_of(code->operand[2]));
	add_to_register(self, x_of(code->operand[0]), is_byte(holds) ? HOLDS_BYTE : holds);
}

static bool follow(struct text *self, const struct code *code)
{
	static const char *const saves[] = {"str", "stur", "stp", "ldr", "ldur", "ldp"};
	int number = x_of(code->operand[0]);

	if (piece_is(code->name, "mov") && code->operands == 2)
		add_to_register(self, number,
				is_number(code->operand[1], self->job->shadow)
					? HOLDS_SHADOW
					: held(self, x_of(code->operand[1])));
	else if (piece_is(code->name, "lsr") && code->operands == 3 &&
		 is_number(code->operand[2], 3))
		add_to_register(self, number, HOLDS_SHIFTED);
	else if (piece_is(code->name, "add") || piece_is(code->name, "sub"))
		follow_sum(self, code);
	for (u32 i = 0; i < sizeof(saves) / sizeof(*saves); i++)
		if (piece_is(code->name, saves[i]))
			return follow_stack(self, code);
	return true;
}

/* ---- loads of the shadow ---- */

static bool mentions(struct piece line, int number)
{
	for (u64 i = 0; i < line.bytes; i++) {
		u64 end = i;

		while (end < line.bytes && is_word(line.at[end]))
			end++;
		if (end > i && (number_of((struct piece){line.at + i, end - i}, 'x') == number ||
				number_of((struct piece){line.at + i, end - i}, 'w') == number))
			return true;
		i = end;
	}
	return false;
}

/* Branches of all sorts, calls, and what begins like one. */
static bool ends_block(struct piece name)
{
	return name.at[0] == 'b' || piece_starts(name, "cb") || piece_starts(name, "tb") ||
	       piece_starts(name, "ret");
}

/* Whether the line only reads the register; false for what is not known well enough. */
static bool only_reads(const struct code *code, int number)
{
	static const char *const names[] = {"mov", "add", "sub", "and", "orr",
					    "cmp", "lsr", "lsl", "str", "ldr"};
	struct place place;

	if (code->operands < 2 || (code->operand[1].at[0] == '[' &&
				   (code->operands > 2 || !read_place(code->operand[1], &place))))
		return false;
	for (u32 i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (piece_starts(code->name, names[i]))
			return names[i][0] == 'c' || names[i][1] == 't' ||
			       (x_of(code->operand[0]) != number &&
				number_of(code->operand[0], 'w') != number);
	return false;
}

/* The line that shifts the register's value, in the same straight piece of code; NO_LINE if there
 * is none. *alone: nobody else wants it before the load. */
static i64 shift_of(const struct text *self, u64 load, int number, bool *alone)
{
	struct code code;

	*alone = true;
	for (u64 i = load, first = load > LOOK_BACK ? load - LOOK_BACK : 0; i-- > first;) {
		if (self->rows.data[i].kind == ROW_MARK)
			continue;
		if (!read_code(self, i, &code) || ends_block(code.name))
			return NO_LINE;
		if (!mentions(row_text(self, i), number))
			continue;
		if (piece_is(code.name, "lsr") && x_of(code.operand[0]) == number)
			return code.operands == 3 && is_number(code.operand[2], 3) ? (i64)i
										   : NO_LINE;
		if (!only_reads(&code, number))
			return NO_LINE;
		*alone = false;
	}
	return NO_LINE;
}

static void set_fate(struct text *self, u64 row, u8 fate)
{
	if (self->job->same_size && fate != ROW_CUT)
		return;
	self->rows.data[row].fate = fate;
	self->count++;
}

/* The register that gets what is loaded: of a byte, or two. */
static int loaded(const struct code *code)
{
	if (code->operands < 2 ||
	    (!piece_is(code->name, "ldrb") && !piece_is(code->name, "ldrsb") &&
	     !piece_is(code->name, "ldrh") && !piece_is(code->name, "ldrsh")))
		return NO_REGISTER;
	return x_of(code->operand[0]) == NO_REGISTER ? number_of(code->operand[0], 'w')
						     : x_of(code->operand[0]);
}

/* [base, offset]!, which read_place does not take. */
static bool read_first(struct piece operand, struct place *place)
{
	return operand.bytes && operand.at[operand.bytes - 1] == '!' &&
	       read_place((struct piece){operand.at, operand.bytes - 1}, place) &&
	       place->index == NO_REGISTER;
}

static void mask_base(struct text *self, u64 row, int base, u8 how)
{
	self->rows.data[row].index = (u8)base;
	if (held(self, base) & HOLDS_BYTE)
		set_fate(self, row, how);
}

static void mask_sum(struct text *self, u64 row, const struct place *place, int to)
{
	/* gcc has the shadow's start in second place, clang in either. */
	bool second = held(self, place->index) & HOLDS_SHADOW &&
		      held(self, place->base) & HOLDS_SHIFTED,
	     alone = false;
	int index = second ? place->base : place->index,
	    shadow = second ? place->index : place->base;
	i64 shift =
		held(self, shadow) & HOLDS_SHADOW ? shift_of(self, row, index, &alone) : NO_LINE;

	self->rows.data[row].index = (u8)index;
	self->rows.data[row].shadow = (u8)shadow;
	if (!is_byte(held(self, index) | held(self, shadow)))
		return;
	if (shift != NO_LINE && alone && to == index)
		set_fate(self, (u64)shift, ROW_CUT);
	else
		set_fate(self, row, shift != NO_LINE && to != shadow ? ROW_INDEX : ROW_SUM);
}

static void mask_load(struct text *self, u64 row, const struct code *code)
{
	int to = loaded(code);
	struct place place;

	if (to == NO_REGISTER)
		return;
	if (read_first(code->operand[1], &place) && place.base != STACK)
		mask_base(self, row, place.base, ROW_FIRST);
	else if (!read_place(code->operand[1], &place) || place.base == STACK)
		return;
	else if (place.index == NO_REGISTER)
		mask_base(self, row, place.base, code->operands == 3 ? ROW_THEN : ROW_BASE);
	else if (code->operands == 2)
		mask_sum(self, row, &place, to);
}

/* ---- functions ---- */

/* A function's cold part has a name of its own, and its registers. */
static bool begins_function(const struct text *self, u64 row)
{
	struct piece label;

	if (self->rows.data[row].kind != ROW_LABEL)
		return false;
	label = row_text(self, row);
	return !piece_starts(label, ".L") &&
	       !(label.bytes > 6 && memcmp(label.at + label.bytes - 6, ".cold:", 6) == 0);
}

static bool untag_function(struct text *self, u64 first, u64 end)
{
	struct code code;

	memset(self->holds, 0, sizeof(self->holds));
	self->slots.count = 0;
	do {
		self->changed = false;
		for (u64 i = first; i < end; i++)
			if (read_code(self, i, &code) && !follow(self, &code))
				return false;
	} while (self->changed);
	for (u64 i = first; i < end; i++)
		if (read_code(self, i, &code))
			mask_load(self, i, &code);
	return true;
}

static bool untag_functions(struct text *self)
{
	for (u64 first = 0, end; first < self->rows.count; first = end) {
		for (end = first + 1; end < self->rows.count && !begins_function(self, end);)
			end++;
		if (!untag_function(self, first, end))
			return false;
	}
	return true;
}

/* ---- the text ---- */

#define PIECE(piece) (int)(piece).bytes, (piece).at

static void write_row(const struct text *self, u64 row, struct strbuf *out)
{
	const struct row *at = &self->rows.data[row];
	struct place place = {0};
	struct code code;
	int to;

	read_code(self, row, &code);
	to = loaded(&code);
	if (at->fate == ROW_FIRST && read_first(code.operand[1], &place)) {
		strbuf_addf(out, "\tadd\tx%d, x%d, %lld\n", at->index, at->index,
			    (long long)place.offset);
		place.offset = 0;
	} else if (at->fate == ROW_BASE || at->fate == ROW_THEN) {
		read_place(code.operand[1], &place);
	}
	switch (at->fate) {
	case ROW_CUT:
		strbuf_addf(out, "\tubfx\t%.*s, %.*s, 3, %d\n", PIECE(code.operand[0]),
			    PIECE(code.operand[1]), KEPT_BITS);
		return;
	case ROW_INDEX:
		strbuf_addf(out, "\tubfx\tx%d, x%d, 0, %d\n\t%.*s\t%.*s, [x%d, x%d]\n", to,
			    at->index, KEPT_BITS, PIECE(code.name), PIECE(code.operand[0]), to,
			    at->shadow);
		return;
	case ROW_SUM: strbuf_addf(out, "\tadd\tx%d, x%d, x%d\n", to, at->index, at->shadow); break;
	}
	strbuf_addf(out, "\tubfx\tx%d, x%d, 0, %d\n\t%.*s\t%.*s, [x%d", to,
		    at->fate == ROW_SUM ? to : at->index, KEPT_BITS, PIECE(code.name),
		    PIECE(code.operand[0]), to);
	if (place.offset)
		strbuf_addf(out, ", %lld", (long long)place.offset);
	strbuf_addf(out, "]\n");
	if (at->fate == ROW_THEN)
		strbuf_addf(out, "\tadd\tx%d, x%d, %.*s\n", at->index, at->index,
			    PIECE(code.operand[2]));
}

static void write_text(const struct text *self, struct strbuf *out)
{
	const char *text = self->job->text;
	u64 done = 0;

	for (u64 i = 0; i < self->rows.count; i++) {
		const struct row *row = &self->rows.data[i];

		if (row->fate == ROW_STAYS)
			continue;
		strbuf_add_bytes(out, text + done, row->start - done);
		write_row(self, i, out);
		done = row->start + row->bytes;
	}
	strbuf_add_bytes(out, text + done, self->job->bytes - done);
}

int checks_untag(const struct untag_job *job, struct strbuf *untagged, u64 *count, struct err *err)
{
	struct text text = {.job = job};
	bool whole = read_rows(&text) && untag_functions(&text);

	*count = text.count;
	if (whole)
		write_text(&text, untagged);
	vec_release(&text.rows);
	vec_release(&text.slots);
	return whole && !untagged->failed ? 0 : err_memory(err);
}
