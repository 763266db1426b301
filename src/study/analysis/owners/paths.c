/* SPDX-License-Identifier: MIT
 * Searches the graph in breadth, and names the members that pointers stand in.
 * Host. Reads the debug information of types on the way only. */
#include "study/analysis/owners/paths.h"

#include <inttypes.h>
#include <string.h>

#include "host/base/keyed.h"
#include "host/base/strbuf.h"
#include "host/symbols/types/layout.h"

#define NONE UINT32_MAX

enum { POINTER_BYTES = 8, NESTING_MAX = 8 };

struct search {
	const struct owners *owners;
	u32 *came_from; /* by node, NONE = not seen; of a start itself */
	u32 *queue;
	u64 count;
};

/* ---- the way ---- */

static void see(struct search *self, u32 node, u32 from)
{
	if (self->came_from[node] != NONE)
		return;
	self->came_from[node] = from;
	self->queue[self->count++] = node;
}

/* Roots, or for what is lost those that lead it. */
static void see_starts(struct search *self, bool lost)
{
	const struct owners *owners = self->owners;

	for (u32 node = 0; node < owners->tree.lost; node++)
		if (lost ? owners->tree.holder[node] == owners->tree.lost
			 : node >= owners_graph(owners)->chunk_count)
			see(self, node, node);
}

static bool is_lost(const struct owners *self, u32 node)
{
	while (node < self->tree.lost)
		node = self->tree.holder[node];
	return node == self->tree.lost;
}

static void search(struct search *self, u32 wanted)
{
	const struct stream_graph *graph = owners_graph(self->owners);

	see_starts(self, is_lost(self->owners, wanted));
	for (u64 at = 0; at < self->count && self->came_from[wanted] == NONE; at++) {
		u32 node = self->queue[at];

		for (u64 i = graph->starts[node]; i < graph->starts[node + 1]; i++)
			if (!edge_is_in(self->owners->ignored, i))
				see(self, graph->edges[i].target, node);
	}
}

/* The first pointer from one node to the next. */
static const struct stream_edge *edge_between(const struct owners *self, u32 from, u32 to)
{
	const struct stream_graph *graph = owners_graph(self);

	for (u64 i = graph->starts[from]; i < graph->starts[from + 1]; i++)
		if (!edge_is_in(self->ignored, i) && graph->edges[i].target == to)
			return &graph->edges[i];
	return NULL;
}

/* Where in the node it stands. */
static u32 edge_offset(const struct owners *self, u32 node, const struct stream_edge *edge)
{
	const struct stream_graph *graph = owners_graph(self);

	if (node < graph->chunk_count)
		return edge->from;
	return (u32)owner_roots_offset(&self->roots, node - (u32)graph->chunk_count,
				       (u64)(edge - graph->edges));
}

static bool add_steps(struct owner_path *self, const struct search *search, u32 wanted)
{
	u32 count = 1;

	if (search->came_from[wanted] == NONE)
		return true;
	for (u32 node = wanted; search->came_from[node] != node; node = search->came_from[node])
		count++;
	if (!vec_extend(&self->steps, count))
		return false;
	for (u32 node = wanted, next = NONE; count--; node = search->came_from[node]) {
		const struct stream_edge *edge =
			next == NONE ? NULL : edge_between(search->owners, node, next);

		self->steps.data[count] =
			(struct owner_step){.node = node,
					    .from = edge ? edge_offset(search->owners, node, edge)
							 : 0,
					    .to = edge ? edge->to : 0,
					    .member = ""};
		next = node;
	}
	return true;
}

/* ---- members ---- */

/* The layout of a type; one without members if it is not known. NULL without memory. */
static const struct type_layout *layout_of(struct owner_path *self, const struct owners *owners,
					   const char *type, struct err *err)
{
	const struct module_list *modules = &owners->query.types->modules;
	struct type_layout_query query = {.name = names_keep(&self->names, type),
					  .modules = modules->rows.data,
					  .module_count = (u32)modules->rows.count,
					  .debug_path = owners->query.types->query.debug_path};
	u64 *known = map_at(&self->layouts, (u64)(uintptr_t)query.name);
	struct type_layout layout = {0};

	if (known && *known)
		return &self->types.data[*known - 1];
	if (!known || type_layout_read(&layout, &query, err) < 0 ||
	    !vec_push(&self->types, layout)) {
		type_layout_release(&layout);
		return NULL;
	}
	*known = self->types.count;
	return &self->types.data[self->types.count - 1];
}

