/* SPDX-License-Identifier: MIT
 * Findings in words, and as a table.
 * Host. Sentences state the number first and the usual repair last. */
#include <math.h>
#include <string.h>

#include "host/base/path.h"
#include "study/analysis/findings/findings.h"
#include "study/analysis/places/folds.h"
#include "study/analysis/summary/summary.h"
#include "study/analysis/typing/types.h"
#include "host/base/bytemap.h"
#include "host/base/units.h"

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
		strbuf_addf(out, "%s of %s", units_count(chunks).text,
			    units_things(model_count(model, finding->of_chunks), "chunk(s)").text);
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

/* "MiB a second" of growth, or nothing where it does not grow, or the run was too short for a forecast. */
static void put_rate(struct strbuf *out, const struct finding *finding)
{
	double gib_ns = 0x1p30 / finding->bytes_per_s * 1e9;

	if (finding->bytes_per_s <= 0 || finding->short_run)
		return;
	strbuf_addf(out, ", by %s a second", units_bytes(rounded(finding->bytes_per_s)).text);
	if (gib_ns < 100.0 * 24 * 3600 * 1e9)
		strbuf_addf(out, " (1 GiB in %s)", units_ns(rounded(gib_ns)).text);
}

static void put_misuse(struct strbuf *out, const struct finding *finding, const struct model *model)
{
	static const char *const texts[MISUSE_KINDS] = {
		[MISUSE_DOUBLE_FREE] = "Frees a block that was freed before",
		[MISUSE_INSIDE] = "Frees an address inside a block",
		[MISUSE_INVALID] = "Frees an address that was never a block",
		[MISUSE_MISMATCH] = "Frees a block with the wrong deallocator",
	};
	/* What else may look so; see misuse.c. */
	static const char *const doubts[MISUSE_KINDS] = {
		[MISUSE_DOUBLE_FREE] = "unless an unrecorded call of the allocator explains it",
		[MISUSE_INSIDE] = "unless an unrecorded call of the allocator explains it",
		[MISUSE_INVALID] = "unless an unrecorded call of the allocator explains it",
		[MISUSE_MISMATCH] = "unless an operator without a symbol name explains it",
	};
	u64 times = model_count(model, finding->chunks);

	strbuf_add(out, texts[finding->misuse]);
	if (times > 1)
		strbuf_addf(out, ", %s", units_things(times, "time(s)").text);
	if (finding->confidence != SURE_MEASURED)
		strbuf_addf(out, ", %s", doubts[finding->misuse]);
}

static void put_leak(struct strbuf *out, const struct finding *finding, const struct model *model)
{
	bool one = model_count(model, finding->chunks) == 1;

	put_chunks(out, finding, model);
	strbuf_addf(out, " %s never freed", was_or_were(finding, model));
	if (finding->chunk_class == CLASS_LOST)
		strbuf_addf(out, ", and nothing points to %s any more", one ? "it" : "them");
	else if (finding->chunk_class == CLASS_INDIRECT)
		strbuf_addf(out, ", and only lost chunks point to %s", one ? "it" : "them");
	else if (finding->chunk_class == CLASS_POSSIBLE)
		strbuf_add(out, ", and only interior pointers remain");
	else if (finding->chunk_class == CLASS_REACHABLE)
		strbuf_addf(out, ", though pointers to %s remain", one ? "it" : "them");
	if (finding->led_bytes)
		strbuf_addf(out, ", nor to %s that only %s", units_bytes(finding->led_bytes).text, one ? "it leads to" : "they lead to");
	if (finding->bytes_per_s > 0) {
		strbuf_add(out, "; the amount grows until the end");
		put_rate(out, finding);
	}
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
	strbuf_addf(out, ", in %s of %s", count_of(model, finding->chunks).text,
		    units_things(model_count(model, finding->of_chunks), "chunk(s)").text);
	put_unused_bytes(out, &finding->map);
	if (finding->min_size != finding->max_size)
		put_costliest(out, finding, model);
}

static void put_churn(struct strbuf *out, const struct finding *finding, const struct model *model)
{
	strbuf_addf(out, "Allocated and freed %s", units_things(model_count(model, finding->chunks), "time(s)").text);
	if (finding->ticks > 0)
		strbuf_addf(out, ", on average after %s", mean_time(finding, model).text);
	if (finding->temporary)
		strbuf_add(out, ", before the next allocation");
}

