/* SPDX-License-Identifier: MIT
 * A comparison as results and as a diagram.
 * Host. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "study/analysis/compare/compare.h"
#include "study/analysis/summary/summary.h"
#include "host/base/units.h"
#include "study/result/field.h"

static enum value_type type_of(enum compare_metric metric)
{
	return compare_metric_is_bytes(metric) ? VALUE_BYTES : VALUE_COUNT;
}

static enum value_type delta_type_of(enum compare_metric metric)
{
	return compare_metric_is_bytes(metric) ? VALUE_DELTA_BYTES : VALUE_DELTA;
}

static i64 delta(u64 a, u64 b) { return (i64)(b - a); }

/* Part of what was; unknown if there was nothing. */
static struct value change(u64 a, u64 b)
{
	return a   ? value_real(((double)b - (double)a) / (double)a)
	       : b ? value_unknown()
		   : value_real(0);
}

/* ---- totals ---- */

static const struct {
	const char *a, *b, *delta, *change, *label, *remark, *meaning;
} totals[COMPARE_METRICS] = {
	[COMPARE_BYTES] = {"bytes.a", "bytes.b", "bytes.delta", "bytes.pct", "requested",
			   "was {bytes.a}: {bytes.delta}, {bytes.pct}", "bytes requested"},
	[COMPARE_ALLOCATIONS] = {"allocations.a", "allocations.b", "allocations.delta",
				 "allocations.pct", "allocations",
				 "was {allocations.a}: {allocations.delta}, {allocations.pct}",
				 "allocations"},
	[COMPARE_PEAK] = {"peak.a", "peak.b", "peak.delta", "peak.pct", "peak",
			  "was {peak.a}: {peak.delta}, {peak.pct}", "most live bytes"},
	[COMPARE_KEPT] = {"kept.a", "kept.b", "kept.delta", "kept.pct", "kept",
			  "was {kept.a}: {kept.delta}, {kept.pct}", "bytes never freed"},
	[COMPARE_TEMPORARY] = {"temporary.a", "temporary.b", "temporary.delta", "temporary.pct",
			       "temporary", "was {temporary.a}: {temporary.delta}, {temporary.pct}",
			       "chunks freed before any further allocation of their thread"},
};

/* Without a percentage where nothing was. */
static const char *remark_of(enum compare_metric metric, bool had)
{
	static const char *const bare[COMPARE_METRICS] = {
		[COMPARE_BYTES] = "was {bytes.a}: {bytes.delta}",
		[COMPARE_ALLOCATIONS] = "was {allocations.a}: {allocations.delta}",
		[COMPARE_PEAK] = "was {peak.a}: {peak.delta}",
		[COMPARE_KEPT] = "was {kept.a}: {kept.delta}",
		[COMPARE_TEMPORARY] = "was {temporary.a}: {temporary.delta}",
	};

	return had ? totals[metric].remark : bare[metric];
}

static void add_total(struct result *record, const struct comparison *self,
		      enum compare_metric metric)
{
	u64 a = self->totals[0].value[metric], b = self->totals[1].value[metric];
	const char *label =
		metric == COMPARE_KEPT && self->query.one_trace ? "live" : totals[metric].label;
	struct result_column now =
		COLUMN(totals[metric].b, label, type_of(metric), totals[metric].meaning);

	now.remark = a == b ? "unchanged" : remark_of(metric, a != 0);
	result_field(record, totals[metric].a, NULL, type_of(metric), value_number(a),
		     "the same in A");
	result_add_field(record, now, value_number(b));
	result_field(record, totals[metric].delta, NULL, delta_type_of(metric),
		     value_signed(delta(a, b)), "B minus A");
	result_field(record, totals[metric].change, NULL, VALUE_CHANGE, change(a, b),
		     "the difference as a share of A");
}

static struct result *summary_of(const struct comparison *self)
{
	struct result *record = result_new(RESULT_RECORD, "summary", "Totals of B");
	u64 a = self->duration_ns[0], b = self->duration_ns[1];
	struct result_column now =
		COLUMN("duration_ns.b", "duration", VALUE_NS, "duration that is compared");

