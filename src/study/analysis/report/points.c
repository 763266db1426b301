/* SPDX-License-Identifier: MIT
 * Ranks allocation points.
 * Host. Numbers come from the model's points; with a slack, temporary ones are counted anew. */
#include "study/analysis/report/points.h"

#include <string.h>

#include "study/analysis/places/group.h"
#include "study/analysis/summary/temporary.h"
#include "study/analysis/typing/types.h"
#include "host/base/units.h"

enum column {
	AT_BYTES,
	AT_PEAK,
	AT_KEPT,
	AT_TEMPORARY,
	AT_ALLOCATIONS,
	AT_OWN_PEAK,
	AT_MEAN,
	AT_SHARE,
	AT_POINT,
	AT_CALL,
	AT_FREES,
	AT_FREED_BYTES,
	AT_PEAK_CHUNKS,
	AT_KEPT_CHUNKS,
	AT_TEMPORARY_BYTES,
	AT_OWN_PEAK_NS,
	AT_DEPTH,
	AT_TYPE,
	AT_STACK,
	COLUMNS
};

static const struct result_column columns[COLUMNS] = {
	[AT_BYTES] = COLUMN("bytes", "bytes", VALUE_BYTES, "bytes requested by the point"),
	[AT_PEAK] = COLUMN("at_peak_bytes", "at peak", VALUE_BYTES,
			   "live bytes of the point at the moment of the program's peak"),
	[AT_KEPT] = COLUMN("kept_bytes", "kept", VALUE_BYTES, "bytes never freed"),
	[AT_TEMPORARY] = COLUMN("temporary", "temporary", VALUE_COUNT,
				"chunks freed before any further allocation of their thread"),
	[AT_ALLOCATIONS] =
		COLUMN("allocations", "allocations", VALUE_COUNT, "allocations by the point"),
	[AT_OWN_PEAK] = COLUMN("peak_bytes", "own peak", VALUE_BYTES,
			       "highest live bytes of the point at any moment"),
	[AT_MEAN] = COLUMN("mean_bytes", "mean size", VALUE_BYTES, "mean size of an allocation"),
	[AT_SHARE] = COLUMN("share", "share", VALUE_SHARE,
			    "share of the whole program, by the ranking metric"),
	[AT_POINT] = COLUMN("point", NULL, VALUE_ID, "number of the point in this report"),
	[AT_CALL] =
		COLUMN("call", NULL, VALUE_TEXT, "function of the allocator that was called first"),
	[AT_FREES] = COLUMN("frees", NULL, VALUE_COUNT, "freed chunks of the point"),
	[AT_FREED_BYTES] = COLUMN("freed_bytes", NULL, VALUE_BYTES, "freed bytes of the point"),
	[AT_PEAK_CHUNKS] = COLUMN("at_peak_chunks", NULL, VALUE_COUNT,
				  "live chunks of the point at the moment of the program's peak"),
	[AT_KEPT_CHUNKS] = COLUMN("kept_chunks", NULL, VALUE_COUNT, "chunks never freed"),
	[AT_TEMPORARY_BYTES] =
		COLUMN("temporary_bytes", NULL, VALUE_BYTES, "bytes in temporary chunks"),
	[AT_OWN_PEAK_NS] = COLUMN("peak_time_ns", NULL, VALUE_NS, "time of the point's own peak"),
	[AT_DEPTH] = COLUMN("depth", NULL, VALUE_COUNT,
			    "frames of the recorded stack, without inlined ones"),
	[AT_TYPE] = COLUMN("type", NULL, VALUE_TEXT, "type of the allocated memory, if known"),
	[AT_STACK] = COLUMN("stack", "stack", VALUE_STACK, "innermost frame first"),
};

