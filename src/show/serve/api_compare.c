/* SPDX-License-Identifier: MIT
 * Two traces side by side over HTTP. Runs on threads of the server. */
#define _GNU_SOURCE
#include <string.h>

#include "study/analysis/compare/compare.h"
#include "show/serve/api.h"

enum { ROWS_MAX = 500 };

struct comparing {
	struct study *trace[2]; /* what was, what is; of a selection parts of them */
	struct compare_query query;
	struct type_cascade types[2];
	struct compare_cuts cuts[2];
};

static bool query_read(struct call *call, struct compare_query *query)
{
	static const double share[] = {0, 1};
	const char *by = call_text(call, "key");

	*query = (struct compare_query)COMPARE_DEFAULT;
	if (by && strcmp(by, "fn") == 0)
		by = "function";
	if (by && !compare_by_parse(by, &query->by))
		return call_bad(call, "key", "stack, fn, type, file, module or thread");
	return call_choice(call, "metric", compare_metric_parse, &query->metric,
			   "bytes, allocations, peak, kept or temporary") &&
	       call_choice(call, "align", compare_align_parse, &query->align,
			   "start, peak or marks") &&
	       call_real(call, "tolerance", share, "a share from 0 to 1", &query->tolerance) &&
	       call_number(call, "top", 1, ROWS_MAX, &query->top) &&
	       call_number(call, "points", 2, 2000, &query->points) &&
	       call_bool(call, "same", &query->list_same);
}

/* The order of events is only in the file: what types and threads had at the peak is read from
 * it. */
static int read_cuts(struct comparing *self, u32 side, struct err *err)
{
	static const struct compare_moment ends[2] = {{.kind = MOMENT_END}, {.kind = MOMENT_END}};
	struct compare_cuts *cuts = &self->cuts[side];
	int status = compare_cuts_init(cuts, self->trace[side]->model, ends, err);

	for (u32 i = 0; i < COMPARE_CUT_PASSES && status == 0; i++) {
		struct trace_read_options how = {.image = TRACE_LAST_IMAGE};
		struct stream_sink sink = compare_cuts_sink(cuts);
		struct trace_reader *reader = trace_open(self->trace[side]->path, err);

		status = reader ? trace_read(reader, &how, &sink, err) : err->code;
		trace_close(reader);
	}
	self->query.side[side].cuts = cuts;
	return status;
}

static int side_set(struct comparing *self, u32 side, struct err *err)
{
	struct compare_side *to = &self->query.side[side];
	struct type_query ask = {.source = &self->trace[side]->stacks};

	to->source = &self->trace[side]->stacks;
	to->info = &self->trace[side]->info;
	to->label = self->trace[side]->path;
	if (self->query.by == COMPARE_BY_TYPE) {
		to->types = &self->types[side];
		if (type_cascade_init(to->types, &ask, err) < 0)
			return err->code;
	}
	if (self->query.by != COMPARE_BY_TYPE && self->query.by != COMPARE_BY_THREAD)
		return 0;
	return read_cuts(self, side, err);
}

void api_compare(struct call *call)
{
	struct comparing self = {0};
	struct comparison found = {0};
	struct result *result = NULL;
	struct err err = {0};
	int status = 0;

	if (!call_text(call, "base")) {
		call_bad(call, "base", "the id or the file name of a served trace");
		return;
	}
	if (!call_base_part(call) || !query_read(call, &self.query))
		return;
	self.trace[0] = call->base_part;
	self.trace[1] = call->trace;
	for (u32 side = 0; side < 2 && status == 0; side++)
		status = side_set(&self, side, &err);
	if (status == 0 && compare_find(&found, &self.query, &err) == 0)
		result = compare_result(&found, &err);
	reply_result(call, result, &err);
	comparison_release(&found);
	for (u32 side = 0; side < 2; side++) {
		type_cascade_release(&self.types[side]);
		compare_cuts_release(&self.cuts[side]);
	}
}
