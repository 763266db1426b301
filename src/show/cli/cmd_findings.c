/* SPDX-License-Identifier: MIT
 * heapwise findings: the ranked list on which a developer acts.
 * Host. */
#include <stdio.h>

#include "study/analysis/findings/findings.h"
#include "study/analysis/findings/unnamed.h"
#include "host/base/units.h"
#include "show/cli/run_plan.h"
#include "show/cli/thresholds.h"
#include "show/cli/view.h"
#include "host/base/text_width.h"

enum { DEPTH_TEXT = 4, BRIEF_ROWS = 3 };

struct findings_args {
	struct trace_args trace;
	double min_share;
	bool all;
	struct thresholds thresholds;
};

static const struct findings_args defaults = {.trace = {TRACE_DEFAULTS, .top = 10},
					      .min_share = FINDINGS_MIN_SHARE,
					      .thresholds = THRESHOLDS_DEFAULT};

#define ARGS struct findings_args

static const struct option_spec options[] = {
	TOP_OPTION(struct trace_args, "findings (default 10; 0 = all)"),
	DEPTH_OPTION(struct trace_args, "default: 4 in text, all in json and csv"),
	OPT_LIMIT(
		min_share, "min-share", PERCENT, "PERCENT",
		"hide findings that would save less than this share of the peak, the mean heap or "
		"the CPU time; misuse is always shown (default 1)"),
	OPT(all, 'a', "all", SET, NULL, "show every finding, however little it would save"),
	FOLDING_OPTIONS,
	TRACE_OPTIONS,
	LIMITS_OPTION(struct trace_args),
	THRESHOLD_OPTIONS,
	OPTION_END};

static struct result *build(struct view *view, struct err *err)
{
	const struct findings_args *args = (const struct findings_args *)view->args;
	u64 depth = args->trace.depth == NOT_GIVEN && view->format == FORMAT_TEXT
			    ? DEPTH_TEXT
			    : args->trace.depth;
	struct stack_source source = typed_stacks(view->study, view->format, depth);
	struct findings_query query = {.thresholds = args->thresholds,
				       .min_share = args->min_share,
				       .all = args->all,
				       .pointers = study_pointers(view->study)};
	struct findings_show show = {.top = args->trace.top, .stacks = true};
	struct findings findings = {0};
	struct result *result = NULL;

	if (findings_make(&findings, &source, &view->study->info, &query, err) == 0)
		result = findings_report(&findings, &source, &view->study->info, &show, err);
	if (result && args->trace.symbols)
		unnamed_add_caveat(&source, view->format == FORMAT_TEXT, result);
	findings_release(&findings);
	return result;
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	struct view view = {.command = self, .args = fields, .build = build};

	return view_run(&view, argc, argv);
}

static void print_brief(const struct findings *findings, const struct stack_source *source)
{
	struct result *texts = result_new(RESULT_RECORD, "", "");

	for (u64 i = 0; texts && i < findings->rows.count && i < BRIEF_ROWS; i++) {
		const struct finding *finding = &findings->rows.data[i];
		const char *where = finding_where(finding, source, texts);
		const char *text = finding_text(finding, source->model, texts);
		const char *saves = finding_saves(finding, texts);
		struct strbuf lines = {0};

		if (!where || !text || !saves)
			continue;
		strbuf_addf(&lines, "heapwise: finding %llu: ", (unsigned long long)i + 1);
		text_add_clean(&lines, where); /* names of the program's may be anything */
		strbuf_add(&lines, "\nheapwise:   ");
		text_add_clean(&lines, text);
		if (*saves)
			strbuf_addf(&lines, "\nheapwise:   %s%s%s: a repair saves %s",
				    finding_level_name(finding->level),
				    finding->confidence == SURE_MEASURED ? "" : ", ",
				    finding->confidence == SURE_MEASURED
					    ? ""
					    : confidence_name(finding->confidence),
				    saves);
		fprintf(stderr, "%s\n", strbuf_text(&lines));
		strbuf_release(&lines);
	}
	result_free(texts);
}

static void print_unnamed(const struct stack_source *source)
{
	struct strbuf advice = {0}, line = {0};

	if (unnamed_advice(source, true, &advice)) {
		text_add_clean(&line, strbuf_text(&advice));
		fprintf(stderr, "heapwise: note: %s\n", strbuf_text(&line));
	}
	strbuf_release(&advice);
	strbuf_release(&line);
}

struct study *brief_open(const struct command *command, const char *path, struct loading *loading)
{
	struct study_options how = opening_options(command);
	struct err ignored = {0};
	struct study *study;

	how.sums = !loading;
	study = study_new(path, &how);
	if (study && (!loading || study_begin(study, loading)) &&
	    study_load(study, &ignored) == 0) {
		if (loading)
			study_store_sums(study, &ignored); /* they are read again then */
		return study;
	}
	close_trace(study);
	return NULL;
}

/* What is found in the study. */
static void find_brief(struct study *study, struct findings *findings, struct err *err)
{
	struct findings_query query = {.thresholds = THRESHOLDS_DEFAULT,
				       .min_share = FINDINGS_MIN_SHARE};
	struct stack_source source = shown_stacks(study, FORMAT_TEXT, DEPTH_TEXT);

	query.pointers = study_pointers(study);
	findings_make(findings, &source, &study->info, &query, err);
	progress_end();
}

u64 brief_findings(const struct command *command, const char *path, const struct brief *brief)
{
	struct findings findings = {0};
	struct err err = {0};
	struct study_options how = opening_options(command);
	struct study *study = brief->begun ? brief->begun : open_study(path, &how, &err);
	u64 found = 0;

	if (study)
		find_brief(study, &findings, &err);
	if (study && !err.code && findings.wants_chunks && brief->may_read) {
		close_trace(study);
		findings_release(&findings);
		findings = (struct findings){0};
		study = open_study(path, &how, &err);
		if (study)
			find_brief(study, &findings, &err);
	}
	if (study && !err.code) {
		struct stack_source source = shown_stacks(study, FORMAT_TEXT, DEPTH_TEXT);

		found = findings.rows.count;
		if (found && brief->one_of_many)
			fprintf(stderr,
				"heapwise: findings for the process with the highest peak, %s:\n",
				path);
		print_brief(&findings, &source);
		print_unnamed(&source);
		if (findings.wants_chunks)
			fprintf(stderr, "heapwise: note: wrong frees and resident memory were not "
					"judged yet, which takes a while\n");
		found += findings.wants_chunks;
	}
	if (err.code)
		fprintf(stderr, "heapwise: note: no findings: %s\n", err.text);
	findings_release(&findings);
	close_trace(study);
	return found;
}

const struct command cmd_findings = {
	.name = "findings",
	.sums = true,
	.follows = true,
	.operands = "FILE",
	.summary = "list what is worth fixing, costliest first",
	.details =
		"FILE is a trace written by 'heapwise run', or a folder written with --children.\n"
		"Each finding says what was seen and where, how to fix it, what that saves, and "
		"how certain\n"
		"it is. Findings cover misuse of the heap, leaks, growth, what holds most of the peak,\n"
		"memory that is unused, partly used, allocated early or freed late (if accesses were\n"
		"recorded), chunks with the same contents (if recorded with --owners=contents), and chunks\n"
		"that are freed at once, regrown repeatedly or empty.\n"
		"--limits changes what is listed.",
	.options = options,
	.fields_size = sizeof(struct findings_args),
	.fields_default = &defaults,
	.run = run,
};
