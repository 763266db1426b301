/* SPDX-License-Identifier: MIT
 * Types as tables.
 * Host. */
#include "analysis/types_result.h"

#include <string.h>

#include "analysis/scores.h"
#include "base/units.h"
#include "symbols/type_text.h"

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

/* ---- sums ---- */

struct type_sums {
	const char *name; /* NULL = unknown */
	u64 chunks, bytes; /* chunks in units of the model */
	u64 elements;
	bool all_elements; /* known of every chunk */
	u64 peak_bytes, peak_chunks;
	u64 kept_bytes, kept_chunks;
	double life_ticks, freed;
	u32 origins; /* bits 1 << enum type_origin */
	u8 confidence;
	struct behaviour behaviour; /* of the points that allocate this type only */
};

struct work {
	struct type_cascade *types;
	const struct model *model;
	const struct types_query *query;
	VEC(struct type_sums) rows;
	struct map by_name; /* address of the name → index + 1 */
	struct strbuf text;
	u64 origin_bytes[TYPE_ORIGINS], origin_chunks[TYPE_ORIGINS];
	u64 guess_bytes, guess_chunks;
	u64 bytes, chunks;
};

static const char *row_name(struct work *self, const char *name)
{
	if (!name || !self->query->fold)
		return name;
	strbuf_clear(&self->text);
	type_add_folded(&self->text, name);
	return names_keep(&self->types->names, strbuf_text(&self->text));
}

static struct type_sums *row_of(struct work *self, const char *name)
{
	u64 *index = map_at(&self->by_name, (u64)(uintptr_t)name);

	if (!index)
		return NULL;
	if (!*index) {
		struct type_sums row = {.name = name, .all_elements = true, .confidence = TYPE_EXACT};

		if (!vec_push(&self->rows, row))
			return NULL;
		*index = self->rows.count;
	}
	return &self->rows.data[*index - 1];
}

static u64 elements_of(const struct work *self, const struct type_answer *answer, u64 size)
{
	u64 one;

	if (answer->count)
		return answer->count;
	one = answer->size ? answer->size : answer->name ? type_size(self->types, answer->name) : 0;
	return one ? (size >= one ? size / one : 1) : 0;
}

static void add_times(struct work *self, struct type_sums *row, const struct chunk_page *page, u32 at,
		      u64 units, u64 bytes)
{
	u64 peak = self->model->totals.peak_ticks, born = page->alloc_ticks[at],
	    died = page->free_ticks[at];
	enum chunk_end end = (enum chunk_end)page->end[at];

	if (born <= peak && (!died || died > peak)) {
		row->peak_bytes += bytes;
		row->peak_chunks += units;
	}
	if (end == CHUNK_KEPT || end == CHUNK_LIVE) {
		row->kept_bytes += bytes;
		row->kept_chunks += units;
	} else if (died >= born && end == CHUNK_FREED) {
		row->life_ticks += (double)(died - born) * (double)units;
		row->freed += (double)units;
	}
}

static bool add_chunk(struct work *self, u64 chunk)
{
	const struct chunk_page *page = chunk_at(&self->model->chunks, chunk);
	u32 at = (u32)(chunk % CHUNK_PAGE);
	struct type_answer answer = type_of_chunk(self->types, chunk);
	struct type_sums *row = row_of(self, row_name(self, answer.name));
	u64 units, bytes, elements;

	if (!row)
		return false;
	model_weigh(self->model, page->size[at], &units, &bytes);
	row->chunks += units;
	row->bytes += bytes;
	elements = elements_of(self, &answer, page->size[at]);
	row->elements += elements * units;
	row->all_elements &= elements > 0;
	row->origins |= 1u << answer.origin;
	if (answer.confidence < row->confidence)
		row->confidence = answer.confidence;
	add_times(self, row, page, at, units, bytes);
	self->origin_bytes[answer.origin] += bytes;
	self->origin_chunks[answer.origin] += units;
	self->guess_bytes += answer.confidence == TYPE_GUESS ? bytes : 0;
	self->guess_chunks += answer.confidence == TYPE_GUESS ? units : 0;
	self->bytes += bytes;
	self->chunks += units;
	return true;
}

