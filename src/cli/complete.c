/* SPDX-License-Identifier: MIT
 * Writes shell completion scripts from the option tables of the commands.
 * Host. The scripts are static text: they never run heapwise while a user types. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

static bool is_shown(const struct option_spec *spec) { return spec->help != NULL; }

static bool takes_argument(const struct option_spec *spec)
{
	return spec->type != OPTION_SET && spec->type != OPTION_CLEAR && spec->type != OPTION_OPTIONAL;
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

static void bash_options(const struct command *command)
{
	printf("\t%s) words='", command->name);
	for (const struct option_spec *spec = command->options; spec->type != OPTION_NONE; spec++)
		if (is_shown(spec))
			printf("--%s ", spec->name);
	printf("--help'\n\t\tcase \"$before\" in\n");
	for (const struct option_spec *spec = command->options; spec->type != OPTION_NONE; spec++) {
		if (!is_shown(spec) || spec->type != OPTION_CHOICE)
			continue;
		printf("\t\t--%s) COMPREPLY=($(compgen -W '", spec->name);
		put_choices(spec->argument);
		printf("' -- \"$word\")); return ;;\n");
	}
	printf("\t\tesac ;;\n");
}

static void complete_bash(void)
{
	printf("# bash completion for heapwise\n_heapwise()\n{\n"
	       "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
	       "words=''\n"
	       "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W '");
	for (u32 i = 0; commands[i]; i++)
		printf("%s ", commands[i]->name);
	printf("help' -- \"$word\"))\n\t\treturn\n\tfi\n\tcase \"${COMP_WORDS[1]}\" in\n");
	for (u32 i = 0; commands[i]; i++)
		bash_options(commands[i]);
	printf("\thelp) words='");
	for (u32 i = 0; commands[i]; i++)
		printf("%s ", commands[i]->name);
	printf("' ;;\n\tesac\n"
	       "\tcase \"$word\" in\n"
	       "\t-*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
	       "\t*) if [ \"${COMP_WORDS[1]}\" = help ]; then\n"
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
		       spec->type == OPTION_STRING || spec->type == OPTION_STRINGS ? "_files" : "");
	}
	printf("' \\\n");
}

static void complete_zsh(void)
{
	printf("#compdef heapwise\n_heapwise()\n{\n\tlocal -a list\n\tlist=(\n");
	for (u32 i = 0; commands[i]; i++) {
		printf("\t\t'%s:", commands[i]->name);
		put_zsh_text(commands[i]->summary);
		printf("'\n");
	}
	printf("\t\t'help:show how a command is used'\n\t)\n"
	       "\tif (( CURRENT == 2 )); then\n\t\t_describe command list\n\t\treturn\n\tfi\n"
	       "\tlocal name=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $name in\n");
	for (u32 i = 0; commands[i]; i++) {
		printf("\t%s)\n\t\t_arguments \\\n", commands[i]->name);
		for (const struct option_spec *spec = commands[i]->options;
		     spec->type != OPTION_NONE; spec++)
			if (is_shown(spec))
				zsh_option(spec);
		printf("\t\t\t'--help[show this text]' \\\n\t\t\t'*:file:_files' ;;\n");
	}
	/* Autoloaded, the file is the function's body; sourced, it only defines it. */
	printf("\thelp) _describe command list ;;\n\tesac\n}\n"
	       "if [ \"$funcstack[1]\" = _heapwise ]; then\n\t_heapwise \"$@\"\n"
	       "else\n\tcompdef _heapwise heapwise\nfi\n");
}

static void complete_fish(void)
{
	printf("# fish completion for heapwise\n");
	for (u32 i = 0; commands[i]; i++) {
		printf("complete -c heapwise -n __fish_use_subcommand -f -a %s -d '",
		       commands[i]->name);
		put_quoted(commands[i]->summary);
		printf("'\n");
	}
	for (u32 i = 0; commands[i]; i++) {
		for (const struct option_spec *spec = commands[i]->options;
		     spec->type != OPTION_NONE; spec++) {
			if (!is_shown(spec))
				continue;
			printf("complete -c heapwise -n '__fish_seen_subcommand_from %s' -l %s",
			       commands[i]->name, spec->name);
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
