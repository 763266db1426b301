/* SPDX-License-Identifier: MIT
 * Findings as a table.
 * Host. */
#include "study/analysis/findings/cost.h"
#include "study/analysis/findings/findings.h"
#include "study/analysis/findings/text.h"
#include "study/analysis/places/folds.h"
#include "study/analysis/summary/summary.h"
#include "study/analysis/typing/types.h"
#include "host/base/units.h"
#include "study/result/field.h"

/* The columns in their order. */
struct cells {
	struct value rank, level, kind, saves, sure, id, share, amount, unit, mean_bytes,
		allocations, byte_seconds, chunks, of_chunks, bytes, points, function, file, line,
		type, container, where, text, repair, stack;
};

static const struct result_column columns[] = {
	COLUMN("rank", "#", VALUE_ID,
	       "rank: by level; then growth and leaks, the peak, bytes, CPU time"),
	COLUMN("level", "level", VALUE_TEXT, "costly, worth a look, or minor"),
	COLUMN("kind", "finding", VALUE_TEXT, "kind of finding"),
	COLUMN("saves", "a repair saves", VALUE_TEXT,
	       "what a repair would save, with its share of the whole"),
	COLUMN("confidence", "sure", VALUE_TEXT, "confidence: measured, estimated or inferred"),
	COLUMN("id", NULL, VALUE_TEXT, "identifier; the same in every run with the same behaviour"),
	COLUMN("share", NULL, VALUE_SHARE, "share of the whole that a repair would save"),
	COLUMN("saves_amount", NULL, VALUE_RATIO, "what a repair would save, as a number"),
	COLUMN("saves_unit", NULL, VALUE_TEXT,
	       "unit of that number: bytes_per_s (share: of the peak), peak_bytes, mean_bytes, "
	       "resident_bytes or cpu_ns"),
	COLUMN("mean_bytes", NULL, VALUE_BYTES,
	       "bytes that a repair would save, on average over the run"),
	COLUMN("allocations", NULL, VALUE_COUNT, "allocations that a repair would save"),
	COLUMN("byte_seconds", NULL, VALUE_RATIO, "bytes × seconds that a repair would save"),
	COLUMN("chunks", NULL, VALUE_COUNT, "chunks that the finding covers"),
	COLUMN("of_chunks", NULL, VALUE_COUNT, "chunks that were examined"),
	COLUMN("bytes", NULL, VALUE_BYTES, "bytes of the chunks that the finding covers"),
	COLUMN("points", NULL, VALUE_COUNT, "allocation points at this place"),
	COLUMN("function", NULL, VALUE_TEXT, "innermost function of the program's own code"),
	COLUMN("file", NULL, VALUE_TEXT, "its source file"),
	COLUMN("line", NULL, VALUE_ID, "its line"),
	COLUMN("type", NULL, VALUE_TEXT, "type of the allocated memory, if known"),
	COLUMN("container", NULL, VALUE_TEXT, "the container that grows, of findings grows_in"),
	{.name = "where",
	 .label = "where",
	 .type = VALUE_TEXT,
	 .meaning = "the place as text",
	 .below = true},
	{.name = "text",
	 .label = "what",
	 .type = VALUE_TEXT,
	 .meaning = "what was observed, and the usual repair",
	 .below = true},
	COLUMN("repair", NULL, VALUE_TEXT, "the usual repair"),
	COLUMN("stack", "stack", VALUE_STACK, "stack of the point that costs most"),
};
enum { AT_STACK = offsetof(struct cells, stack) / sizeof(struct value) };

static void fill_place(const struct finding *finding, const struct stack_source *source,
		       struct cells *row, struct result *table)
{
	struct finding_place place = finding_place_of(source, finding);

	row->function = result_text(table, *place.own.function ? place.own.function : NULL);
	row->file = result_text(table, *place.own.file ? place.own.file : NULL);
	row->line = value_some(place.own.line);
	row->type = result_text(table, stack_type(source, finding->frame));
	row->container =
		result_text(table, *finding->grows.container ? finding->grows.container : NULL);
	row->where = value_text(finding_where(finding, source, table));
}

/* Rows have numbers of their own, and show their stacks even if an earlier one had the same. */
static const struct result_stack *unnumbered(const struct result_stack *stack, struct result *table)
{
	struct result_stack *mine = arena_new(&table->arena, struct result_stack);

	if (!stack || !mine) {
		table->failed = true;
		return NULL;
	}
	*mine = *stack;
	mine->number = 0;
	return mine;
}

static void fill_row(const struct finding *finding, const struct stack_source *source,
		     struct cells *row, struct result *table)
{
	const struct model *model = source->model;
	double run = (double)(model->last_ticks - model->image.start_ticks);

