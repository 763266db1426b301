/* SPDX-License-Identifier: MIT
 * Owners of chunks by kind, point and shape.
 * Host. Never recurses. */
#include "study/analysis/owners/owners.h"

#include <inttypes.h>

#include "host/base/huge.h"
#include "host/base/keyed.h"
#include "host/base/path.h"
#include "host/base/recent.h"
#include "study/analysis/owners/containers.h"
#include "study/analysis/owners/doubt.h"
#include "study/analysis/owners/shared.h"
#include "study/analysis/owners/typed.h"
#include "study/analysis/owners/ways.h"
#include "study/analysis/owners/weigh.h"
#include "study/analysis/places/place.h"
#include "study/model/each.h"

#define NONE UINT32_MAX

/* How far above its like may be: value, array, value as in JSON, or pair, list, node, pair. */
enum { RECURSION_MAX = 4, DEPTH_MAX = 64 };

static int no_memory(struct err *err) { return err_memory_for(err, "the owners"); }

static u64 bytes_of(const void *self, u32 node) { return owners_bytes(self, node); }

/* ---- kinds ---- */

static void put_place(struct strbuf *out, const struct finding_frame *frame)
{
	if (*frame->function)
		strbuf_add(out, frame->function);
	else if (*frame->module)
		strbuf_addf(out, "%s+0x%" PRIx64, path_file(frame->module), frame->offset);
	else
		strbuf_add(out, "unknown place");
	if (*frame->function && *frame->file && frame->line)
		strbuf_addf(out, " (%s:%u)", path_file(frame->file), frame->line);
}

static u32 place_kind(struct owners *self, struct point_id point)
{
	u64 *known = map_at(&self->kind_by_place, point.index);
	struct finding_place place;
	struct strbuf text = {0};

	if (!known)
		return NONE;
	if (*known)
		return (u32)*known - 1;
	place = finding_place(self->query.types->query.source,
			      self->model->points.data[point.index].frame);
	put_place(&text, &place.own);
	*known = (u64)owners_add_kind(self, strbuf_text(&text), OWNER_PLACE) + 1;
	strbuf_release(&text);
	return (u32)*known - 1;
}

static u32 ask_kind(struct owners *self, const struct chunk *chunk)
{
	struct type_answer answer = type_of_chunk(self->query.types, chunk->number);
	u64 *known;

	if (!answer.name || answer.confidence <= TYPE_GUESS)
		return place_kind(self, chunk_point(chunk));
	known = map_at(&self->kind_by_type, (u64)(uintptr_t)answer.name);
	if (known && !*known)
		*known = (u64)owners_add_kind(self, answer.name, OWNER_TYPE) + 1;
	return known ? (u32)(*known - 1) : NONE;
}

/* Unless something was told of single chunks (`known` is NULL), those of a point and a size are
 * called alike. */
static u32 chunk_kind(struct owners *self, const struct chunk *chunk, struct recent *known)
{
	u64 size = chunk->page->size[chunk->at];
	u64 key = ((u64)chunk_point(chunk).index + 1) << 32 | size;
	struct recent_slot *slot;

	if (size > UINT32_MAX || !known)
		return ask_kind(self, chunk);
	slot = recent_at(known, key);
	if (slot->key != key)
		*slot = (struct recent_slot){key, ask_kind(self, chunk)};
	return (u32)slot->value;
}

static u32 size_of(const struct chunk *chunk)
{
	u64 size = chunk->page->size[chunk->at];

	return size < UINT32_MAX ? (u32)size : UINT32_MAX;
}

