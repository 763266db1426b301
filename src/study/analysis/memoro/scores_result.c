/* SPDX-License-Identifier: MIT
 * Scores and inferences as a result.
 * Host. */
#include <string.h>

#include "study/analysis/memoro/inferences.h"
#include "study/analysis/memoro/scores.h"
#include "study/analysis/summary/summary.h"
#include "study/analysis/typing/types.h"
#include "host/base/bytemap.h"
#include "host/base/order.h"
#include "host/base/units.h"
#include "study/model/narrow.h"
#include "study/result/field.h"

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

	return falling_real(x->badness, y->badness) ?: falling(x->bytes, y->bytes)
		       ?: rising(x->point.index, y->point.index);
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

static const struct result_column columns[] = {
	COLUMN("severity", "severity", VALUE_ID,
	       "severity from 1 (best) to 12, by the geometric mean of the known scores"),
	COLUMN("lifetime", "lifetime", VALUE_RATIO,
	       "how long chunks live, relative to their group; 0 to 1"),
	COLUMN("usage", "usage", VALUE_RATIO, "share of the bytes that was used; 0 to 1"),
	COLUMN("useful", "useful", VALUE_RATIO,
	       "share of the lifetime between first and last access; 0 to 1"),
	COLUMN("allocations", "allocations", VALUE_COUNT, "chunks whose events are in the trace"),
	COLUMN("bytes", "bytes", VALUE_BYTES, "requested bytes of these chunks"),
	COLUMN("access", "accesses", VALUE_TEXT,
	       "precision of the accesses: measured, estimated, or a lower bound"),
	COLUMN("measured", NULL, VALUE_COUNT, "chunks with known accesses"),
	COLUMN("reads", NULL, VALUE_COUNT, "reads of these chunks"),
	COLUMN("writes", NULL, VALUE_COUNT, "writes to these chunks"),
	COLUMN("reads_low", NULL, VALUE_COUNT, "lower end of the interval of reads"),
	COLUMN("reads_high", NULL, VALUE_COUNT, "upper end, if it is known"),
	COLUMN("writes_low", NULL, VALUE_COUNT, "lower end of the interval of writes"),
	COLUMN("writes_high", NULL, VALUE_COUNT, "upper end, if it is known"),
	COLUMN("mapped", NULL, VALUE_COUNT,
	       "chunks whose accessed bytes are known, if all have one size of at most 1,024 "
	       "bytes"),
	COLUMN("chunk_bytes", NULL, VALUE_BYTES, "size of each of these chunks"),
	COLUMN("untouched", NULL, VALUE_BYTES, "bytes of that size accessed in none of them"),
	COLUMN("untouched_at", NULL, VALUE_TEXT, "offsets of these bytes, such as 4-7,16-1023"),
	COLUMN("groups", NULL, VALUE_COUNT, "groups of chunks allocated close together"),
	COLUMN("point", NULL, VALUE_ID, "number of the allocation point"),
	COLUMN("type", NULL, VALUE_TEXT, "type of the allocated memory, if known"),
	COLUMN("inferences", "inferences", VALUE_TEXT,
	       "inferences about the point, with numbers of chunks", .below = true),
	COLUMN("stack", "stack", VALUE_STACK, "stack that allocates"),
};

static const char *access_word(const struct behaviour *point)
{
	if (!point->measured.chunks)
		return NULL;
	return point->is_lower_bound ? "lower bound"
	       : point->is_estimated ? "estimated"
				     : "measured";
}

/* An end of an interval. */
static struct value end_value(bool measured, double end)
{
	return value_if(measured && end == end, value_number((u64)end));
}

