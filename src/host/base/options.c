/* SPDX-License-Identifier: MIT
 * Parses a command line by a table of options, and renders the same table as help.
 * Host. Never prints, never exits; keeps pointers into argv, which outlives every command. */
#include "host/base/options.h"
#include "host/base/io.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMN_MAX = 30, HELP_WIDTH = 96, WORD_MAX = 64 };

struct parser {
	const struct option_spec *table;
	char *fields;
	struct command_line *line;
	int next; /* index in argv of what has not been looked at */
	struct err *err;
};

static bool takes_argument(const struct option_spec *spec)
{
	return spec->type != OPTION_SET && spec->type != OPTION_CLEAR &&
	       spec->type != OPTION_OPTIONAL;
}

u32 word_distance(const char *a, const char *b)
{
	u32 row[WORD_MAX + 1];
	size_t a_length = strnlen(a, WORD_MAX), b_length = strnlen(b, WORD_MAX);

	for (size_t j = 0; j <= b_length; j++)
		row[j] = (u32)j;
	for (size_t i = 1; i <= a_length; i++) {
		u32 diagonal = row[0];

		row[0] = (u32)i;
		for (size_t j = 1; j <= b_length; j++) {
			u32 best = diagonal + (a[i - 1] != b[j - 1]);

			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = row[j];
			row[j] = best;
		}
	}
	return row[b_length];
}

bool parse_number(const char *text, u64 *number)
{
	u64 value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		if (__builtin_mul_overflow(value, (u64)10, &value) ||
		    __builtin_add_overflow(value, (u64)(*text - '0'), &value))
			return false;
	}
	*number = value;
	return true;
}

bool parse_percent(const char *text, double *share)
{
	char *end;
	double percent;

	if (*text < '0' || *text > '9')
		return false; /* strtod would take signs, spaces, names and "inf" */
	percent = strtod(text, &end);
	if (end == text || strpbrk(text, "xXeE") || (*end && strcmp(end, "%") != 0) ||
	    !(percent <= 100))
		return false;
	*share = percent / 100;
	return true;
}

/* Power of 1024 that a suffix stands for, or -1. */
static int suffix_power(const char *suffix)
{
	static const char letters[] = "KMGT";
	const char *letter;

	if (!*suffix || strcmp(suffix, "B") == 0)
		return 0;
	letter = strchr(letters, *suffix >= 'a' ? *suffix - 'a' + 'A' : *suffix);
	if (!letter)
		return -1;
	suffix++;
	if (*suffix && strcmp(suffix, "B") && strcmp(suffix, "iB") && strcmp(suffix, "ib"))
		return -1;
	return (int)(letter - letters) + 1;
}

bool parse_bytes(const char *text, u64 *bytes)
{
	u64 whole = 0;
	double part = 0, scale = 1;
	int power;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(whole, (u64)10, &whole) ||
		    __builtin_add_overflow(whole, (u64)(*text - '0'), &whole))
			return false;
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9'; text++)
			part += (*text - '0') * (scale /= 10);
	power = suffix_power(text);
	if (power < 0 || (power == 0 && part > 0))
		return false;
	if (__builtin_mul_overflow(whole, (u64)1 << (10 * power), &whole))
		return false;
	/* part < 1, so its bytes are below 2^40 and exact enough to truncate. */
	return !__builtin_add_overflow(whole, (u64)(part * (double)((u64)1 << (10 * power))),
				       bytes);
}

static double time_unit_ns(const char *name, size_t length, double bare_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1},     {"us", 1e3}, {"ms", 1e6},  {"s", 1e9},
		     {"min", 60e9}, {"m", 60e9}, {"h", 3600e9}};

	for (u32 i = 0; i < sizeof units / sizeof *units; i++)
		if (strlen(units[i].name) == length && strncmp(units[i].name, name, length) == 0)
			return units[i].ns;
	return length ? 0 : bare_ns;
}

bool parse_ns(const char *text, double bare_ns, const char **end, double *ns)
{
	size_t digits = strspn(text, "0123456789."), length;
	char *unit;
	double number = strtod(text, &unit), unit_ns;

	if (!digits || unit != text + digits)
		return false; /* strtod would take signs, exponents, hexadecimal digits and "inf" */
	while (*unit == ' ')
		unit++;
	length = strspn(unit, "abcdefghijklmnopqrstuvwxyz");
	unit_ns = time_unit_ns(unit, length, bare_ns);
	*ns = number * unit_ns;
	if (end)
		*end = unit + length;
	return unit_ns > 0 && isfinite(*ns) && (end || !unit[length]);
}

static bool choice_has(const char *choices, const char *word)
{
	size_t length = strlen(word);

	while (length && *choices) {
		size_t size = strcspn(choices, "|");

		if (size == length && strncmp(choices, word, length) == 0)
			return true;
		choices += size + (choices[size] == '|');
	}
	return false;
}

