/* SPDX-License-Identifier: MIT
 * Diagrams of excessive allocation.
 * Host. */
#include "study/analysis/emad/excessive.h"
#include "host/base/units.h"

static const char *dot_label(struct excessive_charts *charts, const struct excessive *self,
			     const struct excessive_row *row)
{
	const struct alloc_object *object = &self->objects.rows.data[row->object];

	return arena_format(&charts->arena, "%s, %s",
			    object_routine(&self->objects, object->caller),
			    units_bytes(object->size).text);
}

bool excessive_charts_make(struct excessive_charts *charts, const struct excessive *self)
{
	u64 count = self->rows.count;

	*charts = (struct excessive_charts){
		.chart = {{.title = "Frequency and lifetime of allocation objects",
			   .x_label = "frequency",
			   .y_label = "mean life, ms",
			   .group_name = self->clusters.k ? "cluster" : NULL},
			  {.title = "Frequency / lifetime ratio of allocation objects",
			   .x_label = "objects by R",
			   .y_label = "R, 1/ms",
			   .line_count = (self->query->methods & BY_IQR) && self->enough ? 2 : 0}},
		.lines = {{self->iqr.q3, "Q3"}, {self->iqr.threshold, "threshold"}}};
	for (u32 c = 0; c < 2; c++) {
		charts->dots[c] = arena_new_array(&charts->arena, struct chart_dot, count);
		if (!charts->dots[c])
			return false;
		charts->chart[c].log_y = true;
		charts->chart[c].mark_name = "excessive";
		charts->chart[c].dots = charts->dots[c];
		charts->chart[c].count = count;
	}
	charts->chart[0].log_x = true;
	charts->chart[1].lines = charts->lines;
	for (u64 i = 0; i < count; i++) {
		const struct excessive_row *row = &self->rows.data[i];
		struct chart_dot dot = {.x = row->frequency,
					.y = row->life_ms,
					.group = row->cluster == UINT8_MAX ? 0 : row->cluster,
					.marked = row->found_by & BY_KMEANS};

		if (row->found_by)
			dot.label = dot_label(charts, self, row);
		if (!(self->query->methods & BY_KMEANS))
			dot.marked = row->found_by;
		charts->dots[0][i] = dot;
		dot = (struct chart_dot){.x = (double)(count - i),
					 .y = row->ratio,
					 .marked = row->found_by & BY_IQR,
					 .label = dot.label};
		charts->dots[1][i] = dot;
	}
	return true;
}

void excessive_charts_release(struct excessive_charts *charts) { arena_release(&charts->arena); }