static const struct type_member *member_at(const struct type_layout *layout, u64 offset)
{
	for (u64 i = 0; i < layout->members.count; i++) {
		const struct type_member *member = &layout->members.data[i];

		if (!member->padding && *member->name && offset >= member->offset &&
		    offset - member->offset < member->size)
			return member;
	}
	return NULL;
}

static bool is_pointer(const char *type)
{
	u64 bytes = strlen(type);

	return bytes && type[bytes - 1] == '*';
}

static void put_rest(struct strbuf *out, u64 offset)
{
	if (offset)
		strbuf_addf(out, "+0x%" PRIx64, offset);
}

/* ".list.head": what is at the offset in a type, members of members, too. */
static int put_members(struct owner_path *self, const struct owners *owners, const char *type,
		       u64 offset, struct strbuf *out)
{
	struct err err = {0};

	for (u32 i = 0; i < NESTING_MAX; i++) {
		const struct type_layout *layout = layout_of(self, owners, type, &err);
		const struct type_member *member;

		if (!layout)
			return ERR_MEMORY;
		member = member_at(layout, offset);
		if (!member)
			break;
		strbuf_addf(out, ".%s", member->name);
		offset -= member->offset;
		type = member->type;
		if (is_pointer(type) || !*type)
			break;
	}
	put_rest(out, offset);
	return 0;
}

/* A chunk may have many elements of its type. */
static int put_place(struct owner_path *self, const struct owners *owners,
		     const struct owner_step *step, struct strbuf *out)
{
	const struct owner_kind *kind = owners_kind(owners, step->node);
	const struct type_layout *layout;
	struct err err = {0};
	u64 bytes;

	if (kind->what == OWNER_TYPE && is_pointer(kind->label)) {
		strbuf_addf(out, "[%u]", step->from / POINTER_BYTES);
		return 0;
	}
	layout = kind->what == OWNER_TYPE ? layout_of(self, owners, kind->label, &err) : NULL;
	if (err.code)
		return err.code;
	if (!layout || !layout->size) {
		strbuf_addf(out, "+0x%x", step->from);
		return 0;
	}
	bytes = layout->size;
	if (owners_bytes(owners, step->node) >= 2 * bytes)
		strbuf_addf(out, "[%" PRIu64 "]", step->from / bytes);
	return put_members(self, owners, kind->label, step->from % bytes, out);
}

static int name_members(struct owner_path *self, const struct owners *owners)
{
	int status = 0;

	for (u64 i = 0; i + 1 < self->steps.count && status == 0; i++) {
		struct strbuf text = {0};

		status = put_place(self, owners, &self->steps.data[i], &text);
		self->steps.data[i].member = names_keep(&self->names, strbuf_text(&text));
		strbuf_release(&text);
	}
	return status;
}

/* ---- all ---- */

int owner_path_find(struct owner_path *self, struct owners *owners, u32 node, struct err *err)
{
	u64 nodes = owners->tree.node_count;
	struct search way = {.owners = owners,
			     .came_from = malloc(nodes * sizeof *way.came_from),
			     .queue = malloc(nodes * sizeof *way.queue)};
	bool good = way.came_from && way.queue;

	if (good) {
		memset(way.came_from, 0xff, nodes * sizeof *way.came_from);
		search(&way, node);
		good = add_steps(self, &way, node) && name_members(self, owners) == 0;
	}
	free(way.came_from);
	free(way.queue);
	return good ? 0 : err_memory_for(err, "the owners");
}

void owner_path_release(struct owner_path *self)
{
	for (u64 i = 0; i < self->types.count; i++)
		type_layout_release(&self->types.data[i]);
	vec_release(&self->types);
	vec_release(&self->steps);
	map_release(&self->layouts);
	names_release(&self->names);
	*self = (struct owner_path){0};
}
