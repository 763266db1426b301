/* SPDX-License-Identifier: MIT
 * Goes back on the way to a chunk, and names the members that pointers stand in.
 * Host. Reads the debug information of types on the way only. */
#include "study/analysis/owners/paths.h"

#include <inttypes.h>

#include "host/base/strbuf.h"
#include "study/analysis/owners/typed.h"

#define NONE UINT32_MAX

/* ---- the way ---- */

/* The first pointer from one node to the next, or UINT64_MAX. */
static u64 edge_between(const struct owners *self, u32 from, u32 to)
{
	const struct stream_graph *graph = owners_graph(self);

	for (u64 i = graph->starts[from]; i < graph->starts[from + 1]; i++)
		if (!edge_is_in(self->ignored, i) && graph->edges[i].target == to)
			return i;
	return UINT64_MAX;
}

static bool add_steps(struct owner_path *self, const struct owners *owners, u32 wanted)
{
	const u32 *came_from = owners->came_from;
	u64 count = 1;

	if (came_from[wanted] == NONE)
		return true;
	for (u32 node = wanted; came_from[node] != node; node = came_from[node])
		count++;
	if (!vec_extend(&self->steps, count))
		return false;
	for (u32 node = wanted, next = NONE; count--; next = node, node = came_from[node]) {
		u64 edge = next == NONE ? UINT64_MAX : edge_between(owners, node, next);
		struct owner_step *step = &self->steps.data[count];

		*step = (struct owner_step){.node = node, .member = ""};
		if (edge == UINT64_MAX)
			continue;
		step->from = (u32)owners_edge_offset(owners, node, edge);
		step->to = owners_graph(owners)->edges[edge].to;
	}
	return true;
}

/* ---- members ---- */

static void put_place(struct owners *self, const struct owner_step *step, struct strbuf *out)
{
	struct owner_spot spot = owner_spot(self, step->node, step->from);

	if (spot.is_many)
		strbuf_addf(out, "[%" PRIu64 "]", spot.object);
	if (spot.type == NO_DECLARED)
		strbuf_addf(out, "+0x%x", step->from);
	else
		owner_members_put(&self->members, spot.type, spot.offset, out);
}

static void name_members(struct owner_path *self, struct owners *owners)
{
	for (u64 i = 0; i + 1 < self->steps.count; i++) {
		struct strbuf text = {0};

		put_place(owners, &self->steps.data[i], &text);
		self->steps.data[i].member = names_keep(&self->names, strbuf_text(&text));
		strbuf_release(&text);
	}
}

/* ---- all ---- */

int owner_path_find(struct owner_path *self, struct owners *owners, u32 node, struct err *err)
{
	if (!add_steps(self, owners, node))
		return err_memory_for(err, "the owners");
	name_members(self, owners);
	return 0;
}

void owner_path_release(struct owner_path *self)
{
	vec_release(&self->steps);
	names_release(&self->names);
	*self = (struct owner_path){0};
}
