/* SPDX-License-Identifier: MIT
 * Findings in words, and as a table.
 * Host. Sentences state the number first and the usual repair last. */
#include <math.h>
#include <string.h>

#include "analysis/findings.h"
#include "analysis/summary.h"
#include "analysis/types.h"
#include "base/bytemap.h"
#include "base/units.h"

enum { RANGES_SHOWN = 3 };

/* Damaged traces have times and sizes of any kind. */
static u64 rounded(double number)
{
	return number >= 0x1p63 ? (u64)1 << 63 : number > 0 ? (u64)llround(number) : 0;
}

static struct unit_text count_of(const struct model *model, u64 units)
{
	return units_count(model_count(model, units));
}

/* "9,812 of 10,000 chunks", or "all 10,000 chunks"; with their bytes. */
static void put_chunks(struct strbuf *out, const struct finding *finding, const struct model *model)
{
	u64 chunks = model_count(model, finding->chunks);

	if (finding->chunks == finding->of_chunks && chunks == 1)
		strbuf_add(out, "The only chunk");
	else if (finding->chunks == finding->of_chunks)
		strbuf_addf(out, "All %s chunks", units_count(chunks).text);
	else
		strbuf_addf(out, "%s of %s chunks", units_count(chunks).text,
			    count_of(model, finding->of_chunks).text);
	strbuf_addf(out, " (%s)", units_bytes(finding->bytes).text);
}

static const char *was_or_were(const struct finding *finding, const struct model *model)
{
	return model_count(model, finding->chunks) == 1 ? "was" : "were";
}

static struct unit_text mean_time(const struct finding *finding, const struct model *model)
{
	double chunks = (double)finding->timed_chunks / (double)(1ull << model->count_shift);
	double ticks = chunks > 0 ? finding->ticks / chunks : 0;

	return units_ns(rounded(tick_clock_span_ns(&model->clock, ticks)));
}

static void put_misuse(struct strbuf *out, const struct finding *finding, const struct model *model)
{
	static const char *const texts[MISUSE_KINDS] = {
		[MISUSE_DOUBLE_FREE] = "Frees a block that was freed before",
		[MISUSE_INSIDE] = "Frees an address inside a block",
		[MISUSE_INVALID] = "Frees an address where no block ever was",
		[MISUSE_MISMATCH] = "Frees a block by another family than allocated it",
	};
	static const char *const repairs[MISUSE_KINDS] = {
		[MISUSE_DOUBLE_FREE] = "let one owner free it and forget the pointer",
		[MISUSE_INSIDE] = "keep the pointer that the allocator returned",
		[MISUSE_INVALID] = "free only what was allocated",
		[MISUSE_MISMATCH] = "pair malloc with free, new with delete, new[] with delete[]",
	};
	/* What else may look so; see misuse.c. */
	static const char *const doubts[MISUSE_KINDS] = {
		[MISUSE_DOUBLE_FREE] = "unless the allocator was called where it is not recorded",
		[MISUSE_INSIDE] = "unless the allocator was called where it is not recorded",
		[MISUSE_INVALID] = "unless the allocator was called where it is not recorded",
		[MISUSE_MISMATCH] = "unless an operator without a name does so",
	};
	u64 times = model_count(model, finding->chunks);

	strbuf_add(out, texts[finding->misuse]);
	if (times > 1)
		strbuf_addf(out, ", %s times", units_count(times).text);
	if (finding->confidence != SURE_MEASURED)
		strbuf_addf(out, ", %s", doubts[finding->misuse]);
	strbuf_addf(out, ": %s.", repairs[finding->misuse]);
}

