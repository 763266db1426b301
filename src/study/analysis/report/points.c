/* SPDX-License-Identifier: MIT
 * Ranks allocation points.
 * Host. Numbers come from the model's points; with a slack, temporary ones are counted anew. */
#include "study/analysis/report/points.h"

#include <string.h>

#include "study/analysis/places/group.h"
#include "study/analysis/summary/temporary.h"
#include "study/analysis/typing/types.h"
#include "host/base/order.h"
#include "host/base/units.h"
#include "host/trace/kinds.h"
#include "study/result/field.h"

/* The columns in their order, of which the ranking measure and its share come first. */
struct cells {
	struct value bytes, peak, kept, temporary, allocations, own_peak, mean, share, point, call,
		frees, freed_bytes, peak_chunks, kept_chunks, temporary_bytes, own_peak_ns, depth,
		type, stack;
};
#define AT(member) (offsetof(struct cells, member) / sizeof(struct value))

static const struct result_column columns[] = {
	COLUMN("bytes", "bytes", VALUE_BYTES, "bytes requested by the point"),
	COLUMN("at_peak_bytes", "at peak", VALUE_BYTES,
	       "live bytes of the point at the moment of the program's peak"),
	COLUMN("kept_bytes", "kept", VALUE_BYTES, "bytes never freed"),
	COLUMN("temporary", "temporary", VALUE_COUNT,
	       "chunks freed before any further allocation of their thread"),
	COLUMN("allocations", "allocations", VALUE_COUNT, "allocations by the point"),
	COLUMN("peak_bytes", "own peak", VALUE_BYTES,
	       "highest live bytes of the point at any moment"),
	COLUMN("mean_bytes", "mean size", VALUE_BYTES, "mean size of an allocation"),
	COLUMN("share", "share", VALUE_SHARE, "share of the whole program, by the ranking metric"),
	COLUMN("point", NULL, VALUE_ID, "number of the point in this report"),
	COLUMN("call", NULL, VALUE_TEXT, "function of the allocator that was called first"),
	COLUMN("frees", NULL, VALUE_COUNT, "freed chunks of the point"),
	COLUMN("freed_bytes", NULL, VALUE_BYTES, "freed bytes of the point"),
	COLUMN("at_peak_chunks", NULL, VALUE_COUNT,
	       "live chunks of the point at the moment of the program's peak"),
	COLUMN("kept_chunks", NULL, VALUE_COUNT, "chunks never freed"),
	COLUMN("temporary_bytes", NULL, VALUE_BYTES, "bytes in temporary chunks"),
	COLUMN("peak_time_ns", NULL, VALUE_NS, "time of the point's own peak"),
	COLUMN("depth", NULL, VALUE_COUNT, "frames of the recorded stack, without inlined ones"),
	COLUMN("type", NULL, VALUE_TEXT, "type of the allocated memory, if known"),
	COLUMN("stack", "stack", VALUE_STACK, "innermost frame first"),
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static const struct {
	const char *name, *part, *title, *empty;
	u32 column;
} measures[] = {
	[POINTS_BY_BYTES] = {"bytes", "top.bytes", "Most bytes requested", "nothing was allocated",
			     AT(bytes)},
	[POINTS_BY_PEAK] = {"peak", "top.peak", "Largest at the peak", "nothing was live",
			    AT(peak)},
	[POINTS_BY_KEPT] = {"kept", "top.kept", "Kept: never freed", "nothing was kept", AT(kept)},
	[POINTS_BY_TEMPORARY] = {"temporary", "top.temporary",
				 "Temporary: freed before the thread's next allocation",
				 "no allocation was temporary", AT(temporary)},
	[POINTS_BY_ALLOCATIONS] = {"count", "top.count", "Most allocations",
				   "nothing was allocated", AT(allocations)},
};

bool points_by_parse(const char *word, enum points_by *by)
{
	for (u32 i = 0; i < POINTS_MEASURES; i++)
		if (strcmp(measures[i].name, word) == 0) {
			*by = (enum points_by)i;
			return true;
		}
	return false;
}

/* What a point is ranked by. */
struct ranked {
	u64 value;
	u32 point;
	u64 temporary, temporary_bytes;
};

static u64 measure(const struct model_point *point, const struct ranked *ranked, enum points_by by)
{
	switch (by) {
	case POINTS_BY_BYTES: return point->bytes;
	case POINTS_BY_PEAK: return point->at_peak_bytes;
	case POINTS_BY_KEPT: return point->live_bytes;
	case POINTS_BY_TEMPORARY: return ranked->temporary;
	case POINTS_BY_ALLOCATIONS: return point->allocations;
	}
	return 0;
}

static int most_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return falling(x->value, y->value) ?: rising(x->point, y->point);
}

