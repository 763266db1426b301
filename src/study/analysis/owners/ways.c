/* SPDX-License-Identifier: MIT
 * Searches the graph in breadth.
 * Host. */
#include "study/analysis/owners/ways.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/order.h"

#define NONE UINT32_MAX

static void see(struct owners *self, u32 node, u32 from)
{
	if (self->came_from[node] != NONE)
		return;
	self->came_from[node] = from;
	self->reached[self->reached_count++] = node;
}

static void search(struct owners *self, u64 at)
{
	const struct stream_graph *graph = owners_graph(self);

	for (; at < self->reached_count; at++) {
		u32 node = self->reached[at];

		graph_look_ahead(graph, self->reached + at, self->reached_count - at,
				 self->came_from);
		for (u64 i = graph->starts[node]; i < graph->starts[node + 1]; i++)
			if (!edge_is_in(self->ignored, i))
				see(self, graph->edges[i].target, node);
	}
}

/* Of ways that are equally short, the one from a table with many pointers says more than the one
 * from a variable that happens to lead there, too. */
static int most_pointers_first(const void *a, const void *b, void *data)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;
	const u64 *starts = data;

	return falling(starts[x + 1] - starts[x], starts[y + 1] - starts[y]) ?: rising(x, y);
}

void owner_ways_find(struct owners *self)
{
	u32 lost = self->tree.lost;
	u64 found;

	memset(self->came_from, 0xff, self->tree.node_count * sizeof *self->came_from);
	self->reached_count = 0;
	for (u32 node = (u32)owners_graph(self)->chunk_count; node < lost; node++)
		see(self, node, node);
	qsort_r(self->reached, self->reached_count, sizeof *self->reached, most_pointers_first,
		(void *)(uintptr_t)owners_graph(self)->starts);
	search(self, 0);
	found = self->reached_count;
	for (u64 i = 0; i < owners_graph(self)->chunk_count; i++) {
		u32 node = graph_node(owners_graph(self), i);

		if (self->tree.holder[node] == lost)
			see(self, node, node);
	}
	search(self, found);
}
