/* SPDX-License-Identifier: MIT
 * Scores and inferences as a result.
 * Host. */
#include <string.h>

#include "study/analysis/memoro/inferences.h"
#include "study/analysis/memoro/scores.h"
#include "study/analysis/summary/summary.h"
#include "study/analysis/typing/types.h"
#include "host/base/bytemap.h"
#include "host/base/units.h"
#include "study/model/narrow.h"

struct scores_work {
	const struct stack_source *source;
	const struct scores_query *query;
	struct behaviour_table behaviour;
	struct inferences inferences;
};

static const char *const words[] = {
	[SCORES_BY_SEVERITY] = "severity", [SCORES_BY_BYTES] = "bytes",
	[SCORES_BY_COUNT] = "count",       [SCORES_BY_LIFETIME] = "lifetime",
	[SCORES_BY_USAGE] = "usage",       [SCORES_BY_USEFUL] = "useful",
};

bool scores_by_parse(const char *word, enum scores_by *by)
{
	for (u32 i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i], word) == 0) {
			*by = (enum scores_by)i;
			return true;
		}
	return false;
}

/* ---- order ---- */

struct ranked {
	double badness;
	u64 bytes;
	struct point_id point;
};

static int worst_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->badness != y->badness)
		return x->badness > y->badness ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->point.index < y->point.index ? -1 : x->point.index > y->point.index;
}

static double badness(const struct behaviour *point, enum scores_by by)
{
	struct score_set scores = scores_of(point);
	enum score score;

	switch (by) {
	case SCORES_BY_SEVERITY: return severity_step(&scores);
	case SCORES_BY_BYTES: return (double)point->all.bytes;
	case SCORES_BY_COUNT: return (double)point->all.chunks;
	default:
		score = by == SCORES_BY_LIFETIME ? SCORE_LIFETIME
			: by == SCORES_BY_USAGE  ? SCORE_USAGE
						 : SCORE_USEFUL;
		return scores.known[score] ? 1 - scores.value[score] : -1;
	}
}

/* How many there are goes to *count. */
static struct ranked *rank(const struct scores_work *self, u64 *count)
{
	struct ranked *ranked = calloc(self->behaviour.count + 1, sizeof *ranked);

	*count = 0;
	for (u32 i = 0; ranked && i < self->behaviour.count; i++) {
		const struct behaviour *point = &self->behaviour.points[i];

		if (model_point_is_empty(self->source->model, i))
			continue;
		ranked[(*count)++] =
			(struct ranked){badness(point, self->query->by), point->all.bytes, {i}};
	}
	if (ranked)
		qsort(ranked, *count, sizeof *ranked, worst_first);
	return ranked;
}

/* ---- points ---- */

enum {
	AT_STEP,
	AT_LIFETIME,
	AT_USAGE,
	AT_USEFUL,
	AT_ALLOCATIONS,
	AT_BYTES,
	AT_ACCESS,
	AT_MEASURED,
	AT_READS,
	AT_WRITES,
	AT_MAPPED,
	AT_CHUNK_BYTES,
	AT_UNTOUCHED,
	AT_UNTOUCHED_AT,
	AT_GROUPS,
	AT_POINT,
	AT_TYPE,
	AT_INFERENCES,
	AT_STACK,
	COLUMNS
};

