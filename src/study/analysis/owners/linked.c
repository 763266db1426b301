/* SPDX-License-Identifier: MIT
 * Joins chunks that are called alike and point to each other, and says by the offsets of these
 * pointers what they are together.
 * Host. Takes 8 bytes per node in the meantime, and 40 per group. */
#include "study/analysis/owners/linked.h"

#include <string.h>

#include "host/base/huge.h"
#include "host/base/order.h"
#include "study/analysis/owners/library.h"

#define NONE UINT32_MAX

enum { NODES_MIN = 3, OFFSETS_MAX = 4 };

/* Chunks that are connected. */
struct group {
	u32 first; /* the nearest to a root */
	u32 nodes;
	u32 offsets[OFFSETS_MAX]; /* of pointers from one to another */
	u32 offset_count;
	u64 links, back_links; /* pointers; those that another one leads back */
};

struct joining {
	struct containing *to;
	struct owners *owners;
	u32 *above;  /* by node: another one of its group, itself = it stands for the group */
	u32 *number; /* by node that stands for a group: nodes in it, then its number */
	VEC(struct group) groups;
};

static bool are_linked(const struct joining *self, u32 node, u64 edge)
{
	u32 target = owners_graph(self->owners)->edges[edge].target;

	return target != node && contain_alike(self->owners, node, target) &&
	       !self->owners->container_of[node] && !self->owners->container_of[target] &&
	       !edge_is_in(self->owners->ignored, edge);
}

/* ---- groups ---- */

static u32 find(struct joining *self, u32 node)
{
	while (self->above[node] != node) {
		self->above[node] = self->above[self->above[node]];
		node = self->above[node];
	}
	return node;
}

static void join(struct joining *self, u32 a, u32 b)
{
	a = find(self, a);
	b = find(self, b);
	if (a == b)
		return;
	if (self->number[a] < self->number[b]) {
		u32 smaller = a;

		a = b;
		b = smaller;
	}
	self->above[b] = a;
	self->number[a] += self->number[b];
}

static void join_all(struct joining *self)
{
	const struct stream_graph *graph = owners_graph(self->owners);

	for (u32 node = 0; node < graph->chunk_count; node++) {
		self->above[node] = node;
		self->number[node] = 1;
	}
	for (u32 node = 0; node < graph->chunk_count; node++)
		for (u64 i = graph->starts[node]; i < graph->starts[node + 1]; i++)
			if (are_linked(self, node, i))
				join(self, node, graph->edges[i].target);
}

/* Numbers of groups instead of sizes. */
static bool number_groups(struct joining *self)
{
	const struct stream_graph *graph = owners_graph(self->owners);
	u64 many = 0;

	for (u32 node = 0; node < graph->chunk_count; node++)
		many += self->above[node] == node && self->number[node] >= NODES_MIN;
	if (!vec_reserve(&self->groups, many + 1))
		return false;
	vec_push(&self->groups, (struct group){.first = NONE});
	for (u32 node = 0; node < graph->chunk_count; node++) {
		u32 nodes = self->number[node];

		if (self->above[node] != node)
			continue;
		self->number[node] = nodes >= NODES_MIN ? (u32)self->groups.count : 0;
		if (self->number[node])
			vec_push(&self->groups, (struct group){.first = NONE, .nodes = nodes});
	}
	return true;
}

/* ---- what they are ---- */

static bool leads_back(const struct joining *self, u32 node, u32 to)
{
	const struct stream_graph *graph = owners_graph(self->owners);

	for (u64 i = graph->starts[node]; i < graph->starts[node + 1]; i++)
		if (graph->edges[i].target == to)
			return true;
	return false;
}

static void add_link(const struct joining *self, struct group *group, u32 node, u64 edge)
{
	const struct stream_edge *at = &owners_graph(self->owners)->edges[edge];
	u32 known = 0;

	group->links++;
	group->back_links += leads_back(self, at->target, node);
	while (known < group->offset_count && known < OFFSETS_MAX &&
	       group->offsets[known] != at->from)
		known++;
	if (known == group->offset_count && group->offset_count <= OFFSETS_MAX) {
		if (known < OFFSETS_MAX)
			group->offsets[known] = at->from;
		group->offset_count++;
	}
}