static void put_growing(struct strbuf *out, const struct finding *finding, const struct model *model)
{
	const struct growth_run *run = &finding->growth;

	if (!run->steps) {
		strbuf_addf(out, "Resized %s by realloc", units_things(model_count(model, finding->chunks), "time(s)").text);
		return;
	}
	strbuf_addf(out, "Grew %s from %s to %s", units_things(run->steps, "time(s)").text,
		    units_bytes(run->from_bytes).text, units_bytes(run->to_bytes).text);
	if (finding->growth_runs > 1)
		strbuf_addf(out, ", one of %s such runs", units_count(finding->growth_runs).text);
}

static void put_growth(struct strbuf *out, const struct finding *finding)
{
	if (finding->short_run)
		strbuf_addf(out, "Live bytes grew to %s until the end of this short run", units_bytes(finding->bytes).text);
	else
		strbuf_add(out, "Live bytes grow until the end");
	put_rate(out, finding);
}

static void put_peak(struct strbuf *out, const struct finding *finding)
{
	if (finding->of_arena)
		strbuf_addf(out, "An arena filled by %s holds %s at the peak, in chunks of %s to %s", units_things(finding->points, "stack(s)").text,
			    units_bytes(finding->bytes).text, units_bytes(finding->min_size).text, units_bytes(finding->max_size).text);
	else if (finding->of_entry)
		strbuf_addf(out, "What this call makes the library allocate, from %u stacks, holds %s at the peak", finding->points,
			    units_bytes(finding->bytes).text);
	else if (finding->of_type && finding->min_size == finding->max_size)
		strbuf_addf(out, "Chunks of %s, from %s, hold %s at the peak", units_things(finding->min_size, "byte(s)").text,
			    units_things(finding->points, "stack(s)").text, units_bytes(finding->bytes).text);
	else if (finding->of_type)
		strbuf_addf(out, "Objects of this type, from %s, hold %s at the peak", units_things(finding->points, "stack(s)").text,
			    units_bytes(finding->bytes).text);
	else
		strbuf_addf(out, "Holds %s at the peak", units_bytes(finding->bytes).text);
	if (finding->kind == FINDING_BURST)
		strbuf_addf(out, ", at least half of it for only %s of the run",
			    finding->held < 0.01 ? "1 % or less" : units_percent(finding->held).text);
	if (finding->left_bytes >= finding->bytes)
		strbuf_add(out, ", and it was never freed");
	else if (finding->left_bytes)
		strbuf_addf(out, ", %s at the end", units_bytes(finding->left_bytes).text);
}

static void put_resident(struct strbuf *out, const struct finding *finding)
{
	strbuf_addf(out, "%s stayed resident for %s with %s live: the allocator did not return %s",
		    units_bytes(finding->of_bytes).text, units_ns(finding->lasted_ns).text, units_bytes(finding->left_bytes).text,
		    units_bytes(finding->bytes).text);
	if (finding->free_bytes)
		strbuf_addf(out, ", %s of it on pages without a live chunk", units_bytes(finding->free_bytes).text);
	strbuf_add(out, "; most was freed here");
}

static void put_seen(struct strbuf *out, const struct finding *finding, const struct model *model)
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
		put_growth(out, finding);
		break;
	case FINDING_PEAK:
	case FINDING_BURST:
		put_peak(out, finding);
		break;
	case FINDING_RESIDENT:
		put_resident(out, finding);
		break;
	case FINDING_UNUSED:
		put_chunks(out, finding, model);
		strbuf_addf(out, " %s never accessed", was_or_were(finding, model));
		break;
	case FINDING_WRITE_ONLY:
		put_chunks(out, finding, model);
		strbuf_addf(out, " %s written but never read", was_or_were(finding, model));
		break;
	case FINDING_READ_ONLY:
		put_chunks(out, finding, model);
		strbuf_addf(out, " %s read but never written", was_or_were(finding, model));
		break;
	case FINDING_COVERAGE:
		put_coverage(out, finding, model);
		break;
	case FINDING_EARLY:
		strbuf_addf(out, "Allocated on average %s before the first use, in %s of %s",
			    mean_time(finding, model).text, count_of(model, finding->chunks).text,
			    units_things(model_count(model, finding->of_chunks), "chunk(s)").text);
		break;
	case FINDING_LATE:
		strbuf_addf(out, "Held on average %s after the last use, in %s of %s",
			    mean_time(finding, model).text, count_of(model, finding->chunks).text,
			    units_things(model_count(model, finding->of_chunks), "chunk(s)").text);
		break;
	case FINDING_CHURN:
		put_churn(out, finding, model);
		break;
	case FINDING_GROWING:
		put_growing(out, finding, model);
		break;
	case FINDING_ZERO_SIZE:
		strbuf_add(out, units_things(model_count(model, finding->chunks), "allocation(s) of 0 bytes").text);
		break;
	case FINDING_KINDS:
		break;
	}
}

