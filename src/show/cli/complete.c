/* SPDX-License-Identifier: MIT
 * Writes shell completion scripts from the option tables of the commands.
 * Host. The scripts are static text: they never run heapwise while a user types. */
#include <stdio.h>
#include <string.h>

#include "show/cli/command.h"

static bool takes_argument(const struct option_spec *spec)
{
	return spec->type != OPTION_SET && spec->type != OPTION_CLEAR &&
	       spec->type != OPTION_OPTIONAL;
}

/* "text|json|csv" → "text json csv" */
static void put_choices(const char *choices)
{
	for (; *choices; choices++)
		putchar(*choices == '|' ? ' ' : *choices);
}

/* Inside single quotes of any of the three shells. */
static void put_quoted(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
	}
}

static bool is_group(const struct command *command) { return command->commands && !command->run; }

static void put_words(const struct command *const *below)
{
	for (; *below; below++)
		printf("%s ", command_word(*below));
}

/* The first words that `heapwise help` lists. */
static void put_first_words(void)
{
	for (const struct command_row *row = command_rows; row->command; row++)
		if (row->group)
			printf("%s ", row->command->name);
}

static void bash_options(const struct command *command)
{
	printf("\t'%s') words='", command->name);
	for (const struct option_spec *spec = command->options; spec->type != OPTION_NONE; spec++)
		if (option_is_shown(spec))
			printf("--%s ", spec->name);
	printf("--help'\n\t\tcase \"$before\" in\n");
	for (const struct option_spec *spec = command->options; spec->type != OPTION_NONE; spec++) {
		if (!option_is_shown(spec) || spec->type != OPTION_CHOICE)
			continue;
		printf("\t\t--%s) COMPREPLY=($(compgen -W '", spec->name);
		put_choices(spec->argument);
		printf("' -- \"$word\")); return ;;\n");
	}
	printf("\t\tesac ;;\n");
}

/* Two words that name a command become one name; the second one is completed with what there is. */
static void bash_names(void)
{
	const struct command *command;

	printf("\tcase \"$name\" in\n");
	for (u32 i = 0; (command = command_at(i)); i++) {
		if (!is_group(command))
			continue;
		printf("\t%s) if [ \"$COMP_CWORD\" -eq 2 ]; then\n\t\tCOMPREPLY=($(compgen -W '",
		       command->name);
		put_words(command->commands);
		printf("' -- \"$word\"))\n\t\treturn\n\tfi ;;\n");
	}
	printf("\tesac\n\tcase \"$name ${COMP_WORDS[2]}\" in\n\t");
	for (u32 i = 0, some = 0; (command = command_at(i)); i++)
		if (strchr(command->name, ' '))
			printf("%s'%s'", some++ ? "|" : "", command->name);
	printf(") name=\"$name ${COMP_WORDS[2]}\" ;;\n\tesac\n");
}

static void complete_bash(void)
{
	const struct command *command;

	printf("# bash completion for heapwise\n_heapwise()\n{\n"
	       "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
	       "name=${COMP_WORDS[1]} words=''\n"
	       "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W '");
	put_first_words();
	printf("help' -- \"$word\") $(compgen -f -- \"$word\"))\n\t\treturn\n\tfi\n");
	bash_names();
	printf("\tcase \"$name\" in\n");
	for (u32 i = 0; (command = command_at(i)); i++)
		if (!is_group(command))
			bash_options(command);
	printf("\thelp) words='");
	put_first_words();
	printf("' ;;\n\tesac\n"
	       "\tcase \"$word\" in\n"
	       "\t-*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
	       "\t*) if [ \"$name\" = help ]; then\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
	       "\telse\n\t\tCOMPREPLY=($(compgen -f -- \"$word\"))\n\tfi ;;\n\tesac\n}\n"
	       "complete -o filenames -F _heapwise heapwise\n");
}

/* zsh reads : and [] in a description as its own. */
static void put_zsh_text(const char *text)
{
	for (; *text; text++) {
		if (strchr("[]:\\", *text))
			putchar('\\');
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
	}
}

static void zsh_option(const struct option_spec *spec)
{
	printf("\t\t\t'--%s%s[", spec->name, takes_argument(spec) ? "=" : "");
	put_zsh_text(spec->help);
	putchar(']');
	if (spec->type == OPTION_CHOICE) {
		printf(":%s:(", spec->name);
		put_choices(spec->argument);
		putchar(')');
	} else if (takes_argument(spec)) {
		printf(":%s:%s", spec->name,
		       spec->type == OPTION_STRING || spec->type == OPTION_STRINGS ? "_files"
		       : spec->type == OPTION_FOLDERS                              ? "_files -/"
										   : "");
	}
	printf("' \\\n");
}