static const struct result_column columns[COLUMNS] = {
	[AT_STEP] = COLUMN("severity", "severity", VALUE_ID,
			   "severity from 1 (best) to 12, by the geometric mean of the known "
			   "scores"),
	[AT_LIFETIME] = COLUMN("lifetime", "lifetime", VALUE_RATIO,
			       "how long chunks live, relative to their group; 0 to 1"),
	[AT_USAGE] =
		COLUMN("usage", "usage", VALUE_RATIO, "share of the bytes that was used; 0 to 1"),
	[AT_USEFUL] = COLUMN("useful", "useful", VALUE_RATIO,
			     "share of the lifetime between first and last access; 0 to 1"),
	[AT_ALLOCATIONS] = COLUMN("allocations", "allocations", VALUE_COUNT,
				  "chunks whose events are in the trace"),
	[AT_BYTES] = COLUMN("bytes", "bytes", VALUE_BYTES, "requested bytes of these chunks"),
	[AT_ACCESS] = COLUMN("access", "accesses", VALUE_TEXT,
			     "precision of the accesses: measured, estimated, or a lower bound"),
	[AT_MEASURED] = COLUMN("measured", NULL, VALUE_COUNT, "chunks with known accesses"),
	[AT_READS] = COLUMN("reads", NULL, VALUE_COUNT, "reads of these chunks"),
	[AT_WRITES] = COLUMN("writes", NULL, VALUE_COUNT, "writes to these chunks"),
	[AT_MAPPED] =
		COLUMN("mapped", NULL, VALUE_COUNT,
		       "chunks whose accessed bytes are known, if all have one size of at most "
		       "1,024 bytes"),
	[AT_CHUNK_BYTES] = COLUMN("chunk_bytes", NULL, VALUE_BYTES, "size of each of these chunks"),
	[AT_UNTOUCHED] = COLUMN("untouched", NULL, VALUE_BYTES,
				"bytes of that size accessed in none of them"),
	[AT_UNTOUCHED_AT] = COLUMN("untouched_at", NULL, VALUE_TEXT,
				   "offsets of these bytes, such as 4-7,16-1023"),
	[AT_GROUPS] =
		COLUMN("groups", NULL, VALUE_COUNT, "groups of chunks allocated close together"),
	[AT_POINT] = COLUMN("point", NULL, VALUE_ID, "number of the allocation point"),
	[AT_TYPE] = COLUMN("type", NULL, VALUE_TEXT, "type of the allocated memory, if known"),
	[AT_INFERENCES] = {.name = "inferences",
			   .label = "inferences",
			   .type = VALUE_TEXT,
			   .meaning = "inferences about the point, with numbers of chunks",
			   .below = true},
	[AT_STACK] = COLUMN("stack", "stack", VALUE_STACK, "stack that allocates"),
};

static const char *access_word(const struct behaviour *point)
{
	if (!point->measured.chunks)
		return NULL;
	return point->is_lower_bound ? "lower bound"
	       : point->is_estimated ? "estimated"
				     : "measured";
}

static struct value score_value(const struct score_set *scores, enum score score)
{
	return scores->known[score] ? value_real(scores->value[score]) : value_unknown();
}

/* "short 99 of 100, kept 1 of 100": NULL if nothing holds. */
static const char *inference_words(const struct scores_work *self, struct point_id point,
				   struct result *table)
{
	const struct model *model = self->source->model;
	struct strbuf text = {0};
	const char *copy = NULL;

	for (u32 i = 0; i < INFERENCES; i++) {
		struct inference_evidence evidence =
			inference_of(&self->inferences, point, (enum inference)i);

		if (evidence.state != STATE_HOLDS)
			continue;
		strbuf_addf(&text, "%s%s", text.count ? ", " : "",
			    inference_name((enum inference)i));
		if (i < CHUNK_INFERENCES)
			strbuf_addf(&text, " %s of %s",
				    units_count(model_count(model, evidence.chunks)).text,
				    units_count(model_count(model, evidence.of_chunks)).text);
	}
	if (text.count)
		copy = result_copy(table, strbuf_text(&text));
	strbuf_release(&text);
	return copy;
}

static void fill_map(const struct point_map *map, struct value *row, struct result *table)
{
	struct strbuf text = {0};
	u64 untouched = map ? map->size - bytemap_count(map->words, map->size) : 0;

	row[AT_MAPPED] = map ? value_number(map->chunks) : value_unknown();
	row[AT_CHUNK_BYTES] = map ? value_number(map->size) : value_unknown();
	row[AT_UNTOUCHED] = map ? value_number(untouched) : value_unknown();
	row[AT_UNTOUCHED_AT] = value_text(NULL);
	if (!untouched)
		return;
	bytemap_add_ranges(&text, map->words, map->size, false, 0);
	row[AT_UNTOUCHED_AT] = value_text(result_copy(table, strbuf_text(&text)));
	strbuf_release(&text);
}

static void fill_point(const struct scores_work *self, struct point_id point, struct value *row,
		       struct result *table)
{
	const struct model *model = self->source->model;
	const struct behaviour *known = &self->behaviour.points[point.index];
	struct score_set scores = scores_of(known);
	u32 step = severity_step(&scores);
	bool measured = known->measured.chunks != 0;
	const char *type;

	row[AT_STEP] = step ? value_number(step) : value_unknown();
	row[AT_LIFETIME] = score_value(&scores, SCORE_LIFETIME);
	row[AT_USAGE] = score_value(&scores, SCORE_USAGE);
	row[AT_USEFUL] = score_value(&scores, SCORE_USEFUL);
	row[AT_ALLOCATIONS] = value_number(model_count(model, known->all.chunks));
	row[AT_BYTES] = value_number(known->all.bytes);
	row[AT_ACCESS] = value_text(access_word(known));
	row[AT_MEASURED] = value_number(model_count(model, known->measured.chunks));
	row[AT_READS] = measured ? value_number(known->reads) : value_unknown();
	row[AT_WRITES] = measured ? value_number(known->writes) : value_unknown();
	fill_map(model_point_map(model, point), row, table);
	row[AT_GROUPS] = value_number(known->groups);
	row[AT_POINT] = value_number(point.index);
	type = stack_type(self->source, model->points.data[point.index].frame);
	row[AT_TYPE] = value_text(type ? result_copy(table, type) : NULL);
	row[AT_INFERENCES] = value_text(inference_words(self, point, table));
	row[AT_STACK] =
		value_stack(stack_of(self->source, model->points.data[point.index].frame, table));
}