static bool is_there(const struct model *model, u64 chunk)
{
	return chunk_end(&model->chunks, chunk) != CHUNK_ABSENT;
}

static int add_chunks(struct work *self, struct err *err)
{
	for (u64 chunk = 0; chunk < self->model->chunks.count; chunk++) {
		model_pass(self->model, chunk);
		if (is_there(self->model, chunk) && !add_chunk(self, chunk))
			return err_set(err, ERR_MEMORY, "out of memory for types");
	}
	return 0;
}

/* ---- scores ---- */

/* Scores are those of points; a point whose chunks are of several types has no part in them. */
static int add_scores(struct work *self, struct err *err)
{
	struct type_answer *types = calloc(self->model->points.count + 1, sizeof *types);
	struct behaviour_table table = {0};
	int status;

	if (!types)
		return err_set(err, ERR_MEMORY, "out of memory for types");
	status = behaviour_find(self->types->query.source, &self->query->thresholds, &table, err);
	if (status == 0)
		type_of_points(self->types, types);
	for (u64 i = 0; status == 0 && i < table.count; i++) {
		struct type_sums *row =
			types[i].name ? row_of(self, row_name(self, types[i].name)) : NULL;

		if (row)
			behaviour_add_scores(&row->behaviour, &table.points[i]);
	}
	behaviour_table_release(&table);
	free(types);
	return status;
}

/* ---- order ---- */

static u64 measure(const struct type_sums *row, enum types_by by)
{
	switch (by) {
	case TYPES_BY_PEAK:
		return row->peak_bytes;
	case TYPES_BY_BYTES:
		return row->bytes;
	case TYPES_BY_COUNT:
		return row->chunks;
	case TYPES_BY_KEPT:
		return row->kept_bytes;
	}
	return 0;
}

static int largest_first(const void *a, const void *b, void *by)
{
	const struct type_sums *x = a, *y = b;
	u64 mx = measure(x, *(const enum types_by *)by), my = measure(y, *(const enum types_by *)by);

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
	COLUMNS
};

static const struct result_column columns[COLUMNS] = {
	[AT_TYPE] = COLUMN("type", "type", VALUE_TEXT, "type of what is in the chunks; none = unknown"),
	[AT_CHUNKS] = COLUMN("chunks", "chunks", VALUE_COUNT, "allocations of this type"),
	[AT_ELEMENTS] = COLUMN("count", "count", VALUE_COUNT,
			       "elements in them, if that is known of all of them"),
	[AT_BYTES] = COLUMN("bytes", "bytes", VALUE_BYTES, "requested bytes"),
	[AT_PEAK] = COLUMN("at_peak_bytes", "peak", VALUE_BYTES,
			   "bytes that were live at the moment of the program's peak"),
	[AT_KEPT] = COLUMN("kept_bytes", "kept", VALUE_BYTES, "bytes that were never freed"),
	[AT_LIFE] = COLUMN("mean_life_ns", "mean life", VALUE_NS, "of the chunks that were freed"),
	[AT_ORIGIN] = COLUMN("source", "source", VALUE_TEXT, "who tells the type"),
	[AT_SURE] = COLUMN("confidence", "sure", VALUE_TEXT, "exact, likely or guess; the least of all"),
	[AT_LIFETIME] = COLUMN("lifetime", NULL, VALUE_RATIO, "lifetime score of its points; 0 to 1"),
	[AT_USAGE] = COLUMN("usage", NULL, VALUE_RATIO, "usage score of its points; 0 to 1"),
	[AT_USEFUL] = COLUMN("useful", NULL, VALUE_RATIO, "useful-lifetime score of its points; 0 to 1"),
	[AT_SHARE] = COLUMN("share", NULL, VALUE_SHARE, "of all bytes"),
	[AT_PEAK_CHUNKS] = COLUMN("at_peak_chunks", NULL, VALUE_COUNT, "chunks live at that moment"),
	[AT_KEPT_CHUNKS] = COLUMN("kept_chunks", NULL, VALUE_COUNT, "chunks that were never freed"),
};

