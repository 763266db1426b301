/* SPDX-License-Identifier: MIT
 * Findings as a table.
 * Host. */
#include <string.h>

#include "study/analysis/findings/findings.h"
#include "study/analysis/findings/text.h"
#include "study/analysis/places/folds.h"
#include "study/analysis/summary/summary.h"
#include "study/analysis/typing/types.h"
#include "host/base/units.h"
#include "study/result/field.h"

enum {
	AT_RANK,
	AT_LEVEL,
	AT_KIND,
	AT_SAVES,
	AT_SURE,
	AT_ID,
	AT_SHARE,
	AT_AMOUNT,
	AT_UNIT,
	AT_MEAN_BYTES,
	AT_ALLOCATIONS,
	AT_BYTE_SECONDS,
	AT_CHUNKS,
	AT_OF_CHUNKS,
	AT_BYTES,
	AT_POINTS,
	AT_FUNCTION,
	AT_FILE,
	AT_LINE,
	AT_TYPE,
	AT_WHERE,
	AT_TEXT,
	AT_REPAIR,
	AT_STACK,
	COLUMNS
};

static const struct result_column columns[COLUMNS] = {
	[AT_RANK] = COLUMN("rank", "#", VALUE_ID,
			   "rank: by level; then growth and leaks, the peak, bytes, CPU time"),
	[AT_LEVEL] = COLUMN("level", "level", VALUE_TEXT, "costly, worth a look, or minor"),
	[AT_KIND] = COLUMN("kind", "finding", VALUE_TEXT, "kind of finding"),
	[AT_SAVES] = COLUMN("saves", "a repair saves", VALUE_TEXT,
			    "what a repair would save, with its share of the whole"),
	[AT_SHARE] =
		COLUMN("share", NULL, VALUE_SHARE, "share of the whole that a repair would save"),
	[AT_AMOUNT] =
		COLUMN("saves_amount", NULL, VALUE_RATIO, "what a repair would save, as a number"),
	[AT_UNIT] = COLUMN("saves_unit", NULL, VALUE_TEXT,
			   "unit of that number: bytes_per_s (share: of the peak), peak_bytes, "
			   "mean_bytes, resident_bytes or cpu_ns"),
	[AT_MEAN_BYTES] = COLUMN("mean_bytes", NULL, VALUE_BYTES,
				 "bytes that a repair would save, on average over the run"),
	[AT_ALLOCATIONS] =
		COLUMN("allocations", NULL, VALUE_COUNT, "allocations that a repair would save"),
	[AT_SURE] = COLUMN("confidence", "sure", VALUE_TEXT,
			   "confidence: measured, estimated or inferred"),
	[AT_ID] = COLUMN("id", NULL, VALUE_TEXT,
			 "identifier; the same in every run with the same behaviour"),
	[AT_BYTE_SECONDS] = COLUMN("byte_seconds", NULL, VALUE_RATIO,
				   "bytes × seconds that a repair would save"),
	[AT_CHUNKS] = COLUMN("chunks", NULL, VALUE_COUNT, "chunks that the finding covers"),
	[AT_OF_CHUNKS] = COLUMN("of_chunks", NULL, VALUE_COUNT, "chunks that were examined"),
	[AT_BYTES] =
		COLUMN("bytes", NULL, VALUE_BYTES, "bytes of the chunks that the finding covers"),
	[AT_POINTS] = COLUMN("points", NULL, VALUE_COUNT, "allocation points at this place"),
	[AT_FUNCTION] = COLUMN("function", NULL, VALUE_TEXT,
			       "innermost function of the program's own code"),
	[AT_FILE] = COLUMN("file", NULL, VALUE_TEXT, "its source file"),
	[AT_LINE] = COLUMN("line", NULL, VALUE_ID, "its line"),
	[AT_TYPE] = COLUMN("type", NULL, VALUE_TEXT, "type of the allocated memory, if known"),
	[AT_WHERE] = {.name = "where",
		      .label = "where",
		      .type = VALUE_TEXT,
		      .meaning = "the place as text",
		      .below = true},
	[AT_TEXT] = {.name = "text",
		     .label = "what",
		     .type = VALUE_TEXT,
		     .meaning = "what was observed, and the usual repair",
		     .below = true},
	[AT_REPAIR] = COLUMN("repair", NULL, VALUE_TEXT, "the usual repair"),
	[AT_STACK] = COLUMN("stack", "stack", VALUE_STACK, "stack of the point that costs most"),
};

static void fill_place(const struct finding *finding, const struct stack_source *source,
		       struct value *row, struct result *table)
{
	struct finding_place place = finding_place_of(source, finding);
	const char *type = stack_type(source, finding->frame);