static void put_leak(struct strbuf *out, const struct finding *finding, const struct model *model)
{
	put_chunks(out, finding, model);
	strbuf_addf(out, " %s never freed", was_or_were(finding, model));
	if (finding->chunk_class == CLASS_LOST)
		strbuf_add(out, ", and nothing points to them any more: free them before the last "
				"pointer goes.");
	else if (finding->chunk_class == CLASS_POSSIBLE)
		strbuf_add(out, ", and only pointers into their midst are left: free them before "
				"the pointer to the start goes.");
	else if (finding->chunk_class == CLASS_REACHABLE)
		strbuf_add(out, ", though pointers to them were left: free them when they are no "
				"longer needed.");
	else
		strbuf_add(out, ": free them, unless they are to live as long as the program.");
}

/* Which bytes no chunk ever uses, if that is known and there are any. */
static void put_unused_bytes(struct strbuf *out, const struct point_map *map)
{
	u64 unused = map->size - bytemap_count(map->words, map->size);

	if (!unused)
		return;
	strbuf_addf(out, "; byte%s ", unused == 1 ? "" : "s");
	bytemap_add_ranges(out, map->words, map->size, false, RANGES_SHOWN);
	strbuf_add(out, unused == 1 ? " is" : " are");
	if (map->chunks > 1)
		strbuf_addf(out, " used in none of %s", units_count(map->chunks).text);
	else
		strbuf_add(out, " not");
}

/* Of several stacks at one place, as of a container's parts, the one that costs most. */
static void put_costliest(struct strbuf *out, const struct finding *finding,
			  const struct model *model)
{
	u64 each = rounded(finding->costliest.used);

	if (!finding->costliest.size || finding->points < 2)
		return;
	strbuf_addf(out, ", %s%s of %s bytes in %s of them",
		    (double)each == finding->costliest.used ? "" : "about ", units_count(each).text,
		    units_count(finding->costliest.size).text,
		    count_of(model, finding->costliest.of_chunks).text);
}

/* Sizes differ: bytes of all, else of one chunk. */
static void put_coverage(struct strbuf *out, const struct finding *finding,
			 const struct model *model)
{
	double chunks = (double)finding->chunks / (double)(1ull << model->count_shift);
	u64 used = rounded(finding->covered_bytes);

	if (finding->min_size == finding->max_size && chunks > 0) {
		u64 each = rounded(finding->covered_bytes / chunks);

		strbuf_addf(out, "Only %s%s of %s bytes %s ever used",
			    (double)each * chunks == finding->covered_bytes ? "" : "about ",
			    units_count(each).text, units_count(finding->max_size).text,
			    each == 1 ? "is" : "are");
	} else {
		strbuf_addf(out, "Only %s of %s %s ever used", units_bytes(used).text,
			    units_bytes(finding->bytes).text, used == 1 ? "is" : "are");
	}
	strbuf_addf(out, ", in %s of %s chunks", count_of(model, finding->chunks).text,
		    count_of(model, finding->of_chunks).text);
	put_unused_bytes(out, &finding->map);
	if (finding->min_size != finding->max_size)
		put_costliest(out, finding, model);
	strbuf_add(out, ": allocate what is needed.");
}

static void put_churn(struct strbuf *out, const struct finding *finding, const struct model *model)
{
	strbuf_addf(out, "Allocated and freed %s times", count_of(model, finding->chunks).text);
	if (finding->ticks > 0)
		strbuf_addf(out, ", on average after %s", mean_time(finding, model).text);
	if (finding->temporary)
		strbuf_add(out, ", before the next allocation");
	strbuf_add(out, finding->temporary && finding->max_size <= 4096
				? ": use the stack, or reuse one buffer."
				: ": reuse one buffer.");
}

static void put_growing(struct strbuf *out, const struct finding *finding)
{
	const struct growth_run *run = &finding->growth;

	strbuf_addf(out, "Grew %u times from %s to %s", run->steps,
		    units_bytes(run->from_bytes).text, units_bytes(run->to_bytes).text);
	if (finding->growth_runs > 1)
		strbuf_addf(out, ", one of %s such runs", units_count(finding->growth_runs).text);
	strbuf_add(out, ": reserve the size first.");
}