/* "frame", "vtable, frame" */
static const char *origin_words(struct result *table, u32 origins)
{
	struct strbuf text = {0};
	const char *copy;

	for (u8 i = 0; i < TYPE_ORIGINS; i++)
		if (origins >> i & 1)
			strbuf_addf(&text, "%s%s", text.count ? ", " : "", type_origin_name(i));
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

	for (u32 i = 0; i < SCORES; i++)
		if (scores.known[i])
			row[at[i]] = value_real(scores.value[i]);
}

static void fill_row(const struct work *self, const struct type_sums *sums, struct value *row,
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
	row[AT_LIFE] = sums->freed > 0 ? value_number((u64)tick_clock_span_ns(
						 &model->clock, sums->life_ticks / sums->freed))
				       : value_unknown();
	row[AT_ORIGIN] = value_text(origin_words(table, sums->origins));
	row[AT_SURE] = value_text(sums->name ? type_confidence_name(sums->confidence) : NULL);
	row[AT_LIFETIME] = row[AT_USAGE] = row[AT_USEFUL] = value_unknown();
	fill_scores(sums, row);
	row[AT_SHARE] = value_real(units_share(sums->bytes, self->bytes));
	row[AT_PEAK_CHUNKS] = value_number(model_count(model, sums->peak_chunks));
	row[AT_KEPT_CHUNKS] = value_number(model_count(model, sums->kept_chunks));
}

static struct result *types_table(struct work *self)
{
	struct result *table = result_new(RESULT_TABLE, "types", "Types, largest first");
	struct result_column shown[COLUMNS];
	enum types_by by = self->query->by;
	u64 count = self->rows.count;

	if (!table)
		return NULL;
	memcpy(shown, columns, sizeof shown);
	if (self->model->has_access) {
		shown[AT_LIFETIME].label = "lifetime";
		shown[AT_USAGE].label = "usage";
		shown[AT_USEFUL].label = "useful";
	}
	table->empty = "nothing was allocated";
	result_set_columns(table, shown, COLUMNS);
	if (count)
		qsort_r(self->rows.data, count, sizeof *self->rows.data, largest_first, &by);
	if (self->query->top && self->query->top < count)
		count = self->query->top;
	for (u64 i = 0; i < count; i++) {
		struct value values[COLUMNS], *row;

		fill_row(self, &self->rows.data[i], values, table);
		row = result_add_row(table);
		if (row)
			memcpy(row, values, sizeof values);
	}
	return table;
}

/* ---- chunks ---- */

static const struct result_column chunk_columns[] = {
	COLUMN("chunk", "chunk", VALUE_ID, "number of the chunk"),
	COLUMN("address", "address", VALUE_ADDRESS, "where it begins"),
	COLUMN("size", "size", VALUE_BYTES, "requested bytes"),
	COLUMN("count", "count", VALUE_COUNT, "elements"),
	COLUMN("type", "type", VALUE_TEXT, "type of what is in it"),
	COLUMN("source", "source", VALUE_TEXT, "who tells the type"),
	COLUMN("confidence", "sure", VALUE_TEXT, "exact, likely or guess"),
	COLUMN("kept", "kept", VALUE_BOOL, "whether it was never freed"),
};

static struct result *chunks_table(struct work *self)
{
	struct result *table = result_new(RESULT_TABLE, "chunks", "Chunks");
	u64 shown = 0;

	if (!table)
		return NULL;
	table->empty = "nothing was allocated";
	result_set_columns(table, chunk_columns, sizeof chunk_columns / sizeof *chunk_columns);
	for (u64 chunk = 0; chunk < self->model->chunks.count; chunk++) {
		const struct chunk_page *page = chunk_at(&self->model->chunks, chunk);
		u32 at = (u32)(chunk % CHUNK_PAGE);
		struct type_answer answer;
		struct value *row;
		u64 elements;

		model_pass(self->model, chunk);
		if (!is_there(self->model, chunk) || (self->query->top && shown == self->query->top))
			continue;
		shown++;
		answer = type_of_chunk(self->types, chunk);
		elements = elements_of(self, &answer, page->size[at]);
		row = result_add_row(table);
		if (!row)
			break;
		row[0] = value_number(chunk);
		row[1] = value_number(page->address[at]);
		row[2] = value_number(page->size[at]);
		row[3] = elements ? value_number(elements) : value_unknown();
		row[4] = value_text(answer.name ? result_copy(table, answer.name) : NULL);
		row[5] = value_text(type_origin_name(answer.origin));
		row[6] = value_text(type_confidence_name(answer.confidence));
		row[7] = value_number(page->end[at] == CHUNK_KEPT || page->end[at] == CHUNK_LIVE);
	}
	return table;
}