	row->rank = value_number(result_rows(table));
	row->level = value_text(finding_level_name(finding->level));
	row->kind = value_text(finding_kind_name(finding->kind));
	if (finding->saving.unit != SAVING_NONE) {
		row->saves = value_text(finding_saves(finding, table));
		row->share = value_real(finding->saving.share < 1 ? finding->saving.share : 1);
		row->amount = value_real(finding->saving.amount);
		row->unit = value_text(saving_unit_name(finding->saving.unit));
	}
	if (finding->byte_ticks > 0 && run > 0)
		row->mean_bytes = value_number(rounded(finding->byte_ticks / run));
	if (finding->allocations)
		row->allocations = value_units(model, finding->allocations);
	row->sure = value_text(confidence_name(finding->confidence));
	row->id = result_text(table, finding->id);
	row->byte_seconds =
		value_real(tick_clock_span_ns(&model->clock, finding->byte_ticks) / 1e9);
	row->chunks = value_units(model, finding->chunks);
	if (finding->of_chunks)
		row->of_chunks = value_units(model, finding->of_chunks);
	row->bytes = value_number(finding->bytes);
	row->points = value_number(finding->points);
	fill_place(finding, source, row, table);
	row->text = value_text(finding_text(finding, model, table));
	row->repair = value_text(finding_repair(finding));
	row->stack = value_stack(unnumbered(stack_of(source, finding->frame, table), table));
}

struct result *findings_result(const struct findings *self, const struct stack_source *source,
			       const struct findings_show *show, struct err *err)
{
	struct result *table = result_table("findings", "Findings", columns);
	u64 shown = result_top(self->rows.count, show->top);

	if (!table || table->failed)
		return result_made(table, err, "the findings");
	table->empty = "no repair would save 1 % of the peak, the mean heap or CPU time";
	if (!show->stacks)
		table->columns.data[AT_STACK].label = NULL;
	for (u64 i = 0; i < shown; i++) {
		struct cells *row = result_cells(table);

		if (row)
			fill_row(&self->rows.data[i], source, row, table);
	}
	if (shown < self->rows.count)
		table->title =
			result_format(table, "Findings, the first %s of %s",
				      units_count(shown).text, units_count(self->rows.count).text);
	return result_made(table, err, "the findings");
}

static void add_totals(struct result *record, const struct findings *self,
		       const struct model *model)
{
	result_field(record, "found", "findings", VALUE_COUNT, value_number(self->rows.count),
		     "findings listed",
		     .remark = "--all lists {below} more that would save too little");
	result_field(record, "below", NULL, VALUE_COUNT, value_some(self->below),
		     "findings that would save too little");
	result_field(record, "allocations", "allocations", VALUE_COUNT,
		     value_units(model, model->totals.allocations), "of the whole program");
	result_field(record, "peak_bytes", "peak", VALUE_BYTES,
		     value_number(model_peak(model).bytes), "most bytes live at any moment");
	result_field(record, "allocator_time_ns", "in allocator", VALUE_NS,
		     value_number(model_allocator_ns(model)),
		     "time in the allocator, estimated from a sample", .hide_zero = true,
		     .remark = "of {duration_ns}");
	result_field(record, "duration_ns", NULL, VALUE_NS, value_number(model_duration_ns(model)),
		     "of the run");
}

static bool saves_calls(const struct findings *self)
{
	bool found = false;

	for (u64 i = 0; i < self->rows.count; i++)
		found |= self->rows.data[i].saving.unit == SAVING_CPU_NS;
	return found;
}

struct result *findings_report(const struct findings *self, const struct stack_source *source,
			       const struct trace_info *info, const struct findings_show *show,
			       struct err *err)
{
	struct result *record = result_new(RESULT_RECORD, "summary", "Summary");
	struct result *table = record ? findings_result(self, source, show, err) : NULL;

	if (!table)
		goto fail;
	add_totals(record, self, source->model);
	add_caveats(record, source->model, info);
	if (!source->model->has_access)
		result_add_caveat(record, "no accesses were recorded, so whether memory was used "
					  "is unknown; record with --access valgrind, or build "
					  "with 'heapwise cc'");
	else if (self->from_accesses)
		result_add_caveat(record, "one run takes one path: memory unused here may be used "
					  "in another run");
	if (self->untimed && saves_calls(self))
		result_add_caveat(record,
				  "too few calls of the allocator were timed; each counts %d ns",
				  FINDING_CALL_NS);
	result_add_part(record, table);
	folds_add(source->folds, source->model, record);
	if (!result_failed(record))
		return record;
fail:
	if (!err->code)
		err_memory_for(err, "the findings");
	result_free(record);
	return NULL;
}