	if (!record)
		return NULL;
	for (u32 i = 0; i < COMPARE_METRICS; i++)
		add_total(record, self, (enum compare_metric)i);
	now.remark = a == b ? "unchanged"
		     : a    ? "was {duration_ns.a}: {duration_ns.delta}, {duration_ns.pct}"
			    : "was {duration_ns.a}: {duration_ns.delta}";
	result_field(record, "duration_ns.a", NULL, VALUE_NS, value_number(a), "the same in A");
	result_add_field(record, now, value_number(b));
	result_field(record, "duration_ns.delta", NULL, VALUE_DELTA_NS, value_signed(delta(a, b)),
		     "B minus A");
	result_field(record, "duration_ns.pct", NULL, VALUE_CHANGE, change(a, b),
		     "the difference as a share of A");
	return record;
}

/* ---- rows ---- */

enum {
	AT_STATUS,
	AT_A,
	AT_B,
	AT_DELTA,
	AT_PCT,
	AT_NAME,
	AT_KEY,
	AT_STACK,
	AT_SEVERITY_A,
	AT_SEVERITY_B,
	AT_METRICS,
	COLUMNS = AT_METRICS + 2 * COMPARE_METRICS
};

static const char *const metric_columns[COMPARE_METRICS][2] = {
	[COMPARE_BYTES] = {"a_bytes", "b_bytes"},
	[COMPARE_ALLOCATIONS] = {"a_allocations", "b_allocations"},
	[COMPARE_PEAK] = {"a_peak", "b_peak"},
	[COMPARE_KEPT] = {"a_kept", "b_kept"},
	[COMPARE_TEMPORARY] = {"a_temporary", "b_temporary"},
};

static void set_columns(struct result *table, const struct compare_query *query)
{
	enum value_type type = type_of(query->metric);
	bool stacks = query->by == COMPARE_BY_STACK;
	struct result_column columns[COLUMNS] = {
		[AT_STATUS] = COLUMN("status", "status", VALUE_TEXT,
				     "new, gone, grew, shrank or same, by the metric"),
		[AT_A] = COLUMN("a", "A", type, "the metric in A"),
		[AT_B] = COLUMN("b", "B", type, "the metric in B"),
		[AT_DELTA] =
			COLUMN("delta", "difference", delta_type_of(query->metric), "B minus A"),
		[AT_PCT] = COLUMN("pct", "change", VALUE_CHANGE,
				  "the difference as a share of A; none if A has nothing"),
		[AT_NAME] = COLUMN("name", NULL, VALUE_TEXT, "what is compared; none for stacks"),
		[AT_KEY] = COLUMN("key", NULL, VALUE_TEXT,
				  "key that identifies the row; equal for equal names"),
		[AT_STACK] = COLUMN("stack", NULL, VALUE_STACK,
				    "a stack of the row, from B or else from A; innermost frame "
				    "first"),
		[AT_SEVERITY_A] =
			COLUMN("sev_a", NULL, VALUE_ID, "severity in A, 1 to 12; none = unknown"),
		[AT_SEVERITY_B] =
			COLUMN("sev_b", NULL, VALUE_ID, "severity in B, 1 to 12; none = unknown"),
	};

	if (stacks)
		columns[AT_STACK].label = "stack";
	else
		columns[AT_NAME].label = compare_by_name(query->by);
	if (query->by == COMPARE_BY_FILE)
		columns[AT_NAME].type = VALUE_PATH;
	for (u32 i = 0; i < COMPARE_METRICS; i++)
		for (u32 side = 0; side < 2; side++)
			columns[AT_METRICS + 2 * i + side] =
				(struct result_column)COLUMN(metric_columns[i][side], NULL,
							     type_of((enum compare_metric)i),
							     totals[i].meaning);
	result_set_columns(table, columns, COLUMNS);
}

static const char *key_of(struct result *table, const struct compare_row *row)
{
	char text[24];

	if (row->name)
		return result_copy(table, row->name);
	snprintf(text, sizeof text, "%016" PRIx64, row->hash);
	return result_copy(table, text);
}

static void add_row(struct result *table, const struct comparison *self,
		    const struct compare_row *from)
{
	enum compare_metric metric = self->query.metric;
	u64 a = from->side[0].value[metric], b = from->side[1].value[metric];
	u32 side = from->there[1];
	const char *key = key_of(table, from);
	const struct result_stack *stack =
		stack_of(self->query.side[side].source, from->frame[side], table);
	struct value *row = result_add_row(table);

	if (!row)
		return;
	row[AT_STATUS] = value_text(compare_status_name(from->status));
	row[AT_A] = value_number(a);
	row[AT_B] = value_number(b);
	row[AT_DELTA] = value_signed(delta(a, b));
	row[AT_PCT] = change(a, b);
	row[AT_NAME] = value_text(from->name ? key : NULL);
	row[AT_KEY] = value_text(key);
	row[AT_STACK] = value_stack(stack);
	for (u32 of = 0; of < 2; of++)
		if (from->severity[of])
			row[AT_SEVERITY_A + of] = value_number(from->severity[of]);
	for (u32 i = 0; i < COMPARE_METRICS; i++)
		for (u32 of = 0; of < 2; of++)
			row[AT_METRICS + 2 * i + of] = value_number(from->side[of].value[i]);
}