static void put_text(struct strbuf *out, const struct finding *finding, const struct model *model)
{
	switch (finding->kind) {
	case FINDING_MISUSE:
		put_misuse(out, finding, model);
		break;
	case FINDING_LEAK:
	case FINDING_KEPT:
		put_leak(out, finding, model);
		break;
	case FINDING_GROWTH:
		strbuf_addf(out,
			    "Live bytes rise until the end, by %s a second: bound it, or free what "
			    "is no longer needed.",
			    units_bytes(rounded(finding->bytes_per_s)).text);
		break;
	case FINDING_UNUSED:
		put_chunks(out, finding, model);
		strbuf_addf(out,
			    " %s never accessed: allocate when the need arises, or not at all.",
			    was_or_were(finding, model));
		break;
	case FINDING_WRITE_ONLY:
		put_chunks(out, finding, model);
		strbuf_addf(out, " %s written, but never read: do not fill what nobody reads.",
			    was_or_were(finding, model));
		break;
	case FINDING_READ_ONLY:
		put_chunks(out, finding, model);
		strbuf_addf(out, " %s read, but never written: one constant may do for all.",
			    was_or_were(finding, model));
		break;
	case FINDING_COVERAGE:
		put_coverage(out, finding, model);
		break;
	case FINDING_EARLY:
		strbuf_addf(out,
			    "Allocated on average %s before its first use, in %s of %s chunks: "
			    "allocate it there.",
			    mean_time(finding, model).text, count_of(model, finding->chunks).text,
			    count_of(model, finding->of_chunks).text);
		break;
	case FINDING_LATE:
		strbuf_addf(out,
			    "Kept on average %s after its last use, in %s of %s chunks: free it "
			    "there.",
			    mean_time(finding, model).text, count_of(model, finding->chunks).text,
			    count_of(model, finding->of_chunks).text);
		break;
	case FINDING_CHURN:
		put_churn(out, finding, model);
		break;
	case FINDING_GROWING:
		put_growing(out, finding);
		break;
	case FINDING_ZERO_SIZE:
		strbuf_addf(out, "%s allocations of 0 bytes: do not call for nothing.",
			    count_of(model, finding->chunks).text);
		break;
	case FINDING_KINDS:
		break;
	}
}

static const char *taken(struct strbuf *text, struct result *result)
{
	const char *copy = text->failed ? NULL : result_copy(result, strbuf_text(text));

	strbuf_release(text);
	if (!copy)
		result->failed = true;
	return copy;
}

const char *finding_text(const struct finding *finding, const struct model *model,
			 struct result *result)
{
	struct strbuf text = {0};

	put_text(&text, finding, model);
	return taken(&text, result);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void put_frame(struct strbuf *out, const struct finding_frame *frame)
{
	if (*frame->function)
		strbuf_add(out, frame->function);
	else if (*frame->module)
		strbuf_addf(out, "%s+0x%llx", base_name(frame->module),
			    (unsigned long long)frame->offset);
	else
		strbuf_add(out, "unknown place");
	if (*frame->file && frame->line)
		strbuf_addf(out, " (%s:%u)", base_name(frame->file), frame->line);
	else if (*frame->function && *frame->module)
		strbuf_addf(out, " (%s)", base_name(frame->module));
}

const char *finding_where(const struct finding *finding, const struct stack_source *source,
			  struct result *result)
{
	struct finding_place place = finding_place(source, finding->frame);
	const char *type = stack_type(source, finding->frame);
	struct strbuf text = {0};

