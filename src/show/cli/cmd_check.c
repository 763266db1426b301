/* SPDX-License-Identifier: MIT
 * heapwise check: holds a trace to limits, for builds that must not pass above them.
 * Host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "study/analysis/budget/budget.h"
#include "host/base/text.h"
#include "show/cli/traces.h"
#include "show/cli/view.h"

#define CHECK_FORMATS "text|json|github|junit|sarif"

struct check_args {
	struct trace_args trace;
	const char *budget, *baseline, *growth, *root;
	u64 max[COMPARE_METRICS];
	bool allow_incomplete;
};

enum { TOP_DEFAULT = 3 };

static const struct check_args defaults = {.trace = {TRACE_DEFAULTS, .top = TOP_DEFAULT},
					   .max = {NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN,
						   NOT_GIVEN}};

#define ARGS struct check_args

static const struct option_spec options[] = {
	OPT(budget, 0, "budget", STRING, "FILE", "read limits from a TOML file"),
	OPT(max[COMPARE_PEAK], 0, "max-peak", BYTES, "SIZE", "maximum live bytes at any moment"),
	OPT(max[COMPARE_BYTES], 0, "max-bytes", BYTES, "SIZE", "maximum total bytes requested"),
	OPT(max[COMPARE_ALLOCATIONS], 0, "max-allocs", NUMBER, "N",
	    "maximum number of allocations"),
	OPT(max[COMPARE_KEPT], 0, "max-kept", BYTES, "SIZE", "maximum bytes never freed"),
	OPT(max[COMPARE_TEMPORARY], 0, "max-temporary", NUMBER, "N",
	    "maximum chunks freed before their thread's next allocation"),
	OPT(growth, 0, "max-growth", STRING, "PERCENT",
	    "maximum growth of peak, bytes, allocations and kept bytes over the baseline"),
	OPT(baseline, 0, "baseline", STRING, "OLD", "trace to compare with"),
	OPT(allow_incomplete, 0, "allow-incomplete", SET, NULL,
	    "accept recordings with missing events"),
	TOP_OPTION(struct trace_args,
		   "places that contribute most to an exceeded limit (default 3)"),
	DEPTH_OPTION(struct trace_args, "default: 8 in text, all in json"),
	OPT(root, 0, "source-root", STRING, "DIR",
	    "show source paths relative to DIR (default: the current folder)"),
	IMAGE_OPTION(struct trace_args),
	SYMBOLS_OPTION(struct trace_args),
	OPTION(struct trace_args, format, 'f', "format", OPTION_CHOICE, CHECK_FORMATS,
	       "output format (default text)"),
	NO_PAGER_OPTION(struct trace_args),
	OPTION_END};

/* A trace, and what its budgets need of it. */
struct measured {
	struct study *trace;
	struct stack_source source;
	struct type_cascade types;
	struct budget_trace budget;
};

struct gate {
	const struct command *command;
	const struct check_args *args;
	enum format format; /* of the results inside */
	bool as_problems;   /* github, junit, sarif: all traces at once */
	struct budgets budgets;
	const char *root;
	struct measured baseline;
	bool has_baseline;
	struct problem_list problems;
};

/* ---- traces ---- */

static int stream_again(void *data, const struct stream_sink *sink, struct err *err)
{
	return study_stream(data, sink, err);
}

static int measured_read(struct measured *self, const struct gate *gate, const char *path,
			 struct err *err)
{
	struct type_query ask = {.source = &self->source};
	struct trace_args how = gate->args->trace;

	how.chunks = budgets_need_chunks(&gate->budgets);
	self->trace = open_trace(gate->command, &how, NULL, path, err);
	if (!self->trace)
		return err->code;
	self->source = shown_stacks(self->trace, gate->format, gate->args->trace.depth);
	self->budget = (struct budget_trace){.source = &self->source,
					     .info = &self->trace->info,
					     .label = path,
					     .types = &self->types,
					     .stream = stream_again,
					     .stream_self = self->trace};
	return budgets_have_types(&gate->budgets) ? type_cascade_init(&self->types, &ask, err) : 0;
}

static void measured_release(struct measured *self)
{
	type_cascade_release(&self->types);
	close_trace(self->trace);
}

/* ---- one trace ---- */

/* All is well: one line. */
static void print_passed(const struct check *check, const struct result *result)
{
	struct strbuf text = {0}, limits = {0};

	for (u64 i = 0; i < check->rows.count; i++) {
		strbuf_add(&limits, i ? "; " : "");
		check_subject(check, &check->rows.data[i], &limits);
		strbuf_add_char(&limits, ' ');
		check_sentence(check, &check->rows.data[i], &limits);
	}
	strbuf_addf(&text, "%s: %s", check->query.trace.label, result->title);
	print_begin();
	printf("%s: %s\n", strbuf_text(&text), strbuf_text(&limits));
	for (u64 i = 0; i < result->caveats.count; i++) {
		fputs("heapwise check: note: ", stderr);
		text_put(stderr, result->caveats.data[i], "", '?');
		fputc('\n', stderr);
	}
	strbuf_release(&text);
	strbuf_release(&limits);
}

static int print_check(struct gate *self, struct check *check, struct err *err)
{
	struct result *result;

	if (self->as_problems)
		return check_problems(check, &self->problems, err);
	result = check_result(check, err);
	if (!result)
		return err->code;
	if (self->format == FORMAT_TEXT && !check->failed)
		print_passed(check, result);
	else
		print_result(result, self->format);
	result_free(result);
	return 0;
}

