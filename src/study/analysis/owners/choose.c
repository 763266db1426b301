/* SPDX-License-Identifier: MIT
 * Chooses a scan by its bytes or its time.
 * Host. */
#include "study/analysis/owners/choose.h"

#include "study/model/each.h"

static u64 live_bytes(const struct model *model, const struct stream_graph *graph)
{
	struct chunk chunk = {.model = model};
	u64 sum = 0;

	for (u64 i = 0; i < graph->chunk_count; i++)
		if (graph->chunks[i] < model->chunks.count && chunk_take(&chunk, graph->chunks[i]))
			sum += chunk.page->size[chunk.at];
	return sum;
}

const struct stream_graph *owners_largest(const struct owners_scans *scans)
{
	const struct stream_graph *found = NULL;
	u64 most = 0;

	for (u64 i = 0; i < scans->count; i++) {
		u64 bytes = live_bytes(scans->model, &scans->graphs[i]);

		if (found && bytes < most)
			continue;
		found = &scans->graphs[i];
		most = bytes;
	}
	return found;
}

static u64 distance(u64 a, u64 b) { return a > b ? a - b : b - a; }

const struct stream_graph *owners_nearest(const struct owners_scans *scans, u64 ticks)
{
	const struct stream_graph *found = NULL;

	for (u64 i = 0; i < scans->count; i++)
		if (!found ||
		    distance(scans->graphs[i].ticks, ticks) < distance(found->ticks, ticks))
			found = &scans->graphs[i];
	return found;
}
