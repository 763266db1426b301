/* SPDX-License-Identifier: MIT
 * heapwise leaks: what was never freed and what still led to it, points that keep growing, and
 * wrong frees.
 * Host. */
#include <stdio.h>
#include <string.h>

#include "study/analysis/leaks/report.h"
#include "host/base/units.h"
#include "show/cli/view.h"

struct leaks_args {
	struct trace_args trace;
	const char *kinds, *fail_on;
	u64 growth_steps, growth_min, growth_trend, growth_seconds;
	struct option_strings suppressions;
	bool default_suppressions;
};

static const struct leaks_args defaults = {.trace = {TRACE_DEFAULTS, .top = 20},
					   .growth_steps = 64,
					   .growth_min = 64 << 10,
					   .growth_trend = 75,
					   .growth_seconds = 1,
					   .default_suppressions = true};

#define ARGS struct leaks_args

static const struct option_spec options[] = {
	OPT(kinds, 'k', "kinds", STRING, "LIST",
	    "list call stacks with these leak kinds, comma-separated: lost, indirect, possible, "
	    "reachable, unknown, all (default: all but reachable)"),
	TOP_OPTION(struct trace_args, "rows of each list (default 20; 0 = all)"),
	DEPTH_OPTION(struct trace_args, "default: 8 in text, all in json and csv"),
	OPT(suppressions, 0, "suppressions", STRINGS, "FILE",
	    "hide leaks that match FILE, in LeakSanitizer's format. Repeatable"),
	OPT(default_suppressions, 0, "no-default-suppressions", CLEAR, NULL,
	    "also show what the C and C++ libraries and the dynamic loader keep on purpose"),
	OPT(fail_on, 0, "fail-on", STRING, "LIST",
	    "exit with status 1 if any of these is found, comma-separated: lost, indirect, "
	    "possible, growth, misuse; all but misuse take an allowance, as in lost=4K"),
	OPT_LIMIT(growth_steps, "growth-steps", NUMBER, "N",
		  "sample live bytes N times over the run to find growing points (default 64)"),
	OPT_LIMIT(growth_min, "growth-min", BYTES, "BYTES",
		  "ignore points that grow by less in the second half of the run (default 64K)"),
	OPT_LIMIT(growth_trend, "growth-trend", NUMBER, "PERCENT",
		  "how steadily a point must grow: Kendall's tau in percent (default 75)"),
	OPT_LIMIT(growth_seconds, "growth-seconds", NUMBER, "N",
		  "do not report growth in runs shorter than N seconds (default 1)"),
	TRACE_OPTIONS,
	LIMITS_OPTION(struct trace_args),
	OPTION_END};

/* ---- lists of words ---- */

/* The next word of a comma-separated list in buffer, NULL at its end; one that is too long is cut,
 * and then no known word. */
static const char *next_word(const char **list, char *buffer, size_t size)
{
	size_t bytes = strcspn(*list, ",");

	if (!**list)
		return NULL;
	snprintf(buffer, size, "%.*s", (int)(bytes < size ? bytes : size), *list);
	*list += bytes + ((*list)[bytes] == ',');
	return buffer;
}

static int parse_kinds(const char *list, u32 *kinds, struct err *err)
{
	char buffer[32];
	const char *word;

	*kinds = 0;
	while ((word = next_word(&list, buffer, sizeof buffer)))
		if (!leaks_kind_parse(word, kinds))
			return err_set(err, ERR_USAGE,
				       "--kinds: expected lost, indirect, possible, reachable, "
				       "unknown or all, not '%s'",
				       word);
	if (!*kinds)
		return err_set(err, ERR_USAGE, "--kinds: expected at least one leak kind");
	return 0;
}

enum limit { LIMIT_LOST, LIMIT_INDIRECT, LIMIT_POSSIBLE, LIMIT_GROWTH, LIMIT_MISUSE, LIMITS };

static const char *const limit_names[LIMITS] = {"lost", "indirect", "possible", "growth", "misuse"};

struct fail_on { /* more than the limit fails */
	bool on[LIMITS];
	u64 limit[LIMITS];
};