static struct result *points_table(const struct scores_work *self, const struct ranked *ranked,
				   u64 shown)
{
	struct result *table = result_new(RESULT_TABLE, "points", "Allocation points, worst first");

	if (!table)
		return NULL;
	if (self->query->by == SCORES_BY_BYTES || self->query->by == SCORES_BY_COUNT)
		table->title = "Allocation points, largest first";
	table->empty = "nothing was allocated";
	result_set_columns(table, columns, COLUMNS);
	for (u64 i = 0; i < shown; i++) {
		struct value values[COLUMNS], *row;

		fill_point(self, ranked[i].point, values, table);
		row = result_add_row(table);
		if (row)
			memcpy(row, values, sizeof values);
	}
	return table;
}

/* ---- inferences ---- */

enum {
	IN_POINT,
	IN_ID,
	IN_STATE,
	IN_CHUNKS,
	IN_OF_CHUNKS,
	IN_BYTES,
	IN_OF_BYTES,
	IN_SURE,
	IN_COLUMNS
};

static const struct result_column inference_columns[IN_COLUMNS] = {
	[IN_POINT] = COLUMN("point", "point", VALUE_ID, "number of the allocation point"),
	[IN_ID] = COLUMN("id", "inference", VALUE_TEXT, "inference"),
	[IN_STATE] = COLUMN("state", "state", VALUE_TEXT, "holds, no, or unknown"),
	[IN_CHUNKS] = COLUMN("chunks", "chunks", VALUE_COUNT, "chunks for which it holds"),
	[IN_OF_CHUNKS] = COLUMN("of_chunks", "of", VALUE_COUNT, "chunks that were examined"),
	[IN_BYTES] =
		COLUMN("bytes", "bytes", VALUE_BYTES, "bytes of the chunks for which it holds"),
	[IN_OF_BYTES] = COLUMN("of_bytes", "of", VALUE_BYTES, "bytes of the examined chunks"),
	[IN_SURE] = COLUMN("confidence", "sure", VALUE_TEXT,
			   "confidence: measured, estimated or inferred"),
};

static void add_inference(const struct scores_work *self, struct result *table,
			  struct point_id point, u32 id)
{
	const struct model *model = self->source->model;
	struct inference_evidence evidence =
		inference_of(&self->inferences, point, (enum inference)id);
	bool known = evidence.state != STATE_UNKNOWN;
	struct value *row;

	if (evidence.state != STATE_HOLDS && !self->query->all_inferences)
		return;
	row = result_add_row(table);
	if (!row)
		return;
	row[IN_POINT] = value_number(point.index);
	row[IN_ID] = value_text(inference_name((enum inference)id));
	row[IN_STATE] = value_text(inference_state_name(evidence.state));
	if (!known)
		return;
	row[IN_CHUNKS] = value_number(model_count(model, evidence.chunks));
	row[IN_OF_CHUNKS] = value_number(model_count(model, evidence.of_chunks));
	row[IN_BYTES] = value_number(evidence.bytes);
	row[IN_OF_BYTES] = value_number(evidence.of_bytes);
	row[IN_SURE] = value_text(confidence_name(evidence.confidence));
}

static struct result *inferences_table(const struct scores_work *self, const struct ranked *ranked,
				       u64 shown)
{
	struct result *table = result_new(RESULT_TABLE, "inferences", "Inferences");

	if (!table)
		return NULL;
	table->hidden_in_text = !self->query->all_inferences;
	table->empty = "none holds";
	result_set_columns(table, inference_columns, IN_COLUMNS);
	for (u64 i = 0; i < shown; i++)
		for (u32 k = 0; k < INFERENCES; k++)
			add_inference(self, table, ranked[i].point, k);
	return table;
}

/* ---- the whole program ---- */