static void zsh_described(const char *word, const char *summary)
{
	printf("\t\t'%s:", word);
	put_zsh_text(summary);
	printf("'\n");
}

static void zsh_command(const struct command *command)
{
	printf("\t'%s')\n\t\t_arguments \\\n", command->name);
	for (const struct option_spec *spec = command->options; spec->type != OPTION_NONE; spec++)
		if (option_is_shown(spec))
			zsh_option(spec);
	printf("\t\t\t'--help[show this text]' \\\n\t\t\t'*:file:_files' ;;\n");
}

static void zsh_group(const struct command *command)
{
	printf("\t%s)\n\t\tlist=(\n", command->name);
	for (u32 i = 0; command->commands[i]; i++)
		zsh_described(command_word(command->commands[i]), command->commands[i]->summary);
	printf("\t\t)\n\t\t_describe command list ;;\n");
}

static void complete_zsh(void)
{
	const struct command *command;

	printf("#compdef heapwise\n_heapwise()\n{\n\tlocal -a list\n\tlist=(\n");
	for (const struct command_row *row = command_rows; row->command; row++)
		if (row->group)
			zsh_described(row->command->name, row->command->summary);
	printf("\t\t'help:show how a command is used'\n\t)\n"
	       "\tif (( CURRENT == 2 )); then\n\t\t_describe command list\n\t\t_files\n\t\treturn\n"
	       "\tfi\n"
	       "\tlocal name=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n"
	       "\tif (( CURRENT > 2 )); then\n\t\tcase \"$name $words[2]\" in\n\t\t");
	for (u32 i = 0, some = 0; (command = command_at(i)); i++)
		if (strchr(command->name, ' '))
			printf("%s'%s'", some++ ? "|" : "", command->name);
	printf(")\n\t\t\tname=\"$name $words[2]\"\n\t\t\tshift words\n\t\t\t(( CURRENT-- )) ;;\n"
	       "\t\tesac\n\tfi\n"
	       "\tcase $name in\n");
	for (u32 i = 0; (command = command_at(i)); i++)
		(is_group(command) ? zsh_group : zsh_command)(command);
	/* Autoloaded, the file is the function's body; sourced, it only defines it. */
	printf("\thelp) _describe command list ;;\n\tesac\n}\n"
	       "if [ \"$funcstack[1]\" = _heapwise ]; then\n\t_heapwise \"$@\"\n"
	       "else\n\tcompdef _heapwise heapwise\nfi\n");
}

static void fish_option(const struct command *command, const struct option_spec *spec)
{
	const char *space = strchr(command->name, ' ');

	printf("complete -c heapwise -n '__fish_seen_subcommand_from %.*s",
	       (int)strcspn(command->name, " "), command->name);
	if (space)
		printf("; and __fish_seen_subcommand_from %s", space + 1);
	printf("' -l %s", spec->name);
	if (spec->letter)
		printf(" -s %c", spec->letter);
	if (spec->type == OPTION_CHOICE) {
		printf(" -x -a '");
		put_choices(spec->argument);
		printf("'");
	} else if (takes_argument(spec)) {
		printf(" -r");
	}
	printf(" -d '");
	put_quoted(spec->help);
	printf("'\n");
}

static void fish_word(const char *condition, const char *word, const char *summary)
{
	printf("complete -c heapwise -n '%s' -f -a %s -d '", condition, word);
	put_quoted(summary);
	printf("'\n");
}

static void complete_fish(void)
{
	const struct command *command;

	printf("# fish completion for heapwise\n");
	for (const struct command_row *row = command_rows; row->command; row++)
		if (row->group)
			fish_word("__fish_use_subcommand", row->command->name,
				  row->command->summary);
	for (u32 i = 0; (command = command_at(i)); i++) {
		char condition[64];

		snprintf(condition, sizeof condition, "__fish_seen_subcommand_from %s",
			 command->name);
		for (u32 k = 0; command->commands && command->commands[k]; k++)
			fish_word(condition, command_word(command->commands[k]),
				  command->commands[k]->summary);
		for (const struct option_spec *spec = command->options;
		     spec && spec->type != OPTION_NONE; spec++)
			if (option_is_shown(spec))
				fish_option(command, spec);
	}
}

int complete_shell(const char *shell)
{
	if (strcmp(shell, "bash") == 0)
		complete_bash();
	else if (strcmp(shell, "zsh") == 0)
		complete_zsh();
	else if (strcmp(shell, "fish") == 0)
		complete_fish();
	else {
		fprintf(stderr, "heapwise: completion scripts exist for bash, zsh and fish\n");
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}
