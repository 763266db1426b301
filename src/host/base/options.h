/* SPDX-License-Identifier: MIT
 * Command-line options as a table, which parses, prints --help and yields shell completion.
 *
 *	static const struct option_spec options[] = {
 *		OPTION(struct run_args, output, 'o', "output", OPTION_STRING, "FILE", "…"),
 *		OPTION(struct run_args, free_stacks, 0, "no-free-stacks", OPTION_CLEAR, NULL, "…"),
 *		OPTION_END
 *	};
 */
#ifndef HOST_BASE_OPTIONS_H
#define HOST_BASE_OPTIONS_H

#include "host/base/err.h"
#include "format/types.h"

enum option_type {
	OPTION_NONE,     /* end of the table */
	OPTION_SET,      /* bool becomes true */
	OPTION_CLEAR,    /* bool becomes false */
	OPTION_STRING,   /* const char * */
	OPTION_OPTIONAL, /* const char *: "" without a value; a value only by --name=value */
	OPTION_FOLDERS,  /* const char *: paths of folders that are there, separated by colons */
	OPTION_STRINGS,  /* struct option_strings: may be given several times */
	OPTION_NUMBER,   /* u64, decimal */
	OPTION_BYTES,    /* u64: 4096, 64K, 1.5M, 2GiB */
	OPTION_PERCENT,  /* double, 0 to 1: "0.1" and "0.1%" are 0.001 */
	OPTION_CHOICE,   /* const char *, one of the words in `argument`, separated by | */
};

enum { OPTION_STRINGS_MAX = 32 };

struct option_strings {
	const char *items[OPTION_STRINGS_MAX];
	u32 count;
};

struct option_spec {
	char letter;      /* 0 = none */
	const char *name; /* without -- */
	enum option_type type;
	const char *argument; /* NULL for OPTION_SET and OPTION_CLEAR */
	const char *help;     /* NULL = works, but is neither shown nor completed */
	size_t offset;        /* of the field in the struct that options_parse fills */
	/* a threshold: works, but is set in a file and neither shown nor completed */
	bool limit;
	const char *heading; /* above it in --help: it begins a group; NULL = none */
};

#define OPTION(type_, field_, letter_, name_, kind_, argument_, help_)                             \
	{                                                                                          \
		.letter = (letter_), .name = (name_), .type = (kind_), .argument = (argument_),    \
		.help = (help_), .offset = offsetof(type_, field_)                                 \
	}
#define OPTION_UNDER(heading_, type_, field_, letter_, name_, kind_, argument_, help_)             \
	{                                                                                          \
		.letter = (letter_), .name = (name_), .type = (kind_), .argument = (argument_),    \
		.help = (help_), .offset = offsetof(type_, field_), .heading = (heading_)          \
	}
#define OPTION_LIMIT(type_, field_, name_, kind_, argument_, help_)                                \
	{                                                                                          \
		.name = (name_), .type = (kind_), .argument = (argument_), .help = (help_),        \
		.offset = offsetof(type_, field_), .limit = true                                   \
	}
#define OPTION_END                                                                                 \
	{                                                                                          \
		.type = OPTION_NONE                                                                \
	}

/* What options_parse is given, and what it finds beside the fields. */
struct command_line {
	int argc;
	char **argv;
	bool stop_at_operand; /* the first ends the options; else operands are moved to the end */
	int first_operand;    /* found: its index in argv */
	bool help_wanted;     /* found: --help */
};

/* Parses argv[1] …; fields whose option is absent keep their value. Accepts --name=value, --name
 * value, -ovalue, -o value, unambiguous prefixes of names, and -- as the end of options. An unknown
 * option is an ERR_USAGE error that suggests the nearest name. */
int options_parse(const struct option_spec *table, void *fields, struct command_line *line,
		  struct err *err);

/* The option of this name, or NULL. */
const struct option_spec *option_find(const struct option_spec *table, const char *name);

/* Whether --help and completions have it. */
bool option_is_shown(const struct option_spec *spec);

/* Puts a value into its field, as options_parse does; called is how an error calls the option:
 * "--top". The value is not copied. */
int option_store(const struct option_spec *spec, void *fields, const char *called,
		 const char *value, struct err *err);

/* Renders the table as aligned help lines; the caller frees the result. */
char *options_help(const struct option_spec *table);

/* "64K" → 65536; false if it is not a size. K, M, G, T are powers of 1024, with or without iB or
 * B. */
bool parse_bytes(const char *text, u64 *bytes);

/* "1.5s", "500 ms", "2min" or "2m", "1h" → nanoseconds; false if it is no time. bare_ns is the unit
 * of a number that has none; 0: it needs one. *end is behind the time; end is NULL if nothing may
 * follow. */
bool parse_ns(const char *text, double bare_ns, const char **end, double *ns);

/* "123" → 123; false if it is not a decimal number that fits. */
bool parse_number(const char *text, u64 *number);

/* "0.1" or "0.1%" → 0.001; false if it is not a number from 0 to 100. */
bool parse_percent(const char *text, double *share);

/* Letters to insert, remove or replace to make b of a: what "did you mean" goes by. */
u32 word_distance(const char *a, const char *b);

#endif