/* Chunks in the order of their numbers, as their columns have them. */
static bool find_chunk_kinds(struct owners *self, u32 unknown)
{
	enum { AHEAD = 16 };
	const struct stream_graph *graph = owners_graph(self);
	u32 no_point = (u32)self->model->points.count;
	struct recent recent = {0}, *known = type_is_told(self->query.types) ? NULL : &recent;

	for (u64 i = 0; i < graph->chunk_count; i++) {
		u32 node = graph_node(graph, i), ahead;
		struct chunk chunk;
		bool is_known = owners_chunk(self, node, &chunk);

		if (i + AHEAD < graph->chunk_count) {
			ahead = graph_node(graph, i + AHEAD);
			__builtin_prefetch(&graph->chunks[ahead]);
			__builtin_prefetch(&self->size_of[ahead], 1);
			__builtin_prefetch(&self->point_of[ahead], 1);
			__builtin_prefetch(&self->kind_of[ahead], 1);
		}
		self->size_of[node] = is_known ? size_of(&chunk) : 0;
		self->point_of[node] = is_known && no_point ? chunk_point(&chunk).index : no_point;
		self->kind_of[node] =
			is_known && no_point ? chunk_kind(self, &chunk, known) : unknown;
		if (self->kind_of[node] == NONE)
			return false;
	}
	return !self->query.types->failed;
}

static bool find_kinds(struct owners *self)
{
	u32 chunks = (u32)owners_graph(self)->chunk_count;
	u32 no_point = (u32)self->model->points.count, unknown;

	self->kind_of[self->tree.program] = owners_add_kind(self, "the program", OWNER_PROGRAM);
	self->kind_of[self->tree.lost] = owners_add_kind(self, "lost", OWNER_LOST);
	unknown = owners_add_kind(self, "unknown place", OWNER_PLACE);
	if (unknown == NONE || !find_chunk_kinds(self, unknown))
		return false;
	for (u32 node = chunks; node < self->tree.node_count; node++) {
		self->size_of[node] = 0;
		self->point_of[node] = no_point;
		if (node < self->tree.lost)
			self->kind_of[node] =
				owners_add_kind(self, self->roots.names.data[node - chunks].label,
						OWNER_ROOT);
		if (self->kind_of[node] == NONE)
			return false;
	}
	return true;
}

/* ---- the tree ---- */

static void link_children(struct owners *self)
{
	const struct dominators *tree = &self->tree;

	memset(self->first_child, 0xff, tree->node_count * sizeof *self->first_child);
	for (u64 i = tree->node_count; i-- > 1;) {
		u32 node = tree->order[i], holder = tree->holder[node];

		self->next_child[node] = self->first_child[holder];
		self->first_child[holder] = node;
	}
	self->next_child[tree->program] = NONE;
}

/* ---- shapes ---- */

static u32 add_shape(struct owners *self, u32 parent, u32 kind)
{
	u64 key = (u64)parent << 32 | kind;
	u32 depth = self->shapes.count ? self->shapes.data[parent].depth + 1 : 0;
	struct owner_shape *shape =
		vec_at_key(&self->shapes, &self->shape_by_key, hash_u64(key) ^ key,
			   (struct owner_shape){.parent = parent, .kind = kind, .depth = depth});

	return shape ? (u32)(shape - self->shapes.data) : NONE;
}

/* The shape of a node that one of this shape holds. */
static u32 shape_below(struct owners *self, u32 parent, u32 kind)
{
	u32 above = parent;

	for (u32 i = 0; i < RECURSION_MAX && self->shapes.data[above].depth > 1; i++) {
		if (self->shapes.data[above].kind == kind)
			return above;
		above = self->shapes.data[above].parent;
	}
	return self->shapes.data[parent].depth < DEPTH_MAX ? add_shape(self, parent, kind) : parent;
}

/* By node, the root that leads to it in the fewest steps, or a chunk if none does. To be freed,
 * NULL without memory. */
static u32 *nearest_roots(const struct owners *self)
{
	u32 *nearest = huge_alloc(self->tree.node_count + 1, sizeof *nearest);

	for (u64 i = 0; nearest && i < self->reached_count; i++) {
		u32 node = self->reached[i], before = self->came_from[node];

		nearest[node] = before == node ? node : nearest[before];
	}
	return nearest;
}

