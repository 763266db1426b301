/* SPDX-License-Identifier: MIT
 * Findings from two scans: containers that grow.
 * Host. */
#include "study/analysis/findings/finder.h"

#include <stdio.h>
#include <string.h>

#include "study/analysis/owners/choose.h"
#include "study/analysis/owners/growth.h"
#include "study/model/each.h"

/* As growth of points is judged: by so many bytes, and with a forecast from so long a time on. */
static const u64 MIN_BYTES = 64 << 10;
static const u64 FORECAST_NS = 10000000000;
enum { ROWS_MAX = 10 };

struct growing {
	struct finder *finder;
	struct owners_scans scans;
	struct owners_span span;
	struct type_cascade types;
	struct owners after;
	struct owner_growth growth;
};

static void copy(char *to, u64 room, const char *text) { snprintf(to, room, "%s", text); }

static int add_row(struct growing *self, const struct grown_row *row, struct err *err)
{
	const struct model *model = self->finder->model;
	u32 point = self->after.point_of[row->node];
	bool elements = row->elements != UINT32_MAX;
	struct finding one = {.kind = FINDING_GROWS_IN,
			      .confidence = SURE_INFERRED,
			      .bytes = grown_bytes(row),
			      .lasted_ns = self->growth.span_ns,
			      .bytes_per_s = grown_bytes_per_s(&self->growth, row),
			      .short_run = self->growth.span_ns < FORECAST_NS};
	struct grown_name name = {0};
	int status = 0;

	if (point >= model->points.count || row->stopped ||
	    self->growth.paths.data[row->owner].what == OWNER_LOST)
		return 0;
	if (elements)
		one.chunks = (row->count[GROWN_AFTER] - row->count[GROWN_BEFORE])
			     << model->count_shift;
	one.of_chunks = row->count[GROWN_AFTER] << model->count_shift;
	one.frame = model->points.data[point].frame;
	one.amounts[SAVING_PEAK_BYTES] = (double)row->bytes[GROWN_AFTER];
	status = owner_growth_name(&self->growth, row, &self->after, &name, err);
	if (status == 0) {
		copy(one.grows.container, sizeof one.grows.container, strbuf_text(&name.container));
		copy(one.grows.root, sizeof one.grows.root, strbuf_text(&name.root));
		copy(one.grows.element, sizeof one.grows.element,
		     grown_elements(&self->growth, row));
		status = finder_add(self->finder, one, err);
	}
	grown_name_release(&name);
	return status;
}

/* Points of which most that is new is in one of the rows: their growth is told. */
static bool note_points(struct growing *self)
{
	const struct stream_graph *graph = owners_graph(&self->after);
	u64 points = self->finder->model->points.count;
	struct {
		u64 all, told;
	} *sums = calloc(points + 1, sizeof *sums);
	bool good = sums;

	for (u32 node = 0; good && node < graph->chunk_count; node++) {
		u32 path = self->growth.path_of[self->after.shape_of[node]];
		u64 bytes = owners_bytes(&self->after, node);

		if (graph_find(self->span.before, graph->chunks[node]) != UINT32_MAX)
			continue;
		sums[self->after.point_of[node]].all += bytes;
		if (self->growth.paths.data[path].told)
			sums[self->after.point_of[node]].told += bytes;
	}
	for (u64 i = 0; good && i < points; i++)
		if (sums[i].all && 2 * sums[i].told >= sums[i].all)
			good = map_put(&self->finder->held, i, 1);
	free(sums);
	return good;
}

static int find_growth(struct growing *self, struct err *err)
{
	struct owners_query query = {.graph = self->span.after, .types = &self->types};
	int status = owners_make(&self->after, &query, err);

	self->growth.limits = (struct owner_growth_limits){MIN_BYTES, 0.01};
	query.graph = self->span.before;
	if (status == 0)
		status = owner_growth_find(&self->growth, &query, &self->after, err);
	query.graph = owners_between(&self->scans, &self->span);
	if (status == 0 && query.graph)
		status = owner_growth_confirm(&self->growth, &query, &self->after, err);
	return status;
}

static int add_rows(struct growing *self, struct err *err)
{
	u64 rows = self->growth.rows.count < ROWS_MAX ? self->growth.rows.count : ROWS_MAX;
	int status = 0;

	for (u64 i = 0; i < rows && status == 0; i++)
		status = add_row(self, &self->growth.rows.data[i], err);
	if (status == 0 && rows && !note_points(self))
		status = err_memory_for(err, "the findings");
	return status;
}

int finder_add_grown(struct finder *finder, const struct model *pointers, struct err *err)
{
	struct growing self = {.finder = finder,
			       .scans = {finder->model, pointers->graphs.data,
					 pointers->graphs.count}};
	struct type_query ask = {.source = finder->source, .guess = true};
	int status = 0;

	if (!owners_span(&self.scans, &self.span))
		return 0;
	status = type_cascade_init(&self.types, &ask, err);
	if (status == 0)
		status = find_growth(&self, err);
	if (status == 0)
		status = add_rows(&self, err);
	owner_growth_release(&self.growth);
	owners_release(&self.after);
	type_cascade_release(&self.types);
	return status;
}