static struct result *rows_of(const struct comparison *self)
{
	struct result *table = result_new(RESULT_TABLE, "rows", "Largest differences");
	u64 shown = 0;

	if (!table)
		return NULL;
	table->empty = "no difference";
	set_columns(table, &self->query);
	for (u64 i = 0; i < self->rows.count; i++) {
		const struct compare_row *row = &self->rows.data[i];

		if (row->status == COMPARE_SAME && !self->query.list_same)
			continue;
		if (self->query.top && shown++ == self->query.top)
			break;
		add_row(table, self, row);
		/* Stacks of two programs may have the same number and be different. */
		if (table->cells.count &&
		    result_cell(table, result_rows(table) - 1, AT_STACK)->known) {
			struct result_stack *stack =
				(struct result_stack *)result_cell(table, result_rows(table) - 1,
								   AT_STACK)
					->stack;

			stack->number = i + 1;
		}
	}
	return table;
}

/* ---- heap lines ---- */

static struct result *lines_of(const struct comparison *self)
{
	static const struct result_column columns[] = {
		COLUMN("time_ns", "time", VALUE_SIGNED, "start of the bin on the common clock"),
		COLUMN("a", "A", VALUE_BYTES, "most live bytes of A in the bin"),
		COLUMN("b", "B", VALUE_BYTES, "most live bytes of B in the bin"),
		COLUMN("a_time_ns", NULL, VALUE_NS, "the same moment on A's own clock"),
		COLUMN("b_time_ns", NULL, VALUE_NS, "the same moment on B's own clock"),
	};
	struct result *table = result_new(RESULT_TABLE, "heap", "Live bytes");

	if (!table)
		return NULL;
	table->hidden_in_text = true;
	result_set_columns(table, columns, sizeof columns / sizeof *columns);
	for (u64 i = 0; i < self->lines.count; i++) {
		const struct compare_bin *bin = &self->lines.data[i];
		struct value *row = result_add_row(table);

		if (!row)
			break;
		row[0] = value_signed(bin->time_ns);
		for (u32 side = 0; side < 2; side++)
			if (bin->known[side]) {
				row[1 + side] = value_number(bin->bytes[side]);
				row[3 + side] = value_number(bin->own_ns[side]);
			}
	}
	return table;
}

static double chart_unit(const struct comparison *self, const char **label)
{
	u64 most = self->totals[0].value[COMPARE_PEAK] > self->totals[1].value[COMPARE_PEAK]
			   ? self->totals[0].value[COMPARE_PEAK]
			   : self->totals[1].value[COMPARE_PEAK];

	*label = most < 10000 ? "live bytes" : most < 10000 << 10 ? "live KiB" : "live MiB";
	return most < 10000 ? 1 : most < 10000 << 10 ? 1024 : 1 << 20;
}

bool compare_chart(const struct comparison *self, struct chart *chart, struct chart_dot **dots)
{
	static const char *const axis[] = {[COMPARE_ALIGN_START] = "ms since the start",
					   [COMPARE_ALIGN_PEAK] = "ms before and after the peak",
					   [COMPARE_ALIGN_MARKS] =
						   "ms on the clock of A, aligned at marks"};
	const char *label;
	double unit = chart_unit(self, &label);

	*dots = calloc(2 * self->lines.count + 1, sizeof **dots);
	if (!*dots)
		return false;
	*chart = (struct chart){.title = "Live bytes",
				.x_label = axis[self->query.align],
				.y_label = label,
				.group_name = "A, B",
				.dots = *dots};
	for (u64 i = 0; i < self->lines.count; i++)
		for (u32 side = 0; side < 2; side++) {
			const struct compare_bin *bin = &self->lines.data[i];

			if (bin->known[side])
				(*dots)[chart->count++] =
					(struct chart_dot){.x = (double)bin->time_ns / 1e6,
							   .y = (double)bin->bytes[side] / unit,
							   .group = side};
		}
	return true;
}