/* Several roots are called by the one that is nearest. */
static u32 several_kind(struct owners *self, u32 root)
{
	struct strbuf label = {0};
	u32 kind;

	if (root < owners_graph(self)->chunk_count)
		strbuf_add(&label, "several roots");
	else
		strbuf_addf(&label, "%s and others", owners_kind(self, root)->label);
	kind = owners_add_kind(self, strbuf_text(&label), OWNER_SEVERAL);
	strbuf_release(&label);
	return kind;
}

/* Of roots; keys of shapes with kinds are larger. */
static u32 several_shape(struct owners *self, u32 root, u32 program, struct recent *known)
{
	u64 key = (u64)root + 1;
	struct recent_slot *slot = recent_at(known, key);
	u32 kind;

	if (slot->key == key)
		return (u32)slot->value;
	kind = several_kind(self, root);
	*slot = (struct recent_slot){key, kind == NONE ? NONE : add_shape(self, program, kind)};
	return (u32)slot->value;
}

static u32 shape_of(struct owners *self, u32 node, const u32 *nearest, struct recent *known)
{
	u32 holder = self->tree.holder[node], parent = self->shape_of[holder];
	struct recent_slot *slot;
	u64 key;

	if (holder == self->tree.program && node < owners_graph(self)->chunk_count)
		parent = several_shape(self, nearest[node], parent, known);
	if (parent == NONE)
		return NONE;
	key = ((u64)parent + 1) << 32 | self->kind_of[node];
	slot = recent_at(known, key);
	if (slot->key != key)
		*slot = (struct recent_slot){key, shape_below(self, parent, self->kind_of[node])};
	return (u32)slot->value;
}

static bool find_shapes(struct owners *self)
{
	u32 *nearest = nearest_roots(self), program = self->tree.program;
	struct recent known = {0};
	bool good = nearest;

	self->shape_of[program] = add_shape(self, 0, self->kind_of[program]);
	good &= self->shape_of[program] != NONE;
	for (u64 i = 1; i < self->tree.node_count && good; i++) {
		u32 node = self->tree.order[i], shape = shape_of(self, node, nearest, &known);
		struct owner_shape *at = shape == NONE ? NULL : &self->shapes.data[shape];

		good = at;
		if (!good)
			break;
		self->shape_of[node] = shape;
		if (!at->nodes++ || self->tree.retained[node] > self->tree.retained[at->largest])
			at->largest = node;
	}
	free(nearest);
	return good;
}

/* No node is what several roots hold; its parts are. */
static void sum_several(struct owners *self)
{
	for (u64 i = 1; i < self->shapes.count; i++) {
		const struct owner_shape *shape = &self->shapes.data[i];
		struct owner_shape *parent = &self->shapes.data[shape->parent];

		if (self->kinds.data[parent->kind].what == OWNER_SEVERAL)
			parent->sums.retained += shape->sums.retained;
	}
}

/* ---- all ---- */

static bool make_room(struct owners *self)
{
	u64 nodes = self->tree.node_count;

	self->container_of = huge_zeroed(nodes, sizeof *self->container_of);
	self->kind_of = huge_alloc(nodes, sizeof *self->kind_of);
	self->size_of = huge_alloc(nodes, sizeof *self->size_of);
	self->point_of = huge_alloc(nodes, sizeof *self->point_of);
	self->shape_of = huge_alloc(nodes, sizeof *self->shape_of);
	self->first_child = huge_alloc(nodes, sizeof *self->first_child);
	self->next_child = huge_alloc(nodes, sizeof *self->next_child);
	self->came_from = huge_alloc(nodes, sizeof *self->came_from);
	self->reached = huge_alloc(nodes, sizeof *self->reached);
	self->type_of = huge_alloc(nodes, sizeof *self->type_of);
	self->base_of = huge_zeroed(nodes, sizeof *self->base_of);
	self->points = calloc(self->model->points.count + 1, sizeof *self->points);
	return self->kind_of && self->size_of && self->point_of && self->shape_of &&
	       self->first_child && self->next_child && self->came_from && self->reached &&
	       self->type_of && self->base_of && self->container_of && self->points;
}

