/* SPDX-License-Identifier: MIT
 * The lines of a compiler's assembler text that matter for what the CPU does: instructions, the
 * labels that they jump to, and all that is not understood. What only debuggers and linkers read is
 * left out. Host. */
#ifndef HOST_CHECKS_LISTING_H
#define HOST_CHECKS_LISTING_H

#include "host/base/map.h"
#include "host/base/vec.h"
#include "format/types.h"

struct piece {
	const char *at;
	u64 bytes;
};

enum line_kind {
	LINE_INSTRUCTION,
	LINE_LABEL, /* .L and a number */
	/* another section, the programmer's own assembler text, names of functions, data ... */
	LINE_BARRIER,
};

enum line_fate {
	FATE_STAYS,
	FATE_GOES,
	FATE_JNE,        /* becomes this jump, to where it jumps now */
	FATE_LEA,        /* computes what the line `from` does, to where it moves something now */
	FATE_BEFORE_LEA, /* stays, and the line `from` once more behind it */
};

struct line {
	u64 start; /* in the text */
	u32 bytes; /* with the end of the line */
	u32 from;  /* another line */
	u8 kind, fate;
};

struct listing {
	const char *text;
	u64 bytes;
	VEC(struct line) lines;
	struct map labels;   /* number → line */
	struct map mentions; /* number → how often the text names the label, whatever the line */
};

struct instruction {
	struct piece name, operand[2];
	u32 operands; /* may be more than are kept */
};

enum { NO_REGISTER = -1, NO_LINE = -1 };

/* The text must outlive the listing. False if there is no memory. */
bool listing_read(struct listing *self, const char *text, u64 bytes);
void listing_release(struct listing *self);

/* An instruction of that name; false if the line has another one, is none, or is not there. */
bool listing_is(const struct listing *self, i64 line, const char *name,
		struct instruction *instruction);
bool listing_instruction(const struct listing *self, i64 line, struct instruction *instruction);

struct piece listing_text(const struct listing *self, i64 line);

/* The label that is this line; false if it is none. */
bool listing_label(const struct listing *self, i64 line, struct piece *label);
bool listing_is_label(const struct listing *self, i64 line, struct piece label);

/* The line of a label; NO_LINE if there is none. */
i64 listing_find(const struct listing *self, struct piece label);

/* How often a label is named in the whole text, data and debug information included, besides where
 * it is. */
u64 listing_references(const struct listing *self, struct piece label);

bool piece_is(struct piece piece, const char *text);
bool piece_starts(struct piece piece, const char *text);
bool piece_equals(struct piece one, struct piece other);
struct piece piece_trimmed(struct piece piece); /* without blanks around it */

/* A label that only debug information names; a directive that is nothing to the CPU. */
bool label_is_mark(struct piece label);
bool directive_is_harmless(struct piece directive);

/* A general register, by the number that the CPU gives it, whatever part of it is named;
 * NO_REGISTER for all else. */
int register_of(struct piece operand);

/* All that a text names, as bits. */
u32 registers_in(struct piece text);
bool line_mentions(const struct listing *self, i64 line, int number);

#endif
