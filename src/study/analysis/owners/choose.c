/* SPDX-License-Identifier: MIT
 * Chooses a scan by its bytes or its time.
 * Host. */
#include "study/analysis/owners/choose.h"

#include "study/model/each.h"
#include "study/model/graphs.h"

static u64 live_bytes(const struct model *model, const struct stream_graph *graph)
{
	struct chunk chunk = {.model = model};
	u64 sum = 0;

	for (u64 i = 0; i < graph->chunk_count; i++)
		if (graph_chunk(graph, i) < model->chunks.count &&
		    chunk_take(&chunk, graph_chunk(graph, i)))
			sum += chunk.page->size[chunk.at];
	return sum;
}

static const struct stream_graph *largest(const struct owners_scans *scans, bool known)
{
	const struct stream_graph *found = NULL;
	u64 most = 0;

	for (u64 i = 0; i < scans->count; i++) {
		u64 bytes = live_bytes(scans->model, &scans->graphs[i]);

		if ((found && bytes < most) || (known && !scans->graphs[i].contents))
			continue;
		found = &scans->graphs[i];
		most = bytes;
	}
	return found;
}

const struct stream_graph *owners_largest(const struct owners_scans *scans)
{
	return largest(scans, false);
}

const struct stream_graph *owners_largest_known(const struct owners_scans *scans)
{
	return largest(scans, true);
}

int owners_missing(const struct model *model, const char *path, struct err *err)
{
	const char *failed = model_note(model, "owners_failed");

	if (*failed)
		return err_set(err, ERR_INPUT, "%s: the pointers could not be recorded: %s", path,
			       failed);
	return err_set(err, ERR_INPUT,
		       "%s: no pointers were recorded; record with 'heapwise run --owners PROGRAM'",
		       path);
}

static u64 distance(u64 a, u64 b) { return a > b ? a - b : b - a; }

const struct stream_graph *owners_after(const struct owners_scans *scans, u64 ticks)
{
	for (u64 i = 0; i < scans->count; i++)
		if (scans->graphs[i].ticks >= ticks)
			return &scans->graphs[i];
	return owners_nearest(scans, ticks);
}

const struct stream_graph *owners_nearest(const struct owners_scans *scans, u64 ticks)
{
	const struct stream_graph *found = NULL;

	for (u64 i = 0; i < scans->count; i++)
		if (!found ||
		    distance(scans->graphs[i].ticks, ticks) < distance(found->ticks, ticks))
			found = &scans->graphs[i];
	return found;
}

bool owners_span(const struct owners_scans *scans, struct owners_span *span)
{
	struct owners_scans later = *scans;

	if (scans->count < 2)
		return false;
	later.graphs++;
	later.count--;
	*span = (struct owners_span){scans->graphs, owners_largest(&later)};
	return true;
}

const struct stream_graph *owners_between(const struct owners_scans *scans,
					  const struct owners_span *span)
{
	u64 from = span->before->ticks, to = span->after->ticks;
	u64 middle = from / 2 + to / 2;
	const struct stream_graph *found = NULL;

	for (u64 i = 0; i < scans->count; i++) {
		const struct stream_graph *graph = &scans->graphs[i];

		if (graph->ticks > from && graph->ticks < to &&
		    (!found || distance(graph->ticks, middle) < distance(found->ticks, middle)))
			found = graph;
	}
	return found;
}