static const struct {
	const char *label;
	const char *mean, *variance, *by_allocations, *by_bytes, *points, *remark;
} summaries[SCORES] = {
#define SUMMARY(label_, name)                                                                      \
	{                                                                                          \
		label_, name ".mean", name ".variance", name ".by_allocations", name ".by_bytes",  \
			name ".points",                                                            \
			"variance {" name ".variance}; {" name ".by_allocations} by allocations, " \
			"{" name ".by_bytes} by bytes"                                             \
	}
	[SCORE_LIFETIME] = SUMMARY("lifetime", "lifetime"),
	[SCORE_USAGE] = SUMMARY("usage", "usage"),
	[SCORE_USEFUL] = SUMMARY("useful lifetime", "useful"),
#undef SUMMARY
};

static void add_number(struct result *record, const char *name, double number, bool known,
		       const char *meaning)
{
	result_add_field(record, (struct result_column)COLUMN(name, NULL, VALUE_RATIO, meaning),
			 known ? value_real(number) : value_unknown());
}

static void add_summary(const struct scores_work *self, struct result *record, enum score score)
{
	struct score_summary sum = score_summarise(&self->behaviour, score);
	struct result_column column = COLUMN(summaries[score].mean, summaries[score].label,
					     VALUE_RATIO, "geometric mean of the points' scores");
	bool known = sum.points != 0;

	column.remark = summaries[score].remark;
	result_add_field(record, column, known ? value_real(sum.mean) : value_unknown());
	add_number(record, summaries[score].variance, sum.variance, known,
		   "variance of the points' scores");
	add_number(record, summaries[score].by_allocations, sum.mean_by_allocations, known,
		   "the same mean, points weighted by allocations");
	add_number(record, summaries[score].by_bytes, sum.mean_by_bytes, known && sum.has_by_bytes,
		   "the same mean, points weighted by bytes");
	result_add_field(record,
			 (struct result_column)COLUMN(summaries[score].points, NULL, VALUE_COUNT,
						      "points with this score"),
			 value_number(sum.points));
}

static void add_access(const struct scores_work *self, struct result *record)
{
	const struct behaviour *whole = &self->behaviour.whole;
	const struct model *model = self->source->model;

	result_add_field(record,
			 (struct result_column)COLUMN("access", "accesses", VALUE_TEXT,
						      "precision of the accesses"),
			 value_text(access_word(whole)));
	result_add_field(record,
			 (struct result_column)COLUMN("measured_chunks", NULL, VALUE_COUNT,
						      "chunks with known accesses"),
			 value_number(model_count(model, whole->measured.chunks)));
	result_add_field(record,
			 (struct result_column)COLUMN("chunks", NULL, VALUE_COUNT,
						      "chunks whose events are in the trace"),
			 value_number(model_count(model, whole->all.chunks)));
	if (!whole->measured.chunks)
		result_add_caveat(record,
				  "no accesses were recorded, so usage, useful lifetime and "
				  "inferences about use are unknown; record with --access "
				  "valgrind, or build with 'heapwise cc'");
	else if (whole->measured.chunks < whole->all.chunks)
		result_add_caveat(record, "accesses are known for %s of %s chunks",
				  units_count(model_count(model, whole->measured.chunks)).text,
				  units_count(model_count(model, whole->all.chunks)).text);
	if (whole->is_lower_bound)
		result_add_caveat(record, "uninstrumented code may have accessed chunks unseen, so "
					  "inferences about use are not certain");
	if (model->aggregated)
		result_add_caveat(record, "scores cover only the part of the run whose events are "
					  "in the trace");
}

static struct result *make(const struct scores_work *self, struct err *err)
{
	struct result *record = result_new(RESULT_RECORD, "scores", "Scores, 0 (worst) to 1");
	u64 shown;
	struct ranked *ranked = rank(self, &shown);

	if (!record || !ranked)
		goto fail;
	if (self->query->top && self->query->top < shown)
		shown = self->query->top;
	for (u32 i = 0; i < SCORES; i++)
		add_summary(self, record, (enum score)i);
	add_access(self, record);
	add_caveats(record, self->source->model, self->query->info);
	result_add_part(record, points_table(self, ranked, shown));
	result_add_part(record, inferences_table(self, ranked, shown));
	if (result_failed(record))
		goto fail;
	free(ranked);
	return record;
fail:
	err_memory_for(err, "the scores");
	free(ranked);
	result_free(record);
	return NULL;
}

struct result *analyse_scores(const struct stack_source *source, const struct scores_query *query,
			      struct err *err)
{
	struct scores_work self = {.source = source, .query = query};
	struct result *record = NULL;

	if (behaviour_find(source, &query->thresholds, &self.behaviour, err) == 0 &&
	    inferences_find(&self.inferences, source->model, &self.behaviour, &query->thresholds,
			    err) == 0)
		record = make(&self, err);
	behaviour_table_release(&self.behaviour);
	return record;
}
