/* SPDX-License-Identifier: MIT
 * A command of heapwise is one const struct in one file, cmd_NAME.c; COMMANDS is the list. */
#ifndef SHOW_CLI_COMMAND_H
#define SHOW_CLI_COMMAND_H

#include <stdio.h>

#include "host/base/options.h"
#include "host/base/strbuf.h"

/* Rows of a command's options, which fill the struct ARGS. */
#define OPT(field, letter, name, kind, argument, help)                                             \
	OPTION(ARGS, field, letter, name, OPTION_##kind, argument, help)
#define OPT_UNDER(heading, field, letter, name, kind, argument, help)                              \
	OPTION_UNDER(heading, ARGS, field, letter, name, OPTION_##kind, argument, help)
#define OPT_LIMIT(field, name, kind, argument, help)                                               \
	OPTION_LIMIT(ARGS, field, name, OPTION_##kind, argument, help)

enum { EXIT_DONE = 0, EXIT_FINDING = 1, EXIT_USAGE = 2, EXIT_BAD_INPUT = 3 };

struct command {
	const char *name;     /* as it is typed: "report", "trace info" */
	const char *operands; /* "FILE", "[--] PROGRAM [ARGUMENT...]" */
	const char *summary;  /* one line, for `heapwise help` */
	const char *details;  /* paragraphs after the options in --help; may be NULL */
	const struct option_spec *options;
	bool stop_at_operand;
	bool sums;                  /* it can do with the sums at the end of a trace */
	bool follows;               /* its findings and growth are those of the end of a run */
	bool foreign_options;       /* all arguments but a lone --help are for another program */
	size_t fields_size;         /* of the struct that the options fill */
	const void *fields_default; /* copied before parsing; NULL = zeros */
	const struct command *const *commands; /* below this one, NULL-terminated; may be NULL */
	/* argv holds operands only. Returns the exit status. NULL = one of `commands` must be
	 * named. */
	int (*run)(const struct command *self, void *fields, int argc, char **argv);
};

/* All but those below others, as rows of `heapwise help`: group, command, shown; see below. */
/* clang-format off */
#define COMMANDS(C)                                                                                \
	C("Record", cmd_run, NULL)                                                                 \
	C("Record", cmd_watch, NULL)                                                               \
	C("Record", cmd_ctl, NULL)                                                                 \
	C("Record", cmd_cc, "cc, c++")                                                             \
	C("Record", cmd_cxx, "")                                                                   \
	C("Look", cmd_findings, NULL)                                                              \
	C("Look", cmd_report, NULL)                                                                \
	C("Look", cmd_leaks, NULL)                                                                 \
	C("Look", cmd_owners, NULL)                                                                \
	C("Look", cmd_resident, NULL)                                                              \
	C("Look", cmd_types, NULL)                                                                 \
	C("Look", cmd_diff, NULL)                                                                  \
	C("Look", cmd_serve, NULL)                                                                 \
	C("Research", cmd_mprof, NULL)                                                             \
	C("Research", cmd_scores, NULL)                                                            \
	C("Research", cmd_excessive, NULL)                                                         \
	C("Ask and automate", cmd_query, NULL)                                                     \
	C("Ask and automate", cmd_check, NULL)                                                     \
	C("Ask and automate", cmd_fleet, NULL)                                                     \
	C("Exchange with other tools", cmd_import, NULL)                                           \
	C("Exchange with other tools", cmd_export, NULL)                                           \
	C("Trace files and this machine", cmd_trace, NULL)                                         \
	C("Trace files and this machine", cmd_doctor, NULL)
/* clang-format on */

#define COMMAND_DECLARATION(group, name, shown) extern const struct command name;
COMMANDS(COMMAND_DECLARATION)
#undef COMMAND_DECLARATION

/* Below others, see struct command.commands. */
extern const struct command cmd_callgraph, cmd_dump, cmd_index, cmd_info, cmd_push, cmd_symbolize,
	cmd_types_index;

/* A row of `heapwise help`. */
struct command_row {
	const char *group; /* what one wants */
	const struct command *command;
	/* instead of the name; "" = the row before speaks for it; NULL = the name */
	const char *shown;
};

/* The first words of all commands in the order of `heapwise help`; a row without a command ends
 * them. */
extern const struct command_row command_rows[];

/* All commands, those below others after them; NULL after the last. */
const struct command *command_at(u32 index);

/* The last word of the name. */
const char *command_word(const struct command *command);

/* Prints "heapwise NAME: text" on stderr and returns the exit status for err->code. */
int command_fail(const struct command *command, const struct err *err);

/* Prints a usage error with a pointer to --help and returns EXIT_USAGE. */
int command_usage(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Ends as the program that was run has ended, a status of waitpid: whoever waits for us sees what
 * he would have seen without us. Returns the exit status, if it returns. */
int command_end_like(int wait_status);

/* Prints a completion script for "bash", "zsh" or "fish", made from the option tables. */
int complete_shell(const char *shell);

/* What a user means by a first word that is no command; see meant.c. */
enum meant { MEANT_NEITHER, MEANT_TRACE, MEANT_PROGRAM };

/* A trace is a file that begins as one, is called *.hwt, or a folder of such. A program is an
 * executable file that is named with a slash, as in a shell. */
enum meant meant_find(const char *word);

/* Says on stderr why the word is none of that and what may have been meant. Returns the exit
 * status. */
int meant_explain(const char *word);

/* The same for a word after the command `above`. */
int meant_explain_below(const struct command *above, const char *word);

/* --limits FILE: thresholds of all commands in one file, `name = value` in each line, # begins a
 * comment. A name is that of an option with OPTION_LIMIT. */

/* Puts the values of those names into fields that the table has. A name that no command has is an
 * error: it is misspelt. Errors name the file and the line. Values that are words lie in the
 * text, which is the caller's. */
int limits_read(const struct option_spec *table, void *fields, const char *path,
		struct strbuf *text, struct err *err);

/* Prints a file with all limits and their defaults. */
void limits_print(FILE *out);

#endif