	put_frame(&text, &place.own);
	if (*place.caller.module || *place.caller.function) {
		strbuf_add(&text, ", called by ");
		put_frame(&text, &place.caller);
	}
	if (type)
		strbuf_addf(&text, ": %s", type);
	return taken(&text, result);
}

/* ---- as a table ---- */

enum {
	AT_RANK,
	AT_KIND,
	AT_SHARE,
	AT_MEAN_BYTES,
	AT_ALLOCATIONS,
	AT_SURE,
	AT_ID,
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
	AT_STACK,
	COLUMNS
};

static const struct result_column columns[COLUMNS] = {
	[AT_RANK] = COLUMN("rank", "#", VALUE_ID, "place in the list, by share"),
	[AT_KIND] = COLUMN("kind", "finding", VALUE_TEXT, "what it is"),
	[AT_SHARE] = COLUMN("share", "share", VALUE_SHARE,
			    "of the program's bytes × time, allocations or peak: what it costs"),
	[AT_MEAN_BYTES] = COLUMN("mean_bytes", "mean bytes", VALUE_BYTES,
				 "bytes that could be spared, on average over the run"),
	[AT_ALLOCATIONS] = COLUMN("allocations", "allocations", VALUE_COUNT,
				  "allocations that could be spared"),
	[AT_SURE] = COLUMN("confidence", "sure", VALUE_TEXT, "measured, estimated or inferred"),
	[AT_ID] = COLUMN("id", NULL, VALUE_TEXT, "the same in each run that does the same"),
	[AT_BYTE_SECONDS] =
		COLUMN("byte_seconds", NULL, VALUE_RATIO, "bytes × seconds that could be spared"),
	[AT_CHUNKS] = COLUMN("chunks", NULL, VALUE_COUNT, "chunks that it is true of"),
	[AT_OF_CHUNKS] = COLUMN("of_chunks", NULL, VALUE_COUNT, "chunks that were looked at"),
	[AT_BYTES] = COLUMN("bytes", NULL, VALUE_BYTES, "bytes of the chunks that it is true of"),
	[AT_POINTS] = COLUMN("points", NULL, VALUE_COUNT, "allocation points at this place"),
	[AT_FUNCTION] = COLUMN("function", NULL, VALUE_TEXT, "innermost function of the program"),
	[AT_FILE] = COLUMN("file", NULL, VALUE_TEXT, "its source file"),
	[AT_LINE] = COLUMN("line", NULL, VALUE_ID, "its line"),
	[AT_TYPE] = COLUMN("type", NULL, VALUE_TEXT, "type of what is allocated, if it is known"),
	[AT_WHERE] = {.name = "where",
		      .label = "where",
		      .type = VALUE_TEXT,
		      .meaning = "the place in words",
		      .below = true},
	[AT_TEXT] = {.name = "text",
		     .label = "what",
		     .type = VALUE_TEXT,
		     .meaning = "what was seen, and the usual repair",
		     .below = true},
	[AT_STACK] = COLUMN("stack", "stack", VALUE_STACK, "of the point that costs most"),
};

static void fill_place(const struct finding *finding, const struct stack_source *source,
		       struct value *row, struct result *table)
{
	struct finding_place place = finding_place(source, finding->frame);
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
	row[AT_KIND] = value_text(finding_kind_name(finding->kind));
	if (finding->kind != FINDING_MISUSE)
		row[AT_SHARE] = value_real(finding->share < 1 ? finding->share : 1);
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
		goto fail;
	table->empty = "nothing that costs much was found";
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
	if (!result_failed(table))
		return table;
fail:
	err_set(err, ERR_MEMORY, "out of memory for the findings");
	result_free(table);
	return NULL;
}

static void add_totals(struct result *record, const struct findings *self,
		       const struct model *model)
{
	struct result_column column =
		COLUMN("found", "findings", VALUE_COUNT, "findings that are worth a look");

	column.remark = "{below} more cost too little to be listed";
	result_add_field(record, column, value_number(self->rows.count));
	result_add_field(record,
			 (struct result_column)COLUMN("below", NULL, VALUE_COUNT,
						      "findings that cost too little"),
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
		result_add_caveat(record, "no accesses were recorded: whether memory was used is "
					  "unknown");
	else if (self->from_accesses)
		result_add_caveat(record, "one run is one path: what was unused in it may be used "
					  "in another");
	result_add_part(record, table);
	if (!result_failed(record))
		return record;
fail:
	if (!err->code)
		err_set(err, ERR_MEMORY, "out of memory for the findings");
	result_free(record);
	return NULL;
}
