/* SPDX-License-Identifier: MIT
 * heapwise dev synth: a made-up trace of any size, and what is in it.
 * Host. */
#include <stdio.h>
#include <stdlib.h>

#include "show/cli/command.h"
#include "show/cli/print.h"
#include "show/cli/trace_options.h"
#include "dev/synth/limits.h"
#include "dev/synth/synth.h"

struct synth_args {
	const char *output, *chunks, *points, *format;
	u64 threads, types, seed, program, top;
	double kept;
	bool access;
};

static const struct synth_args defaults = {
	.chunks = "1M", .points = "10k", .threads = 4, .seed = 1, .program = UINT64_MAX, .top = 10, .kept = 0.01};

static const struct option_spec options[] = {
	OPTION(struct synth_args, output, 'o', "output", OPTION_STRING, "FILE",
	       "write the trace to FILE"),
	OPTION(struct synth_args, chunks, 0, "chunks", OPTION_STRING, "N",
	       "number of allocations; 200k, 10M and 1G are thousands, millions and billions (default 1M)"),
	OPTION(struct synth_args, points, 0, "points", OPTION_STRING, "N",
	       "number of allocation points (default 10k)"),
	OPTION(struct synth_args, threads, 0, "threads", OPTION_NUMBER, "N",
	       "number of threads, 1 to 64 (default 4)"),
	OPTION(struct synth_args, types, 0, "types", OPTION_NUMBER, "N",
	       "give three chunks in four one of N types, at most 65536 (default 0)"),
	OPTION(struct synth_args, access, 0, "access", OPTION_SET, NULL,
	       "generate accesses to each chunk"),
	OPTION(struct synth_args, kept, 0, "kept", OPTION_PERCENT, "SHARE",
	       "percentage of chunks that are never freed (default 1)"),
	OPTION(struct synth_args, seed, 0, "seed", OPTION_NUMBER, "N",
	       "random seed (default 1)"),
	OPTION(struct synth_args, program, 0, "program", OPTION_NUMBER, "N",
	       "traces with the same N share their stacks, as runs of one program do (default: the seed)"),
	TOP_OPTION(struct synth_args, "points, most bytes first (default 10; 0 = all)"),
	FORMAT_OPTION(struct synth_args),
	OPTION_END};

/* "200k" → 200000. */
static bool parse_count(const char *text, u64 *count)
{
	static const struct {
		char letter;
		u64 factor;
	} units[] = {{'k', 1000}, {'K', 1000}, {'M', 1000000}, {'G', 1000000000}};
	char *end;
	u64 factor = 1;

	*count = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
	if (!*count)
		return false;
	for (u32 i = 0; i < sizeof units / sizeof *units; i++)
		if (*end == units[i].letter) {
			factor = units[i].factor;
			end++;
			break;
		}
	if (*end || *count > (1ull << 40) / factor)
		return false;
	*count *= factor;
	return true;
}

static void field(struct result *record, const char *name, const char *label, enum value_type type,
		  u64 value, const char *meaning)
{
	struct result_column column = {.name = name,
				       .label = label,
				       .type = type,
				       .meaning = meaning};

	result_add_field(record, column, value_number(value));
}

static void add_totals(struct result *record, const struct synth_result *made)
{
	field(record, "allocations", "allocations", VALUE_COUNT, made->allocations, "allocations");
	field(record, "bytes", "bytes", VALUE_BYTES, made->bytes, "requested bytes, all together");
	field(record, "frees", "frees", VALUE_COUNT, made->frees, "chunks that were freed");
	field(record, "freed_bytes", "freed bytes", VALUE_BYTES, made->freed_bytes, "their bytes");
	field(record, "peak.bytes", "peak", VALUE_BYTES, made->peak_bytes,
	      "largest sum of live requested bytes");
	field(record, "peak.chunks", "peak chunks", VALUE_COUNT, made->peak_chunks,
	      "live chunks at that moment");
	field(record, "peak.time_ns", "peak time", VALUE_NS, made->peak_ns,
	      "that moment, since the start");
	field(record, "kept.bytes", "kept", VALUE_BYTES, made->kept_bytes, "bytes never freed");
	field(record, "kept.chunks", "kept chunks", VALUE_COUNT, made->kept_chunks,
	      "chunks never freed");
	field(record, "temporary.chunks", "temporary", VALUE_COUNT, made->temporary,
	      "chunks freed before the next allocation of their thread");
	field(record, "duration_ns", "ran", VALUE_NS, made->duration_ns, "from start to end");
	field(record, "points", "points", VALUE_COUNT, made->points.count, "allocation points");
	field(record, "contexts", "contexts", VALUE_COUNT, made->contexts,
	      "frames of the calling-context tree");
	field(record, "functions", "functions", VALUE_COUNT, made->functions, "functions");
	field(record, "typed_chunks", "typed chunks", VALUE_COUNT, made->typed_chunks,
	      "chunks with a type");
	field(record, "accessed_chunks", "measured chunks", VALUE_COUNT, made->accessed_chunks,
	      "chunks with recorded accesses");
	field(record, "reads", "reads", VALUE_COUNT, made->reads, "reads of chunks");
	field(record, "writes", "writes", VALUE_COUNT, made->writes, "writes to chunks");
}