static int check_one(void *data, const char *path)
{
	struct gate *self = data;
	struct measured now = {0};
	struct check check = {0};
	struct check_query query = {.budgets = &self->budgets,
				    .baseline = self->has_baseline ? &self->baseline.budget : NULL,
				    .top = self->args->trace.top,
				    .allow_incomplete = self->args->allow_incomplete,
				    .root = self->root};
	struct err err = {0};
	int status = measured_read(&now, self, path, &err);

	query.trace = now.budget;
	if (status == 0)
		status = check_run(&check, &query, &err);
	if (status == 0)
		status = print_check(self, &check, &err);
	status = status < 0     ? command_fail(self->command, &err)
		 : check.failed ? EXIT_FINDING
				: EXIT_DONE;
	check_release(&check);
	measured_release(&now);
	return status;
}

/* ---- limits ---- */

static int read_limits(struct gate *self, struct err *err)
{
	const struct check_args *args = self->args;
	struct budget *program;
	int status = budgets_init(&self->budgets, err);

	if (status == 0 && args->budget)
		status = budgets_read(&self->budgets, args->budget, err);
	if (status < 0)
		return status;
	program = &self->budgets.list.data[0];
	for (u32 i = 0; i < COMPARE_METRICS; i++)
		if (args->max[i] != NOT_GIVEN) {
			program->has[i] = true;
			program->max[i] = args->max[i];
		}
	if (args->growth) {
		program->has_growth = true;
		if (!budget_parse_growth(args->growth, &program->growth))
			return err_set(err, ERR_USAGE,
				       "--max-growth: expected a percentage such as 5%%, not '%s'",
				       args->growth);
	}
	if (!budgets_have_limits(&self->budgets))
		return err_set(err, ERR_USAGE,
			       "no limits given; use --budget FILE or options such as --max-peak");
	return 0;
}

static int read_baseline(struct gate *self, struct err *err)
{
	const char *path = self->args->baseline ? self->args->baseline : self->budgets.baseline;

	if (!budgets_have_growth(&self->budgets))
		return self->args->baseline
			       ? err_set(err, ERR_USAGE,
					 "--baseline requires --max-growth, or max-growth in the "
					 "budget file")
			       : 0;
	if (!path)
		return err_set(err, ERR_USAGE, "--max-growth requires --baseline OLD");
	self->has_baseline = true;
	return measured_read(&self->baseline, self, path, err);
}

/* All traces at once, in one document. Returns the exit status. */
static int print_problems(struct gate *self, const char *operand)
{
	struct trace_list traces = {0};
	struct err err = {0};
	int worst = EXIT_DONE;

	if (trace_list_find(&traces, operand, &err) < 0)
		worst = command_fail(self->command, &err);
	for (u64 i = 0; i < traces.paths.count; i++) {
		int status = check_one(self, traces.paths.data[i]);

		worst = status > worst ? status : worst;
	}
	trace_list_release(&traces);
	if (worst > EXIT_FINDING)
		return worst;
	if (strcmp(self->args->trace.format, "github") == 0) {
		render_github(&self->problems, stdout);
		printf("heapwise check: %llu of %llu checks failed\n",
		       (unsigned long long)problems_count(&self->problems, PROBLEM_ERROR),
		       (unsigned long long)self->problems.rows.count);
	} else if (strcmp(self->args->trace.format, "junit") == 0) {
		render_junit(&self->problems, stdout);
	} else {
		render_sarif(&self->problems, stdout);
	}
	return worst;
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct check_args *args = fields;
	bool known = format_parse(args->trace.format) != FORMAT_TEXT || !args->trace.format ||
		     strcmp(args->trace.format, "text") == 0;
	struct gate self = {.command = command,
			    .args = args,
			    .format = format_parse(args->trace.format),
			    .as_problems = !known,
			    .problems = {.tool = "heapwise",
					 .version = HEAPWISE_VERSION,
					 .suite = "heapwise check",
					 .rules = check_rules,
					 .rule_count = check_rule_count}};
	char *here = args->root ? realpath(args->root, NULL) : getcwd(NULL, 0);
	struct err err = {0};
	int status;

	self.root = here ? here : args->root;
	if (argc != 1) {
		free(here);
		return command_usage(command, argc ? "expected one FILE" : "no FILE given");
	}
	status = read_limits(&self, &err);
	if (status == 0)
		status = read_baseline(&self, &err);
	if (status == 0) {
		status = self.as_problems
				 ? print_problems(&self, argv[0])
				 : each_trace(command, argv[0], self.format, check_one, &self);
	} else {
		status = command_fail(command, &err);
	}
	measured_release(&self.baseline);
	problems_release(&self.problems);
	budgets_release(&self.budgets);
	free(here);
	return status;
}

const struct command cmd_check = {
	.name = "check",
	.sums = true,
	.operands = "FILE",
	.summary = "fail if a trace exceeds its limits",
	.details =
		"FILE is a trace written by 'heapwise run', or a folder written with --children.\n"
		"Limits are given as options or in a file (see heapwise-check(1)):\n"
		"  max-peak = \"64M\"\n"
		"  max-kept = 0\n"
		"  [[budget]]\n"
		"  function = \"parse_*\"\n"
		"  max-peak = \"4M\"\n"
		"Exit status: 0 all limits hold; 1 a limit is exceeded, or events are missing; 2 usage error;\n"
		"3 a file cannot be read.",
	.options = options,
	.fields_size = sizeof(struct check_args),
	.fields_default = &defaults,
	.run = run,
};
