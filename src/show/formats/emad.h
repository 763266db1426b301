/* SPDX-License-Identifier: MIT
 * The text form of routine traces of Peiris and Hill (2016, Listing 4), to and from trace files. A
 * line is a message:
 *
 *	THREAD ROUTINE start NAME             a routine begins
 *	THREAD ROUTINE start NAME SIZE        one that allocates: size in bytes, decimal
 *	THREAD ROUTINE start NAME ADDRESS     one that frees: hexadecimal, without 0x
 *	THREAD ROUTINE exit NAME              it ends
 *	THREAD ROUTINE exit NAME ADDRESS TIME one that allocates
 *	THREAD ROUTINE exit NAME TIME         one that frees: decimal
 *
 * NAME may have spaces. Whether a routine allocates or frees is told by its exits. docs/METHODS.md,
 * "Call graph of a routine trace", says what an import makes of it. */
#ifndef SHOW_FORMATS_EMAD_H
#define SHOW_FORMATS_EMAD_H

#include "host/base/arena.h"
#include "host/base/map.h"
#include "host/base/vec.h"
#include "host/base/err.h"

/* ---- import ---- */

struct emad_import {
	const char *from, *to;
	u64 tick_ns; /* length of a unit of TIME */
};

struct emad_summary {
	u64 messages;
	u64 routines, threads;
	u64 allocations, frees;
	u64 unknown_frees; /* of blocks that no message allocated */
	u64 repeated;      /* allocations and frees that a wrapper tells a second time */
};

/* Makes a trace of a text. The text is read twice: nothing is written before all of it was found to
 * be right. The err of a bad line begins with its number. */
int emad_import(const struct emad_import *how, struct emad_summary *summary, struct err *err);

/* ---- pseudo modules of an imported trace, shared by both ---- */

enum emad_kind { EMAD_PLAIN, EMAD_ALLOCATES, EMAD_FREES, EMAD_KINDS };

/* A routine is at 16 times its number in the module of its kind. */
enum { EMAD_ROUTINE_BYTES = 16 };
#define EMAD_MODULE_BYTES (1ull << 40)

static inline u64 emad_base(u32 kind) { return (kind + 1) * EMAD_MODULE_BYTES; }

#define EMAD_NOTE_KEY "routines"
#define EMAD_NOTE "emad"

/* ---- lines ---- */

struct emad_message {
	u64 line;
	u32 thread;
	u32 routine; /* its number in the text */
	bool exits;
	const char *rest; /* name and numbers, terminated */
};

/* Cuts a line, which is changed. 1 = it is empty; 0; or ERR_INPUT. */
int emad_parse(char *text, u64 line, struct emad_message *message, struct err *err);

struct emad_routine {
	u32 number;
	enum emad_kind kind;
	bool settled;         /* the name is: before that the last word may belong to it */
	const char *name;     /* without what may be an argument */
	const char *full;     /* first start, as it was */
	u64 line;             /* of the first message */
	u64 argument_line;    /* of the first start with an argument, 0 = none has one */
	u64 hexadecimal_line; /* of the first one that is no decimal number */
};

struct emad_routines { /* all zero = empty and ready */
	VEC(struct emad_routine) list;
	struct map by_number; /* + 1 */
	struct arena arena;
};

/* Learns from a message, in a first reading. */
int emad_learn(struct emad_routines *self, const struct emad_message *message, struct err *err);

/* After the last message: kinds are decided. */
int emad_settle(struct emad_routines *self, struct err *err);
void emad_routines_release(struct emad_routines *self);

/* What a message says, in a second reading. */
struct emad_facts {
	struct emad_routine *routine;
	bool has_argument, has_result, has_time;
	u64 argument; /* of a start: size or address */
	u64 address;  /* of an exit */
	u64 time;
};
int emad_understand(const struct emad_routines *self, const struct emad_message *message,
		    struct emad_facts *facts, struct err *err);

#endif
