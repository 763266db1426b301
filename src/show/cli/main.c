/* SPDX-License-Identifier: MIT
 * The heapwise program: finds the command, parses its options by its table, and runs it.
 * Host. Knows no command's business. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/cli/command.h"
#include "show/cli/pager.h"
#include "show/cli/print.h"

#ifndef HEAPWISE_VERSION
#define HEAPWISE_VERSION "0.1.0"
#endif

#define COMMAND_ROW(group, name, shown) {group, &name, shown},
const struct command_row command_rows[] = {COMMANDS(COMMAND_ROW){0}};
#undef COMMAND_ROW

enum { OLD_NAME_WORDS = 3 };

/* Names of earlier versions, and the words that stand for them now; not const, because they become
 * a part of argv. */
static struct old_name {
	const char *name;
	char now[OLD_NAME_WORDS][12];
} old_names[] = {
	{"callgraph", {"trace", "callgraph"}},
	{"dump", {"trace", "dump"}},
	{"index", {"trace", "index"}},
	{"info", {"trace", "info"}},
	{"symbolize", {"trace", "symbolize"}},
	{"types-index", {"trace", "types-index"}},
	{"push", {"fleet", "push"}},
	{"import-emad", {"import", "--from", "emad"}},
	{"import-heaplog", {"import", "--from", "heaplog"}},
	{"import-heaptrack", {"import", "--from", "heaptrack"}},
};

int command_fail(const struct command *command, const struct err *err)
{
	progress_end();
	fflush(stdout);
	fprintf(stderr, "heapwise %s: %s\n", command->name, err->text);
	return err->code == ERR_USAGE ? EXIT_USAGE : EXIT_BAD_INPUT;
}

int command_usage(const struct command *command, const char *format, ...)
{
	va_list arguments;

	fflush(stdout);
	fprintf(stderr, "heapwise %s: ", command->name);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\nTry 'heapwise %s --help'.\n", command->name);
	return EXIT_USAGE;
}

const char *command_word(const struct command *command)
{
	const char *space = strrchr(command->name, ' ');

	return space ? space + 1 : command->name;
}

const struct command *command_at(u32 index)
{
	for (const struct command_row *row = command_rows; row->command; row++) {
		if (index-- == 0)
			return row->command;
		for (u32 i = 0; row->command->commands && row->command->commands[i]; i++)
			if (index-- == 0)
				return row->command->commands[i];
	}
	return NULL;
}

/* The command that the first words name, and in *used how many they are. */
static const struct command *command_find(int argc, char **words, int *used)
{
	const struct command_row *row = command_rows;

	while (row->command && (argc < 1 || strcmp(row->command->name, words[0]) != 0))
		row++;
	*used = 1;
	for (u32 i = 0; row->command && row->command->commands && row->command->commands[i]; i++)
		if (argc > 1 && strcmp(command_word(row->command->commands[i]), words[1]) == 0) {
			*used = 2;
			return row->command->commands[i];
		}
	return row->command;
}

/* The words with the new name instead of an old one, which stay until the process ends. */
static char **rename_old(int *argc, char **words)
{
	struct old_name *old = old_names, *end = old + sizeof old_names / sizeof *old_names;
	static char **renamed; /* so that it is no leak */
	int count = 0;

	while (old < end && (*argc < 1 || strcmp(old->name, words[0]) != 0))
		old++;
	renamed = old < end ? calloc((size_t)*argc + OLD_NAME_WORDS, sizeof *renamed) : NULL;
	if (!renamed)
		return words;
	fprintf(stderr, "heapwise: '%s' is now '", old->name);
	for (; count < OLD_NAME_WORDS && *old->now[count]; count++) {
		fprintf(stderr, "%s%s", count ? " " : "", old->now[count]);
		renamed[count] = old->now[count];
	}
	fprintf(stderr, "'\n");
	memcpy(renamed + count, words + 1, (size_t)(*argc - 1) * sizeof *words);
	*argc += count - 1;
	return renamed;
}

