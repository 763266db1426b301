/* SPDX-License-Identifier: MIT
 * heapwise trace types-index: reads a program's sources with libclang and keeps which type each
 * allocation has.
 * Host. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/base/strbuf.h"
#include "show/cli/trace_options.h"
#include "host/symbols/indexer/indexer.h"
#include "host/symbols/types/index.h"

struct types_index_args {
	const char *database;
	const char *output;
	const char *find;
	const char *format;
	struct option_strings functions;
	u64 jobs;
	bool anew;
};

#define ARGS struct types_index_args

static const struct option_spec options[] = {
	OPT(database, 0, "database", STRING, "PATH",
	    "compile_commands.json, or its folder (default .)"),
	OPT(output, 'o', "output", STRING, "FILE",
	    "write the index to FILE (" TYPE_INDEX_NAME " beside compile_commands.json)"),
	OPT(functions, 0, "alloc-fn", STRINGS, "NAME",
	    "treat this function as an allocation function. Repeatable"),
	OPT(jobs, 'j', "jobs", NUMBER, "NUMBER",
	    "parse N sources in parallel (default: number of CPUs)"),
	OPT(anew, 0, "anew", SET, NULL, "parse all sources, not only those that changed"),
	OPT(find, 0, "find", STRING, "SOURCE:LINE[:COLUMN]",
	    "do not build an index; show what the index (-o) says about this place"),
	FORMAT_OPTION(struct types_index_args),
	OPTION_END};

static struct result *describe(const char *path, const struct indexer_summary *found)
{
	struct result *result = result_new(RESULT_RECORD, "types_index", "");
	const struct {
		struct result_column column;
		u64 value;
	} fields[] = {
		{COLUMN("units", "sources", VALUE_COUNT, "translation units"), found->units},
		{COLUMN("parsed", "parsed", VALUE_COUNT,
			"units that were read; the others did not change"),
		 found->parsed},
		{COLUMN("failed", "failed", VALUE_COUNT, "units that could not be read"),
		 found->failed},
		{COLUMN("errors", "errors", VALUE_COUNT,
			"errors that libclang found in the sources"),
		 found->errors},
		{COLUMN("files", "files", VALUE_COUNT, "files in the units"), found->files},
		{COLUMN("places", "places", VALUE_COUNT,
			"places in the sources that allocate or may return an allocation"),
		 found->places},
		{COLUMN("typed", "with a type", VALUE_COUNT, "places whose type is known"),
		 found->typed},
		{COLUMN("index_bytes", "index", VALUE_BYTES, "size of the index"),
		 found->index_bytes},
	};

	if (!result)
		return NULL;
	result->title = result_copy(result, path);
	for (u32 i = 0; i < sizeof fields / sizeof *fields; i++)
		result_add_field(result, fields[i].column, value_number(fields[i].value));
	if (*found->first_error)
		result_add_caveat(result, "%s", found->first_error);
	return result;
}

static const struct result_column place_columns[] = {
	COLUMN("type", "type", VALUE_TEXT, "type of the allocation, or of its elements"),
	COLUMN("written", "as written", VALUE_TEXT, "the type as written in the source"),
	COLUMN("size", "size", VALUE_BYTES, "of one"),
	COLUMN("confidence", "confidence", VALUE_TEXT, "exact, likely or guess"),
	COLUMN("types", "types", VALUE_COUNT, "different types at this place"),
};

/* "a/b.c:12:5" → frame; false if there is no line. */
static bool parse_place(const char *text, struct strbuf *file, struct symbol_frame *frame)
{
	struct strbuf name = {0};
	char *here = getcwd(NULL, 0);
	const char *end = text + strlen(text);
	u64 numbers[2];
	u32 count = 0;

	while (count < 2) {
		const char *colon = end;
		char digits[24] = "";

		while (colon > text && *--colon != ':')
			;
		if (*colon != ':' || end - colon - 1 >= (long)sizeof digits)
			break;
		memcpy(digits, colon + 1, (size_t)(end - colon - 1));
		if (!parse_number(digits, &numbers[count]) || numbers[count] > UINT32_MAX)
			break;
		count++;
		end = colon;
	}
	strbuf_add_bytes(&name, text, (u64)(end - text));
	type_index_clean_path(here ? here : "", strbuf_text(&name), file);
	strbuf_release(&name);
	free(here);
	if (!count)
		return false;
	*frame = (struct symbol_frame){.function = "",
				       .file = strbuf_text(file),
				       .line = (u32)numbers[count - 1],
				       .column = count == 2 ? (u32)numbers[0] : 0};
	return true;
}

