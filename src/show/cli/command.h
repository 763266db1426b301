/* SPDX-License-Identifier: MIT
 * A command of heapwise is one const struct in one file, cmd_NAME.c; main.c has the list. */
#ifndef SHOW_CLI_COMMAND_H
#define SHOW_CLI_COMMAND_H

#include "host/base/options.h"

enum { EXIT_DONE = 0, EXIT_FINDING = 1, EXIT_USAGE = 2, EXIT_BAD_INPUT = 3 };

struct command {
	const char *name;     /* as it is typed: "report", "trace info" */
	const char *operands; /* "FILE", "[--] PROGRAM [ARGUMENT...]" */
	const char *summary;  /* one line, for `heapwise help` */
	const char *details;  /* paragraphs after the options in --help; may be NULL */
	const struct option_spec *options;
	bool stop_at_operand;
	bool foreign_options;       /* all arguments but a lone --help are for another program */
	size_t fields_size;         /* of the struct that the options fill */
	const void *fields_default; /* copied before parsing; NULL = zeros */
	const struct command *const *commands; /* below this one, NULL-terminated; may be NULL */
	/* argv holds operands only. Returns the exit status. NULL = one of `commands` must be named. */
	int (*run)(const struct command *self, void *fields, int argc, char **argv);
};

extern const struct command cmd_run, cmd_watch, cmd_report, cmd_findings, cmd_mprof, cmd_leaks,
	cmd_scores, cmd_excessive, cmd_callgraph, cmd_types, cmd_diff, cmd_check, cmd_query,
	cmd_serve, cmd_dump, cmd_info, cmd_symbolize, cmd_types_index, cmd_index, cmd_ctl,
	cmd_doctor, cmd_cc, cmd_cxx, cmd_export, cmd_push, cmd_fleet, cmd_import, cmd_synth, cmd_trace,
	cmd_dev;

/* A row of `heapwise help`. */
struct command_row {
	const char *group; /* what one wants; NULL = listed by `help --all` only */
	const struct command *command;
	const char *shown; /* instead of the name; "" = the row before speaks for it; NULL = the name */
};

/* The first words of all commands in the order of `heapwise help`; a row without a command ends them. */
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

/* Ends as the program that was run has ended, a status of waitpid: whoever waits for us sees what he would have
 * seen without us. Returns the exit status, if it returns. */
int command_end_like(int wait_status);

/* Prints a completion script for "bash", "zsh" or "fish", made from the option tables. */
int complete_shell(const char *shell);

#endif