static struct result *phase_table(const struct synth_result *made)
{
	static const struct result_column columns[] = {
		COLUMN("phase", "phase", VALUE_TEXT, "name"),
		COLUMN("live_bytes", "live", VALUE_BYTES, "live bytes at its end"),
	};
	struct result *table = result_new(RESULT_TABLE, "phases", "Phases");

	if (!table)
		return NULL;
	result_set_columns(table, columns, sizeof columns / sizeof *columns);
	for (u32 i = 0; i < SYNTH_PHASES; i++) {
		struct value *row = result_add_row(table);

		if (!row)
			break;
		row[0] = value_text(synth_phase_name(i));
		row[1] = value_number(made->phase_live_bytes[i]);
	}
	return table;
}

static int compare_bytes(const void *a, const void *b)
{
	const struct synth_point *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->context < y->context ? -1 : x->context > y->context;
}

static struct result *point_table(struct synth_result *made, u64 top)
{
	static const struct result_column columns[] = {
		COLUMN("function", "function", VALUE_TEXT, "function that allocates"),
		COLUMN("context", NULL, VALUE_ID, "context number in the trace"),
		COLUMN("depth", "depth", VALUE_COUNT, "frames of the stack"),
		COLUMN("allocations", "allocations", VALUE_COUNT, "allocations"),
		COLUMN("bytes", "bytes", VALUE_BYTES, "requested bytes"),
		COLUMN("frees", NULL, VALUE_COUNT, "of these chunks, freed"),
		COLUMN("kept_bytes", "kept", VALUE_BYTES, "bytes never freed"),
		COLUMN("peak_bytes", "own peak", VALUE_BYTES, "largest sum of its live bytes"),
		COLUMN("temporary", "temporary", VALUE_COUNT,
		       "chunks freed before the next allocation of their thread"),
	};
	struct result *table = result_new(RESULT_TABLE, "top", "Points by bytes");

	if (!table)
		return NULL;
	result_set_columns(table, columns, sizeof columns / sizeof *columns);
	qsort(made->points.data, made->points.count, sizeof *made->points.data, compare_bytes);
	for (u64 i = 0; i < made->points.count && (!top || i < top); i++) {
		const struct synth_point *point = &made->points.data[i];
		struct value *row = result_add_row(table);

		if (!row)
			break;
		row[0] = value_text(point->function);
		row[1] = value_number(point->context);
		row[2] = value_number(point->depth);
		row[3] = value_number(point->allocations);
		row[4] = value_number(point->bytes);
		row[5] = value_number(point->frees);
		row[6] = value_number(point->bytes - point->freed_bytes);
		row[7] = value_number(point->peak_bytes);
		row[8] = value_number(point->temporary);
	}
	return table;
}

static int print(const struct command *command, struct synth_result *made,
		 const struct synth_args *args)
{
	struct err memory = {.code = ERR_MEMORY, .text = "out of memory"};
	struct result *record = result_new(RESULT_RECORD, "synth", "Generated trace");
	int status = EXIT_DONE;

	if (!record)
		return command_fail(command, &memory);
	add_totals(record, made);
	result_add_part(record, phase_table(made));
	result_add_part(record, point_table(made, args->top));
	if (result_failed(record))
		status = command_fail(command, &memory);
	else
		print_result(record, format_parse(args->format));
	result_free(record);
	return status;
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct synth_args *args = fields;
	struct synth_options how = {.path = args->output,
				    .threads = (u32)args->threads,
				    .types = (u32)args->types,
				    .access = args->access,
				    .seed = args->seed,
				    .program = args->program == UINT64_MAX ? args->seed : args->program,
				    .kept = args->kept};
	struct synth_result made;
	struct err err = {0};
	int status;

	(void)argv;
	if (argc)
		return command_usage(command, "unexpected argument");
	if (!args->output)
		return command_usage(command, "no output file given; use -o FILE");
	if (!parse_count(args->chunks, &how.chunks))
		return command_usage(command, "--chunks: expected a number such as 200k or 10M");
	if (!parse_count(args->points, &how.points) || how.points > SYNTH_POINTS_MAX)
		return command_usage(command, "--points: expected 1 to %u, such as 100k",
				     SYNTH_POINTS_MAX);
	if (how.points > how.chunks)
		how.points = how.chunks;
	if (args->threads < 1 || args->threads > SYNTH_THREADS_MAX)
		return command_usage(command, "--threads must be 1 to %u",
				     SYNTH_THREADS_MAX);
	if (args->types > SYNTH_TYPES_MAX)
		return command_usage(command, "--types must be at most %u",
				     SYNTH_TYPES_MAX);
	status = synth_write(&how, &made, &err) < 0 ? command_fail(command, &err)
						    : print(command, &made, args);
	synth_result_release(&made);
	return status;
}

const struct command cmd_synth = {
	.name = "dev synth",
	.operands = "",
	.summary = "generate a large trace with known numbers",
	.details = "The trace describes a program with functions, threads and phases that never ran. Its contents "
		   "were\n"
		   "counted while it was generated, so they can be compared with what Heapwise reports.",
	.options = options,
	.fields_size = sizeof(struct synth_args),
	.fields_default = &defaults,
	.run = run,
};