/* ---- help ---- */

enum { NAME_WIDTH = 11, WHOLE_NAME_WIDTH = 17 };

static void print_row(FILE *out, int width, const char *name, const char *summary)
{
	fprintf(out, "  %-*s  %s\n", width, name, summary);
}

static void print_overview(FILE *out, bool all)
{
	int width = all ? WHOLE_NAME_WIDTH : NAME_WIDTH;
	const char *group = NULL;

	fprintf(out,
		"Heapwise shows who allocates memory, how much, for how long, and what is "
		"never freed.\n\n"
		"usage: heapwise ./PROGRAM [ARGUMENT...]    run a program and show the findings\n"
		"       heapwise FILE.hwt                   report what was recorded\n"
		"       heapwise FILE.hwt --open            show it in the browser\n"
		"       heapwise COMMAND [OPTION...] [OPERAND...]\n");
	for (const struct command_row *row = command_rows; row->command; row++) {
		if (row->shown && !*row->shown)
			continue;
		if (!group || strcmp(row->group, group) != 0)
			fprintf(out, "\n%s\n", row->group);
		group = row->group;
		print_row(out, width, row->shown ? row->shown : row->command->name,
			  row->command->summary);
		for (u32 i = 0; all && row->command->commands && row->command->commands[i]; i++)
			print_row(out, width, row->command->commands[i]->name,
				  row->command->commands[i]->summary);
	}
	fprintf(out, "\n'heapwise help COMMAND' or 'heapwise COMMAND --help' shows the options, "
		     "'heapwise help --all'\n"
		     "all subcommands, and 'heapwise help limits' the thresholds of the "
		     "analyses.\n");
}

static void print_below(FILE *out, const struct command *command)
{
	fprintf(out, "\ncommands:\n");
	for (u32 i = 0; command->commands[i]; i++)
		print_row(out, NAME_WIDTH, command_word(command->commands[i]),
			  command->commands[i]->summary);
}

static void print_help(FILE *out, const struct command *command)
{
	char *options = command->options ? options_help(command->options) : NULL;

	fprintf(out, "%s\n\nusage: heapwise %s %s%s\n", command->summary, command->name,
		command->run ? "[OPTION...] " : "COMMAND [OPTION...] ", command->operands);
	if (options)
		fprintf(out, "%s%s", command->options->heading ? "" : "\noptions:\n", options);
	if (command->commands)
		print_below(out, command);
	if (command->details)
		fprintf(out, "\n%s\n", command->details);
	if (!command->run)
		fprintf(out, "\n'heapwise %s COMMAND --help' shows the options.\n", command->name);
	free(options);
}

static int show_help(const struct command *command)
{
	pager_allow();
	pager_start();
	print_help(stdout, command);
	return EXIT_DONE;
}

/* ---- running ---- */

/* Options by the table. Those of a file of limits come first, so that the command line has the last
 * word: it is read again. */
static int parse(const struct command *command, void *fields, struct command_line *line,
		 struct strbuf *text, struct err *err)
{
	const struct option_spec *limits = option_find(command->options, "limits");
	const char *path = NULL;
	int status = 0;

	for (bool again = true; status == 0 && again;) {
		if (command->fields_default)
			memcpy(fields, command->fields_default, command->fields_size);
		if (path)
			status = limits_read(command->options, fields, path, text, err);
		if (status == 0)
			status = options_parse(command->options, fields, line, err);
		again = limits && !path;
		if (again)
			path = *(const char **)((char *)fields + limits->offset);
		again = again && path;
	}
	return status;
}

/* A command with the option has output that may be long. */
static bool wants_pager(const struct command *command, const void *fields)
{
	const struct option_spec *spec = option_find(command->options, "no-pager");

	return spec && !*(const bool *)((const char *)fields + spec->offset);
}

