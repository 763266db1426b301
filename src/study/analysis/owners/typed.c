/* SPDX-License-Identifier: MIT
 * Follows declared pointers from variables, and from chunks whose type is known, to chunks whose
 * type is not. The shortest way counts; what only pointers to the inside lead to comes last: the
 * nodes of a map point to its end, which lies in whatever has the map.
 * Host. Reads the debug information of types on the way only. */
#include "study/analysis/owners/typed.h"

#include <string.h>

enum {
	COOKIE_MAX = 16, /* bytes before an array's elements, or before what make_shared makes */
};

/* A pointer to the inside of a chunk. */
struct inside {
	u32 target, type, at;
};

struct typing {
	struct owners *owners;
	u32 *queue;
	u64 count;
	VEC(u32) kinds;             /* by type: kind + 1, 0 = not asked yet */
	VEC(struct inside) insides; /* that wait */
};

/* A chunk whose bytes are a multiple of its type's has so many; else one, and more follows. */
struct owner_object owner_object(struct owners *self, u32 node)
{
	struct owner_object object = {declared_type(self->members.declared, self->type_of[node]),
				      self->base_of[node], false};
	u64 size = object.type ? object.type->size : 0, bytes;

	if (!size)
		object.type = NULL;
	if (!size || node >= owners_graph(self)->chunk_count)
		return object;
	bytes = owners_bytes(self, node);
	object.is_many = bytes >= object.base + 2 * size && (bytes - object.base) % size == 0;
	return object;
}

struct owner_spot owner_spot(struct owners *self, u32 node, u64 offset)
{
	struct owner_object object = owner_object(self, node);

	return owner_spot_in(self, node, &object, offset);
}

u32 owner_lead(struct owners *self, u32 node, u64 offset)
{
	struct owner_object object = owner_object(self, node);

	return owner_lead_in(self, node, &object, offset);
}

/* The names of the standard library's own helpers say nothing. */
static bool says_something(const struct declared_type *type)
{
	return *type->name && strncmp(type->name, "std::_", 6) != 0 &&
	       strncmp(type->name, "void", 4) != 0;
}

static bool name_chunk(struct typing *self, u32 node, u32 type)
{
	struct owners *owners = self->owners;
	const struct declared_type *at;
	u32 *kind;

	if (!vec_extend(&self->kinds, type + 1))
		return false;
	kind = &self->kinds.data[type];
	if (!*kind) {
		at = declared_type(owners->members.declared, type);
		if (!says_something(at))
			return true;
		*kind = owners_add_kind(owners, at->name, OWNER_TYPE) + 1;
	}
	if (!*kind)
		return false;
	owners->kind_of[node] = *kind - 1;
	return true;
}

/* Whether objects of the type can begin there. Of numbers the place says more. */
static bool fits(const struct owners *self, const struct declared_type *type, u32 node, u32 at)
{
	u64 bytes = owners_bytes(self, node);
	bool has_parts = type->form == DECLARED_CLASS || type->form == DECLARED_UNION ||
			 (type->form == DECLARED_POINTER && at == 0);

	return has_parts && type->size && at <= COOKIE_MAX && at <= bytes &&
	       bytes - at >= type->size;
}

static bool take_type(struct typing *self, u32 node, u32 type, u32 at)
{
	struct owners *owners = self->owners;

	owners->type_of[node] = type;
	owners->base_of[node] = (u8)at;
	self->queue[self->count++] = node;
	return owners_kind(owners, node)->what != OWNER_PLACE || name_chunk(self, node, type);
}

static bool take_edge(struct typing *self, u32 node, const struct owner_object *object, u64 edge)
{
	struct owners *owners = self->owners;
	const struct stream_edge *at = &owners_graph(owners)->edges[edge];
	const struct declared_type *type;
	u32 lead;

	/* it has one, and where that begins is said by pointers to there only */
	if (owners->type_of[at->target] != NO_DECLARED && !at->to)
		return true;
	lead = owner_lead_in(owners, node, object, owners_edge_offset(owners, node, edge));
	type = declared_type(owners->members.declared, lead);
	if (!type || !fits(owners, type, at->target, at->to))
		return true;
	if (owners->type_of[at->target] == lead && !owners->base_of[at->target])
		owners->base_of[at->target] = (u8)at->to;
	if (owners->type_of[at->target] != NO_DECLARED)
		return true;
	if (at->to)
		return vec_push(&self->insides, (struct inside){at->target, lead, at->to});
	return take_type(self, at->target, lead, 0);
}

static bool follow(struct typing *self, u64 from)
{
	const struct stream_graph *graph = owners_graph(self->owners);
	bool good = true;

	for (u64 at = from; at < self->count && good; at++) {
		u32 node = self->queue[at];
		struct owner_object object = owner_object(self->owners, node);

		graph_look_ahead(graph, self->queue + at, self->count - at, self->owners->type_of);
		for (u64 i = graph->starts[node]; i < graph->starts[node + 1] && good; i++)
			if (!edge_is_in(self->owners->ignored, i))
				good = take_edge(self, node, &object, i);
	}
	return good && !self->owners->members.failed;
}

static bool follow_all(struct typing *self)
{
	bool good = follow(self, 0);

	for (u64 i = 0; i < self->insides.count && good; i++) {
		struct inside inside = self->insides.data[i];
		u64 from = self->count;

		if (self->owners->type_of[inside.target] == NO_DECLARED)
			good = take_type(self, inside.target, inside.type, inside.at) &&
			       follow(self, from);
	}
	return good;
}

/* What is known of each node before: variables, and chunks by the names of their types. */
static bool begin(struct typing *self)
{
	struct owners *owners = self->owners;
	const struct module_list *modules = &owners->query.types->modules;
	u32 chunks = (u32)owners_graph(owners)->chunk_count;
	u64 kinds = owners->kinds.count;
	u32 *types = malloc((kinds + 1) * sizeof *types);

	if (!types)
		return false;
	for (u64 i = 0; i < modules->rows.count; i++)
		declared_add(owners->members.declared, &modules->rows.data[i]);
	for (u64 i = 0; i < kinds; i++)
		types[i] = owners->kinds.data[i].what == OWNER_TYPE
				   ? declared_named(owners->members.declared,
						    owners->kinds.data[i].label)
				   : NO_DECLARED;
	for (u32 i = 0; i < owners->tree.node_count; i++) {
		bool is_root = i >= chunks && i < owners->tree.lost;
		u32 node = i < chunks ? graph_node(owners_graph(owners), i) : i;

		owners->type_of[node] = is_root ? owners->roots.names.data[node - chunks].type
						: types[owners->kind_of[node]];
		if (owners->type_of[node] != NO_DECLARED)
			self->queue[self->count++] = node;
	}
	free(types);
	return !declared_failed(owners->members.declared);
}

bool owner_types_find(struct owners *self)
{
	struct typing typing = {.owners = self,
				.queue = malloc(self->tree.node_count * sizeof *typing.queue)};
	bool good;

	self->members.declared = self->roots.declared;
	good = typing.queue && begin(&typing) && follow_all(&typing);
	free(typing.queue);
	vec_release(&typing.kinds);
	vec_release(&typing.insides);
	return good;
}