static struct value score_value(const struct score_set *scores, enum score score)
{
	return value_if(scores->known[score], value_real(scores->value[score]));
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

static const char *untouched_ranges(const struct point_map *map, struct result *table)
{
	struct strbuf text = {0};
	const char *copy;

	bytemap_add_ranges(&text, map->words, map->size, false, 0);
	copy = result_copy(table, strbuf_text(&text));
	strbuf_release(&text);
	return copy;
}

static void add_point(const struct scores_work *self, struct point_id point, struct result *table)
{
	const struct model *model = self->source->model;
	const struct behaviour *known = &self->behaviour.points[point.index];
	const struct point_map *map = model_point_map(model, point);
	struct score_set scores = scores_of(known);
	u32 step = severity_step(&scores);
	bool measured = known->measured.chunks != 0;
	u64 untouched = map ? map->size - bytemap_count(map->words, map->size) : 0;
	const char *type = stack_type(self->source, model->points.data[point.index].frame);
	const struct access_sums *sums = &model->points.data[point.index].access;
	struct access_interval reads = access_interval(sums, false),
			       writes = access_interval(sums, true);

	result_row(table, value_if(step, value_number(step)), score_value(&scores, SCORE_LIFETIME),
		   score_value(&scores, SCORE_USAGE), score_value(&scores, SCORE_USEFUL),
		   value_units(model, known->all.chunks), value_number(known->all.bytes),
		   value_text(access_word(known)), value_units(model, known->measured.chunks),
		   value_if(measured, value_number(known->reads)),
		   value_if(measured, value_number(known->writes)), end_value(measured, reads.low),
		   end_value(measured, reads.high), end_value(measured, writes.low),
		   end_value(measured, writes.high),
		   value_if(map, value_number(map ? map->chunks : 0)),
		   value_if(map, value_number(map ? map->size : 0)),
		   value_if(map, value_number(untouched)),
		   value_text(untouched ? untouched_ranges(map, table) : NULL),
		   value_number(known->groups), value_number(point.index),
		   value_text(type ? result_copy(table, type) : NULL),
		   value_text(inference_words(self, point, table)),
		   stack_of_point(self->source, point, table));
}

static struct result *points_table(const struct scores_work *self, const struct ranked *ranked,
				   u64 shown)
{
	bool by_amount = self->query->by == SCORES_BY_BYTES || self->query->by == SCORES_BY_COUNT;
	struct result *table = result_table("points",
					    by_amount ? "Allocation points, largest first"
						      : "Allocation points, worst first",
					    columns);

	if (!table)
		return NULL;
	table->empty = "nothing was allocated";
	for (u64 i = 0; i < shown; i++)
		add_point(self, ranked[i].point, table);
	return table;
}

/* ---- inferences ---- */

static const struct result_column inference_columns[] = {
	COLUMN("point", "point", VALUE_ID, "number of the allocation point"),
	COLUMN("id", "inference", VALUE_TEXT, "inference"),
	COLUMN("state", "state", VALUE_TEXT, "holds, no, or unknown"),
	COLUMN("chunks", "chunks", VALUE_COUNT, "chunks for which it holds"),
	COLUMN("of_chunks", "of", VALUE_COUNT, "chunks that were examined"),
	COLUMN("bytes", "bytes", VALUE_BYTES, "bytes of the chunks for which it holds"),
	COLUMN("of_bytes", "of", VALUE_BYTES, "bytes of the examined chunks"),
	COLUMN("confidence", "sure", VALUE_TEXT, "confidence: measured, estimated or inferred"),
};

static void add_inference(const struct scores_work *self, struct result *table,
			  struct point_id point, enum inference id)
{
	const struct model *model = self->source->model;
	struct inference_evidence evidence = inference_of(&self->inferences, point, id);
	bool known = evidence.state != STATE_UNKNOWN;