static int find(const struct command *self, const struct types_index_args *args, const char *path)
{
	static const char *const words[] = {"exact", "likely", "guess"};
	struct type_index_answer answer;
	struct symbol_frame frame;
	struct strbuf file = {0};
	struct err err = {0};
	struct type_index *index;
	struct result *result;
	int status;

	if (!parse_place(args->find, &file, &frame)) {
		strbuf_release(&file);
		return command_usage(self, "--find: expected SOURCE:LINE or SOURCE:LINE:COLUMN");
	}
	index = type_index_load(path, &err);
	if (!index) {
		strbuf_release(&file);
		return command_fail(self, &err);
	}
	result = result_new(RESULT_TABLE, "types", "");
	if (result)
		result_set_columns(result, place_columns,
				   sizeof place_columns / sizeof *place_columns);
	if (result && type_index_find(index, &frame, 0, &answer)) {
		struct value *row = result_add_row(result);

		if (row) {
			row[0] = value_text(result_copy(result, answer.type));
			row[1] = value_text(result_copy(result, answer.written));
			row[2] = value_number(answer.size);
			row[3] = value_text(words[answer.confidence]);
			row[4] = value_number(answer.types);
		}
	}
	status = print_made(self, result, format_parse(args->format));
	type_index_free(index);
	strbuf_release(&file);
	return status;
}

/* Beside compile_commands.json, else here. */
static void default_output(const char *database, struct strbuf *path)
{
	static const char name[] = "compile_commands.json";
	u64 bytes = database ? strlen(database) : 0;

	if (bytes >= sizeof name - 1 && !strcmp(database + bytes - (sizeof name - 1), name))
		bytes -= sizeof name - 1;
	while (bytes > 1 && database[bytes - 1] == '/')
		bytes--;
	if (bytes) {
		strbuf_add_bytes(path, database, bytes);
		strbuf_add_char(path, '/');
	}
	strbuf_add(path, TYPE_INDEX_NAME);
}

/* How many operands are sources; what follows from the first option on is for the compiler. */
static int source_count(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (argv[i][0] == '-')
			return i;
	return argc;
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	const struct types_index_args *args = fields;
	int sources = source_count(argc, argv);
	struct indexer_options how = {.database = args->database,
				      .files = (const char *const *)argv,
				      .file_count = (u32)sources,
				      .flags = (const char *const *)argv + sources,
				      .flag_count = (u32)(argc - sources),
				      .functions = args->functions.items,
				      .function_count = args->functions.count,
				      .threads = (u32)args->jobs,
				      .anew = args->anew};
	struct indexer_summary found;
	struct strbuf output = {0};
	struct err err = {0};
	int status;

	if (args->database && sources)
		return command_usage(self, "--database cannot be combined with SOURCE");
	if (!sources && argc)
		return command_usage(self, "compiler options require at least one SOURCE");
	if (!sources && !args->database)
		how.database = ".";
	if (args->output)
		strbuf_add(&output, args->output);
	else
		default_output(args->database, &output);
	how.output = strbuf_text(&output);
	if (args->find)
		status = find(self, args, how.output);
	else if (indexer_run(&how, &found, &err) < 0)
		status = command_fail(self, &err);
	else
		status = print_made(self, describe(how.output, &found), format_parse(args->format));
	strbuf_release(&output);
	return status;
}

const struct command cmd_types_index = {
	.name = "trace types-index",
	.operands = "[SOURCE... [-- COMPILER-OPTION...]]",
	.summary = "index the sources of a program: the type of each allocation",
	.details =
		"Without SOURCE the sources listed in compile_commands.json are read; with SOURCE the given files,\n"
		"with the given compiler options. The index is written beside the build, where other commands find\n"
		"it. When it is built again, only changed sources are parsed. The program needs "
		"debug info (-g).",
	.options = options,
	.fields_size = sizeof(struct types_index_args),
	.run = run,
};