static int parse_limit(const char *word, struct fail_on *self, struct err *err)
{
	size_t bytes = strcspn(word, "=");

	for (u32 i = 0; i < LIMITS; i++) {
		if (strlen(limit_names[i]) != bytes || strncmp(limit_names[i], word, bytes) != 0)
			continue;
		self->on[i] = true;
		if (!word[bytes])
			return 0;
		if (i != LIMIT_MISUSE && parse_bytes(word + bytes + 1, &self->limit[i]))
			return 0;
		return err_set(err, ERR_USAGE,
			       "--fail-on %s: expected a size such as 4096 or 64K, not '%s'",
			       limit_names[i], word + bytes + 1);
	}
	return err_set(err, ERR_USAGE,
		       "--fail-on: expected lost, indirect, possible, growth or misuse, not '%s'",
		       word);
}

static int parse_fail_on(const char *list, struct fail_on *self, struct err *err)
{
	char buffer[48];
	const char *word;
	int status = 0;

	while (list && status == 0 && (word = next_word(&list, buffer, sizeof buffer)))
		status = parse_limit(word, self, err);
	return status;
}

/* ---- one trace ---- */

struct leaks {
	struct view view;
	const struct leaks_args *args;
	u32 kinds;
	struct fail_on fail_on;
	struct suppressions suppressions;
	struct leak_report report;
};

/* The user's own come first: of two that match, the first one counts. */
static int read_suppressions(struct leaks *self, struct err *err)
{
	const struct option_strings *files = &self->args->suppressions;
	int status = 0;

	for (u32 i = 0; i < files->count && status == 0; i++)
		status = suppressions_read(&self->suppressions, files->items[i], err);
	if (status == 0 && self->args->default_suppressions)
		status = suppressions_add_builtin(&self->suppressions, err);
	return status;
}

static struct growth_query growth_query(const struct leaks_args *args)
{
	return (struct growth_query){.steps = args->growth_steps,
				     .min_bytes = args->growth_min,
				     .trend = (double)args->growth_trend / 100,
				     .min_ns = args->growth_seconds * 1000000000};
}

static struct result *build(struct view *view, struct err *err)
{
	struct leaks *self = (struct leaks *)view;
	struct stack_source source =
		shown_stacks(view->study, view->format, self->args->trace.depth);
	struct growth_query growth = growth_query(self->args);
	struct leak_report_query query = {
		.leaks = {.kinds = self->kinds, .top = self->args->trace.top},
		.info = &view->study->info,
		.growth = &growth,
		.suppressions = &self->suppressions,
	};

	if (read_suppressions(self, err) < 0 ||
	    leak_report_make(&self->report, &source, &query, err) < 0)
		return NULL;
	return leak_report_result(&self->report, &source, &query, err);
}

/* ---- failing ---- */

static u64 measured(const struct leak_report *report, enum limit limit)
{
	u64 most = 0;

	switch (limit) {
	case LIMIT_LOST: return report->leaks.classes[CLASS_LOST].bytes;
	case LIMIT_INDIRECT: return report->leaks.classes[CLASS_INDIRECT].bytes;
	case LIMIT_POSSIBLE: return report->leaks.classes[CLASS_POSSIBLE].bytes;
	case LIMIT_GROWTH:
		for (u64 i = 0; i < report->growth.rows.count; i++)
			if (report->growth.rows.data[i].growth_bytes > (double)most)
				most = (u64)report->growth.rows.data[i].growth_bytes;
		return most;
	case LIMIT_MISUSE: return report->misuse.certain;
	case LIMITS: break;
	}
	return 0;
}

/* Chunks of no bytes are leaks, too. */
static bool exceeds(const struct leaks *self, enum limit limit)
{
	static const u8 classes[] = {[LIMIT_LOST] = CLASS_LOST,
				     [LIMIT_INDIRECT] = CLASS_INDIRECT,
				     [LIMIT_POSSIBLE] = CLASS_POSSIBLE};

	if (!self->fail_on.on[limit])
		return false;
	if (limit <= LIMIT_POSSIBLE && !self->fail_on.limit[limit])
		return self->report.leaks.classes[classes[limit]].chunks != 0;
	return measured(&self->report, limit) > self->fail_on.limit[limit];
}

