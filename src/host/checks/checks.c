/* SPDX-License-Identifier: MIT
 * Finds gcc's checks in assembler text, takes out what they do not need, and moves what only
 * reports need; see checks.h. Host. Only what is proved to be such a check is touched: the byte
 * that is compared was loaded from the shadow, in the same straight piece of code. */
#include "host/checks/checks.h"

#include <stdio.h>
#include <string.h>

#include "host/checks/listing.h"
#include "format/shadow.h"

enum { LOOK_BACK = 40, BLOCK_MAX = 40 /* lines */ };

struct check {
	struct listing *listing;
	i64 line;         /* its first one that may go */
	i64 test, branch; /* whether the shadow is 0 */
	/* behind this line is the report's code: a label, or the branch. May be NO_LINE */
	i64 report;
	int shadow;      /* the register that holds the shadow */
	struct piece ok; /* where it goes on */
};

static void fate(struct check *self, i64 line, enum line_fate fate)
{
	self->listing->lines.data[line].fate = fate;
}

static bool goes(const struct listing *listing, i64 line)
{
	return listing->lines.data[line].fate == FATE_GOES;
}

static bool is_memory(struct piece operand)
{
	return operand.bytes && operand.at[operand.bytes - 1] == ')';
}

/* Reads and writes no register but those that it names, writes none but its last operand, and reads
 * no flags. With two operands in memory it is of those for strings, which write the registers that
 * say where. */
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

/* The register that says where in the shadow: SHADOW(%rax). NO_REGISTER for all else. */
static int shadow_place(struct piece operand)
{
	char shadow[32];
	u64 start = (u64)snprintf(shadow, sizeof(shadow), "%llu(",
				  (unsigned long long)HW_SHADOW_OFFSET);

	if (!piece_starts(operand, shadow) || !is_memory(operand) ||
	    memchr(operand.at, ',', operand.bytes))
		return NO_REGISTER;
	return register_of((struct piece){operand.at + start, operand.bytes - start - 1});
}

static bool loads_shadow(const struct instruction *load, int to)
{
	return (piece_is(load->name, "movzbl") || piece_is(load->name, "movb")) &&
	       load->operands == 2 && shadow_place(load->operand[0]) != NO_REGISTER &&
	       register_of(load->operand[1]) == to;
}

/* Looking back from a line, the first that has to do with the register; NO_LINE if the straight
 * piece of code begins behind it. Lines that go are not there any more. */
