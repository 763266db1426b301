/* SPDX-License-Identifier: MIT
 * heapwise-synth: a made-up trace of any size for tests and benchmarks, and as JSON what is in it.
 * Host. Not installed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dev/synth/limits.h"
#include "dev/synth/synth.h"
#include "host/base/json.h"
#include "host/base/options.h"
#include "host/base/order.h"

enum { EXIT_USAGE = 2, EXIT_BAD_INPUT = 3 };

struct synth_args {
	const char *output, *chunks, *points;
	u64 threads, types, seed, program, top;
	double kept;
	bool access;
};

static const struct option_spec options[] = {
	OPTION(struct synth_args, output, 'o', "output", OPTION_STRING, "FILE",
	       "write the trace to FILE"),
	OPTION(struct synth_args, chunks, 0, "chunks", OPTION_STRING, "N",
	       "number of allocations; 200k, 10M and 1G are thousands, millions and billions "
	       "(default 1M)"),
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
	OPTION(struct synth_args, seed, 0, "seed", OPTION_NUMBER, "N", "random seed (default 1)"),
	OPTION(struct synth_args, program, 0, "program", OPTION_NUMBER, "N",
	       "traces with the same N share their stacks, as runs of one program do "
	       "(default: the seed)"),
	OPTION(struct synth_args, top, 'n', "top", OPTION_NUMBER, "N",
	       "show the first N points, most bytes first (default 10; 0 = all)"),
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

static void put_totals(struct json *json, const struct synth_result *made)
{
	json_number(json, "allocations", made->allocations);
	json_number(json, "bytes", made->bytes);
	json_number(json, "frees", made->frees);
	json_number(json, "freed_bytes", made->freed_bytes);
	json_open(json, "peak", '{');
	json_number(json, "bytes", made->peak_bytes);
	json_number(json, "chunks", made->peak_chunks);
	json_number(json, "time_ns", made->peak_ns);
	json_close(json, '}');
	json_open(json, "kept", '{');
	json_number(json, "bytes", made->kept_bytes);
	json_number(json, "chunks", made->kept_chunks);
	json_close(json, '}');
	json_open(json, "temporary", '{');
	json_number(json, "chunks", made->temporary);
	json_close(json, '}');
	json_number(json, "duration_ns", made->duration_ns);
	json_number(json, "points", made->points.count);
	json_number(json, "contexts", made->contexts);
	json_number(json, "functions", made->functions);
	json_number(json, "typed_chunks", made->typed_chunks);
	json_number(json, "accessed_chunks", made->accessed_chunks);
	json_number(json, "reads", made->reads);
	json_number(json, "writes", made->writes);
}

static int compare_bytes(const void *a, const void *b)
{
	const struct synth_point *x = a, *y = b;

	return falling(x->bytes, y->bytes) ?: rising(x->context, y->context);
}

static void put_points(struct json *json, struct synth_result *made, u64 top)
{
	vec_sort(&made->points, compare_bytes);
	for (u64 i = 0; i < made->points.count && (!top || i < top); i++) {
		const struct synth_point *point = &made->points.data[i];

		json_open_flat(json, NULL, '{');
		json_text(json, "function", point->function);
		json_number(json, "context", point->context);
		json_number(json, "depth", point->depth);
		json_number(json, "allocations", point->allocations);
		json_number(json, "bytes", point->bytes);
		json_number(json, "frees", point->frees);
		json_number(json, "kept_bytes", point->bytes - point->freed_bytes);
		json_number(json, "peak_bytes", point->peak_bytes);
		json_number(json, "temporary", point->temporary);
		json_close(json, '}');
	}
}

static void print(struct synth_result *made, u64 top)
{
	struct json json = {.out = stdout};

	json_open(&json, NULL, '{');
	put_totals(&json, made);
	json_open(&json, "phases", '[');
	for (u32 i = 0; i < SYNTH_PHASES; i++) {
		json_open_flat(&json, NULL, '{');
		json_text(&json, "phase", synth_phase_name(i));
		json_number(&json, "live_bytes", made->phase_live_bytes[i]);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_open(&json, "top", '[');
	put_points(&json, made, top);
	json_close(&json, ']');
	json_close(&json, '}');
	json_end(&json);
}

/* What the options ask for. */
static int read_options(const struct synth_args *args, struct synth_options *how, struct err *err)
{
	*how = (struct synth_options){.path = args->output,
				      .threads = (u32)args->threads,
				      .types = (u32)args->types,
				      .access = args->access,
				      .seed = args->seed,
				      .program = args->program == UINT64_MAX ? args->seed
									     : args->program,
				      .kept = args->kept};
	if (!args->output)
		return err_set(err, ERR_USAGE, "no output file given; use -o FILE");
	if (!parse_count(args->chunks, &how->chunks))
		return err_set(err, ERR_USAGE, "--chunks: expected a number such as 200k or 10M");
	if (!parse_count(args->points, &how->points) || how->points > SYNTH_POINTS_MAX)
		return err_set(err, ERR_USAGE, "--points: expected 1 to %u, such as 100k",
			       SYNTH_POINTS_MAX);
	if (how->points > how->chunks)
		how->points = how->chunks;
	if (args->threads < 1 || args->threads > SYNTH_THREADS_MAX)
		return err_set(err, ERR_USAGE, "--threads must be 1 to %u", SYNTH_THREADS_MAX);
	if (args->types > SYNTH_TYPES_MAX)
		return err_set(err, ERR_USAGE, "--types must be at most %u", SYNTH_TYPES_MAX);
	return 0;
}

static int show_help(void)
{
	char *help = options_help(options);

	printf("usage: heapwise-synth -o FILE [OPTION...]\n\n"
	       "Writes a trace of a program that never ran, and prints what is in it as JSON: counted\n"
	       "while it was generated, so that it can be compared with what Heapwise reports.\n"
	       "The same options always produce the same trace.\n\noptions:\n%s",
	       help ? help : "");
	free(help);
	return EXIT_SUCCESS;
}

static int fail(const struct err *err)
{
	fprintf(stderr, "heapwise-synth: %s\n", err->text);
	return err->code == ERR_USAGE ? EXIT_USAGE : EXIT_BAD_INPUT;
}

int main(int argc, char **argv)
{
	struct synth_args args = {.chunks = "1M",
				  .points = "10k",
				  .threads = 4,
				  .seed = 1,
				  .program = UINT64_MAX,
				  .top = 10,
				  .kept = 0.01};
	struct synth_options how;
	struct synth_result made = {0};
	struct command_line line = {.argc = argc, .argv = argv};
	struct err err = {0};
	int status = options_parse(options, &args, &line, &err);

	if (status == 0 && line.help_wanted)
		return show_help();
	if (status == 0 && line.first_operand < argc)
		status = err_set(&err, ERR_USAGE, "unexpected argument '%s'",
				 argv[line.first_operand]);
	if (status == 0)
		status = read_options(&args, &how, &err);
	if (status == 0)
		status = synth_write(&how, &made, &err);
	if (status == 0)
		print(&made, args.top);
	synth_result_release(&made);
	if (status < 0)
		return fail(&err);
	if (fflush(stdout) != 0) {
		fprintf(stderr, "heapwise-synth: cannot write the result: %s\n", strerror(errno));
		return EXIT_BAD_INPUT;
	}
	return EXIT_SUCCESS;
}
