/* SPDX-License-Identifier: MIT
 * Collects containers and their parts.
 * Host. */
#include "study/analysis/owners/contain.h"

#include "host/base/search.h"

static u32 next_number(const struct containing *self)
{
	return (u32)self->owners->containers.count;
}

bool contain_take(struct containing *self, u32 node)
{
	u32 *place = &self->owners->container_of[node];

	if (*place || node >= owners_graph(self->owners)->chunk_count)
		return false;
	if (!vec_push(&self->parts, node)) {
		self->failed = true;
		return false;
	}
	*place = next_number(self);
	return true;
}

void contain_give_back(struct containing *self, u64 kept)
{
	while (self->parts.count > kept)
		self->owners->container_of[self->parts.data[--self->parts.count]] = 0;
}

/* More than what it retains: parts may hold each other. */
static u64 weight_of(const struct containing *self, const struct owner_container *container)
{
	u64 sum = container->sums.retained;

	for (u64 i = 0; i < self->parts.count && sum < self->least; i++)
		sum += self->owners->tree.retained[self->parts.data[i]];
	return sum;
}

void contain_end(struct containing *self, const struct owner_container *container)
{
	struct owners *owners = self->owners;
	bool is_large = weight_of(self, container) >= self->least;

	if (is_large && owners->containers.count < CONTAINERS_MAX) {
		self->failed |= !vec_push(&owners->containers, *container);
		vec_clear(&self->parts);
		return;
	}
	owners->containers_left += is_large;
	contain_give_back(self, 0);
}

u64 contain_any_edge(const struct owners *self, u32 node, u64 offset)
{
	const struct stream_graph *graph = owners_graph(self);
	enum { FEW = 8 };
	u64 first = graph->starts[node], count = graph->starts[node + 1] - first;
	u64 at = first, end = first + count;

	if (node < graph->chunk_count && count <= FEW) {
		while (at < end && graph->edges[at].from < offset)
			at++;
		return at < end && graph->edges[at].from == offset ? at : NO_EDGE;
	}
	at = first + bisect(i, count, owners_edge_offset(self, node, first + i) < offset);

	return at < end && owners_edge_offset(self, node, at) == offset ? at : NO_EDGE;
}

u64 contain_edge(const struct owners *self, u32 node, u64 offset)
{
	u64 at = contain_any_edge(self, node, offset);

	return at == NO_EDGE || edge_is_in(self->ignored, at) ? NO_EDGE : at;
}

u32 contain_target(const struct owners *self, u32 node, u64 offset)
{
	u64 edge = contain_edge(self, node, offset);

	return edge == NO_EDGE ? UINT32_MAX : owners_graph(self)->edges[edge].target;
}

u64 contain_number(const struct owners *self, u32 node, u64 edge, int words)
{
	const struct stream_graph *told = self->roots.told;
	i64 from = (i64)told->edges[edge].from + words * (i64)sizeof(u64);
	u64 place, at;

	if (from < 0 || from >= UINT32_MAX)
		return 0;
	if (node >= told->chunk_count)
		node = owner_roots_told(&self->roots, edge);
	place = number_place(node, (u32)from);
	at = bisect(i, told->number_count, told->numbers[i].place < place);
	return at < told->number_count && told->numbers[at].place == place ? told->numbers[at].value
									   : 0;
}

u64 contain_slack(u64 elements, u64 capacity, u64 place_bytes)
{
	return capacity > elements ? (capacity - elements) * place_bytes : 0;
}
