/* SPDX-License-Identifier: MIT
 * Finds gcc's checks in assembler text and takes out what they do not need; see checks.h. Host. Only what is proved to be such a check is
 * touched: the byte that is compared was loaded from the shadow, in the same straight piece of code. */
#include "checks/checks.h"

#include <stdio.h>
#include <string.h>

#include "checks/listing.h"
#include "format/shadow.h"

enum { LOOK_BACK = 40, BLOCK_MAX = 40 /* lines */ };

struct check {
	struct listing *listing;
	i64 line;        /* its first one that may go */
	int shadow;      /* the register that holds the shadow */
	struct piece ok; /* where it goes on */
};

static void fate(struct check *self, i64 line, enum line_fate fate)
{
	self->listing->lines.data[line].fate = fate;
}

static bool is_memory(struct piece operand)
{
	return operand.bytes && operand.at[operand.bytes - 1] == ')';
}

/* Reads and writes no register but those that it names, writes none but its last operand, and reads no flags. With two operands in memory
 * it is of those for strings, which write the registers that say where. */
static bool is_plain(const struct instruction *instruction)
{
	static const char *const names[] = {
		"mov", "lea", "add", "sub",  "and", "or",  "xor", "shr", "shl",
		"sal", "sar", "cmp", "test", "neg", "not", "inc", "dec", "pxor",
	};

	if (!instruction->operands || piece_starts(instruction->name, "cmpxchg") ||
	    piece_starts(instruction->name, "addr") || piece_is(instruction->name, "notrack") ||
	    (is_memory(instruction->operand[0]) && is_memory(instruction->operand[1])))
		return false;
	for (u32 i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (piece_starts(instruction->name, names[i]))
			return true;
	return false;
}

/* ---- what a check is ---- */

static bool loads_shadow(const struct instruction *load, int to)
{
	char shadow[32];

	snprintf(shadow, sizeof(shadow), "%llu(", (unsigned long long)HW_SHADOW_OFFSET);
	return (piece_is(load->name, "movzbl") || piece_is(load->name, "movb")) &&
	       load->operands == 2 && piece_starts(load->operand[0], shadow) &&
	       register_of(load->operand[1]) == to;
}

/* Looking back from a line, the first that has to do with the register; NO_LINE if the straight piece of code begins behind it. */
static i64 last_mention(const struct listing *listing, i64 line, int number,
			struct instruction *mention)
{
	for (i64 first = line - LOOK_BACK; --line >= first;) {
		if (!listing_instruction(listing, line, mention) || !is_plain(mention))
			return NO_LINE;
		if (line_mentions(listing, line, number))
			return line;
	}
	return NO_LINE;
}

static bool holds_shadow(const struct check *self)
{
	struct instruction load;

	return last_mention(self->listing, self->line, self->shadow, &load) != NO_LINE &&
	       loads_shadow(&load, self->shadow);
}

/* Whether the shadow is 0. */
static bool tests_itself(const struct instruction *test)
{
	return test->operands == 2 && piece_equals(test->operand[0], test->operand[1]) &&
	       register_of(test->operand[0]) != NO_REGISTER;
}

static bool is_jump(const struct listing *listing, i64 line, const char *name, struct piece *to)
{
	struct instruction jump;

	if (!listing_is(listing, line, name, &jump) || jump.operands != 1)
		return false;
	*to = jump.operand[0];
	return true;
}

/* ---- what was computed for a comparison ---- */

/* A register that a call does not preserve. */
static bool is_lost_by_calls(int number)
{
	enum { BX = 3, SP = 4, BP = 5, R12 = 12 };

	return number >= 0 && number < R12 && number != BX && number != SP && number != BP;
}

/* The second is that of -fno-plt. */
static bool calls_report(const struct instruction *at)
{
	return piece_is(at->name, "call") && (piece_starts(at->operand[0], "__asan_report_") ||
					      piece_starts(at->operand[0], "*__asan_report_"));
}

/* The report's code, behind this line, calls, gives the register no value, and goes on at `ok`. So nobody wants its value there. */
static bool is_lost_by_report(const struct check *self, i64 line, int number)
{
	bool called = false;
	struct instruction at;

	if (line == NO_LINE || !is_lost_by_calls(number))
		return false;
	for (i64 end = line + BLOCK_MAX; ++line < end;) {
		if (listing_is_label(self->listing, line, self->ok))
			return called;
		if (!listing_instruction(self->listing, line, &at))
			return false;
		if (piece_is(at.name, "jmp"))
			return called && piece_equals(at.operand[0], self->ok);
		if (calls_report(&at))
			called = true;
		else if (!is_plain(&at) || line_mentions(self->listing, line, number))
			return false;
	}
	return false;
}

/* Of the three that compute a place, from behind: which one it is; 0 for any other. */
static u32 step_of(const struct instruction *at)
{
	if (at->operands == 1)
		return piece_is(at->name, "incl") ? 1 : 0;
	if (at->operands != 2)
		return 0;
	if (piece_is(at->name, "addl") &&
	    (piece_is(at->operand[0], "$1") || piece_is(at->operand[0], "$3")))
		return 1;
	if (piece_is(at->name, "andl") && piece_is(at->operand[0], "$7"))
		return 2;
	if ((piece_is(at->name, "movq") || piece_is(at->name, "movl")) &&
	    register_of(at->operand[0]) != NO_REGISTER)
		return 3;
	return 0;
}

/* The register's value is not wanted: neither are the instructions that made it for the check alone. */
static void forget_place(struct check *self, int number)
{
	struct instruction at;
	u32 last = 0;

	for (i64 line = self->line; last < 3;) {
		u32 step;

		line = last_mention(self->listing, line, number, &at);
		if (line == NO_LINE)
			return;
		step = step_of(&at);
		/* What is moved must be of the masked address: without a mask it was something else. */
		if (step <= last || (step == 3 && last != 2) ||
		    register_of(at.operand[at.operands - 1]) != number ||
		    (step == 3 && register_of(at.operand[0]) == number))
			return;
		fate(self, line, FATE_GOES);
		last = step;
	}
}

/* ---- the two forms ---- */

/* The register that is compared with the shadow so that "below" means below the shadow; false if it is another comparison. */
static bool compares_shadow(const struct check *self, const struct instruction *compare, bool less,
			    int *place)
{
	struct piece shadow = compare->operand[less ? 0 : 1],
		     other = compare->operand[less ? 1 : 0];

	*place = register_of(other);
	return compare->operands == 2 && register_of(shadow) == self->shadow &&
	       *place != NO_REGISTER && *place != self->shadow;
}

/* cmpb, jl or jg OK, testb, jne REPORT, OK:. Or je OK and the report itself. */
static bool place_first(struct check *self)
{
	struct instruction compare, test;
	struct piece to;
	bool less;
	i64 report;
	int place;

	if (!listing_is(self->listing, self->line, "cmpb", &compare))
		return false;
	less = is_jump(self->listing, self->line + 1, "jl", &self->ok);
	if ((!less && !is_jump(self->listing, self->line + 1, "jg", &self->ok)) ||
	    !listing_is(self->listing, self->line + 2, "testb", &test) || !tests_itself(&test))
		return false;
	self->shadow = register_of(test.operand[0]);
	if (!compares_shadow(self, &compare, less, &place) || !holds_shadow(self))
		return false;
	if (is_jump(self->listing, self->line + 3, "jne", &to) &&
	    listing_is_label(self->listing, self->line + 4, self->ok))
		report = listing_find(self->listing, to);
	else if (is_jump(self->listing, self->line + 3, "je", &to) && piece_equals(to, self->ok))
		report = self->line + 3;
	else
		return false;
	if (is_lost_by_report(self, report, place))
		forget_place(self, place);
	fate(self, self->line, FATE_GOES);
	fate(self, self->line + 1, FATE_GOES);
	return true;
}

static bool is_place(struct piece operand)
{
	return operand.bytes == 2 && operand.at[0] == '$' && operand.at[1] >= '0' &&
	       operand.at[1] <= '7';
}

/* The place is known: testb, je OK, cmpb $3, jle REPORT, OK:. Or jg OK and the report itself. Without cmpb the place is 0. */
static bool zero_first(struct check *self)
{
	struct instruction test, compare;
	struct piece to;
	i64 jump = self->line + 2;

	if (!listing_is(self->listing, self->line, "testb", &test) || !tests_itself(&test) ||
	    !is_jump(self->listing, self->line + 1, "je", &self->ok))
		return false;
	self->shadow = register_of(test.operand[0]);
	if (listing_is(self->listing, jump, "cmpb", &compare)) {
		if (compare.operands != 2 || !is_place(compare.operand[0]) ||
		    register_of(compare.operand[1]) != self->shadow)
			return false;
		jump++;
	}
	if (!holds_shadow(self))
		return false;
	if (is_jump(self->listing, jump, "jle", &to) &&
	    listing_is_label(self->listing, jump + 1, self->ok)) {
		fate(self, self->line + 1, FATE_GOES);
		fate(self, jump, FATE_JNE);
	} else if (is_jump(self->listing, jump, "jg", &to) && piece_equals(to, self->ok)) {
		fate(self, jump, FATE_GOES);
	} else {
		return false;
	}
	if (jump == self->line + 3)
		fate(self, self->line + 2, FATE_GOES);
	return true;
}

/* ---- the text ---- */

static void write_line(const struct listing *listing, const struct line *line, struct strbuf *out)
{
	struct instruction jump;

	if (line->fate == FATE_JNE &&
	    listing_instruction(listing, line - listing->lines.data, &jump)) {
		strbuf_add(out, "\tjne\t");
		strbuf_add_bytes(out, jump.operand[0].at, jump.operand[0].bytes);
		strbuf_add_char(out, '\n');
	}
}

static void write_text(const struct listing *listing, struct strbuf *out)
{
	u64 done = 0;

	for (u64 i = 0; i < listing->lines.count; i++) {
		const struct line *line = &listing->lines.data[i];

		if (line->fate == FATE_STAYS)
			continue;
		strbuf_add_bytes(out, listing->text + done, line->start - done);
		write_line(listing, line, out);
		done = line->start + line->bytes;
	}
	strbuf_add_bytes(out, listing->text + done, listing->bytes - done);
}

int checks_shorten(const char *text, u64 bytes, struct strbuf *shorter, u64 *count, struct err *err)
{
	struct listing listing;

	*count = 0;
	if (!listing_read(&listing, text, bytes))
		return err_set(err, ERR_MEMORY, "out of memory");
	for (i64 line = 0; (u64)line < listing.lines.count; line++) {
		struct check check = {.listing = &listing, .line = line};

		*count += place_first(&check) || zero_first(&check);
	}
	write_text(&listing, shorter);
	listing_release(&listing);
	return shorter->failed ? err_set(err, ERR_MEMORY, "out of memory") : 0;
}
