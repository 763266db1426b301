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

static enum value_type delta_type_of(enum value_type type)
{
	return type == VALUE_BYTES ? VALUE_DELTA_BYTES
	       : type == VALUE_NS  ? VALUE_DELTA_NS
				   : VALUE_DELTA;
}

/* Part of what was; unknown if there was nothing. */
static struct value change(u64 a, u64 b)
{
	return a   ? value_real(((double)b - (double)a) / (double)a)
	       : b ? value_unknown()
		   : value_real(0);
}

/* ---- totals ---- */

/* One number of both sides: NAME.a, NAME.b, NAME.delta and NAME.pct. */
static void add_total(struct result *record, const struct result_column *of, u64 a, u64 b)
{
	const char *name = of->name;

	result_field(record, result_format(record, "%s.a", name), NULL, of->type, value_number(a),
		     "the same in A");
	/* without a percentage where nothing was */
	result_field(record, result_format(record, "%s.b", name), of->label, of->type,
		     value_number(b), of->meaning,
		     .remark = a == b ? "unchanged"
			       : a ? result_format(record, "was {%s.a}: {%s.delta}, {%s.pct}", name,
						   name, name)
				   : result_format(record, "was {%s.a}: {%s.delta}", name, name));
	result_field(record, result_format(record, "%s.delta", name), NULL, delta_type_of(of->type),
		     value_signed((i64)(b - a)), "B minus A");
	result_field(record, result_format(record, "%s.pct", name), NULL, VALUE_CHANGE,
		     change(a, b), "the difference as a share of A");
}

static const struct result_column totals[COMPARE_METRICS] = {
	[COMPARE_BYTES] = COLUMN("bytes", "requested", VALUE_BYTES, "bytes requested"),
	[COMPARE_ALLOCATIONS] = COLUMN("allocations", "allocations", VALUE_COUNT, "allocations"),
	[COMPARE_PEAK] = COLUMN("peak", "peak", VALUE_BYTES, "most live bytes"),
	[COMPARE_KEPT] = COLUMN("kept", "kept", VALUE_BYTES, "bytes never freed"),
	[COMPARE_TEMPORARY] = COLUMN("temporary", "temporary", VALUE_COUNT,
				     "chunks freed before any further allocation of their thread"),
};

static struct result *summary_of(const struct comparison *self)
{
	static const struct result_column duration =
		COLUMN("duration_ns", "duration", VALUE_NS, "duration that is compared");
	struct result *record = result_new(RESULT_RECORD, "summary", "Totals of B");

	for (u32 i = 0; record && i < COMPARE_METRICS; i++) {
		struct result_column total = totals[i];

		if (i == COMPARE_KEPT && self->query.one_trace)
			total.label = "live";
		add_total(record, &total, self->totals[0].value[i], self->totals[1].value[i]);
	}
	if (record)
		add_total(record, &duration, self->duration_ns[0], self->duration_ns[1]);
	return record;
}

/* ---- rows ---- */

/* The columns in their order. */
struct cells {
	struct value status, a, b, delta, pct, name, key, stack, severity[2],
		metrics[COMPARE_METRICS][2];
};

/* a_bytes, b_bytes, a_allocations … */
static void add_metric_columns(struct result *table)
{
	for (u32 i = 0; i < COMPARE_METRICS; i++)
		for (u32 side = 0; side < 2; side++) {
			struct result_column column = totals[i];

			column.name = result_format(table, "%c_%s", "ab"[side], totals[i].name);
			column.label = NULL;
			result_set_columns(table, &column, 1);
		}
}

static void set_columns(struct result *table, const struct compare_query *query)
{
	enum value_type type = totals[query->metric].type;
	bool stacks = query->by == COMPARE_BY_STACK;
	const struct result_column columns[] = {
		COLUMN("status", "status", VALUE_TEXT,
		       "new, gone, grew, shrank or same, by the metric"),
		COLUMN("a", "A", type, "the metric in A"),
		COLUMN("b", "B", type, "the metric in B"),
		COLUMN("delta", "difference", delta_type_of(type), "B minus A"),
		COLUMN("pct", "change", VALUE_CHANGE,
		       "the difference as a share of A; none if A has nothing"),
		COLUMN("name", stacks ? NULL : compare_by_name(query->by),
		       query->by == COMPARE_BY_FILE ? VALUE_PATH : VALUE_TEXT,
		       "what is compared; none for stacks"),
		COLUMN("key", NULL, VALUE_TEXT,
		       "key that identifies the row; equal for equal names"),
		COLUMN("stack", stacks ? "stack" : NULL, VALUE_STACK,
		       "a stack of the row, from B or else from A; innermost frame first"),
		COLUMN("sev_a", NULL, VALUE_ID, "severity in A, 1 to 12; none = unknown"),
		COLUMN("sev_b", NULL, VALUE_ID, "severity in B, 1 to 12; none = unknown"),
	};

	result_set_columns(table, columns, sizeof columns / sizeof *columns);
	add_metric_columns(table);
}

/* Stacks of two programs may have the same number and be different: they have that of the row. */
static struct value numbered(const struct result_stack *stack, u64 number)
{
	if (stack)
		((struct result_stack *)stack)->number = number;
	return value_stack(stack);
}