/* Fills ranked[0..points), best first, and *whole with the sum over all. */
static int rank(const struct model *model, const struct points_query *query, struct ranked *ranked,
		u64 *whole, struct err *err)
{
	struct temporary_table temporary = {0};
	bool kept_is_known = !model_keeps_nothing(model);
	int status = temporary_count(model, query->temporary_slack, &temporary, err);

	if (status < 0)
		return status;
	*whole = 0;
	for (u32 i = 0; i < model->points.count; i++) {
		struct ranked *one = &ranked[i];

		one->point = i;
		temporary_of_point(&temporary, model, (struct point_id){i}, &one->temporary,
				   &one->temporary_bytes);
		one->value = measure(&model->points.data[i], one, query->by);
		if (query->by == POINTS_BY_KEPT && !kept_is_known)
			one->value = 0;
		*whole += one->value;
	}
	temporary_table_release(&temporary);
	qsort(ranked, model->points.count, sizeof *ranked, most_first);
	return 0;
}

static struct cells cells_of(const struct stack_source *source, const struct ranked *ranked,
			     u64 whole, struct result *table)
{
	const struct model *model = source->model;
	const struct model_point *point = &model->points.data[ranked->point];
	u64 allocations = model_count(model, point->allocations);
	bool exec = model_keeps_nothing(model);

	return (struct cells){
		.bytes = value_number(point->bytes),
		.peak = value_number(point->at_peak_bytes),
		.kept = value_number(exec ? 0 : point->live_bytes),
		.temporary = value_units(model, ranked->temporary),
		.allocations = value_number(allocations),
		.own_peak = value_number(point->peak_bytes),
		.mean = value_number(allocations ? point->bytes / allocations : 0),
		.share = value_real(units_share(ranked->value, whole)),
		.point = value_number(ranked->point),
		.call = value_text(kind_call(point->kind)),
		.frees = value_units(model, point->frees),
		.freed_bytes = value_number(point->freed_bytes),
		.peak_chunks = value_units(model, point->at_peak_chunks),
		.kept_chunks = value_number(exec ? 0 : model_count(model, point->live_chunks)),
		.temporary_bytes = value_number(ranked->temporary_bytes),
		.own_peak_ns = value_number(tick_clock_ns(&model->clock, point->peak_ticks)),
		.depth = value_number(context_table_depth(&model->contexts, point->frame)),
		.type = result_text(table, stack_type(source, point->frame)),
		.stack = value_stack(stack_of(source, point->frame, table)),
	};
}

/* The ranking measure comes first, its share second; the others keep their order. */
static void set_columns(struct result *table, u32 first, u32 *order)
{
	u32 n = 0;

	order[n++] = first;
	order[n++] = AT(share);
	for (u32 i = 0; i < COLUMNS; i++)
		if (i != first && i != AT(share))
			order[n++] = i;
	for (u32 i = 0; i < COLUMNS; i++)
		result_set_columns(table, &columns[order[i]], 1);
}

static void add_rows(struct result *table, const struct stack_source *source,
		     const struct ranked *ranked, const struct points_query *query, u64 whole)
{
	u64 count = result_top(source->model->points.count, query->top);
	u32 order[COLUMNS];

	set_columns(table, measures[query->by].column, order);
	for (u64 i = 0; i < count && ranked[i].value; i++) {
		struct cells cells = cells_of(source, &ranked[i], whole, table);
		struct value *row = result_add_row(table);

		for (u32 k = 0; row && k < COLUMNS; k++)
			row[k] = ((const struct value *)&cells)[order[k]];
	}
}

struct result *analyse_points(const struct stack_source *source, const struct points_query *query,
			      struct err *err)
{
	struct ranked *ranked = calloc(source->model->points.count + 1, sizeof *ranked);
	struct result *table =
		result_new(RESULT_TABLE, measures[query->by].part, measures[query->by].title);
	bool good = true;
	u64 whole;

	if (table)
		table->failed |= !ranked;
	if (table && ranked) {
		good = rank(source->model, query, ranked, &whole, err) == 0;
		table->empty = measures[query->by].empty;
		if (good)
			add_rows(table, source, ranked, query, whole);
	}
	free(ranked);
	return result_made_if(good, table, err, "the points");
}
