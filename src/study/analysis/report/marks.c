/* SPDX-License-Identifier: MIT
 * Marks and snapshots as tables.
 * Host. The model has noted what was live at each of them; nothing is computed again here. */
#include "study/analysis/report/marks.h"

#include <stdlib.h>

#include "host/base/order.h"
#include "host/base/units.h"
#include "study/result/field.h"

struct result *analyse_marks(const struct model *model, struct err *err)
{
	static const struct result_column columns[] = {
		COLUMN("time_ns", "time", VALUE_NS, "time since the start of the recording"),
		COLUMN("kind", "kind", VALUE_TEXT,
		       "mark, phase_begin, phase_end, snapshot, paused or resumed"),
		COLUMN("name", "name", VALUE_TEXT, "name given by the program, if any"),
		COLUMN("number", "number", VALUE_ID, "number given by the program, or 0"),
		COLUMN("live_bytes", "live", VALUE_BYTES, "live bytes at this moment"),
		COLUMN("live_chunks", "live chunks", VALUE_COUNT, "live chunks at this moment"),
	};
	struct result *table = result_table("marks", "Marks", columns);

	for (u64 i = 0; table && i < model->marks.count; i++) {
		const struct model_mark *mark = &model->marks.data[i];

		result_row(table, value_number(tick_clock_ns(&model->clock, mark->ticks)),
			   value_text(hw_mark_word(mark->kind)), result_text(table, mark->name),
			   value_number(mark->number), value_number(mark->live_bytes),
			   value_units(model, mark->live_chunks));
	}
	if (table)
		table->hidden_in_text = true; /* heapwise trace info shows them */
	return result_made(table, err, "the marks");
}

static int most_live_first(const void *a, const void *b)
{
	const struct model_snapshot_point *x = a, *y = b;

	return falling(x->live_bytes, y->live_bytes) ?: rising(x->point.index, y->point.index);
}

static void add_points(struct result *table, const struct stack_source *source, u64 number,
		       struct model_snapshot_point *points, u64 count)
{
	const struct model *model = source->model;
	const struct model_snapshot *snapshot = &model->snapshots.data[number];
	const struct model_mark *mark = &model->marks.data[snapshot->mark];

	for (u64 i = 0; i < count; i++)
		result_row(table, value_number(number),
			   value_number(tick_clock_ns(&model->clock, mark->ticks)),
			   value_number(points[i].live_bytes),
			   value_units(model, points[i].live_chunks),
			   value_real(units_share(points[i].live_bytes, mark->live_bytes)),
			   value_number(points[i].point.index),
			   stack_of_point(source, points[i].point, table));
}

/* The model is not ours to sort. */
static bool add_snapshot(struct result *table, const struct stack_source *source, u64 number,
			 u64 top)
{
	const struct model_snapshot *snapshot = &source->model->snapshots.data[number];
	struct model_snapshot_point *points = calloc(snapshot->count + 1, sizeof *points);

	if (!points)
		return false;
	for (u64 i = 0; i < snapshot->count; i++)
		points[i] = source->model->snapshot_points.data[snapshot->first + i];
	qsort(points, snapshot->count, sizeof *points, most_live_first);
	add_points(table, source, number, points, result_top(snapshot->count, top));
	free(points);
	return true;
}

struct result *analyse_snapshots(const struct stack_source *source, u64 top, struct err *err)
{
	static const struct result_column columns[] = {
		COLUMN("snapshot", "snapshot", VALUE_ID, "number of the snapshot, from 0"),
		COLUMN("time_ns", "time", VALUE_NS, "time since the start of the recording"),
		COLUMN("live_bytes", "live", VALUE_BYTES, "live bytes of the point"),
		COLUMN("live_chunks", "live chunks", VALUE_COUNT, "live chunks of the point"),
		COLUMN("share", "share", VALUE_SHARE, "share of all live bytes"),
		COLUMN("point", NULL, VALUE_ID, "number of the point"),
		COLUMN("stack", "stack", VALUE_STACK, "stack that allocated them"),
	};
	const struct model *model = source->model;
	struct result *table = result_table("snapshots", "Live at snapshots", columns);

	for (u64 i = 0; table && i < model->snapshots.count; i++)
		if (!add_snapshot(table, source, i, top))
			table->failed = true;
	if (table)
		table->hidden_in_text = result_rows(table) == 0;
	if (table && model->snapshots_without_points)
		result_add_caveat(table, "points are known for the first %s only",
				  units_things(model->snapshots.count, "snapshot(s)").text);
	return result_made(table, err, "the snapshots");
}