static void look_at_all(struct joining *self)
{
	const struct stream_graph *graph = owners_graph(self->owners);

	for (u64 k = 0; k < self->owners->reached_count; k++) {
		u32 node = self->owners->reached[k];
		struct group *group;

		if (node >= graph->chunk_count)
			continue;
		group = &self->groups.data[self->number[find(self, node)]];
		if (group->first == NONE)
			group->first = node;
		if (group == self->groups.data)
			continue;
		for (u64 i = graph->starts[node]; i < graph->starts[node + 1]; i++)
			if (are_linked(self, node, i))
				add_link(self, group, node, i);
	}
}

/* A list has one pointer, or two of which one leads back; a tree has two, and maybe one back. */
static u8 sort_of(const struct group *group)
{
	bool is_both = group->back_links * 10 >= group->links * 9;

	if (group->offset_count == 1 || (group->offset_count == 2 && is_both))
		return CONTAINER_LIST;
	if (group->offset_count == 2 || (group->offset_count == 3 && is_both))
		return CONTAINER_TREE;
	return CONTAINER_NODES;
}

/* What is called "std::map<int, Foo> node" is of that. */
static const char *type_of(struct owners *self, u32 node, u8 *sort)
{
	const char *label = owners_kind(self, node)->label;
	u64 bytes = strlen(label);

	if (owners_kind(self, node)->what != OWNER_TYPE || bytes < 5 ||
	    strcmp(label + bytes - 5, " node") != 0 || !library_sort(label, sort))
		return "";
	return names_keep_bytes(&self->names, label, bytes - 5);
}

/* ---- all ---- */

/* Nodes by group, so that each is taken with its own. */
static u32 *sort_nodes(struct joining *self, u64 *starts)
{
	u64 chunks = owners_graph(self->owners)->chunk_count;
	u32 *nodes;
	u64 sum = 0;

	for (u64 i = 1; i < self->groups.count; i++) {
		starts[i] = sum;
		sum += self->groups.data[i].nodes;
	}
	nodes = malloc((sum + 1) * sizeof *nodes);
	for (u32 node = 0; nodes && node < chunks; node++) {
		u32 group = self->number[find(self, node)];

		if (group)
			nodes[starts[group]++] = node;
	}
	return nodes;
}

static void add_group(struct joining *self, const struct group *group, const u32 *nodes)
{
	struct owners *owners = self->owners;
	u32 holder = owners->came_from[group->first];
	u64 edge = owners_edge_to(owners, holder, group->first);
	struct owner_container found = {.holder = holder,
					.first = group->first,
					.sort = sort_of(group),
					.elements = group->nodes,
					.capacity = CONTAINER_UNKNOWN,
					.slack_bytes = CONTAINER_UNKNOWN};

	found.offset = edge == NO_EDGE ? 0 : owners_edge_offset(owners, holder, edge);
	found.type = type_of(owners, group->first, &found.sort);
	for (u32 i = 0; i < group->nodes; i++)
		contain_take(self->to, nodes[i]);
	contain_end(self->to, &found);
}

/* By the distance of their first chunk. */
static bool add_groups(struct joining *self)
{
	const struct owners *owners = self->owners;
	u64 *starts = calloc(self->groups.count + 1, sizeof *starts);
	u32 *nodes = starts ? sort_nodes(self, starts) : NULL;

	for (u64 i = 0; nodes && i < owners->reached_count; i++) {
		u32 node = owners->reached[i];
		u32 at = node < owners_graph(owners)->chunk_count ? self->number[find(self, node)]
								  : 0;
		const struct group *group = &self->groups.data[at];

		if (at && group->first == node)
			add_group(self, group, nodes + starts[at] - group->nodes);
	}
	free(starts);
	free(nodes);
	return nodes;
}

void linked_add(struct containing *self)
{
	u64 chunks = owners_graph(self->owners)->chunk_count;
	struct joining joining = {.to = self,
				  .owners = self->owners,
				  .above = huge_alloc(chunks + 1, sizeof *joining.above),
				  .number = huge_alloc(chunks + 1, sizeof *joining.number)};
	bool good = joining.above && joining.number;

	if (good) {
		join_all(&joining);
		good = number_groups(&joining);
	}
	if (good) {
		look_at_all(&joining);
		good = add_groups(&joining);
	}
	self->failed |= !good;
	free(joining.above);
	free(joining.number);
	vec_release(&joining.groups);
}
