/* SPDX-License-Identifier: MIT
 * Finds containers: by type first, then arrays and hash tables, then lists and trees; what is part
 * of one is part of no other.
 * Host. */
#include "study/analysis/owners/containers.h"

#include <string.h>

#include "study/analysis/owners/arrays.h"
#include "study/analysis/owners/library.h"
#include "study/analysis/owners/linked.h"
#include "study/analysis/owners/typed.h"

enum { WORD = 8, LEAST_SHIFT = 20 };

const char *container_sort_name(u8 sort)
{
	static const char *const names[CONTAINER_SORTS] = {
		[CONTAINER_ARRAY] = "dynamic array",   [CONTAINER_POINTERS] = "array of pointers",
		[CONTAINER_TEXT] = "string",           [CONTAINER_DEQUE] = "deque",
		[CONTAINER_LIST] = "linked list",      [CONTAINER_TREE] = "tree",
		[CONTAINER_TABLE] = "hash table",      [CONTAINER_NODES] = "linked chunks",
		[CONTAINER_SHARED] = "shared pointer",
	};

	return sort < CONTAINER_SORTS ? names[sort] : "";
}

const char *container_kind(const struct owner_container *container)
{
	return *container->type ? container->type : container_sort_name(container->sort);
}

/* ---- by type ---- */

/* An array that is a member. */
static void add_member(struct containing *self, u32 node, u64 offset,
		       const struct container_field *field)
{
	struct declared *declared = self->owners->members.declared;
	const struct declared_type *array = declared_type(declared, field->type);

	array_add(self, &(struct array_region){.node = node,
					       .start = offset,
					       .bytes = array->size,
					       .stride = declared_type(declared, array->of)->size});
}

/* Copies on stacks own it as well, though they hold nothing. */
static void count_owner(struct containing *self, u32 node, u64 offset)
{
	struct owners *owners = self->owners;
	u64 edge = contain_any_edge(owners, node, offset + SHARED_COUNTS);

	if (edge == NO_EDGE)
		return;
	if (!owners->sharers)
		owners->sharers = calloc(owners->tree.node_count, sizeof *owners->sharers);
	if (owners->sharers)
		owners->sharers[owners_graph(owners)->edges[edge].target]++;
	self->failed |= !owners->sharers;
}

/* How many objects a node has. Places of a vector behind its elements have what was there
 * before. */
static u64 count_objects(struct owners *self, u32 node, u64 size)
{
	const struct owner_container *in = &self->containers.data[self->container_of[node]];
	u64 objects;

	if (!owner_object(self, node).is_many)
		return 1;
	objects = (owners_bytes(self, node) - self->base_of[node]) / size;
	return self->container_of[node] && *in->type && in->sort == CONTAINER_ARRAY &&
			       in->elements < objects
		       ? in->elements
		       : objects;
}

static void add_fields(struct containing *self, struct container_fields *fields, u32 node,
		       bool of_library)
{
	struct owners *owners = self->owners;
	const struct declared_type *type =
		declared_type(owners->members.declared, owners->type_of[node]);
	u32 count = 0;
	const struct container_field *rows =
		container_fields_of(fields, owners, owners->type_of[node], &count);
	u64 objects;

	self->failed |= !rows;
	if (!rows || !count || !type->size)
		return;
	objects = count_objects(owners, node, type->size);
	for (u64 i = 0; i < objects; i++)
		for (u32 k = 0; k < count; k++) {
			u64 offset = owners->base_of[node] + i * type->size + rows[k].offset;
			const struct declared_type *at =
				declared_type(owners->members.declared, rows[k].type);

			if (of_library && rows[k].sort == CONTAINER_SHARED)
				count_owner(self, node, offset);
			else if (of_library && at->form == DECLARED_CLASS)
				library_add(self, node, offset, &rows[k]);
			else if (!of_library && at->form == DECLARED_ARRAY)
				add_member(self, node, offset, &rows[k]);
		}
}

static void add_by_type(struct containing *self, bool of_library)
{
	const struct owners *owners = self->owners;
	const struct stream_graph *graph = owners_graph(owners);
	struct container_fields fields = {0};

	for (u64 i = 0; i < owners->reached_count && !self->failed; i++) {
		u32 node = owners->reached[i];

		if (owners->type_of[node] != NO_DECLARED &&
		    graph->starts[node + 1] > graph->starts[node])
			add_fields(self, &fields, node, of_library);
	}
	container_fields_release(&fields);
}

/* ---- by shape ---- */

static void add_array(struct containing *self, u32 node)
{
	struct owners *owners = self->owners;
	const struct stream_graph *graph = owners_graph(owners);
	bool is_chunk = node < graph->chunk_count;
	const struct declared_type *type =
		declared_type(owners->members.declared, owners->type_of[node]);
	struct array_region region = {
		.node = node,
		.bytes = is_chunk ? owners_bytes(owners, node)
				  : graph->roots[node - graph->chunk_count].bytes};

	/* what is one object has its arrays as members; a frame is none */
	if (!is_chunk && (type || graph->roots[node - graph->chunk_count].kind != ROOT_DATA))
		return;
	if (type && (type->form == DECLARED_POINTER || owner_object(owners, node).is_many))
		region.stride = type->size;
	else if (type)
		return;
	array_add(self, &region);
}

static void add_arrays(struct containing *self)
{
	const struct owners *owners = self->owners;
	const struct stream_graph *graph = owners_graph(owners);

	for (u64 i = 0; i < owners->reached_count && !self->failed; i++) {
		u32 node = owners->reached[i];

		if (graph->starts[node + 1] - graph->starts[node] >= ARRAY_FILLED_MIN &&
		    !owners->container_of[node])
			add_array(self, node);
	}
	for (u64 i = 0; i < owners->reached_count && !self->failed; i++) {
		array_add_used(self, owners->reached[i]);
		if (graph->numbers)
			array_add_counted(self, owners->reached[i]);
	}
}

/* ---- all ---- */

bool owner_containers_find(struct owners *self)
{
	struct containing containing = {.owners = self,
					.least = self->tree.retained[self->tree.program] >>
						 LEAST_SHIFT};

	containing.failed = !vec_push(&self->containers, (struct owner_container){.type = ""});
	if (!containing.failed)
		add_by_type(&containing, true);
	if (!containing.failed)
		add_by_type(&containing, false);
	if (!containing.failed)
		add_arrays(&containing);
	if (!containing.failed)
		linked_add(&containing);
	vec_release(&containing.parts);
	vec_release(&containing.stack);
	return !containing.failed;
}