/* ---- what to know before trusting it ---- */

/* The command line without the program, which may be elsewhere now. Quotes are the shell's. */
static const char *arguments_of(const char *command)
{
	bool quoted = false;

	for (; *command && (quoted || *command != ' '); command++)
		quoted ^= *command == '\'';
	return command;
}

static bool is_same_build(const struct comparison *self)
{
	for (u64 i = 0; i < self->loose.count; i++)
		if (strcmp(self->loose.data[i], "(program)") == 0)
			return false;
	return true;
}

static void say_of_programs(const struct comparison *self, struct result *record)
{
	const struct model *a = self->query.side[0].source->model,
			   *b = self->query.side[1].source->model;

	if (strcmp(compare_program_name(a), compare_program_name(b)) != 0)
		result_add_caveat(record,
				  "the programs differ: A is %s and B is %s; rows are still "
				  "matched by name",
				  compare_program_name(a), compare_program_name(b));
	else if (strcmp(arguments_of(a->image.command), arguments_of(b->image.command)) != 0)
		result_add_caveat(record, "the command lines differ: A is '%s' and B is '%s'",
				  a->image.command, b->image.command);
	if (a->image.arch != b->image.arch)
		result_add_caveat(record, "A and B ran on different processors, so sizes of types "
					  "may differ");
	if (!a->image.sample_bytes != !b->image.sample_bytes)
		result_add_caveat(record,
				  "%s is sampled and %s is not: small differences may be chance, "
				  "and rows of few bytes may be missing from the sampled one",
				  a->image.sample_bytes ? "A" : "B",
				  a->image.sample_bytes ? "B" : "A");
	else if (a->image.sample_bytes)
		result_add_caveat(record, "both are sampled: small differences may be chance");
	if ((a->image.flags ^ b->image.flags) & HW_RUN_ALLOC_STACKS)
		result_add_caveat(record, "only one of the recordings has stacks");
}

/* What each recording says of itself, with its letter. */
static void say_of_sides(const struct comparison *self, struct result *record)
{
	for (u32 side = 0; side < (self->query.one_trace ? 1u : 2u); side++) {
		const struct compare_side *of = &self->query.side[side];
		struct result *own = result_new(RESULT_RECORD, "", "");

		if (!own) {
			record->failed = true;
			return;
		}
		add_caveats(own, of->source->model, of->info);
		for (u64 i = 0; i < own->caveats.count; i++)
			result_add_caveat(record, "%s%s",
					  self->query.one_trace ? ""
					  : side                ? "B: "
								: "A: ",
					  own->caveats.data[i]);
		result_free(own);
	}
}

static void say_of_matching(const struct comparison *self, struct result *record)
{
	for (u32 side = 0; side < 2 && self->query.by == COMPARE_BY_STACK; side++)
		if (self->unnamed_bytes[side] && !self->query.one_trace && self->loose.count)
			result_add_caveat(
				record,
				"%s of the bytes of %s have stacks with unnamed frames; in files "
				"that were rebuilt, these are matched by file only",
				units_percent(units_share(self->unnamed_bytes[side],
							  self->all_bytes[side]))
					.text,
				side ? "B" : "A");
	if (self->query.align == COMPARE_ALIGN_MARKS && !self->anchors)
		result_add_caveat(record, "the recordings have no mark in common, so the heap "
					  "lines are aligned at the start");
}

static void say_of_moments(const struct comparison *self, struct result *record)
{
	const struct model *model = self->query.side[0].source->model;

	if (self->query.one_trace && model->aggregated)
		result_add_caveat(record, "moments after the trace reached its size limit lack "
					  "later allocations");
}

/* ---- the record ---- */