static void add_row(struct result *table, const struct comparison *self,
		    const struct compare_row *from)
{
	enum compare_metric metric = self->query.metric;
	u64 a = from->side[0].value[metric], b = from->side[1].value[metric];
	u32 side = from->there[1];
	struct cells *row = result_cells(table);

	if (!row)
		return;
	row->status = value_text(compare_status_name(from->status));
	row->a = value_number(a);
	row->b = value_number(b);
	row->delta = value_signed((i64)(b - a));
	row->pct = change(a, b);
	row->name = result_text(table, from->name);
	row->key = from->name ? row->name
			      : value_text(result_format(table, "%016" PRIx64, from->hash));
	row->stack = numbered(stack_of(self->query.side[side].source, from->frame[side], table),
			      (u64)(from - self->rows.data) + 1);
	for (u32 of = 0; of < 2; of++)
		row->severity[of] = value_some(from->severity[of]);
	for (u32 i = 0; i < COMPARE_METRICS; i++)
		for (u32 of = 0; of < 2; of++)
			row->metrics[i][of] = value_number(from->side[of].value[i]);
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
	struct result *table = result_table("heap", "Live bytes", columns);

	if (!table)
		return NULL;
	table->hidden_in_text = true;
	for (u64 i = 0; i < self->lines.count; i++) {
		const struct compare_bin *bin = &self->lines.data[i];

		result_row(table, value_signed(bin->time_ns),
			   value_if(bin->known[0], value_number(bin->bytes[0])),
			   value_if(bin->known[1], value_number(bin->bytes[1])),
			   value_if(bin->known[0], value_number(bin->own_ns[0])),
			   value_if(bin->known[1], value_number(bin->own_ns[1])));
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

/* Names begin with "a." or "b.". */
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

	result_field(record, names[side][0], side ? "B" : "A", VALUE_TEXT,
		     result_text(record, of->label), "compared trace",
		     .remark = remarks[side][self->query.one_trace]);
	result_field(record, names[side][1], NULL, VALUE_TEXT,
		     result_text(record, of->cuts ? of->cuts->moment[of->cut].word : NULL),
		     "moment up to which it counts; none = its end");
	result_field(record, names[side][2], NULL, VALUE_PATH,
		     result_text(record, model->image.program), "its program");
	result_field(record, names[side][3], NULL, VALUE_TEXT,
		     result_text(record, model->image.command), "its command line");
	result_field(record, names[side][4], NULL, VALUE_BOOL,
		     value_number(summary_complete(model, of->info)),
		     "whether every event is in the trace");
	result_field(record, names[side][5], NULL, VALUE_BYTES,
		     value_number(model->image.sample_bytes),
		     "sampling interval; 0 = every allocation is recorded");
}

static void add_states(struct result *record, const struct comparison *self)
{
	enum value_type type = totals[self->query.metric].type;
	const u64 *states = self->states, *sum = self->sum, *matched = self->matched;
	const char *meaning = "rows with this status";

	result_field(record, "changed.rows", "rows", VALUE_COUNT, value_number(self->rows.count),
		     "number of rows",
		     .remark = "{changed.new} new, {changed.gone} gone, {changed.grew} grew, "
			       "{changed.shrank} shrank, {changed.same} same");
	result_field(record, "changed.new", NULL, VALUE_COUNT, value_number(states[COMPARE_NEW]),
		     meaning);
	result_field(record, "changed.gone", NULL, VALUE_COUNT, value_number(states[COMPARE_GONE]),
		     meaning);
	result_field(record, "changed.grew", NULL, VALUE_COUNT, value_number(states[COMPARE_GREW]),
		     meaning);
	result_field(record, "changed.shrank", NULL, VALUE_COUNT,
		     value_number(states[COMPARE_SHRANK]), meaning);
	result_field(record, "changed.same", NULL, VALUE_COUNT, value_number(states[COMPARE_SAME]),
		     meaning);
	result_field(record, "matched.a", "matched", VALUE_SHARE,
		     value_if(sum[0], value_real(units_share(matched[0], sum[0]))),
		     "share of A's metric in rows that both have",
		     .remark = "of A and {matched.b} of B are in rows that both have");
	result_field(record, "matched.b", NULL, VALUE_SHARE,
		     value_if(sum[1], value_real(units_share(matched[1], sum[1]))),
		     "share of B's metric in rows that both have");
	result_field(record, "unmatched.a", NULL, type, value_number(sum[0] - matched[0]),
		     "A's metric in rows that only A has");
	result_field(record, "unmatched.b", NULL, type, value_number(sum[1] - matched[1]),
		     "B's metric in rows that only B has");
}

static void add_head(struct result *record, const struct comparison *self)
{
	bool no_marks = self->query.align == COMPARE_ALIGN_MARKS && !self->anchors;

	add_side(record, self, 0);
	add_side(record, self, 1);
	result_field(record, "by", "by", VALUE_TEXT, value_text(compare_by_name(self->query.by)),
		     "what rows are grouped by", .remark = "in {metric}");
	result_field(record, "metric", NULL, VALUE_TEXT,
		     value_text(compare_metric_name(self->query.metric)),
		     "key that identifies rows");
	add_states(record, self);
	result_field(record, "same_build", NULL, VALUE_BOOL, value_number(is_same_build(self)),
		     "whether both programs have the same build-id, if they have one");
	result_field(record, "time_map", NULL, VALUE_TEXT,
		     value_text(compare_align_name(no_marks ? COMPARE_ALIGN_START
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
	return result_made(record, err, "the comparison");
}