static int command_run(const struct command *command, int argc, char **argv)
{
	struct command_line line = {.argc = argc,
				    .argv = argv,
				    .stop_at_operand = command->stop_at_operand};
	struct strbuf limits = {0};
	struct err err = {0};
	int status;
	void *fields = calloc(1, command->fields_size ? command->fields_size : 1);

	if (!fields) {
		err_memory(&err);
		return command_fail(command, &err);
	}
	if (command->foreign_options && (argc != 2 || strcmp(argv[1], "--help") != 0)) {
		free(fields);
		return command->run(command, NULL, argc - 1, argv + 1);
	}
	status = parse(command, fields, &line, &limits, &err);
	if (status == ERR_USAGE)
		status = command_usage(command, "%s", err.text);
	else if (status < 0)
		status = command_fail(command, &err);
	else if (line.help_wanted)
		status = show_help(command);
	else {
		if (wants_pager(command, fields))
			pager_allow();
		status = command->run(command, fields, argc - line.first_operand,
				      argv + line.first_operand);
	}
	strbuf_release(&limits);
	free(fields);
	return status;
}

/* The group that needs a command below it: none was named, or none that exists. */
static int run_group(const struct command *group, int argc, char **argv)
{
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return show_help(group);
	if (argc > 1)
		return meant_explain_below(group, argv[1]);
	print_help(stderr, group);
	return EXIT_USAGE;
}

static int run_help(int argc, char **words)
{
	const struct command *command;
	int used;

	pager_allow();
	if (argc == 0 || !strcmp(words[0], "--all")) {
		pager_start();
		print_overview(stdout, argc > 0);
		return EXIT_DONE;
	}
	if (!strcmp(words[0], "limits")) {
		pager_start();
		limits_print(stdout);
		return EXIT_DONE;
	}
	words = rename_old(&argc, words);
	command = command_find(argc, words, &used);
	if (!command)
		return meant_explain(words[0]);
	if (!command->run && argc > used)
		return meant_explain_below(command, words[used]);
	return show_help(command);
}

/* `heapwise FILE.hwt` and `heapwise ./program`. */
static int run_path(int argc, char **argv)
{
	switch (meant_find(argv[1])) {
	case MEANT_TRACE:
		for (int i = 2; i < argc; i++)
			if (!strcmp(argv[i], "--open"))
				return command_run(&cmd_serve, argc, argv);
		return command_run(&cmd_report, argc, argv);
	case MEANT_PROGRAM: return command_run(&cmd_run, argc, argv);
	case MEANT_NEITHER: break;
	}
	return meant_explain(argv[1]);
}

static int run_words(int argc, char **argv)
{
	const struct command *command;
	int used;
	char **words;

	argc--;
	words = rename_old(&argc, argv + 1);
	command = command_find(argc, words, &used);
	if (!command)
		return run_path(argc + 1, argv);
	argc -= used - 1;
	words += used - 1;
	return command->run ? command_run(command, argc, words) : run_group(command, argc, words);
}

static int dispatch(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--no-pager")) {
		pager_forbid();
		argc--;
		argv++;
	}
	if (argc < 2) {
		print_overview(stderr, false);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return run_help(argc - 2, argv + 2);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("heapwise %s\n", HEAPWISE_VERSION);
		return EXIT_DONE;
	}
	if (!strcmp(argv[1], "__complete"))
		return complete_shell(argc > 2 ? argv[2] : "");
	if (argv[1][0] == '-') {
		fprintf(stderr,
			"heapwise: the command comes first, before %s\nTry 'heapwise help'.\n",
			argv[1]);
		return EXIT_USAGE;
	}
	return run_words(argc, argv);
}

int main(int argc, char **argv)
{
	int status = dispatch(argc, argv);

	/* A full disk shows when the last bytes leave; a reader that went away (EPIPE) is not an
	 * error of ours, and SIGPIPE has then ended us already. */
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_DONE && !pager_is_used()) {
		fprintf(stderr, "heapwise: cannot write the result: %s\n", strerror(errno));
		return EXIT_BAD_INPUT;
	}
	pager_finish();
	return status;
}
