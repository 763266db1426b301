/* SPDX-License-Identifier: MIT
 * Finds pointers to the ends of chunks, and those that stand where the declared types have none.
 * Host. */
#include "study/analysis/owners/doubt.h"

#include <stdlib.h>
#include <string.h>

#include "study/analysis/owners/typed.h"

enum { PARTS_MAX = 64 };

/* ---- types ---- */

/* Text and numbers: what is there is no pointer, or one that was saved, as in a jmp_buf. */
static bool is_plain(const struct declared_type *type)
{
	return type && type->form == DECLARED_OTHER && type->size;
}

/* The standard library keeps objects in arrays of char, but strings keep text. */
static bool is_closed(const char *name)
{
	static const char *const open[] = {"std::string", "std::basic_string<",        "std::pair<",
					   "std::array<", "std::__detail::_Hash_node", NULL};

	if (strncmp(name, "std::", 5) != 0) /* asked for each pointer: most are not */
		return false;
	for (u32 i = 0; open[i]; i++)
		if (strncmp(name, open[i], strlen(open[i])) == 0)
			return false;
	return !strstr(name, " node");
}

struct place {
	u32 type;
	u64 offset;
};

/* The parts of a class or union that cover an offset go on the list. */
static u32 add_parts(struct declared *declared, const struct declared_type *type, u64 offset,
		     struct place *list, u32 count)
{
	for (u32 i = 0; i < type->member_count && count < PARTS_MAX; i++) {
		const struct declared_member *member = &type->members[i];
		const struct declared_type *part = declared_type(declared, member->type);

		if (part && offset >= member->offset && offset - member->offset < part->size)
			list[count++] = (struct place){member->type, offset - member->offset};
	}
	return count;
}

/* Whether the type has text or numbers there, and nothing else. */
static bool is_plain_at(struct declared *declared, u32 type, u64 offset)
{
	struct place list[PARTS_MAX]; /* a kilobyte: only what is used is set */
	bool found = false;

	list[0] = (struct place){type, offset};
	for (u32 at = 0, count = 1; at < count; at++) {
		const struct declared_type *here = declared_type(declared, list[at].type);

		if (!here || list[at].offset >= here->size || is_closed(here->name))
			return false;
		if (here->form == DECLARED_ARRAY && here->count && here->size >= here->count &&
		    count < PARTS_MAX)
			list[count++] = (struct place){here->of, list[at].offset % (here->size /
										    here->count)};
		else if (here->form == DECLARED_CLASS || here->form == DECLARED_UNION)
			count = add_parts(declared, here, list[at].offset, list, count);
		else if (is_plain(here))
			found = true;
		else
			return false;
	}
	return found;
}

static bool label_is_plain(const char *label)
{
	static const char *const labels[] = {"char",   "signed char", "unsigned char", "bool",
					     "short",  "int",         "unsigned int",  "float",
					     "double", "wchar_t",     "std::byte",     NULL};

	for (u32 i = 0; labels[i]; i++)
		if (strcmp(label, labels[i]) == 0)
			return true;
	return false;
}

/* ---- chunks ---- */

/* Chunks of text and numbers by their own name. */
static bool find_plain_kinds(const struct owners *self, u8 *plain)
{
	u32 chunks = (u32)owners_graph(self)->chunk_count;
	u8 *kinds = calloc(self->kinds.count + 1, 1);

	for (u64 i = 0; kinds && i < self->kinds.count; i++)
		kinds[i] = self->kinds.data[i].what == OWNER_TYPE &&
			   label_is_plain(self->kinds.data[i].label);
	for (u32 node = 0; kinds && node < chunks; node++)
		plain[node] = kinds[self->kind_of[node]];
	free(kinds);
	return kinds;
}

/* And because a pointer is declared to lead to such. */
static void find_plain(struct owners *self, u8 *plain)
{
	const struct stream_graph *graph = owners_graph(self);

	for (u32 node = 0; node < self->tree.lost; node++) {
		struct owner_object object;

		if (self->type_of[node] == NO_DECLARED)
			continue;
		object = owner_object(self, node);
		for (u64 i = graph->starts[node]; i < graph->starts[node + 1]; i++) {
			u32 target = graph->edges[i].target;
			u32 lead;

			if (edge_is_in(self->ignored, i) || graph->edges[i].to ||
			    self->type_of[target] != NO_DECLARED ||
			    owners_kind(self, target)->what == OWNER_TYPE)
				continue;
			lead = owner_lead_in(self, node, &object,
					     owners_edge_offset(self, node, i));
			if (is_plain(declared_type(self->members.declared, lead)))
				plain[target] = 1;
		}
	}
}

static void add_doubt(struct owners *self, u64 edge)
{
	self->doubtful_count += !edge_is_in(self->doubtful, edge);
	self->doubtful[edge / 64] |= 1ull << (edge % 64);
}

bool owner_ends_find(struct owners *self)
{
	const struct stream_graph *graph = owners_graph(self);
	u64 edges = graph->starts[self->tree.lost];

	self->doubtful = calloc(edges / 64 + 1, sizeof *self->doubtful);
	for (u64 i = 0; self->doubtful && i < edges; i++) {
		const struct stream_edge *edge = &graph->edges[i];

		/* that offset stands for all greater ones, too */
		if (edge->to && edge->to < UINT32_MAX &&
		    edge->to == owners_bytes(self, edge->target))
			add_doubt(self, i);
	}
	return self->doubtful;
}

/* Pointers of a node that stand where its type has text or numbers. */
static void doubt_places(struct owners *self, u32 node, struct recent *known)
{
	const struct stream_graph *graph = owners_graph(self);
	struct owner_object object = owner_object(self, node);

	for (u64 i = graph->starts[node]; i < graph->starts[node + 1]; i++) {
		struct owner_spot spot =
			owner_spot_in(self, node, &object, owners_edge_offset(self, node, i));
		u64 key = owner_members_key(spot.type, spot.offset);
		struct recent_slot *slot = recent_at(known, key);

		if (slot->key != key || spot.offset >= UINT32_MAX)
			*slot = (struct recent_slot){key, is_plain_at(self->members.declared,
								      spot.type, spot.offset)};
		if (slot->value)
			add_doubt(self, i);
	}
}

static void doubt_all(struct owners *self, u32 node)
{
	const struct stream_graph *graph = owners_graph(self);

	for (u64 i = graph->starts[node]; i < graph->starts[node + 1]; i++)
		add_doubt(self, i);
}

bool owner_doubts_find(struct owners *self)
{
	u8 *plain = calloc((u64)self->tree.lost + 1, 1);
	struct recent *known = calloc(1, sizeof *known);
	bool good = plain && known && find_plain_kinds(self, plain);

	if (good)
		find_plain(self, plain);
	for (u32 node = 0; good && node < self->tree.lost; node++)
		if (plain[node])
			doubt_all(self, node);
		else if (self->type_of[node] != NO_DECLARED)
			doubt_places(self, node, known);
	free(plain);
	free(known);
	return good && !self->members.failed;
}