	if (*place.own.function)
		row[AT_FUNCTION] = value_text(result_copy(table, place.own.function));
	if (*place.own.file)
		row[AT_FILE] = value_text(result_copy(table, place.own.file));
	if (place.own.line)
		row[AT_LINE] = value_number(place.own.line);
	row[AT_TYPE] = value_text(type ? result_copy(table, type) : NULL);
	row[AT_WHERE] = value_text(finding_where(finding, source, table));
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

static void fill_row(const struct finding *finding, const struct stack_source *source, u64 rank,
		     struct value *row, struct result *table)
{
	const struct model *model = source->model;
	double run = (double)(model->last_ticks - model->image.start_ticks);

	for (u32 i = 0; i < COLUMNS; i++)
		row[i] = value_unknown();
	row[AT_RANK] = value_number(rank);
	row[AT_LEVEL] = value_text(finding_level_name(finding->level));
	row[AT_KIND] = value_text(finding_kind_name(finding->kind));
	if (finding->saving.unit != SAVING_NONE) {
		row[AT_SAVES] = value_text(finding_saves(finding, table));
		row[AT_SHARE] = value_real(finding->saving.share < 1 ? finding->saving.share : 1);
		row[AT_AMOUNT] = value_real(finding->saving.amount);
		row[AT_UNIT] = value_text(saving_unit_name(finding->saving.unit));
	}
	if (finding->byte_ticks > 0 && run > 0)
		row[AT_MEAN_BYTES] = value_number(rounded(finding->byte_ticks / run));
	if (finding->allocations)
		row[AT_ALLOCATIONS] = value_number(model_count(model, finding->allocations));
	row[AT_SURE] = value_text(confidence_name(finding->confidence));
	row[AT_ID] = value_text(result_copy(table, finding->id));
	row[AT_BYTE_SECONDS] =
		value_real(tick_clock_span_ns(&model->clock, finding->byte_ticks) / 1e9);
	row[AT_CHUNKS] = value_number(model_count(model, finding->chunks));
	if (finding->of_chunks)
		row[AT_OF_CHUNKS] = value_number(model_count(model, finding->of_chunks));
	row[AT_BYTES] = value_number(finding->bytes);
	row[AT_POINTS] = value_number(finding->points);
	fill_place(finding, source, row, table);
	row[AT_TEXT] = value_text(finding_text(finding, model, table));
	row[AT_REPAIR] = value_text(finding_repair(finding));
	row[AT_STACK] = value_stack(unnumbered(stack_of(source, finding->frame, table), table));
}

static void set_columns(struct result *table, bool stacks)
{
	for (u32 i = 0; i < COLUMNS; i++) {
		struct result_column column = columns[i];

		if (i == AT_STACK && !stacks)
			column.label = NULL;
		result_set_columns(table, &column, 1);
	}
}

/* "Findings, the first 5 of 12" */
static const char *part_title(struct result *table, u64 shown, u64 count)
{
	struct strbuf text = {0};

	strbuf_addf(&text, "Findings, the first %s of %s", units_count(shown).text,
		    units_count(count).text);
	return taken(&text, table);
}

struct result *findings_result(const struct findings *self, const struct stack_source *source,
			       const struct findings_show *show, struct err *err)
{
	struct result *table = result_new(RESULT_TABLE, "findings", "Findings");
	u64 shown = show->top && show->top < self->rows.count ? show->top : self->rows.count;

	if (!table)
		return result_made(NULL, err, "the findings");
	table->empty = "no repair would save 1 % of the peak, the mean heap or CPU time";
	set_columns(table, show->stacks);
	for (u64 i = 0; i < shown; i++) {
		struct value values[COLUMNS], *row;

		fill_row(&self->rows.data[i], source, i + 1, values, table);
		row = result_add_row(table);
		if (row)
			memcpy(row, values, sizeof values);
	}
	if (shown < self->rows.count)
		table->title = part_title(table, shown, self->rows.count);
	return result_made(table, err, "the findings");
}

static void add_totals(struct result *record, const struct findings *self,
		       const struct model *model)
{
	struct result_column column = COLUMN("found", "findings", VALUE_COUNT, "findings listed");

	column.remark = "--all lists {below} more that would save too little";
	result_add_field(record, column, value_number(self->rows.count));
	result_add_field(record,
			 (struct result_column)COLUMN("below", NULL, VALUE_COUNT,
						      "findings that would save too little"),
			 self->below ? value_number(self->below) : value_unknown());
	result_add_field(record,
			 (struct result_column)COLUMN("allocations", "allocations", VALUE_COUNT,
						      "of the whole program"),
			 value_number(model_count(model, model->totals.allocations)));
	result_add_field(record,
			 (struct result_column)COLUMN("peak_bytes", "peak", VALUE_BYTES,
						      "most bytes live at any moment"),
			 value_number(model->totals.peak_bytes));
	column = (struct result_column)COLUMN("allocator_time_ns", "in allocator", VALUE_NS,
					      "time in the allocator, estimated from a sample");
	column.hide_zero = true;
	column.remark = "of {duration_ns}";
	result_add_field(record, column, value_number(model_allocator_ns(model)));
	result_add_field(record,
			 (struct result_column)COLUMN("duration_ns", NULL, VALUE_NS, "of the run"),
			 value_number(model_duration_ns(model)));
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
