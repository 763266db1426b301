/* SPDX-License-Identifier: MIT
 * The heapwise program: finds the command, parses its options by its table, and runs it.
 * Host. Knows no command's business. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"

#ifndef HEAPWISE_VERSION
#define HEAPWISE_VERSION "0.1.0"
#endif

const struct command *const commands[] = {
	&cmd_run, &cmd_watch,
	&cmd_report,
	&cmd_findings,
	&cmd_mprof,
	&cmd_leaks,
	&cmd_scores,
	&cmd_excessive,
	&cmd_callgraph,
	&cmd_types,
	&cmd_diff,
	&cmd_check,
	&cmd_query,
	&cmd_serve,
	&cmd_dump,
	&cmd_info,
	&cmd_symbolize,
	&cmd_types_index,
	&cmd_index,
	&cmd_ctl,
	&cmd_doctor,
	&cmd_cc,
	&cmd_cxx,
	&cmd_export,
	&cmd_push,
	&cmd_fleet,
	&cmd_import,
	&cmd_import_emad,
	&cmd_import_heaplog,
	&cmd_import_heaptrack,
	&cmd_synth,
	NULL,
};

int command_fail(const struct command *command, const struct err *err)
{
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

static const struct command *command_find(const char *name)
{
	for (u32 i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static int command_unknown(const char *name)
{
	const char *nearest = NULL;
	u32 best = 3;

	for (u32 i = 0; commands[i]; i++) {
		u32 distance = word_distance(name, commands[i]->name);

		if (distance < best) {
			best = distance;
			nearest = commands[i]->name;
		}
	}
	fprintf(stderr, "heapwise: unknown command '%s'", name);
	if (nearest)
		fprintf(stderr, ": did you mean '%s'?\n", nearest);
	else
		fprintf(stderr, "\nTry 'heapwise help'.\n");
	return EXIT_USAGE;
}

static void print_overview(FILE *out)
{
	fprintf(out, "Heapwise tells who allocated memory, how much, for how long, and what was "
		     "kept.\n\n"
		     "usage: heapwise COMMAND [OPTION...] [OPERAND...]\n\ncommands:\n");
	for (u32 i = 0; commands[i]; i++)
		fprintf(out, "  %-11s  %s\n", commands[i]->name, commands[i]->summary);
	fprintf(out, "\nA first look at a program:\n"
		     "  heapwise run -o my.hwt -- ./program its arguments\n"
		     "  heapwise report my.hwt\n\n"
		     "'heapwise help COMMAND' or 'heapwise COMMAND --help' tells more.\n");
}

static int print_help(const struct command *command)
{
	char *options = options_help(command->options);

	printf("%s\n\nusage: heapwise %s [OPTION...] %s\n\noptions:\n%s", command->summary,
	       command->name, command->operands, options ? options : "");
	if (command->details)
		printf("\n%s\n", command->details);
	free(options);
	return EXIT_DONE;
}

static int command_run(const struct command *command, int argc, char **argv)
{
	struct err err = {0};
	bool help = false;
	int first, status;
	void *fields = calloc(1, command->fields_size ? command->fields_size : 1);

	if (!fields) {
		err_set(&err, ERR_MEMORY, "out of memory");
		return command_fail(command, &err);
	}
	if (command->foreign_options && (argc != 2 || strcmp(argv[1], "--help") != 0)) {
		free(fields);
		return command->run(command, NULL, argc - 1, argv + 1);
	}
	if (command->fields_default)
		memcpy(fields, command->fields_default, command->fields_size);
	status = options_parse(command->options, fields, argc, argv, command->stop_at_operand,
			       &first, &help, &err);
	if (status < 0)
		status = command_usage(command, "%s", err.text);
	else if (help)
		status = print_help(command);
	else
		status = command->run(command, fields, argc - first, argv + first);
	free(fields);
	return status;
}

static int run_help(int argc, char **argv)
{
	const struct command *command;

	if (argc < 3) {
		print_overview(stdout);
		return EXIT_DONE;
	}
	command = command_find(argv[2]);
	return command ? print_help(command) : command_unknown(argv[2]);
}

static int dispatch(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		print_overview(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return run_help(argc, argv);
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
	command = command_find(argv[1]);
	return command ? command_run(command, argc - 1, argv + 1) : command_unknown(argv[1]);
}

int main(int argc, char **argv)
{
	int status = dispatch(argc, argv);

	/* A full disk shows when the last bytes leave; a reader that went away (EPIPE) is not an
	 * error of ours, and SIGPIPE has then ended us already. */
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_DONE) {
		fprintf(stderr, "heapwise: cannot write the result: %s\n", strerror(errno));
		return EXIT_BAD_INPUT;
	}
	return status;
}