static i64 last_mention(const struct listing *listing, i64 line, int number,
			struct instruction *mention)
{
	for (i64 first = line - LOOK_BACK; --line >= first;) {
		if (!listing_instruction(listing, line, mention))
			return NO_LINE;
		if (goes(listing, line))
			continue;
		if (!is_plain(mention))
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

/* Where a check goes on and where its report is: jne REPORT, OK:. Or je OK and the report
 * itself. */
static bool finds_report(struct check *self, i64 branch, const char *jne, const char *je)
{
	struct piece to;

	self->branch = self->report = branch;
	if (is_jump(self->listing, branch, je, &self->ok))
		return true;
	if (!is_jump(self->listing, branch, jne, &to) ||
	    !listing_label(self->listing, branch + 1, &self->ok))
		return false;
	self->report = listing_find(self->listing, to);
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

/* The first argument of a call gets the register's value. */
static bool tells(const struct instruction *at, int number)
{
	return piece_is(at->name, "movq") && at->operands == 2 &&
	       register_of(at->operand[0]) == number && piece_is(at->operand[1], "%rdi");
}

/* The report's code calls once, gives the register no value, and goes on at `ok`. So nobody wants
 * its value there. Nor does the report, unless it may be told. */
static bool is_lost_by_report(const struct check *self, int number, bool may_be_told)
{
	bool called = false;
	struct instruction at;
	i64 line = self->report;

	if (line == NO_LINE || !is_lost_by_calls(number))
		return false;
	for (i64 end = line + BLOCK_MAX; ++line < end;) {
		if (listing_is_label(self->listing, line, self->ok))
			return called;
		if (!listing_instruction(self->listing, line, &at))
			return false;
		if (goes(self->listing, line))
			continue;
		if (piece_is(at.name, "jmp"))
			return called && piece_equals(at.operand[0], self->ok);
		if (!called && calls_report(&at)) {
			called = true;
			continue;
		}
		if (!called && may_be_told && tells(&at, number))
			continue;
		if (!is_plain(&at) || line_mentions(self->listing, line, number))
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

/* The register's value is not wanted: neither are the instructions that made it for the check
 * alone. */
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
		/* What is moved must be of the masked address: without a mask it was something
		 * else. */
		if (step <= last || (step == 3 && last != 2) ||
		    register_of(at.operand[at.operands - 1]) != number ||
		    (step == 3 && register_of(at.operand[0]) == number))
			return;
		fate(self, line, FATE_GOES);
		last = step;
	}
}

/* ---- the two forms ---- */

/* The register that is compared with the shadow so that "below" means below the shadow; false if it
 * is another comparison. */
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
	struct piece below;
	bool less;
	int place;

	if (!listing_is(self->listing, self->line, "cmpb", &compare))
		return false;
	less = is_jump(self->listing, self->line + 1, "jl", &below);
	self->test = self->line + 2;
	if ((!less && !is_jump(self->listing, self->line + 1, "jg", &below)) ||
	    !listing_is(self->listing, self->test, "testb", &test) || !tests_itself(&test))
		return false;
	self->shadow = register_of(test.operand[0]);
	if (!compares_shadow(self, &compare, less, &place) || !holds_shadow(self))
		return false;
	if (!finds_report(self, self->test + 1, "jne", "je") || !piece_equals(below, self->ok))
		return false;
	if (is_lost_by_report(self, place, false))
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

/* The place is known: testb, je OK, cmpb $3, jle REPORT, OK:. Or jg OK and the report itself.
 * Without cmpb the place is 0. */
static bool zero_first(struct check *self)
{
	struct instruction test, compare;
	struct piece zero;
	i64 jump = self->line + 2;

	self->test = self->line;
	if (!listing_is(self->listing, self->line, "testb", &test) || !tests_itself(&test) ||
	    !is_jump(self->listing, self->line + 1, "je", &zero))
		return false;
	self->shadow = register_of(test.operand[0]);
	if (listing_is(self->listing, jump, "cmpb", &compare)) {
		if (compare.operands != 2 || !is_place(compare.operand[0]) ||
		    register_of(compare.operand[1]) != self->shadow)
			return false;
		jump++;
	}
	if (!holds_shadow(self) || !finds_report(self, jump, "jle", "jg") ||
	    !piece_equals(zero, self->ok))
		return false;
	if (self->report == jump) {
		self->branch = self->report = self->line + 1;
		fate(self, jump, FATE_GOES);
	} else {
		fate(self, self->line + 1, FATE_GOES);
		fate(self, jump, FATE_JNE);
	}
	if (jump == self->line + 3)
		fate(self, self->line + 2, FATE_GOES);
	return true;
}

/* Only 0 is asked for, as in checks of 8 bytes. */
static bool zero_only(struct check *self)
{
	self->test = self->line;
	return finds_report(self, self->line + 1, "jne", "je");
}

/* ---- the address that only the report wants ---- */

/* leaq ADDRESS, %told; movq %told, %place; shrq $3, %place; and then the shadow is read. */
struct address {
	i64 lea, move; /* lines */
	int told, place;
	u32 registers; /* of the address, as bits */
};

/* The line that reads the shadow for the test; NO_LINE if it is another test. */
static i64 shadow_read(const struct check *self, struct address *address)
{
	struct instruction at;
	i64 line = self->test;
	u32 operand = 1;

	if (!listing_instruction(self->listing, line, &at) || at.operands != 2)
		return NO_LINE;
	if (piece_is(at.name, "testb") && tests_itself(&at)) {
		int shadow = register_of(at.operand[0]);

		line = last_mention(self->listing, line, shadow, &at);
		if (line == NO_LINE || !loads_shadow(&at, shadow))
			return NO_LINE;
		operand = 0;
	} else if ((!piece_is(at.name, "cmpb") && !piece_is(at.name, "cmpw")) ||
		   !piece_is(at.operand[0], "$0")) {
		return NO_LINE;
	}
	address->place = shadow_place(at.operand[operand]);
	return address->place == NO_REGISTER ? NO_LINE : line;
}

/* From behind: the shadow is read, shrq, movq. */
static bool finds_move(const struct check *self, struct address *address)
{
	struct instruction at;
	i64 line = shadow_read(self, address);

	if (line == NO_LINE)
		return false;
	line = last_mention(self->listing, line, address->place, &at);
	if (line == NO_LINE || !piece_is(at.name, "shrq") || at.operands != 2 ||
	    !piece_is(at.operand[0], "$3") || register_of(at.operand[1]) != address->place)
		return false;
	address->move = last_mention(self->listing, line, address->place, &at);
	if (address->move == NO_LINE || !piece_is(at.name, "movq") || at.operands != 2 ||
	    register_of(at.operand[1]) != address->place)
		return false;
	address->told = register_of(at.operand[0]);
	return address->told != NO_REGISTER;
}

/* An address that hangs on its own register is another one later. One with @ may be of those that
 * linkers know by the instructions around it. */
static bool finds_lea(const struct check *self, struct address *address)
{
	struct instruction at;

	address->lea = last_mention(self->listing, address->move, address->told, &at);
	if (address->lea == NO_LINE || !piece_is(at.name, "leaq") || at.operands != 2 ||
	    register_of(at.operand[1]) != address->told ||
	    memchr(at.operand[0].at, '@', at.operand[0].bytes))
		return false;
	address->registers = registers_in(at.operand[0]);
	return !(address->registers >> address->told & 1);
}

/* Of plain instructions. */
static u32 registers_written(const struct instruction *at)
{
	int number;

	if (piece_starts(at->name, "cmp") || piece_starts(at->name, "test"))
		return 0;
	if (at->operands > 2)
		return UINT32_MAX;
	number = register_of(at->operand[at->operands - 1]);
	return number == NO_REGISTER ? 0 : 1u << number;
}

/* From leaq to the branch the address is the same, and nobody else wants it. That the two registers
 * are not the same, and the place's no part of the address, follows: shrq writes it. */
static bool is_unchanged(const struct check *self, const struct address *address)
{
	struct instruction at;

	for (i64 line = address->lea + 1; line < self->branch; line++) {
		if (goes(self->listing, line) || line == address->move)
			continue;
		if (!listing_instruction(self->listing, line, &at) ||
		    line_mentions(self->listing, line, address->told) ||
		    registers_written(&at) & address->registers)
			return false;
	}
	return true;
}

/* Nobody but the branch leads to the report's code. */
static bool is_entered_once(const struct check *self)
{
	struct instruction above;
	struct piece label;

	if (self->report == self->branch)
		return true;
	return listing_label(self->listing, self->report, &label) &&
	       listing_references(self->listing, label) == 1 &&
	       (listing_is(self->listing, self->report - 1, "jmp", &above) ||
		listing_is(self->listing, self->report - 1, "ret", &above));
}

static void fate_from(struct check *self, i64 line, enum line_fate how, i64 from)
{
	fate(self, line, how);
	self->listing->lines.data[line].from = (u32)from;
}

/* The address is computed into the register with which the shadow is read, and into the report's
 * only for the report. */
static bool address_late(struct check *self)
{
	struct address address;

	if (!finds_move(self, &address) || !finds_lea(self, &address) ||
	    !is_unchanged(self, &address) || !is_lost_by_report(self, address.told, true) ||
	    !is_entered_once(self))
		return false;
	fate(self, address.lea, FATE_GOES);
	fate_from(self, address.move, FATE_LEA, address.lea);
	fate_from(self, self->report, FATE_BEFORE_LEA, address.lea);
	return true;
}

/* ---- the text ---- */

static void add_piece(struct strbuf *out, struct piece piece)
{
	strbuf_add_bytes(out, piece.at, piece.bytes);
}

static void write_line(const struct listing *listing, i64 line, struct strbuf *out)
{
	enum line_fate fate = listing->lines.data[line].fate;
	i64 from = listing->lines.data[line].from;
	struct instruction at, lea;

	if (fate == FATE_JNE && listing_instruction(listing, line, &at)) {
		strbuf_add(out, "\tjne\t");
		add_piece(out, at.operand[0]);
		strbuf_add_char(out, '\n');
	} else if (fate == FATE_LEA && listing_instruction(listing, line, &at) &&
		   listing_instruction(listing, from, &lea)) {
		strbuf_add(out, "\tleaq\t");
		add_piece(out, lea.operand[0]);
		strbuf_add(out, ", ");
		add_piece(out, at.operand[1]);
		strbuf_add_char(out, '\n');
	} else if (fate == FATE_BEFORE_LEA) {
		add_piece(out, listing_text(listing, line));
		add_piece(out, listing_text(listing, from));
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
		write_line(listing, (i64)i, out);
		done = line->start + line->bytes;
	}
	strbuf_add_bytes(out, listing->text + done, listing->bytes - done);
}

int checks_shorten(const char *text, u64 bytes, struct strbuf *shorter, u64 *count, struct err *err)
{
	struct listing listing;

	*count = 0;
	if (!listing_read(&listing, text, bytes))
		return err_memory(err);
	for (i64 line = 0; (u64)line < listing.lines.count; line++) {
		struct check check = {.listing = &listing, .line = line};
		bool is_shorter = place_first(&check) || zero_first(&check);

		if (!is_shorter && !zero_only(&check))
			continue;
		*count += address_late(&check) || is_shorter;
		line = check.branch;
	}
	write_text(&listing, shorter);
	listing_release(&listing);
	return shorter->failed ? err_memory(err) : 0;
}
