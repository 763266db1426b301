/* SPDX-License-Identifier: MIT
 * heapwise doctor: what works on this machine, in words.
 * Host. */
#include <string.h>

#include "show/cli/command.h"
#include "show/cli/doctor.h"
#include "show/cli/print.h"
#include "show/cli/trace_options.h"

struct doctor_args {
	const char *format;
};

static const struct option_spec options[] = {FORMAT_OPTION(struct doctor_args), OPTION_END};

static const struct result_column columns[] = {
	COLUMN("state", "state", VALUE_TEXT, "ok, limited, or missing"),
	COLUMN("check", "what", VALUE_TEXT, "what was checked"),
	COLUMN("found", "found", VALUE_TEXT, "what was found"),
	COLUMN("follows", NULL, VALUE_TEXT, "what that means"),
};

static const char *state_word(enum finding_state state)
{
	switch (state) {
	case FINDING_OK: return "ok";
	case FINDING_LIMITED: return "limited";
	case FINDING_MISSING: return "missing";
	}
	return "";
}

/* Text shows finding and consequence as one phrase; programs get them apart. */
static void add_row(struct result *table, const char *name, const struct finding *finding,
		    bool joined)
{
	char phrase[sizeof finding->found + sizeof finding->follows + 2];
	struct value *row;

	strcpy(phrase, finding->found);
	if (joined && *finding->follows) {
		strcat(phrase, ": ");
		strcat(phrase, finding->follows);
	}
	row = result_add_row(table);
	if (!row)
		return;
	row[0] = value_text(state_word(finding->state));
	row[1] = value_text(name);
	row[2] = value_text(result_copy(table, phrase));
	row[3] = value_text(result_copy(table, finding->follows));
}

static void add_rows(struct result *table, bool joined)
{
	for (u32 i = 0; i < checkup_count; i++) {
		struct finding finding = {.state = FINDING_OK};

		checkups[i].look(&finding);
		add_row(table, checkups[i].name, &finding, joined);
	}
	for (u32 i = 0; i < part_count; i++) {
		struct finding finding = {.state = FINDING_OK};

		part_look(&parts[i], &finding);
		add_row(table, parts[i].name, &finding, joined);
	}
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	const struct doctor_args *args = fields;
	enum format format = format_parse(args->format);
	struct result *table;
	struct err err = {0};
	int status = EXIT_DONE;

	if (argc != 0)
		return command_usage(self, "unexpected argument '%s'", argv[0]);
	table = result_new(RESULT_TABLE, "doctor",
			   format == FORMAT_TEXT ? "" : "What works on this machine");
	if (table)
		result_set_columns(table, columns, sizeof columns / sizeof *columns);
	if (table)
		add_rows(table, format == FORMAT_TEXT);
	if (!table || result_failed(table)) {
		err_memory(&err);
		status = command_fail(self, &err);
	} else if (format == FORMAT_TEXT) {
		struct text_style style = print_style();

		style.width = 0; /* a sentence that is cut helps nobody */
		render_text(table, &style, stdout);
	} else {
		print_result(table, format);
	}
	result_free(table);
	return status;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.operands = "",
	.summary = "check which features work on this machine",
	.options = options,
	.fields_size = sizeof(struct doctor_args),
	.run = run,
};