static void say_failed(const struct leaks *self, enum limit limit)
{
	static const char growth[] = "of growth at one point in the second half of the run";
	static const char *const texts[LIMITS] = {"lost", "indirectly lost", "possibly lost",
						  growth};
	u64 value = measured(&self->report, limit);

	if (limit == LIMIT_MISUSE)
		fprintf(stderr, "heapwise leaks: %s: failed: %s\n", self->view.study->path,
			units_things(value, "wrong call(s)").text);
	else
		fprintf(stderr, "heapwise leaks: %s: failed: %s %s, allowed %s\n",
			self->view.study->path, units_bytes(value).text, texts[limit],
			units_bytes(self->fail_on.limit[limit]).text);
}

/* What was asked for and could not be judged never fails; that it was not must be seen. */
static void say_not_judged(const struct leaks *self, struct result *result)
{
	const struct leak_report *report = &self->report;
	const struct leak_sum *unknown = &report->leaks.classes[CLASS_UNKNOWN];
	const bool *on = self->fail_on.on;

	if ((on[LIMIT_LOST] || on[LIMIT_INDIRECT] || on[LIMIT_POSSIBLE]) && unknown->chunks)
		fprintf(stderr, "heapwise leaks: %s: leak kind unknown for %s in %s: %s\n",
			self->view.study->path, units_bytes(unknown->bytes).text,
			units_things(model_count(self->view.study->model, unknown->chunks),
				     "kept chunk(s)")
				.text,
			leaks_unknown_reason(self->view.study->model, result));
	if (on[LIMIT_GROWTH] && report->growth.not_judged)
		fprintf(stderr, "heapwise leaks: %s: growth not checked: %s\n",
			self->view.study->path, report->growth.not_judged);
	if (on[LIMIT_MISUSE] && report->misuse.possible)
		fprintf(stderr, "heapwise leaks: %s: %s may be wrong; this is not certain\n",
			self->view.study->path,
			units_things(report->misuse.possible, "call(s)").text);
}

static int verdict(const struct leaks *self, struct result *result)
{
	int status = EXIT_DONE;

	fflush(stdout);
	say_not_judged(self, result);
	for (u32 i = 0; i < LIMITS; i++)
		if (exceeds(self, (enum limit)i)) {
			say_failed(self, (enum limit)i);
			status = EXIT_FINDING;
		}
	return status;
}

static int print(struct view *view, struct result *result)
{
	print_result(result, view->format);
	return verdict((const struct leaks *)view, result);
}

static void release(struct view *view)
{
	struct leaks *self = (struct leaks *)view;

	leak_report_release(&self->report);
	memset(&self->report, 0, sizeof self->report);
	suppressions_release(&self->suppressions);
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	const struct leaks_args *args = fields;
	struct leaks leaks = {.view = {.command = self,
				       .args = &args->trace,
				       .build = build,
				       .print = print,
				       .release = release},
			      .args = args};
	struct err err = {0};

	if (parse_kinds(args->kinds ? args->kinds : "lost,indirect,possible,unknown", &leaks.kinds,
			&err) < 0 ||
	    parse_fail_on(args->fail_on, &leaks.fail_on, &err) < 0)
		return command_usage(self, "%s", err.text);
	if (args->growth_trend > 100 || args->growth_steps < GROWTH_STEPS_MIN ||
	    args->growth_steps > GROWTH_STEPS_MAX || args->growth_seconds > UINT32_MAX)
		return command_usage(self,
				     "--growth-trend must be at most 100, and --growth-steps "
				     "%d to %d",
				     GROWTH_STEPS_MIN, GROWTH_STEPS_MAX);
	return view_run(&leaks.view, argc, argv);
}

const struct command cmd_leaks = {
	.name = "leaks",
	.sums = true,
	.follows = true,
	.operands = "FILE",
	.summary = "find leaks, growth and wrong frees",
	.details =
		"FILE is a trace written by 'heapwise run', or a folder written with --children.\n"
		"Leak kinds of chunks that were never freed: lost, no pointer to the chunk exists; indirect,\n"
		"only lost chunks point to it; possible, only interior pointers lead to it; reachable, the\n"
		"program could still have freed it; unknown, memory was not scanned.",
	.options = options,
	.fields_size = sizeof(struct leaks_args),
	.fields_default = &defaults,
	.run = run,
};
