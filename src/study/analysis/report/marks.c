/* SPDX-License-Identifier: MIT
 * Marks and snapshots as tables.
 * Host. The model has noted what was live at each of them; nothing is computed again here. */
#include "study/analysis/report/marks.h"

#include <stdlib.h>

#include "host/base/units.h"

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
	struct result *table = result_new(RESULT_TABLE, "marks", "Marks");

	if (table)
		result_set_columns(table, columns, sizeof columns / sizeof *columns);
	for (u64 i = 0; table && i < model->marks.count; i++) {
		const struct model_mark *mark = &model->marks.data[i];
		const char *name = result_copy(table, mark->name);
		struct value *row = result_add_row(table);

		if (!row)
			break;
		row[0] = value_number(tick_clock_ns(&model->clock, mark->ticks));
		row[1] = value_text(hw_mark_word(mark->kind));
		row[2] = value_text(name);
		row[3] = value_number(mark->number);
		row[4] = value_number(mark->live_bytes);
		row[5] = value_number(model_count(model, mark->live_chunks));
	}
	if (table && !result_failed(table)) {
		table->hidden_in_text = true; /* heapwise trace info shows them */
		return table;
	}
	err_memory_for(err, "the marks");
	result_free(table);
	return NULL;
}

static int most_live_first(const void *a, const void *b)
{
	const struct model_snapshot_point *x = a, *y = b;

	if (x->live_bytes != y->live_bytes)
		return x->live_bytes > y->live_bytes ? -1 : 1;
	return x->point.index < y->point.index ? -1 : x->point.index > y->point.index;
}

static void add_points(struct result *table, const struct stack_source *source, u64 number,
		       struct model_snapshot_point *points, u64 count)
{
	const struct model *model = source->model;
	const struct model_snapshot *snapshot = &model->snapshots.data[number];
	const struct model_mark *mark = &model->marks.data[snapshot->mark];

	for (u64 i = 0; i < count; i++) {
		struct frame_id frame = model->points.data[points[i].point.index].frame;
		const struct result_stack *stack = stack_of(source, frame, table);
		struct value *row = result_add_row(table);

		if (!row)
			return;
		row[0] = value_number(number);
		row[1] = value_number(tick_clock_ns(&model->clock, mark->ticks));
		row[2] = value_number(points[i].live_bytes);
		row[3] = value_number(model_count(model, points[i].live_chunks));
		row[4] = value_real(units_share(points[i].live_bytes, mark->live_bytes));
		row[5] = value_number(points[i].point.index);
		row[6] = value_stack(stack);
	}
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
	add_points(table, source, number, points,
		   top && top < snapshot->count ? top : snapshot->count);
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
	struct result *table = result_new(RESULT_TABLE, "snapshots", "Live at snapshots");

	if (table)
		result_set_columns(table, columns, sizeof columns / sizeof *columns);
	for (u64 i = 0; table && i < model->snapshots.count; i++)
		if (!add_snapshot(table, source, i, top))
			table->failed = true;
	if (table && !result_failed(table)) {
		table->hidden_in_text = result_rows(table) == 0;
		if (model->snapshots_without_points)
			result_add_caveat(table, "points are known for the first %s only",
					  units_things(model->snapshots.count, "snapshot(s)").text);
		return table;
	}
	err_memory_for(err, "the snapshots");
	result_free(table);
	return NULL;
}
