/* SPDX-License-Identifier: MIT
 * heapwise owners: who holds the memory that was live.
 * Host. */
#include <inttypes.h>
#include <sys/stat.h>

#include "study/analysis/compare/compare.h"
#include "study/analysis/owners/choose.h"
#include "study/analysis/owners/result.h"
#include "study/analysis/summary/summary.h"
#include "show/cli/view.h"

struct owners_args {
	struct trace_args trace;
	const char *path, *baseline;
	struct option_strings at;
	u64 min_share; /* in percent */
};

static const struct owners_args defaults = {.trace = {TRACE_DEFAULTS, .top = 10, .graphs = true},
					    .min_share = 1};

enum { DEPTH_TEXT = 3 };

#define ARGS struct owners_args

static const struct option_spec options[] = {
	OPT(path, 0, "path", STRING, "CHUNK|ADDRESS|NAME",
	    "show the shortest path of pointers to a chunk: a number, an address such as 0x55d0, "
	    "or part of a type or function name"),
	OPT(at, 0, "at", STRINGS, "MOMENT",
	    "use the scan nearest to MOMENT, a time (1.5s, 200ms), start, peak or end; or the "
	    "first after MOMENT, the name of a mark, #NUMBER or snapshotN (default: the scan with "
	    "most live bytes). Given twice, show what grew from the first to the second"),
	OPT(baseline, 0, "baseline", STRING, "OLD", "show what grew since another run, a trace"),
	TOP_OPTION(struct trace_args,
		   "rows of each list, and parts of each owner (default 10; 0 = all)"),
	OPT(min_share, 0, "min-share", NUMBER, "PERCENT",
	    "show owners in the tree that hold at least PERCENT of the live bytes (default 1)"),
	DEPTH_OPTION(struct trace_args, "default: 3 in text, all in json and csv"),
	DEBUG_PATH_OPTION(struct trace_args),
	IMAGE_OPTION(struct trace_args),
	SYMBOLS_OPTION(struct trace_args),
	NO_INDEX_OPTION(struct trace_args),
	FORMAT_OPTION(struct trace_args),
	NO_PAGER_OPTION(struct trace_args),
	FOLDING_OPTIONS,
	OPTION_END};

static struct owners_scans scans_of(const struct model *model)
{
	return (struct owners_scans){model, model->graphs.data, model->graphs.count};
}

/* That of a moment, or the largest; NULL and err if there is none. */
static const struct stream_graph *graph_at(const struct study *study, const char *at,
					   struct err *err)
{
	struct owners_scans scans = scans_of(study->model);
	struct compare_moment moment;

	if (!scans.count) {
		owners_missing(study->model, study->path, err);
		return NULL;
	}
	if (!at)
		return owners_largest(&scans);
	if (compare_moment_find(study->model, at, &moment, err) < 0)
		return NULL;
	return moment.kind == MOMENT_MARK ? owners_after(&scans, moment.ticks)
					  : owners_nearest(&scans, moment.ticks);
}

/* ---- what grew ---- */

struct growing {
	const struct view *view;
	struct owners *shown; /* owners of the scan that is shown */
	struct owner_growth growth;
};

static struct result *grown_table(struct growing *self, struct owners *after, struct err *err)
{
	return owner_growth_result(&self->growth, after, self->view->args->top, err);
}

/* Between two scans of the trace. */
static struct result *grown_between(struct growing *self, const struct owners_span *span,
				    struct err *err)
{
	struct owners_scans scans = scans_of(self->view->study->model);
	struct owners_query query = {.graph = span->after, .types = self->shown->query.types};
	struct owners other = {0}, *after = self->shown;
	struct result *table = NULL;
	int status = 0;

	if (span->after != self->shown->query.graph) {
		after = &other;
		status = owners_make(after, &query, err);
	}
	query.graph = span->before;
	if (status == 0)
		status = owner_growth_find(&self->growth, &query, after, err);
	query.graph = owners_between(&scans, span);
	if (status == 0 && query.graph)
		status = owner_growth_confirm(&self->growth, &query, after, err);
	if (status == 0)
		table = grown_table(self, after, err);
	owners_release(&other);
	return table;
}

/* Since the largest scan of another trace. */
static struct result *grown_since(struct growing *self, const struct study *old, struct err *err)
{
	struct stack_source source = shown_stacks(old, self->view->format, NOT_GIVEN);
	struct type_query ask = {.source = &source,
				 .debug_path = self->view->args->debug_path,
				 .guess = true};
	struct type_cascade types = {0};
	struct owners_query query = {.graph = graph_at(old, NULL, err), .types = &types};
	struct result *table = NULL;

	if (query.graph && type_cascade_init(&types, &ask, err) == 0 &&
	    owner_growth_find(&self->growth, &query, self->shown, err) == 0)
		table = grown_table(self, self->shown, err);
	type_cascade_release(&types);
	return table;
}

static struct result *grown_since_run(struct growing *self, const char *path, struct err *err)
{
	struct study *old;
	struct result *table;
	struct stat about;