/* ---- summary ---- */

static const struct {
	const char *bytes, *label, *remark, *share, *chunks;
} origin_fields[TYPE_ORIGINS] = {
	[ORIGIN_NONE] = {"unknown_share", "unknown", "of the bytes, {unknown_chunks:chunk}",
			 "unknown_bytes", "unknown_chunks"},
	[ORIGIN_DECLARED] = {"declared_share", "declared", "{declared_chunks:chunk}: told by the program",
			     "declared_bytes", "declared_chunks"},
	[ORIGIN_VTABLE] = {"vtable_share", "vtable", "{vtable_chunks:chunk}: seen in the objects",
			   "vtable_bytes", "vtable_chunks"},
	[ORIGIN_FRAME] = {"frame_share", "frame", "{frame_chunks:chunk}: templates that allocate",
			  "frame_bytes", "frame_chunks"},
	[ORIGIN_INDEX] = {"index_share", "index", "{index_chunks:chunk}: index of the sources",
			  "index_bytes", "index_chunks"},
	[ORIGIN_DWARF] = {"dwarf_share", "dwarf", "{dwarf_chunks:chunk}: written by the compiler",
			  "dwarf_bytes", "dwarf_chunks"},
	[ORIGIN_SIZE] = {"size_share", "size", "{size_chunks:chunk}: guesses by size", "size_bytes",
			 "size_chunks"},
};

static void add_origin(const struct work *self, struct result *result, u32 origin)
{
	struct result_column share = COLUMN(origin_fields[origin].bytes, origin_fields[origin].label,
					    VALUE_SHARE, "share of all bytes whose type is known so");
	struct result_column bytes =
		COLUMN(origin_fields[origin].share, NULL, VALUE_BYTES, "bytes of these");
	struct result_column chunks =
		COLUMN(origin_fields[origin].chunks, NULL, VALUE_COUNT, "chunks of these");

	share.remark = origin_fields[origin].remark;
	if (origin != ORIGIN_NONE && !self->origin_chunks[origin])
		share.label = NULL;
	result_add_field(result, share,
			 value_real(units_share(self->origin_bytes[origin], self->bytes)));
	result_add_field(result, bytes, value_number(self->origin_bytes[origin]));
	result_add_field(result, chunks,
			 value_number(model_count(self->model, self->origin_chunks[origin])));
}

static void add_summary(const struct work *self, struct result *result)
{
	struct result_column guess = COLUMN("guess_share", NULL, VALUE_SHARE,
					    "share of all bytes whose type is only a guess");

	for (u32 i = 0; i < TYPE_ORIGINS; i++)
		add_origin(self, result, i);
	result_add_field(result, guess, value_real(units_share(self->guess_bytes, self->bytes)));
	result_add_field(result, (struct result_column)COLUMN("total_bytes", NULL, VALUE_BYTES, "all bytes"),
			 value_number(self->bytes));
	result_add_field(result, (struct result_column)COLUMN("total_chunks", NULL, VALUE_COUNT, "all chunks"),
			 value_number(model_count(self->model, self->chunks)));
}

struct result *analyse_types(struct type_cascade *types, const struct types_query *query,
			     struct err *err)
{
	struct work self = {.types = types, .model = types->query.source->model, .query = query};
	struct result *result = result_new(RESULT_RECORD, "types", NULL);
	int status = add_chunks(&self, err);

	if (status == 0 && !query->chunks)
		status = add_scores(&self, err);
	if (status == 0 && result) {
		add_summary(&self, result);
		result_add_part(result, query->chunks ? chunks_table(&self) : types_table(&self));
		if (result_failed(result))
			status = err_set(err, ERR_MEMORY, "out of memory for types");
	}
	if (status == 0 && types->failed)
		status = err_set(err, ERR_MEMORY, "out of memory for types");
	vec_release(&self.rows);
	map_release(&self.by_name);
	strbuf_release(&self.text);
	if (status == 0 && result)
		return result;
	result_free(result);
	return NULL;
}