static const struct {
	const char *name, *part, *title, *empty;
	enum column column;
} measures[] = {
	[POINTS_BY_BYTES] = {"bytes", "top.bytes", "Most bytes requested", "nothing was allocated",
			     AT_BYTES},
	[POINTS_BY_PEAK] = {"peak", "top.peak", "Largest at the peak", "nothing was live", AT_PEAK},
	[POINTS_BY_KEPT] = {"kept", "top.kept", "Kept: never freed", "nothing was kept", AT_KEPT},
	[POINTS_BY_TEMPORARY] = {"temporary", "top.temporary",
				 "Temporary: freed before the thread's next allocation",
				 "no allocation was temporary", AT_TEMPORARY},
	[POINTS_BY_ALLOCATIONS] = {"count", "top.count", "Most allocations",
				   "nothing was allocated", AT_ALLOCATIONS},
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

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->point < y->point ? -1 : x->point > y->point;
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

static const char *call_name(u32 kind)
{
	static const char *const names[HW_KIND_COUNT] = {
#define KIND_CALL(name, number, group, call) [number] = call,
		HW_KINDS(KIND_CALL)
#undef KIND_CALL
	};

	return kind < HW_KIND_COUNT && *names[kind] ? names[kind] : NULL;
}

static void fill_row(struct value *row, const struct model *model, const struct ranked *ranked,
		     u64 whole)
{
	const struct model_point *point = &model->points.data[ranked->point];
	u64 allocations = model_count(model, point->allocations);
	bool exec = model_keeps_nothing(model);

	row[AT_BYTES] = value_number(point->bytes);
	row[AT_PEAK] = value_number(point->at_peak_bytes);
	row[AT_KEPT] = value_number(exec ? 0 : point->live_bytes);
	row[AT_TEMPORARY] = value_number(model_count(model, ranked->temporary));
	row[AT_ALLOCATIONS] = value_number(allocations);
	row[AT_OWN_PEAK] = value_number(point->peak_bytes);
	row[AT_MEAN] = value_number(allocations ? point->bytes / allocations : 0);
	row[AT_SHARE] = value_real(units_share(ranked->value, whole));
	row[AT_POINT] = value_number(ranked->point);
	row[AT_CALL] = value_text(call_name(point->kind));
	row[AT_FREES] = value_number(model_count(model, point->frees));
	row[AT_FREED_BYTES] = value_number(point->freed_bytes);
	row[AT_PEAK_CHUNKS] = value_number(model_count(model, point->at_peak_chunks));
	row[AT_KEPT_CHUNKS] = value_number(exec ? 0 : model_count(model, point->live_chunks));
	row[AT_TEMPORARY_BYTES] = value_number(ranked->temporary_bytes);
	row[AT_OWN_PEAK_NS] = value_number(tick_clock_ns(&model->clock, point->peak_ticks));
	row[AT_DEPTH] = value_number(context_table_depth(&model->contexts, point->frame));
}

/* The ranking measure comes first, its share second; the others keep their order. */
static void set_columns(struct result *table, enum column first, enum column *order)
{
	u32 n = 0;

	order[n++] = first;
	order[n++] = AT_SHARE;
	for (u32 i = 0; i < COLUMNS; i++)
		if (i != first && i != AT_SHARE)
			order[n++] = (enum column)i;
	for (u32 i = 0; i < COLUMNS; i++)
		result_set_columns(table, &columns[order[i]], 1);
}

static const char *type_copy(const struct stack_source *source, struct frame_id frame,
			     struct result *table)
{
	const char *type = stack_type(source, frame);

	return type ? result_copy(table, type) : NULL;
}

static void add_rows(struct result *table, const struct stack_source *source,
		     const struct ranked *ranked, u64 top, u64 whole, const enum column *order)
{
	const struct model *model = source->model;

	for (u64 i = 0; i < model->points.count && (top == 0 || i < top) && ranked[i].value; i++) {
		struct value values[COLUMNS], *row;

		fill_row(values, model, &ranked[i], whole);
		values[AT_TYPE] = value_text(
			type_copy(source, model->points.data[ranked[i].point].frame, table));
		values[AT_STACK] = value_stack(
			stack_of(source, model->points.data[ranked[i].point].frame, table));
		row = result_add_row(table);
		for (u32 k = 0; row && k < COLUMNS; k++)
			row[k] = values[order[k]];
	}
}

struct result *analyse_points(const struct stack_source *source, const struct points_query *query,
			      struct err *err)
{
	const struct model *model = source->model;
	struct ranked *ranked = calloc(model->points.count + 1, sizeof *ranked);
	struct result *table =
		result_new(RESULT_TABLE, measures[query->by].part, measures[query->by].title);
	enum column order[COLUMNS];
	u64 whole;

	if (!ranked || !table) {
		err_memory_for(err, "the points");
		goto fail;
	}
	if (rank(model, query, ranked, &whole, err) < 0)
		goto fail;
	table->empty = measures[query->by].empty;
	set_columns(table, measures[query->by].column, order);
	add_rows(table, source, ranked, query->top, whole, order);
	if (result_failed(table)) {
		err_memory_for(err, "the points");
		goto fail;
	}
	free(ranked);
	return table;
fail:
	free(ranked);
	result_free(table);
	return NULL;
}