	if (evidence.state != STATE_HOLDS && !self->query->all_inferences)
		return;
	result_row(table, value_number(point.index), value_text(inference_name(id)),
		   value_text(inference_state_name(evidence.state)),
		   value_if(known, value_units(model, evidence.chunks)),
		   value_if(known, value_units(model, evidence.of_chunks)),
		   value_if(known, value_number(evidence.bytes)),
		   value_if(known, value_number(evidence.of_bytes)),
		   value_if(known, value_text(confidence_name(evidence.confidence))));
}

static struct result *inferences_table(const struct scores_work *self, const struct ranked *ranked,
				       u64 shown)
{
	struct result *table = result_table("inferences", "Inferences", inference_columns);

	if (!table)
		return NULL;
	table->hidden_in_text = !self->query->all_inferences;
	table->empty = "none holds";
	for (u64 i = 0; i < shown; i++)
		for (u32 k = 0; k < INFERENCES; k++)
			add_inference(self, table, ranked[i].point, (enum inference)k);
	return table;
}

/* ---- the whole program ---- */

static void add_summary(const struct scores_work *self, struct result *record, enum score score)
{
	static const struct {
		const char *name, *label;
	} scores[SCORES] = {[SCORE_LIFETIME] = {"lifetime", "lifetime"},
			    [SCORE_USAGE] = {"usage", "usage"},
			    [SCORE_USEFUL] = {"useful", "useful lifetime"}};
	struct score_summary sum = score_summarise(&self->behaviour, score);
	const char *name = scores[score].name;
	bool known = sum.points != 0;

	result_field(record, result_format(record, "%s.mean", name), scores[score].label,
		     VALUE_RATIO, value_if(known, value_real(sum.mean)),
		     "geometric mean of the points' scores",
		     .remark = result_format(record,
					     "variance {%s.variance}; {%s.by_allocations} by "
					     "allocations, {%s.by_bytes} by bytes",
					     name, name, name));
	result_field(record, result_format(record, "%s.variance", name), NULL, VALUE_RATIO,
		     value_if(known, value_real(sum.variance)), "variance of the points' scores");
	result_field(record, result_format(record, "%s.by_allocations", name), NULL, VALUE_RATIO,
		     value_if(known, value_real(sum.mean_by_allocations)),
		     "the same mean, points weighted by allocations");
	result_field(record, result_format(record, "%s.by_bytes", name), NULL, VALUE_RATIO,
		     value_if(known && sum.has_by_bytes, value_real(sum.mean_by_bytes)),
		     "the same mean, points weighted by bytes");
	result_field(record, result_format(record, "%s.points", name), NULL, VALUE_COUNT,
		     value_number(sum.points), "points with this score");
}

static void add_access(const struct scores_work *self, struct result *record)
{
	const struct behaviour *whole = &self->behaviour.whole;
	const struct model *model = self->source->model;

	result_field(record, "access", "accesses", VALUE_TEXT, value_text(access_word(whole)),
		     "precision of the accesses");
	result_field(record, "measured_chunks", NULL, VALUE_COUNT,
		     value_units(model, whole->measured.chunks), "chunks with known accesses");
	result_field(record, "chunks", NULL, VALUE_COUNT, value_units(model, whole->all.chunks),
		     "chunks whose events are in the trace");
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
	if (*model_note(model, "access_merges"))
		result_add_caveat(record, "%s", ACCESS_MERGES_CAVEAT);
	if (model->aggregated)
		result_add_caveat(record, "scores cover only the part of the run whose events are "
					  "in the trace");
}

static void fill(const struct scores_work *self, struct result *record)
{
	u64 shown;
	struct ranked *ranked = rank(self, &shown);

	record->failed |= !ranked;
	shown = result_top(shown, self->query->top);
	for (u32 i = 0; i < SCORES; i++)
		add_summary(self, record, (enum score)i);
	add_access(self, record);
	add_caveats(record, self->source->model, self->query->info);
	result_add_part(record, points_table(self, ranked, shown));
	result_add_part(record, inferences_table(self, ranked, shown));
	free(ranked);
}

struct result *analyse_scores(const struct stack_source *source, const struct scores_query *query,
			      struct err *err)
{
	struct scores_work self = {.source = source, .query = query};
	struct result *record = result_new(RESULT_RECORD, "scores", "Scores, 0 (worst) to 1");
	bool good = record &&
		    behaviour_find(source, &query->thresholds, &self.behaviour, err) == 0 &&
		    inferences_find(&self.inferences, source->model, &self.behaviour,
				    &query->thresholds, err) == 0;

	if (good)
		fill(&self, record);
	behaviour_table_release(&self.behaviour);
	return result_made_if(good, record, err, "the scores");
}
