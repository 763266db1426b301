/* SPDX-License-Identifier: MIT
 * Types as tables.
 * Host. */
#include "study/analysis/types/result.h"

#include <string.h>

#include "study/analysis/types/list.h"
#include "host/base/base64.h"
#include "host/base/units.h"
#include "host/symbols/type_text.h"
#include "study/model/each.h"

static const char *const words[] = {
	[TYPES_BY_PEAK] = "peak",
	[TYPES_BY_BYTES] = "bytes",
	[TYPES_BY_COUNT] = "count",
	[TYPES_BY_KEPT] = "kept",
};

bool types_by_parse(const char *word, enum types_by *by)
{
	for (u32 i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i], word) == 0) {
			*by = (enum types_by)i;
			return true;
		}
	return false;
}

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

struct order {
	const struct type_sums *rows;
	enum types_by by;
};

static int largest_first(const void *a, const void *b, void *order_)
{
	const struct order *order = order_;
	const struct type_sums *x = &order->rows[*(const u32 *)a];
	const struct type_sums *y = &order->rows[*(const u32 *)b];
	u64 mx = measure(x, order->by), my = measure(y, order->by);

	if (mx != my)
		return mx > my ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

/* ---- table ---- */

enum {
	AT_CHUNKS,
	AT_ELEMENTS,
	AT_BYTES,
	AT_PEAK,
	AT_KEPT,
	AT_LIFE,
	AT_ORIGIN,
	AT_SURE,
	AT_LIFETIME,
	AT_USAGE,
	AT_USEFUL,
	AT_TYPE,
	AT_SHARE,
	AT_PEAK_CHUNKS,
	AT_KEPT_CHUNKS,
	AT_SEVERITY,
	AT_POINTS,
	AT_TEMPLATE,
	AT_SPARK, /* only if it was asked for */
	COLUMNS
};

static const struct result_column columns[COLUMNS] = {
	[AT_TYPE] =
		COLUMN("type", "type", VALUE_TEXT, "type of the chunks' contents; none = unknown"),
	[AT_CHUNKS] = COLUMN("chunks", "chunks", VALUE_COUNT, "allocations of this type"),
	[AT_ELEMENTS] = COLUMN("count", "count", VALUE_COUNT, "elements in them, if known for all"),
	[AT_BYTES] = COLUMN("bytes", "bytes", VALUE_BYTES, "requested bytes"),
	[AT_PEAK] = COLUMN("at_peak_bytes", "peak", VALUE_BYTES,
			   "live bytes at the moment of the program's peak"),
	[AT_KEPT] = COLUMN("kept_bytes", "kept", VALUE_BYTES, "bytes never freed"),
	[AT_LIFE] =
		COLUMN("mean_life_ns", "mean life", VALUE_NS, "mean lifetime of the freed chunks"),
	[AT_ORIGIN] = COLUMN("source", "source", VALUE_TEXT, "source of the type"),
	[AT_SURE] = COLUMN("confidence", "sure", VALUE_TEXT,
			   "exact, likely or guess; the lowest of all chunks"),
	[AT_LIFETIME] =
		COLUMN("lifetime", NULL, VALUE_RATIO, "lifetime score of its points; 0 to 1"),
	[AT_USAGE] = COLUMN("usage", NULL, VALUE_RATIO, "usage score of its points; 0 to 1"),
	[AT_USEFUL] =
		COLUMN("useful", NULL, VALUE_RATIO, "useful-lifetime score of its points; 0 to 1"),
	[AT_SHARE] = COLUMN("share", NULL, VALUE_SHARE, "share of all bytes"),
	[AT_PEAK_CHUNKS] =
		COLUMN("at_peak_chunks", NULL, VALUE_COUNT, "live chunks at that moment"),
	[AT_KEPT_CHUNKS] = COLUMN("kept_chunks", NULL, VALUE_COUNT, "chunks never freed"),
	[AT_SEVERITY] = COLUMN("severity", NULL, VALUE_ID,
			       "severity of its points together: 1 (best) to 12"),
	[AT_POINTS] = COLUMN("points", NULL, VALUE_COUNT, "allocation points of only this type"),
	[AT_TEMPLATE] = COLUMN("template", NULL, VALUE_TEXT, "the type without template arguments"),
	[AT_SPARK] = COLUMN("spark", NULL, VALUE_TEXT,
			    "live bytes over the run: base64 of one byte per part, 255 = the "
			    "highest"),
};

static const char *origin_word(u8 origin, bool sampled)
{
	return origin == ORIGIN_VTABLE && sampled ? "vtable (sampled)" : type_origin_name(origin);
}

/* "frame", "vtable (sampled), frame" */
static const char *origin_words(struct result *table, u32 origins, bool sampled)
{
	struct strbuf text = {0};
	const char *copy;

	for (u8 i = 0; i < TYPE_ORIGINS; i++)
		if (origins >> i & 1)
			strbuf_addf(&text, "%s%s", text.count ? ", " : "", origin_word(i, sampled));
	copy = result_copy(table, strbuf_text(&text));
	strbuf_release(&text);
	return copy;
}

static void fill_scores(const struct type_sums *sums, struct value *row)
{
	struct score_set scores = scores_of(&sums->behaviour);
	static const u32 at[SCORES] = {[SCORE_LIFETIME] = AT_LIFETIME,
				       [SCORE_USAGE] = AT_USAGE,
				       [SCORE_USEFUL] = AT_USEFUL};

	u32 severity = severity_step(&scores);

	for (u32 i = 0; i < SCORES; i++)
		if (scores.known[i])
			row[at[i]] = value_real(scores.value[i]);
	row[AT_SEVERITY] = severity ? value_number(severity) : value_unknown();
}

static void fill_spark(const struct type_sums *sums, struct value *row, struct result *table,
		       u32 bins)
{
	u8 spark[TYPE_BINS];
	char *text;

	type_spark(sums, spark, bins);
	text = base64_text(spark, bins);
	row[AT_SPARK] = value_text(text ? result_copy(table, text) : NULL);
	free(text);
}

static const char *template_of(struct result *table, const char *type)
{
	struct strbuf text = {0};
	const char *copy;

	type_add_folded(&text, type);
	copy = result_copy(table, strbuf_text(&text));
	strbuf_release(&text);
	return copy;
}

static void fill_row(const struct type_list *self, const struct type_sums *sums, struct value *row,
		     struct result *table)
{
	const struct model *model = self->model;

	row[AT_TYPE] = value_text(sums->name ? result_copy(table, sums->name) : NULL);
	row[AT_CHUNKS] = value_number(model_count(model, sums->chunks));
	row[AT_ELEMENTS] = sums->all_elements && sums->name
				   ? value_number(model_count(model, sums->elements))
				   : value_unknown();
	row[AT_BYTES] = value_number(sums->bytes);
	row[AT_PEAK] = value_number(sums->peak_bytes);
	row[AT_KEPT] = value_number(sums->kept_bytes);
	row[AT_LIFE] =
		sums->freed > 0
			? value_number((u64)tick_clock_span_ns(&model->clock,
							       sums->life_ticks / sums->freed))
			: value_unknown();
	row[AT_ORIGIN] = value_text(origin_words(table, sums->origins, sums->sampled));
	row[AT_SURE] = value_text(sums->name ? type_confidence_name(sums->confidence) : NULL);
	row[AT_LIFETIME] = row[AT_USAGE] = row[AT_USEFUL] = value_unknown();
	fill_scores(sums, row);
	row[AT_SHARE] = value_real(units_share(sums->bytes, self->bytes));
	row[AT_PEAK_CHUNKS] = value_number(model_count(model, sums->peak_chunks));
	row[AT_KEPT_CHUNKS] = value_number(model_count(model, sums->kept_chunks));
	row[AT_POINTS] = value_number(sums->points);
	row[AT_TEMPLATE] = value_text(sums->name ? template_of(table, sums->name) : NULL);
}

/* The order of the rows, which are not moved: others may look at them. */
static u32 *rows_in_order(const struct type_list *self, enum types_by by)
{
	struct order order = {self->rows.data, by};
	u32 *rows = calloc(self->rows.count + 1, sizeof *rows);

	for (u32 i = 0; rows && i < self->rows.count; i++)
		rows[i] = i;
	if (rows)
		qsort_r(rows, self->rows.count, sizeof *rows, largest_first, &order);
	return rows;
}

static void add_rows(const struct type_list *self, const struct types_query *query, const u32 *rows,
		     struct result *table)
{
	u64 end = self->rows.count, columns_shown = query->spark ? COLUMNS : AT_SPARK;

	if (query->top && query->top < end - (query->offset < end ? query->offset : end))
		end = query->offset + query->top;
	for (u64 i = query->offset; i < end; i++) {
		struct value values[COLUMNS], *row;

		fill_row(self, &self->rows.data[rows[i]], values, table);
		if (query->spark)
			fill_spark(&self->rows.data[rows[i]], values, table, query->spark);
		row = result_add_row(table);
		if (row)
			memcpy(row, values, columns_shown * sizeof *values);
	}
}

static struct result *types_table(const struct type_list *self, const struct types_query *query)
{
	struct result *table = result_new(RESULT_TABLE, "types", "Types, largest first");
	u32 *rows = rows_in_order(self, query->by);
	struct result_column shown[COLUMNS];

	if (!table || !rows) {
		free(rows);
		result_free(table);
		return NULL;
	}
	memcpy(shown, columns, sizeof shown);
	if (self->model->has_access) {
		shown[AT_LIFETIME].label = "lifetime";
		shown[AT_USAGE].label = "usage";
		shown[AT_USEFUL].label = "useful";
	}
	table->empty = "nothing was allocated";
	result_set_columns(table, shown, query->spark ? COLUMNS : AT_SPARK);
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
	COLUMN("candidates", NULL, VALUE_TEXT, "types of its size, if the type is unknown"),
};

static struct result *chunks_table(struct type_cascade *types, const struct types_query *query)
{
	const struct model *model = types->query.source->model;
	struct result *table = result_new(RESULT_TABLE, "chunks", "Chunks");
	u64 shown = 0;

	if (!table)
		return NULL;
	table->empty = "nothing was allocated";
	result_set_columns(table, chunk_columns, sizeof chunk_columns / sizeof *chunk_columns);
	EACH_CHUNK (chunk, model) {
		const struct chunk_page *page = chunk.page;
		u32 at = chunk.at;
		struct type_answer answer;
		struct value *row;
		u64 elements;

		if (query->top && shown == query->top)
			break;
		shown++;
		answer = type_of_chunk(types, chunk.number);
		elements = type_elements(types, &answer, page->size[at]);
		row = result_add_row(table);
		if (!row)
			break;
		row[0] = value_number(chunk.number);
		row[1] = value_number(page->address[at]);
		row[2] = value_number(page->size[at]);
		row[3] = elements ? value_number(elements) : value_unknown();
		row[4] = value_text(answer.name ? result_copy(table, answer.name) : NULL);
		row[5] = value_text(origin_word(answer.origin, answer.sampled));
		row[6] = value_text(type_confidence_name(answer.confidence));
		row[7] = value_number(chunk_is_kept(&chunk));
		row[8] = value_text(answer.candidates ? result_copy(table, answer.candidates)
						      : NULL);
	}
	return table;
}

/* ---- sizes that fit several types ---- */

static const struct result_column open_columns[] = {
	COLUMN("size_bytes", "size", VALUE_BYTES, "requested bytes of each chunk"),
	COLUMN("chunks", "chunks", VALUE_COUNT, "chunks of this size with unknown type"),
	COLUMN("bytes", "bytes", VALUE_BYTES, "bytes of these chunks"),
	COLUMN("candidates", "could be", VALUE_TEXT, "types of that size"),
};

static int most_bytes(const void *a, const void *b)
{
	const struct type_open *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->size < y->size ? -1 : x->size > y->size;
}

static struct result *open_table(const struct type_list *self, const struct types_query *query)
{
	struct result *table =
		result_new(RESULT_TABLE, "candidates", "Unknown: sizes shared by several types");
	struct type_open *sorted = calloc(self->open.count + 1, sizeof *sorted);

	if (table && sorted) {
		result_set_columns(table, open_columns, sizeof open_columns / sizeof *open_columns);
		table->hidden_in_text = !self->open.count;
		if (self->open.count) {
			memcpy(sorted, self->open.data, self->open.count * sizeof *sorted);
			qsort(sorted, self->open.count, sizeof *sorted, most_bytes);
		}
		for (u64 i = 0; i < self->open.count && (!query->top || i < query->top); i++) {
			struct value *row = result_add_row(table);

			if (!row)
				break;
			row[0] = value_number(sorted[i].size);
			row[1] = value_number(model_count(self->model, sorted[i].chunks));
			row[2] = value_number(sorted[i].bytes);
			row[3] = value_text(result_copy(table, sorted[i].candidates));
		}
	} else if (table) {
		table->failed = true;
	}
	free(sorted);
	return table;
}

/* ---- summary ---- */

static const struct {
	const char *bytes, *label, *remark, *share, *chunks;
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
	[ORIGIN_SIZE] = {"size_share", "size", "{size_chunks:chunk}: guessed by size", "size_bytes",
			 "size_chunks"},
};

static void add_origin(const struct type_list *self, struct result *result, u32 origin)
{
	struct result_column share =
		COLUMN(origin_fields[origin].bytes, origin_fields[origin].label, VALUE_SHARE,
		       "share of all bytes with a type from this source");
	struct result_column bytes =
		COLUMN(origin_fields[origin].share, NULL, VALUE_BYTES, "bytes of these chunks");
	struct result_column chunks =
		COLUMN(origin_fields[origin].chunks, NULL, VALUE_COUNT, "number of these chunks");

	share.remark = origin_fields[origin].remark;
	if (origin != ORIGIN_NONE && !self->origin_chunks[origin])
		share.label = NULL;
	result_add_field(result, share,
			 value_real(units_share(self->origin_bytes[origin], self->bytes)));
	result_add_field(result, bytes, value_number(self->origin_bytes[origin]));
	result_add_field(result, chunks,
			 value_number(model_count(self->model, self->origin_chunks[origin])));
}

static void add_summary(const struct type_list *self, struct result *result)
{
	struct result_column guess = COLUMN("guess_share", NULL, VALUE_SHARE,
					    "share of all bytes whose type is only a guess");

	for (u32 i = 0; i < TYPE_ORIGINS; i++)
		add_origin(self, result, i);
	result_add_field(result, guess, value_real(units_share(self->guess_bytes, self->bytes)));
	result_add_field(result,
			 (struct result_column)COLUMN("sampled_chunks", NULL, VALUE_COUNT,
						      "chunks of vtable that were not read; their "
						      "class is that of others of the same point "
						      "and size"),
			 value_number(model_count(self->model, self->sampled_chunks)));
	result_add_field(result,
			 (struct result_column)COLUMN("total_bytes", NULL, VALUE_BYTES,
						      "all bytes"),
			 value_number(self->bytes));
	result_add_field(result,
			 (struct result_column)COLUMN("total_chunks", NULL, VALUE_COUNT,
						      "all chunks"),
			 value_number(model_count(self->model, self->chunks)));
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
	if (result && part && !result_failed(result))
		return result;
	err_memory_for(err, "types");
	result_free(result);
	return NULL;
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
	if (result)
		result_add_part(result, open_table(self, query));
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
