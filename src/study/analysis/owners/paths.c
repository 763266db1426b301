/* SPDX-License-Identifier: MIT
 * Goes back on the way to a chunk, and names the members that pointers stand in.
 * Host. Reads the debug information of types on the way only. */
#include "study/analysis/owners/paths.h"

#include <inttypes.h>
#include <string.h>

#include "host/base/strbuf.h"
#include "host/base/units.h"
#include "study/analysis/owners/contain.h"
#include "study/analysis/owners/containers.h"
#include "study/analysis/owners/typed.h"

#define NONE UINT32_MAX

/* ---- the way ---- */

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
		u64 edge = next == NONE ? UINT64_MAX : owners_edge_to(owners, node, next);
		struct owner_step *step = &self->steps.data[count];

		*step = (struct owner_step){.node = node, .parts = 1, .member = ""};
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

static u32 count_sharers(struct owners *self, const struct owner_step *step)
{
	struct owner_spot spot = owner_spot(self, step->node, step->from);
	u64 inside, edge;

	if (!self->sharers || spot.type == NO_DECLARED ||
	    !owner_members_shared(&self->members, spot.type, spot.offset, &inside) ||
	    inside > step->from)
		return 0;
	edge = contain_any_edge(self, step->node, step->from - inside + SHARED_COUNTS);
	return edge == NO_EDGE ? 0 : self->sharers[owners_graph(self)->edges[edge].target];
}

static void name_members(struct owner_path *self, struct owners *owners)
{
	for (u64 i = 0; i + 1 < self->steps.count; i++) {
		struct strbuf text = {0};

		put_place(owners, &self->steps.data[i], &text);
		self->steps.data[i].member = names_keep(&self->names, strbuf_text(&text));
		self->steps.data[i].sharers = count_sharers(owners, &self->steps.data[i]);
		strbuf_release(&text);
	}
}

/* ---- containers ---- */

/* "1,024 buckets", "300 of 400 places", "250 elements" */
static void put_container(const struct owner_container *container, struct strbuf *out)
{
	bool has_places = container->capacity != CONTAINER_UNKNOWN;

	if (container->sort == CONTAINER_TABLE && has_places)
		strbuf_add(out, units_things(container->capacity, "bucket(s)").text);
	else if (container->elements == CONTAINER_UNKNOWN)
		strbuf_add(out, has_places ? units_things(container->capacity, "place(s)").text
					   : container_sort_name(container->sort));
	else if (has_places && container->elements < container->capacity)
		strbuf_addf(out, "%s of %s", units_count(container->elements).text,
			    units_things(container->capacity, "place(s)").text);
	else
		strbuf_add(out, units_things(container->elements, "element(s)").text);
}

static const char *container_text(struct owner_path *self, const struct owners *owners, u32 number)
{
	struct strbuf text = {0};
	const char *kept;

	put_container(&owners->containers.data[number], &text);
	kept = names_keep(&self->names, strbuf_text(&text));
	strbuf_release(&text);
	return kept;
}

/* Steps through one container become one, and the last of them if it is an element: in a list or a
 * tree all are, in others all but the first. */
static bool join_steps(struct owner_path *self, const struct owners *owners)
{
	struct owner_path joined = {0};
	bool good = true;

	for (u64 i = 0, end; i < self->steps.count && good; i = end) {
		struct owner_step step = self->steps.data[i];
		u32 number = owners->container_of[step.node];
		bool has_buffer = number && owners->containers.data[number].first == step.node &&
				  owners->containers.data[number].capacity != CONTAINER_UNKNOWN;

		for (end = i + 1; number && end < self->steps.count &&
				  owners->container_of[self->steps.data[end].node] == number;)
			end++;
		if (number) {
			step.container = container_text(self, owners, number);
			step.parts = has_buffer ? 1 : (u32)(end - i);
			if (!has_buffer) {
				step.member = "";
				step.sharers = 0;
			}
		}
		good = vec_push(&joined.steps, step);
		if (!number || (has_buffer && end == i + 1))
			continue;
		step = self->steps.data[end - 1];
		step.parts = has_buffer ? (u32)(end - i - 1) : 1;
		good = good && vec_push(&joined.steps, step);
	}
	vec_release(&self->steps);
	self->steps.data = joined.steps.data;
	self->steps.count = joined.steps.count;
	self->steps.capacity = joined.steps.capacity;
	return good;
}

/* ---- all ---- */

int owner_path_find(struct owner_path *self, struct owners *owners, u32 node, struct err *err)
{
	if (!add_steps(self, owners, node))
		return err_memory_for(err, "the owners");
	name_members(self, owners);
	return join_steps(self, owners) ? 0 : err_memory_for(err, "the owners");
}

/* ---- texts ---- */

u64 owner_path_alike(const struct owner_path *self, const struct owners *owners, u64 first)
{
	const struct owner_step *steps = self->steps.data;
	u64 end = first + 1;

	while (end < self->steps.count && !steps[first].container && !steps[end].container &&
	       owners_kind(owners, steps[end].node) == owners_kind(owners, steps[first].node) &&
	       steps[end].sharers == steps[first].sharers &&
	       strcmp(steps[end].member, steps[first].member) == 0)
		end++;
	return end - first;
}

const char *owner_step_label(const struct owners *owners, const struct owner_step *step)
{
	return step->container ? step->container : owners_kind(owners, step->node)->label;
}

void owner_path_put(const struct owner_path *self, const struct owners *owners, struct strbuf *out)
{
	for (u64 i = 0, count; i < self->steps.count; i += count) {
		const struct owner_step *step = &self->steps.data[i];

		count = owner_path_alike(self, owners, i);
		strbuf_add(out, i ? " → " : "");
		if (count > 1)
			strbuf_addf(out, "%s × ", units_count(count).text);
		strbuf_add(out, owner_step_label(owners, step));
		if (*step->member)
			strbuf_addf(out, " %s", step->member);
		if (step->sharers)
			strbuf_addf(out, " (shared_ptr, %s)",
				    units_things(step->sharers, "owner(s)").text);
	}
}

int owner_path_put_container(struct owners *owners, const struct owner_container *container,
			     struct strbuf *out, struct err *err)
{
	bool is_member = container->first == container->holder;
	struct owner_step last = {.node = container->holder, .from = (u32)container->offset};
	struct owner_path path = {0};
	struct strbuf member = {0};
	int status = owner_path_find(&path, owners, container->holder, err);

	put_place(owners, &last, &member);
	/* the array, not its first element */
	if (is_member && member.count > 3 && strcmp(member.text + member.count - 3, "[0]") == 0)
		member.text[member.count -= 3] = 0;
	if (status == 0)
		owner_path_put(&path, owners, out);
	if (member.count)
		strbuf_addf(out, " %s", strbuf_text(&member));
	strbuf_release(&member);
	owner_path_release(&path);
	return status;
}

void owner_path_release(struct owner_path *self)
{
	vec_release(&self->steps);
	names_release(&self->names);
	*self = (struct owner_path){0};
}
