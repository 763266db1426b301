/* SPDX-License-Identifier: MIT
 * Types as tables.
 * Host. */
#include "study/analysis/types/result.h"

#include <string.h>

#include "study/analysis/types/list.h"
#include "host/base/base64.h"
#include "host/base/order.h"
#include "host/base/keyed.h"
#include "host/base/units.h"
#include "host/symbols/type_text.h"
#include "study/model/each.h"
#include "study/result/field.h"

static const char *const words[] = {
	[TYPES_BY_PEAK] = "peak",
	[TYPES_BY_BYTES] = "bytes",
	[TYPES_BY_COUNT] = "count",
	[TYPES_BY_KEPT] = "kept",
};

bool types_by_parse(const char *word, enum types_by *by) { return word_parse(words, word, by); }

/* ---- order ---- */

static u64 measure(const struct type_sums *row, enum types_by by)
{
	switch (by) {
	case TYPES_BY_PEAK: return row->peak_bytes;
	case TYPES_BY_BYTES: return row->bytes;
	case TYPES_BY_COUNT: return row->chunks;
	case TYPES_BY_KEPT: return row->kept_bytes;
	}
	return 0;
}

static int largest_first(const void *a, const void *b, void *by)
{
	const struct type_sums *x = *(const struct type_sums *const *)a;
	const struct type_sums *y = *(const struct type_sums *const *)b;
	u64 mx = measure(x, *(enum types_by *)by), my = measure(y, *(enum types_by *)by);

	return falling(mx, my) ?: falling(x->bytes, y->bytes)
		       ?: strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

/* ---- table ---- */

/* The columns in their order. */
struct cells {
	struct value chunks, elements, bytes, peak, kept, life, origin, sure, scores[SCORES], type,
		share, peak_chunks, kept_chunks, severity, points, template, spark;
};
enum { AT_SCORES = offsetof(struct cells, scores) / sizeof(struct value) };

static const struct result_column columns[] = {
	COLUMN("chunks", "chunks", VALUE_COUNT, "allocations of this type"),
	COLUMN("count", "count", VALUE_COUNT, "elements in them, if known for all"),
	COLUMN("bytes", "bytes", VALUE_BYTES, "requested bytes"),
	COLUMN("at_peak_bytes", "peak", VALUE_BYTES,
	       "live bytes at the moment of the program's peak"),
	COLUMN("kept_bytes", "kept", VALUE_BYTES, "bytes never freed"),
	COLUMN("mean_life_ns", "mean life", VALUE_NS, "mean lifetime of the freed chunks"),
	COLUMN("source", "source", VALUE_TEXT, "source of the type"),
	COLUMN("confidence", "sure", VALUE_TEXT,
	       "exact, likely or guess; the lowest of all chunks"),
	COLUMN("lifetime", "lifetime", VALUE_RATIO, "lifetime score of its points; 0 to 1"),
	COLUMN("usage", "usage", VALUE_RATIO, "usage score of its points; 0 to 1"),
	COLUMN("useful", "useful", VALUE_RATIO, "useful-lifetime score of its points; 0 to 1"),
	COLUMN("type", "type", VALUE_TEXT, "type of the chunks' contents; none = unknown"),
	COLUMN("share", NULL, VALUE_SHARE, "share of all bytes"),
	COLUMN("at_peak_chunks", NULL, VALUE_COUNT, "live chunks at that moment"),
	COLUMN("kept_chunks", NULL, VALUE_COUNT, "chunks never freed"),
	COLUMN("severity", NULL, VALUE_ID, "severity of its points together: 1 (best) to 12"),
	COLUMN("points", NULL, VALUE_COUNT, "allocation points of only this type"),
	COLUMN("template", NULL, VALUE_TEXT, "the type without template arguments"),
	/* only if it was asked for */
	COLUMN("spark", NULL, VALUE_TEXT,
	       "live bytes over the run: base64 of one byte per part, 255 = the highest"),
};

static const char *origin_word(u8 origin, bool sampled)
{
	return origin == ORIGIN_VTABLE && sampled ? "vtable (sampled)" : type_origin_name(origin);
}

/* "frame", "vtable (sampled), frame" */
static const char *origin_words(struct result *table, u32 origins, bool sampled)
{
	struct strbuf text = {0};

	for (u8 i = 0; i < TYPE_ORIGINS; i++)
		if (origins >> i & 1)
			strbuf_addf(&text, "%s%s", text.count ? ", " : "", origin_word(i, sampled));
	return result_take(table, &text);
}

static void fill_scores(const struct type_sums *sums, struct cells *row)
{
	struct score_set scores = scores_of(&sums->behaviour);

	for (u32 i = 0; i < SCORES; i++)
		row->scores[i] = value_if(scores.known[i], value_real(scores.value[i]));
	row->severity = value_some(severity_step(&scores));
}

static const char *spark_of(struct result *table, const struct type_sums *sums, u32 bins)
{
	u8 spark[TYPE_BINS];
	char *text;
	const char *copy;

	type_spark(sums, spark, bins);
	text = base64_text(spark, bins);
	copy = text ? result_copy(table, text) : NULL;
	free(text);
	return copy;
}

static const char *template_of(struct result *table, const char *type)
{
	struct strbuf text = {0};

	type_add_folded(&text, type);
	return result_take(table, &text);
}

static void fill_row(const struct type_list *self, const struct type_sums *sums, struct cells *row,
		     struct result *table)
{
	const struct model *model = self->model;

	row->type = result_text(table, sums->name);
	row->chunks = value_units(model, sums->chunks);
	if (sums->all_elements && sums->name)
		row->elements = value_units(model, sums->elements);
	row->bytes = value_number(sums->bytes);
	row->peak = value_number(sums->peak_bytes);
	row->kept = value_number(sums->kept_bytes);
	if (sums->freed > 0)
		row->life = value_number(
			(u64)tick_clock_span_ns(&model->clock, sums->life_ticks / sums->freed));
	row->origin = value_text(origin_words(table, sums->origins, sums->sampled));
	fill_scores(sums, row);
	row->share = value_real(units_share(sums->bytes, self->bytes));
	row->peak_chunks = value_units(model, sums->peak_chunks);
	row->kept_chunks = value_units(model, sums->kept_chunks);
	row->points = value_number(sums->points);
	if (!sums->name)
		return;
	row->sure = value_text(type_confidence_name(sums->confidence));
	row->template = value_text(template_of(table, sums->name));
}

static void add_rows(const struct type_list *self, const struct types_query *query,
		     const struct type_sums *const *rows, struct result *table)
{
	u64 end = self->rows.count;

	if (query->top && query->top < end - (query->offset < end ? query->offset : end))
		end = query->offset + query->top;
	for (u64 i = query->offset; i < end; i++) {
		struct cells *row = result_cells(table);

		if (!row)
			break;
		fill_row(self, rows[i], row, table);
		if (query->spark)
			row->spark = value_text(spark_of(table, rows[i], query->spark));
	}
}

/* The rows themselves are not moved: others may look at them. */
static struct result *types_table(const struct type_list *self, const struct types_query *query)
{
	struct result *table = result_new_table("types", "Types, largest first", columns,
						sizeof columns / sizeof *columns - !query->spark);
	const struct type_sums **rows = calloc(self->rows.count + 1, sizeof *rows);
	enum types_by by = query->by;

	if (!table || !rows || table->failed) {
		free(rows);
		result_free(table);
		return NULL;
	}
	for (u64 i = 0; i < self->rows.count; i++)
		rows[i] = &self->rows.data[i];
	qsort_r(rows, self->rows.count, sizeof *rows, largest_first, &by);
	for (u32 i = 0; i < SCORES && !self->model->has_access; i++)
		table->columns.data[AT_SCORES + i].label = NULL;
	table->empty = "nothing was allocated";
	add_rows(self, query, rows, table);
	free(rows);
	return table;
}

/* ---- chunks ---- */

static const struct result_column chunk_columns[] = {
	COLUMN("chunk", "chunk", VALUE_ID, "number of the chunk"),
	COLUMN("address", "address", VALUE_ADDRESS, "address of its first byte"),
	COLUMN("size", "size", VALUE_BYTES, "requested bytes"),
	COLUMN("count", "count", VALUE_COUNT, "elements"),
	COLUMN("type", "type", VALUE_TEXT, "type of its contents"),
	COLUMN("source", "source", VALUE_TEXT, "source of the type"),
	COLUMN("confidence", "sure", VALUE_TEXT, "exact, likely or guess"),
	COLUMN("kept", "kept", VALUE_BOOL, "whether it was never freed"),
};

static struct result *chunks_table(struct type_cascade *types, const struct types_query *query)
{
	const struct model *model = types->query.source->model;
	struct result *table = result_table("chunks", "Chunks", chunk_columns);
	u64 shown = 0;

	if (!table)
		return NULL;
	table->empty = "nothing was allocated";
	EACH_CHUNK (chunk, model) {
		u64 size = chunk.page->size[chunk.at];
		struct type_answer answer;

		if ((query->top && shown++ == query->top) || table->failed)
			break;
		answer = type_of_chunk(types, chunk.number);
		result_row(table, value_number(chunk.number),
			   value_number(chunk.page->address[chunk.at]), value_number(size),
			   value_some(type_elements(types, &answer, chunk.number)),
			   result_text(table, answer.name),
			   value_text(origin_word(answer.origin, answer.sampled)),
			   value_text(type_confidence_name(answer.confidence)),
			   value_number(chunk_is_kept(&chunk)));
	}
	return table;
}

/* ---- summary ---- */

static const struct {
	const char *share, *label, *remark, *bytes, *chunks;
} origin_fields[TYPE_ORIGINS] = {
	[ORIGIN_NONE] = {"unknown_share", "unknown", "of the bytes, {unknown_chunks:chunk}",
			 "unknown_bytes", "unknown_chunks"},
	[ORIGIN_DECLARED] = {"declared_share", "declared",
			     "{declared_chunks:chunk}: declared by the program", "declared_bytes",
			     "declared_chunks"},
	[ORIGIN_VTABLE] = {"vtable_share", "vtable",
			   "{vtable_chunks:chunk}: read from the objects; {sampled_chunks} sampled",
			   "vtable_bytes", "vtable_chunks"},
	[ORIGIN_FRAME] = {"frame_share", "frame", "{frame_chunks:chunk}: allocating templates",
			  "frame_bytes", "frame_chunks"},
	[ORIGIN_INDEX] = {"index_share", "index", "{index_chunks:chunk}: index of the sources",
			  "index_bytes", "index_chunks"},
	[ORIGIN_DWARF] = {"dwarf_share", "dwarf", "{dwarf_chunks:chunk}: debug information",
			  "dwarf_bytes", "dwarf_chunks"},
	[ORIGIN_LINE] = {"line_share", "line", "{line_chunks:chunk}: named by the source line",
			 "line_bytes", "line_chunks"},
};

static void add_origin(const struct type_list *self, struct result *result, u32 origin)
{
	u64 bytes = self->origin_bytes[origin], chunks = self->origin_chunks[origin];
	bool shown = origin == ORIGIN_NONE || chunks;

	result_field(result, origin_fields[origin].share,
		     shown ? origin_fields[origin].label : NULL, VALUE_SHARE,
		     value_real(units_share(bytes, self->bytes)),
		     "share of all bytes with a type from this source",
		     .remark = origin_fields[origin].remark);
	result_field(result, origin_fields[origin].bytes, NULL, VALUE_BYTES, value_number(bytes),
		     "bytes of these chunks");
	result_field(result, origin_fields[origin].chunks, NULL, VALUE_COUNT,
		     value_units(self->model, chunks), "number of these chunks");
}

static void add_summary(const struct type_list *self, struct result *result)
{
	for (u32 i = 0; i < TYPE_ORIGINS; i++)
		add_origin(self, result, i);
	result_field(result, "guess_share", NULL, VALUE_SHARE,
		     value_real(units_share(self->guess_bytes, self->bytes)),
		     "share of all bytes whose type is only a guess");
	result_field(result, "sampled_chunks", NULL, VALUE_COUNT,
		     value_units(self->model, self->sampled_chunks),
		     "chunks of vtable that were not read; their class is that of others of the "
		     "same point and size");
	result_field(result, "total_bytes", NULL, VALUE_BYTES, value_number(self->bytes),
		     "all bytes");
	result_field(result, "total_chunks", NULL, VALUE_COUNT,
		     value_units(self->model, self->chunks), "all chunks");
}

static struct result *record_of(const struct type_list *self, struct result *part, struct err *err)
{
	struct result *result = result_new(RESULT_RECORD, "types", NULL);

	if (result) {
		add_summary(self, result);
		result_add_part(result, part);
	} else {
		result_free(part);
	}
	return result_made(result, err, "types");
}

struct result *type_list_result(const struct type_list *self, const struct types_query *query,
				struct err *err)
{
	struct type_list folded = {0};
	struct result *result = NULL;

	if (!query->fold)
		result = record_of(self, types_table(self, query), err);
	else if (type_list_fold(&folded, self, err) == 0)
		result = record_of(&folded, types_table(&folded, query), err);
	type_list_release(&folded);
	return result;
}

struct result *analyse_types(struct type_cascade *types, const struct types_query *query,
			     struct err *err)
{
	struct type_list table = {0};
	struct result *result = NULL;

	if (type_list_make(&table, types, &query->thresholds, err) == 0)
		result = query->chunks ? record_of(&table, chunks_table(types, query), err)
				       : type_list_result(&table, query, err);
	type_list_release(&table);
	return result;
}
