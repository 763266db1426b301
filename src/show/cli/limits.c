/* SPDX-License-Identifier: MIT
 * Files of limits.
 * Host. */
#include "show/cli/command.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/io.h"

enum { FILE_BYTES_MAX = 1 << 20 };

/* The limit of this name, in the table of the first command that has it. */
static const struct option_spec *find_anywhere(const char *name, const struct command **owner)
{
	for (u32 i = 0; (*owner = command_at(i)); i++) {
		const struct option_spec *spec = option_find((*owner)->options, name);

		if (spec && spec->limit)
			return spec;
	}
	return NULL;
}

/* ---- reading ---- */

/* The text without blanks at both ends, which are overwritten. */
static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return text + strspn(text, " \t");
}

static const char *nearest(const char *name)
{
	const struct command *command;
	const char *found = NULL;
	u32 best = 3;

	for (u32 i = 0; (command = command_at(i)); i++)
		for (const struct option_spec *spec = command->options;
		     spec && spec->type != OPTION_NONE; spec++)
			if (spec->limit && word_distance(name, spec->name) < best) {
				best = word_distance(name, spec->name);
				found = spec->name;
			}
	return found;
}

static int read_line(const struct option_spec *table, void *fields, char *line, struct err *err)
{
	const struct option_spec *spec;
	const struct command *owner;
	char *equals, *name;

	line[strcspn(line, "#")] = '\0';
	name = trim(line);
	if (!*name)
		return 0;
	equals = strchr(name, '=');
	if (!equals)
		return err_set(err, ERR_INPUT, "expected 'name = value', not '%s'", name);
	*equals = '\0';
	name = trim(name);
	if (!find_anywhere(name, &owner)) {
		const char *near = nearest(name);

		return near ? err_set(err, ERR_INPUT, "unknown limit '%s'; did you mean '%s'?",
				      name, near)
			    : err_set(err, ERR_INPUT,
				      "unknown limit '%s'; 'heapwise help limits' lists them",
				      name);
	}
	spec = option_find(table, name);
	return spec && spec->limit ? option_store(spec, fields, name, trim(equals + 1), err) : 0;
}

int limits_read(const struct option_spec *table, void *fields, const char *path,
		struct strbuf *text, struct err *err)
{
	int status = io_read_file(path, FILE_BYTES_MAX, text, err);
	char *next;
	u32 line = 0;

	for (char *at = text->text; status == 0 && at; at = next) {
		struct err inner = {0};

		line++;
		next = strchr(at, '\n');
		if (next)
			*next++ = '\0';
		if (read_line(table, fields, at, &inner) < 0)
			status = err_set(err, ERR_INPUT, "%s:%u: %s", path, line, inner.text);
	}
	return status;
}

/* ---- printing ---- */

static void print_bytes(FILE *out, u64 bytes)
{
	static const char units[] = "KMGT";
	int power = 0;

	for (; bytes && bytes % 1024 == 0 && units[power]; power++)
		bytes /= 1024;
	fprintf(out, "%llu%.*s", (unsigned long long)bytes, power > 0,
		power ? units + power - 1 : "");
}

static void print_default(FILE *out, const struct option_spec *spec, const void *defaults)
{
	const void *field = (const char *)defaults + spec->offset;

	fprintf(out, "%s = ", spec->name);
	if (spec->type == OPTION_NUMBER)
		fprintf(out, "%llu", (unsigned long long)*(const u64 *)field);
	else if (spec->type == OPTION_BYTES)
		print_bytes(out, *(const u64 *)field);
	else if (spec->type == OPTION_PERCENT)
		fprintf(out, "%g%%", *(const double *)field * 100);
	else
		fputs(*(const char *const *)field, out);
	fputc('\n', out);
}

static void print_owners(FILE *out, const char *name)
{
	const struct command *command;
	u32 some = 0;

	for (u32 i = 0; (command = command_at(i)); i++) {
		const struct option_spec *spec = option_find(command->options, name);

		if (spec && spec->limit)
			fprintf(out, "%s%s", some++ ? ", " : "", command->name);
	}
}

void limits_print(FILE *out)
{
	const struct command *command, *first;

	fprintf(out, "# Limits of Heapwise and their defaults, for --limits FILE. Write those that "
		     "differ to a file of your own.\n"
		     "# In square brackets: the commands that use the limit.\n");
	for (u32 i = 0; (command = command_at(i)); i++)
		for (const struct option_spec *spec = command->options;
		     spec && spec->type != OPTION_NONE; spec++) {
			if (!spec->limit || (find_anywhere(spec->name, &first), first != command))
				continue;
			fprintf(out, "\n# %s [", spec->help);
			print_owners(out, spec->name);
			fputs("]\n", out);
			print_default(out, spec, command->fields_default);
		}
}