const struct option_spec *option_find(const struct option_spec *table, const char *name)
{
	for (; table && table->type != OPTION_NONE; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

bool option_is_shown(const struct option_spec *spec) { return spec->help && !spec->limit; }

static int check_folders(const char *called, const char *paths, struct err *err)
{
	for (const char *path = paths; *path; path += *path == ':') {
		u64 length = strcspn(path, ":");

		if (length && !io_is_folder(path, length))
			return err_set(err, ERR_USAGE, "%s: there is no folder '%.*s'", called,
				       (int)(length < WORD_MAX * 4 ? length : WORD_MAX * 4), path);
		path += length;
	}
	return 0;
}

int option_store(const struct option_spec *spec, void *fields, const char *called,
		 const char *value, struct err *err)
{
	void *field = (char *)fields + spec->offset;
	struct option_strings *strings;

	switch (spec->type) {
	case OPTION_SET: *(bool *)field = true; return 0;
	case OPTION_CLEAR: *(bool *)field = false; return 0;
	case OPTION_OPTIONAL: *(const char **)field = value ? value : ""; return 0;
	case OPTION_STRING: *(const char **)field = value; return 0;
	case OPTION_FOLDERS:
		*(const char **)field = value;
		return check_folders(called, value, err);
	case OPTION_STRINGS:
		strings = field;
		if (strings->count == OPTION_STRINGS_MAX)
			return err_set(err, ERR_USAGE, "%s was given more than %d times", called,
				       OPTION_STRINGS_MAX);
		strings->items[strings->count++] = value;
		return 0;
	case OPTION_NUMBER:
		if (parse_number(value, field))
			return 0;
		return err_set(err, ERR_USAGE, "%s must be a number, not '%s'", called, value);
	case OPTION_BYTES:
		if (parse_bytes(value, field))
			return 0;
		return err_set(err, ERR_USAGE,
			       "%s must be a size such as 4096, 64K or 1.5G, not '%s'", called,
			       value);
	case OPTION_PERCENT:
		if (parse_percent(value, field))
			return 0;
		return err_set(err, ERR_USAGE, "%s must be a percentage from 0 to 100, not '%s'",
			       called, value);
	case OPTION_CHOICE:
		if (!choice_has(spec->argument, value))
			return err_set(err, ERR_USAGE, "%s must be one of %s, not '%s'", called,
				       spec->argument, value);
		*(const char **)field = value;
		return 0;
	case OPTION_NONE: break;
	}
	return err_set(err, ERR_USAGE, "%s has no type", called);
}

static int store(struct parser *self, const struct option_spec *spec, const char *value)
{
	char called[WORD_MAX + 3];

	snprintf(called, sizeof called, "--%s", spec->name);
	return option_store(spec, self->fields, called, value, self->err);
}

static int unknown_name(struct parser *self, const char *name, size_t length)
{
	char word[WORD_MAX + 1];
	const char *nearest = "help";
	u32 best;

	snprintf(word, sizeof word, "%.*s", (int)(length < WORD_MAX ? length : WORD_MAX), name);
	best = word_distance(word, nearest);
	for (const struct option_spec *spec = self->table; spec->type != OPTION_NONE; spec++) {
		u32 distance = option_is_shown(spec) ? word_distance(word, spec->name) : UINT32_MAX;

		if (distance < best) {
			best = distance;
			nearest = spec->name;
		}
	}
	if (best > 1 + length / 3)
		return err_set(self->err, ERR_USAGE, "unknown option --%s", word);
	return err_set(self->err, ERR_USAGE, "unknown option --%s: did you mean --%s?", word,
		       nearest);
}

/* Finds the option that name[0..length) names in full or as its only prefix. *spec stays NULL
 * for --help. */
static int find_name(struct parser *self, const char *name, size_t length,
		     const struct option_spec **found)
{
	const struct option_spec *match = NULL;
	bool help = length && strncmp("help", name, length) == 0;
	u32 matches = help;

	*found = NULL;
	for (const struct option_spec *spec = self->table; spec->type != OPTION_NONE; spec++) {
		if (!length || strncmp(spec->name, name, length) != 0)
			continue;
		if (!spec->name[length]) {
			*found = spec;
			return 0;
		}
		match = spec;
		matches++;
	}
	if (help && (matches == 1 || length == 4)) {
		self->line->help_wanted = true;
		return 0;
	}
	if (matches == 0)
		return unknown_name(self, name, length);
	if (matches > 1)
		return err_set(self->err, ERR_USAGE,
			       "--%.*s is ambiguous: it may mean --%s and others; write the name "
			       "in full",
			       (int)length, name, match->name);
	*found = match;
	return 0;
}

static int parse_long(struct parser *self, const char *text)
{
	size_t length = strcspn(text, "=");
	const char *value = text[length] ? text + length + 1 : NULL;
	const struct option_spec *spec;
	int status = find_name(self, text, length, &spec);

	if (status < 0 || !spec)
		return status;
	if (!takes_argument(spec)) {
		if (value && spec->type != OPTION_OPTIONAL)
			return err_set(self->err, ERR_USAGE, "--%s takes no value", spec->name);
		return store(self, spec, value);
	}
	if (!value) {
		if (self->next >= self->line->argc)
			return err_set(self->err, ERR_USAGE, "--%s needs a value: %s", spec->name,
				       spec->argument);
		value = self->line->argv[self->next++];
	}
	return store(self, spec, value);
}

static int parse_letters(struct parser *self, const char *letters)
{
	while (*letters) {
		const struct option_spec *spec = self->table;
		int status;

		while (spec->type != OPTION_NONE && spec->letter != *letters)
			spec++;
		if (spec->type == OPTION_NONE) {
			if (*letters != 'h')
				return err_set(self->err, ERR_USAGE, "unknown option -%c",
					       *letters);
			self->line->help_wanted = true;
			letters++;
			continue;
		}
		letters++;
		if (!takes_argument(spec)) {
			status = store(self, spec, NULL);
			if (status < 0)
				return status;
			continue;
		}
		if (*letters)
			return store(self, spec, letters);
		if (self->next >= self->line->argc)
			return err_set(self->err, ERR_USAGE, "-%c needs a value: %s", spec->letter,
				       spec->argument);
		return store(self, spec, self->line->argv[self->next++]);
	}
	return 0;
}

/* Moves argv[from..to) so that it ends up just before argv[place], which lies left of it. */
static void rotate_left(char **argv, int place, int from, int to)
{
	for (; from < to; from++, place++) {
		char *moved = argv[from];

		memmove(argv + place + 1, argv + place, (size_t)(from - place) * sizeof *argv);
		argv[place] = moved;
	}
}

int options_parse(const struct option_spec *table, void *fields, struct command_line *line,
		  struct err *err)
{
	struct parser self = {
		.table = table, .fields = fields, .line = line, .next = 1, .err = err};
	int operands = 1; /* argv[operands .. next) are operands that were passed over */
	int status = 0;

	line->help_wanted = false;
	while (self.next < line->argc && status == 0) {
		int start = self.next;
		const char *word = line->argv[self.next];

		if (word[0] != '-' || !word[1]) {
			if (line->stop_at_operand)
				break;
			self.next++;
			continue;
		}
		self.next++;
		if (strcmp(word, "--") == 0) {
			rotate_left(line->argv, operands, start, self.next);
			operands++;
			break;
		}
		status = word[1] == '-' ? parse_long(&self, word + 2)
					: parse_letters(&self, word + 1);
		rotate_left(line->argv, operands, start, self.next);
		operands += self.next - start;
	}
	line->first_operand = operands;
	return status;
}

static int option_label(const struct option_spec *spec, char *label, size_t size)
{
	const char *space = takes_argument(spec) ? " " : "";
	const char *argument = takes_argument(spec) ? spec->argument : "";

	if (spec->type == OPTION_OPTIONAL)
		return snprintf(label, size, "      --%s[=%s]", spec->name, spec->argument);

	if (spec->letter)
		return snprintf(label, size, "  -%c, --%s%s%s", spec->letter, spec->name, space,
				argument);
	return snprintf(label, size, "      --%s%s%s", spec->name, space, argument);
}

/* Writes the help text in lines of HELP_WIDTH, the following ones indented by `column`. */
static void write_wrapped(FILE *out, const char *text, int column)
{
	int room = HELP_WIDTH - column;

	while ((int)strlen(text) > room) {
		int cut = room;

		while (cut > 0 && text[cut] != ' ')
			cut--;
		if (cut == 0)
			break;
		fprintf(out, "%.*s\n%*s", cut, text, column, "");
		text += cut + 1;
	}
	fprintf(out, "%s\n", text);
}

/* Only their names: 'heapwise help limits' has what they mean. */
static void write_limits(FILE *out, const struct option_spec *table)
{
	enum { INDENT = 6 };
	struct strbuf names = {0};

	for (; table->type != OPTION_NONE; table++)
		if (table->limit)
			strbuf_addf(&names, "%s--%s", names.count ? ", " : "", table->name);
	if (names.count) {
		fprintf(out, "\nlimits, also as options ('heapwise help limits' explains):\n%*s",
			INDENT, "");
		write_wrapped(out, strbuf_text(&names), INDENT);
	}
	strbuf_release(&names);
}

char *options_help(const struct option_spec *table)
{
	static const struct option_spec help = {.letter = 'h',
						.name = "help",
						.type = OPTION_SET,
						.help = "show this text"};
	char label[256], *text = NULL;
	size_t size;
	int column = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (const struct option_spec *spec = table; spec->type != OPTION_NONE; spec++) {
		int width = option_is_shown(spec) ? option_label(spec, label, sizeof label) + 2 : 0;

		if (width > column && width <= HELP_COLUMN_MAX + 2)
			column = width;
	}
	if (column < 14)
		column = 14;
	for (const struct option_spec *spec = table;; spec++) {
		bool last = spec->type == OPTION_NONE;
		const struct option_spec *shown = last ? &help : spec;

		if (option_is_shown(shown)) {
			int width = option_label(shown, label, sizeof label);

			if (shown->heading)
				fprintf(out, "\n%s\n", shown->heading);
			if (width + 2 > column)
				fprintf(out, "%s\n%*s", label, column, "");
			else
				fprintf(out, "%-*s", column, label);
			write_wrapped(out, shown->help, column);
		}
		if (last)
			break;
	}
	write_limits(out, table);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