static void add_side(struct result *record, const struct comparison *self, u32 side)
{
	static const char *const names[2][6] = {{"a.file", "a.moment", "a.program", "a.command",
						 "a.complete", "a.sample_bytes"},
						{"b.file", "b.moment", "b.program", "b.command",
						 "b.complete", "b.sample_bytes"}};
	static const char *const remarks[2][2] = {{"{a.command}", "at {a.moment}"},
						  {"{b.command}", "at {b.moment}"}};
	const struct compare_side *of = &self->query.side[side];
	const struct model *model = of->source->model;
	struct result_column file =
		COLUMN(names[side][0], side ? "B" : "A", VALUE_TEXT, "compared trace");
	const char *word = of->cuts ? of->cuts->moment[of->cut].word : NULL;

	file.remark = remarks[side][self->query.one_trace];
	result_add_field(record, file, value_text(result_copy(record, of->label)));
	result_field(record, names[side][1], NULL, VALUE_TEXT,
		     value_text(word ? result_copy(record, word) : NULL),
		     "moment up to which it counts; none = its end");
	result_field(record, names[side][2], NULL, VALUE_PATH,
		     value_text(result_copy(record, model->image.program)), "its program");
	result_field(record, names[side][3], NULL, VALUE_TEXT,
		     value_text(result_copy(record, model->image.command)), "its command line");
	result_field(record, names[side][4], NULL, VALUE_BOOL,
		     value_number(summary_complete(model, of->info)),
		     "whether every event is in the trace");
	result_field(record, names[side][5], NULL, VALUE_BYTES,
		     value_number(model->image.sample_bytes),
		     "sampling interval; 0 = every allocation is recorded");
}

static void add_states(struct result *record, const struct comparison *self)
{
	static const char *const names[COMPARE_STATES] = {"changed.new", "changed.gone",
							  "changed.grew", "changed.shrank",
							  "changed.same"};
	struct result_column first = COLUMN("changed.rows", "rows", VALUE_COUNT, "number of rows");
	struct result_column share = COLUMN("matched.a", "matched", VALUE_SHARE,
					    "share of A's metric in rows that both have");

	first.remark = "{changed.new} new, {changed.gone} gone, {changed.grew} grew, "
		       "{changed.shrank} shrank, {changed.same} same";
	result_add_field(record, first, value_number(self->rows.count));
	for (u32 i = 0; i < COMPARE_STATES; i++)
		result_field(record, names[i], NULL, VALUE_COUNT, value_number(self->states[i]),
			     "rows with this status");
	share.remark = "of A and {matched.b} of B are in rows that both have";
	result_add_field(record, share,
			 self->sum[0] ? value_real(units_share(self->matched[0], self->sum[0]))
				      : value_unknown());
	result_field(record, "matched.b", NULL, VALUE_SHARE,
		     self->sum[1] ? value_real(units_share(self->matched[1], self->sum[1]))
				  : value_unknown(),
		     "share of B's metric in rows that both have");
	result_field(record, "unmatched.a", NULL, type_of(self->query.metric),
		     value_number(self->sum[0] - self->matched[0]),
		     "A's metric in rows that only A has");
	result_field(record, "unmatched.b", NULL, type_of(self->query.metric),
		     value_number(self->sum[1] - self->matched[1]),
		     "B's metric in rows that only B has");
}

static void add_head(struct result *record, const struct comparison *self)
{
	struct result_column by = COLUMN("by", "by", VALUE_TEXT, "what rows are grouped by");

	by.remark = "in {metric}";
	add_side(record, self, 0);
	add_side(record, self, 1);
	result_add_field(record, by, value_text(compare_by_name(self->query.by)));
	result_field(record, "metric", NULL, VALUE_TEXT,
		     value_text(compare_metric_name(self->query.metric)),
		     "key that identifies rows");
	add_states(record, self);
	result_field(record, "same_build", NULL, VALUE_BOOL, value_number(is_same_build(self)),
		     "whether both programs have the same build-id, if they have one");
	result_field(record, "time_map", NULL, VALUE_TEXT,
		     value_text(compare_align_name(self->query.align == COMPARE_ALIGN_MARKS &&
								   !self->anchors
							   ? COMPARE_ALIGN_START
							   : self->query.align)),
		     "how the clocks of the heap lines are aligned");
	result_field(record, "bin_ns", NULL, VALUE_NS, value_number(self->bin_ns),
		     "time covered by a row of the heap lines");
	result_field(record, "common_marks", NULL, VALUE_COUNT, value_number(self->anchors),
		     "marks in both recordings");
}

struct result *compare_result(struct comparison *self, struct err *err)
{
	struct result *record = result_new(RESULT_RECORD, "diff", NULL);

	if (record) {
		add_head(record, self);
		say_of_programs(self, record);
		say_of_matching(self, record);
		say_of_moments(self, record);
		say_of_sides(self, record);
		result_add_part(record, summary_of(self));
		result_add_part(record, rows_of(self));
		result_add_part(record, lines_of(self));
	}
	if (record && !result_failed(record))
		return record;
	result_free(record);
	err_memory_for(err, "the comparison");
	return NULL;
}