	if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
		err_set(err, ERR_USAGE, "%s is a folder; compare with one of the traces in it",
			path);
		return NULL;
	}
	old = open_trace(self->view->command, self->view->args, &self->view->wrappers, path, err);
	table = old ? grown_since(self, old, err) : NULL;
	close_trace(old);
	return table;
}

/* The table of what grew; NULL without err if the trace has one scan and nothing is asked for. */
static struct result *growth_of(struct growing *self, struct err *err)
{
	const struct owners_args *args = (const struct owners_args *)self->view->args;
	struct owners_scans scans = scans_of(self->view->study->model);
	struct owners_span span = {NULL, self->shown->query.graph};

	self->growth.limits =
		(struct owner_growth_limits){GROWN_MIN_BYTES, (double)args->min_share / 100};
	if (args->baseline)
		return grown_since_run(self, args->baseline, err);
	if (args->at.count < 2)
		return !args->at.count && owners_span(&scans, &span)
			       ? grown_between(self, &span, err)
			       : NULL;
	span.before = graph_at(self->view->study, args->at.items[0], err);
	if (span.before && span.before->ticks >= span.after->ticks) {
		err_set(err, ERR_USAGE, "no scan near '%s' is earlier than the one at '%s'",
			args->at.items[0], args->at.items[1]);
		return NULL;
	}
	return span.before ? grown_between(self, &span, err) : NULL;
}

/* ---- all ---- */

static struct result *owners_shown(struct view *view, struct owners *owners, struct err *err)
{
	const struct owners_args *args = (const struct owners_args *)view->args;
	struct growing growing = {.view = view, .shown = owners};
	struct owners_show show = {.top = args->trace.top,
				   .min_share = (double)args->min_share / 100};
	struct result *result = NULL;

	show.growth = growth_of(&growing, err);
	if (!err->code)
		result = owners_result(owners, &show, err);
	else
		result_free(show.growth);
	owner_growth_release(&growing.growth);
	return result;
}

static struct result *result_of(struct view *view, struct owners *owners, struct err *err)
{
	const struct owners_args *args = (const struct owners_args *)view->args;
	struct result *result = args->path ? owners_path_result(owners, args->path, err)
					   : owners_shown(view, owners, err);

	if (!result)
		return NULL;
	if (view->study->model->graphs.count > 1 && !args->at.count)
		result_add_caveat(result,
				  "the trace has %" PRIu64 " scans; this is the one with most live "
				  "bytes, and --at chooses another",
				  view->study->model->graphs.count);
	add_caveats(result, view->study->model, &view->study->info);
	return result;
}

static struct result *build(struct view *view, struct err *err)
{
	const struct owners_args *args = (const struct owners_args *)view->args;
	const char *at = args->at.count ? args->at.items[args->at.count - 1] : NULL;
	const struct stream_graph *graph = graph_at(view->study, at, err);
	bool short_stacks = view->format == FORMAT_TEXT && view->args->depth == NOT_GIVEN;
	struct stack_source source = shown_stacks(view->study, view->format,
						  short_stacks ? DEPTH_TEXT : view->args->depth);
	struct type_query ask = {.source = &source,
				 .debug_path = view->args->debug_path,
				 .guess = true};
	struct type_cascade types = {0};
	struct owners_query query = {.graph = graph, .types = &types};
	struct owners owners = {0};
	struct result *result = NULL;

	if (!graph)
		return NULL;
	if (type_cascade_init(&types, &ask, err) == 0 && owners_make(&owners, &query, err) == 0)
		result = result_of(view, &owners, err);
	owners_release(&owners);
	type_cascade_release(&types);
	return result;
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	const struct owners_args *args = fields;
	struct view view = {.command = self, .args = &args->trace, .build = build};

	if (args->min_share > 100)
		return command_usage(self, "--min-share must be at most 100");
	if (args->at.count > 2)
		return command_usage(self, "--at can be given at most twice");
	if (args->at.count == 2 && args->baseline)
		return command_usage(self, "--baseline cannot be combined with two --at");
	if (args->path && (args->at.count == 2 || args->baseline))
		return command_usage(self, "--path cannot be combined with %s",
				     args->baseline ? "--baseline" : "two --at");
	return view_run(&view, argc, argv);
}

const struct command cmd_owners = {
	.name = "owners",
	.operands = "FILE",
	.summary = "show who holds the live memory",
	.details =
		"FILE is a trace written by 'heapwise run --owners', or a folder written with --children.\n"
		"An owner holds a chunk if every path of pointers to the chunk goes through the owner. The bytes\n"
		"that it retains, its own and those of the chunks that it holds, would be freed with it.\n"
		"Owners are variables, stacks and other roots; types; and functions that allocated chunks\n"
		"whose type is unknown. A trace with several scans also shows which containers grew from the\n"
		"first scan to the last, and who holds them.",
	.options = options,
	.fields_size = sizeof(struct owners_args),
	.fields_default = &defaults,
	.run = run,
};