static const char *leak_repair(const struct finding *finding)
{
	switch (finding->chunk_class) {
	case CLASS_LOST:
		return "free the memory before the last pointer to it is gone";
	case CLASS_INDIRECT:
		return "free it together with the memory that points to it";
	case CLASS_POSSIBLE:
		return "free the memory before the pointer to its start is gone";
	case CLASS_REACHABLE:
		return "free the memory when it is no longer needed";
	default:
		return "free the memory, unless it must live as long as the program";
	}
}

const char *finding_repair(const struct finding *finding)
{
	static const char *const of_misuse[MISUSE_KINDS] = {
		[MISUSE_DOUBLE_FREE] = "give the block one owner, and clear the pointer after free",
		[MISUSE_INSIDE] = "pass free the pointer that the allocator returned",
		[MISUSE_INVALID] = "free only memory that was allocated",
		[MISUSE_MISMATCH] = "pair malloc with free, new with delete, new[] with delete[]",
	};
	static const char *const of_kind[FINDING_KINDS] = {
		[FINDING_GROWTH] = "limit the size, or free what is no longer needed",
		[FINDING_UNUSED] = "allocate only when the memory is needed",
		[FINDING_WRITE_ONLY] = "do not fill memory that nothing reads",
		[FINDING_READ_ONLY] = "share one constant instead",
		[FINDING_COVERAGE] = "allocate only what is needed",
		[FINDING_EARLY] = "allocate just before the first use",
		[FINDING_LATE] = "free right after the last use",
		[FINDING_GROWING] = "reserve the final size first",
		[FINDING_ZERO_SIZE] = "skip the call when the size is 0",
		[FINDING_PEAK] = "hold less at once, or store it more compactly",
		[FINDING_BURST] = "work in smaller pieces",
	};

	if (finding->kind == FINDING_MISUSE)
		return of_misuse[finding->misuse];
	if (finding->kind == FINDING_LEAK || finding->kind == FINDING_KEPT)
		return leak_repair(finding);
	if (finding->of_arena)
		return "put less into it, or free it sooner; --no-fold shows who fills it";
	if (finding->kind == FINDING_RESIDENT)
		return 2 * finding->free_bytes >= finding->bytes ? "call malloc_trim() afterwards, or free in reverse "
								   "order of allocation"
								 : "allocate long-lived memory apart from short-lived "
								   "memory";
	if (finding->kind == FINDING_CHURN)
		return finding->temporary && finding->max_size <= 4096 ? "use the stack, or reuse one buffer"
								       : "reuse one buffer";
	return of_kind[finding->kind];
}

static const char *taken(struct strbuf *text, struct result *result)
{
	const char *copy = text->failed ? NULL : result_copy(result, strbuf_text(text));

	strbuf_release(text);
	if (!copy)
		result->failed = true;
	return copy;
}

const char *finding_seen(const struct finding *finding, const struct model *model,
			 struct result *result)
{
	struct strbuf text = {0};

	put_seen(&text, finding, model);
	return taken(&text, result);
}

const char *finding_text(const struct finding *finding, const struct model *model,
			 struct result *result)
{
	struct strbuf text = {0};

	put_seen(&text, finding, model);
	strbuf_addf(&text, ": %s.", finding_repair(finding));
	return taken(&text, result);
}

