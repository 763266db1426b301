/* SPDX-License-Identifier: MIT
 * Findings from the contents of chunks: what was in memory twice.
 * Host. Counts only copies that a scan saw, for as long as they lived: others may differ. */
#include "study/analysis/findings/finder.h"

#include "study/analysis/owners/choose.h"
#include "study/analysis/owners/twice.h"
#include "study/model/each.h"

struct live {
	u64 chunks, bytes;
};

/* By point: what was live at the scan. To be freed; NULL without memory. */
static struct live *live_at(const struct model *model, const struct stream_graph *graph)
{
	struct live *live = calloc(model->points.count + 1, sizeof *live);
	struct chunk chunk = {.model = model};

	for (u64 i = 0; live && i < graph->chunk_count; i++) {
		u32 point;

		if (graph->chunks[i] >= model->chunks.count ||
		    !chunk_take(&chunk, graph->chunks[i]))
			continue;
		point = chunk_point(&chunk).index;
		if (point >= model->points.count)
			continue;
		live[point].chunks++;
		live[point].bytes += chunk.page->size[chunk.at];
	}
	return live;
}

static int add_row(struct finder *self, const struct twice_row *row, const struct live *live,
		   struct err *err)
{
	const struct model *model = self->model;
	struct finding one = {.kind = FINDING_TWICE,
			      .confidence = SURE_INFERRED,
			      .frame = model->points.data[row->point].frame,
			      .chunks = row->sums.alike_chunks << model->count_shift,
			      .of_chunks = live->chunks << model->count_shift,
			      .bytes = row->sums.alike_bytes,
			      .of_bytes = live->bytes,
			      .different = row->sums.different,
			      .byte_ticks = row->sums.byte_ticks};

	one.amounts[SAVING_PEAK_BYTES] = (double)row->sums.peak_bytes;
	one.amounts[SAVING_MEAN_BYTES] = part_of(one.byte_ticks, self->costs.run_ticks);
	return row->sums.saving_bytes ? finder_add(self, one, err) : 0;
}

int finder_add_twice(struct finder *self, const struct model *pointers, struct err *err)
{
	struct owners_scans scans = {self->model, pointers->graphs.data, pointers->graphs.count};
	struct twice_query query = {.model = self->model, .graph = owners_largest_known(&scans)};
	struct owner_twice twice = {0};
	struct live *live = query.graph ? live_at(self->model, query.graph) : NULL;
	int status = query.graph && !live ? err_memory_for(err, "the findings") : 0;

	if (live)
		status = owner_twice_find(&twice, &query, err);
	for (u64 i = 0; i < twice.rows.count && status == 0; i++)
		status = add_row(self, &twice.rows.data[i], &live[twice.rows.data[i].point], err);
	owner_twice_release(&twice);
	free(live);
	return status;
}