static bool sum_all(struct owners *self)
{
	struct owner_summing all[] = {
		{self->kind_of, self->kinds.count, &self->kinds.data->sums,
		 sizeof(struct owner_kind), NULL},
		{self->point_of, self->model->points.count + 1, self->points,
		 sizeof(struct owner_sums), NULL},
		{self->shape_of, self->shapes.count, &self->shapes.data->sums,
		 sizeof(struct owner_shape), NULL},
		{self->container_of, self->containers.count, &self->containers.data->sums,
		 sizeof(struct owner_container), NULL},
	};

	return owners_sum(self, all, sizeof all / sizeof *all);
}

/* What counts, as far as doubts are known. */
static bool weigh(struct owners *self)
{
	free(self->ignored);
	self->ignored = owner_weigh(&self->roots, self->doubtful);
	return self->ignored;
}

/* Types say what is doubtful, and pointers what types are: what counts is found twice. */
static bool find_doubts(struct owners *self)
{
	u64 before = self->doubtful_count;

	return owner_doubts_find(self) && (self->doubtful_count == before || weigh(self));
}

/* What is shared is known from the tree: then it is made twice. */
static int find_holders(struct owners *self, struct err *err)
{
	struct dominators_query ask = {.graph = &self->roots.graph,
				       .bytes = bytes_of,
				       .self = self,
				       .ignored = self->ignored};
	bool again;

	if (dominators_find(&self->tree, &ask, err) < 0)
		return err->code;
	if (!owner_shared_find(self, &again))
		return no_memory(err);
	if (!again)
		return 0;
	dominators_release(&self->tree);
	return dominators_find(&self->tree, &ask, err);
}

int owners_make(struct owners *self, const struct owners_query *query, struct err *err)
{
	const struct stack_source *source = query->types->query.source;
	struct owner_roots_query roots = {.model = source->model,
					  .debug_path = query->types->query.debug_path,
					  .symbols = source->symbols,
					  .image = source->image};

	self->query = *query;
	self->model = roots.model;
	if (!graph_is_sound(query->graph))
		return err_set(err, ERR_INPUT, "the recorded pointers are damaged");
	if (owner_roots_make(&self->roots, query->graph, &roots, err) < 0)
		return err->code;
	dominators_number(&self->tree, &self->roots.graph);
	if (!make_room(self) || !find_kinds(self) || !owner_ends_find(self) || !weigh(self) ||
	    !owner_types_find(self) || !find_doubts(self))
		return no_memory(err);
	if (find_holders(self, err) < 0)
		return err->code;
	link_children(self);
	owner_ways_find(self);
	if (!find_shapes(self) || !owner_containers_find(self) || !sum_all(self))
		return no_memory(err);
	sum_several(self);
	return 0;
}

void owners_release(struct owners *self)
{
	owner_roots_release(&self->roots);
	dominators_release(&self->tree);
	free(self->ignored);
	free(self->doubtful);
	free(self->kind_of);
	free(self->size_of);
	free(self->point_of);
	free(self->shape_of);
	free(self->first_child);
	free(self->next_child);
	free(self->came_from);
	free(self->reached);
	free(self->type_of);
	free(self->base_of);
	free(self->container_of);
	vec_release(&self->containers);
	free(self->sharers);
	free(self->points);
	owner_members_release(&self->members);
	vec_release(&self->kinds);
	vec_release(&self->shapes);
	map_release(&self->kind_by_label);
	map_release(&self->kind_by_place);
	map_release(&self->kind_by_type);
	map_release(&self->shape_by_key);
	names_release(&self->names);
	*self = (struct owners){0};
}