const char *finding_saves(const struct finding *finding, struct result *result)
{
	static const char *const wholes[SAVING_UNITS] = {
		[SAVING_BYTES_PER_S] = "of the peak",
		[SAVING_PEAK_BYTES] = "of the peak",
		[SAVING_MEAN_BYTES] = "of the mean heap",
		[SAVING_RESIDENT_BYTES] = "of resident memory",
		[SAVING_CPU_NS] = "of CPU time",
	};
	const struct saving *saving = &finding->saving;
	struct strbuf text = {0};
	u64 amount = rounded(saving->amount);

	if (saving->unit == SAVING_CPU_NS)
		strbuf_addf(&text, "about %s", units_ns(amount).text);
	else if (saving->unit != SAVING_NONE)
		strbuf_addf(&text, "%s%s%s", finding_holds_peak(finding) ? "up to " : "",
			    units_bytes(amount).text,
			    saving->unit == SAVING_BYTES_PER_S ? "/s" : "");
	if (saving->unit != SAVING_NONE)
		strbuf_addf(&text, ", %s %s", units_percent(saving->share < 1 ? saving->share : 1).text,
			    wholes[saving->unit]);
	return taken(&text, result);
}

static void put_frame(struct strbuf *out, const struct finding_frame *frame)
{
	if (*frame->function)
		strbuf_add(out, frame->function);
	else if (*frame->module)
		strbuf_addf(out, "%s+0x%llx", path_file(frame->module),
			    (unsigned long long)frame->offset);
	else
		strbuf_add(out, "unknown place");
	if (*frame->file && frame->line)
		strbuf_addf(out, " (%s:%u)", path_file(frame->file), frame->line);
	else if (*frame->function && *frame->module)
		strbuf_addf(out, " (%s)", path_file(frame->module));
}

const char *finding_where(const struct finding *finding, const struct stack_source *source,
			  struct result *result)
{
	struct finding_place place = finding_place_of(source, finding);
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
	[AT_SAVES] = COLUMN("saves", "a repair saves", VALUE_TEXT, "what a repair would save, with its share of the "
								   "whole"),
	[AT_SHARE] = COLUMN("share", NULL, VALUE_SHARE, "share of the whole that a repair would save"),
	[AT_AMOUNT] = COLUMN("saves_amount", NULL, VALUE_RATIO, "what a repair would save, as a number"),
	[AT_UNIT] = COLUMN("saves_unit", NULL, VALUE_TEXT,
			   "unit of that number: bytes_per_s (share: of the peak), peak_bytes, mean_bytes, "
			   "resident_bytes or cpu_ns"),
	[AT_MEAN_BYTES] = COLUMN("mean_bytes", NULL, VALUE_BYTES,
				 "bytes that a repair would save, on average over the run"),
	[AT_ALLOCATIONS] = COLUMN("allocations", NULL, VALUE_COUNT,
				  "allocations that a repair would save"),
	[AT_SURE] = COLUMN("confidence", "sure", VALUE_TEXT, "confidence: measured, estimated or inferred"),
	[AT_ID] = COLUMN("id", NULL, VALUE_TEXT, "identifier; the same in every run with the same behaviour"),
	[AT_BYTE_SECONDS] =
		COLUMN("byte_seconds", NULL, VALUE_RATIO, "bytes × seconds that a repair would save"),
	[AT_CHUNKS] = COLUMN("chunks", NULL, VALUE_COUNT, "chunks that the finding covers"),
	[AT_OF_CHUNKS] = COLUMN("of_chunks", NULL, VALUE_COUNT, "chunks that were examined"),
	[AT_BYTES] = COLUMN("bytes", NULL, VALUE_BYTES, "bytes of the chunks that the finding covers"),
	[AT_POINTS] = COLUMN("points", NULL, VALUE_COUNT, "allocation points at this place"),
	[AT_FUNCTION] = COLUMN("function", NULL, VALUE_TEXT, "innermost function of the program's own code"),
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
		goto fail;
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
	if (!result_failed(table))
		return table;
fail:
	err_memory_for(err, "the findings");
	result_free(table);
	return NULL;
}

static void add_totals(struct result *record, const struct findings *self,
		       const struct model *model)
{
	struct result_column column =
		COLUMN("found", "findings", VALUE_COUNT, "findings listed");

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
		result_add_caveat(record, "no accesses were recorded, so whether memory was used is unknown; record "
					  "with --access valgrind, or build with 'heapwise cc'");
	else if (self->from_accesses)
		result_add_caveat(record, "one run takes one path: memory unused here may be used in another run");
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
