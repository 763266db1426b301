/* SPDX-License-Identifier: MIT
 * Goes down through members of members.
 * Host. */
#include "study/analysis/owners/members.h"

#include <inttypes.h>
#include <string.h>

enum { NESTING_MAX = 24 };

/* Where one is on the way down. */
struct spot {
	u32 type;
	u64 offset;
};

static bool is_standard(const char *name) { return strncmp(name, "std::", 5) == 0; }

/* What people name parts of: not the insides of a container. */
static bool is_open(const char *name)
{
	return !is_standard(name) || strncmp(name, "std::pair<", 10) == 0 ||
	       strncmp(name, "std::array<", 11) == 0;
}

/* The largest that covers the offset: a base without members may be there, too. An array of unknown
 * length at the end goes on. */
static const struct declared_member *member_at(struct owner_members *self,
					       const struct declared_type *class, u64 offset)
{
	const struct declared_member *found = NULL, *members = class->members;
	u32 count = class->member_count;
	u64 most = 0;

	for (u32 i = 0; i < count && members[i].offset <= offset; i++) {
		const struct declared_type *type = declared_type(self->declared, members[i].type);
		bool goes_on = type && type->form == DECLARED_ARRAY && !type->count && !found;

		if (!goes_on &&
		    (!type || offset - members[i].offset >= type->size || type->size <= most))
			continue;
		found = &members[i];
		most = type->size;
	}
	return found;
}

/* One step into an array or a class: false at the end. *member is NULL for an array, whose place is
 * *place. */
static bool go_down(struct owner_members *self, struct spot *spot,
		    const struct declared_member **member, u64 *place)
{
	const struct declared_type *type = declared_type(self->declared, spot->type), *of;

	*member = NULL;
	if (!type)
		return false;
	if (type->form == DECLARED_ARRAY) {
		of = declared_type(self->declared, type->of);
		if (!of || !of->size)
			return false;
		*place = spot->offset / of->size;
		*spot = (struct spot){type->of, spot->offset % of->size};
		return true;
	}
	if (type->form < DECLARED_CLASS)
		return false;
	*member = member_at(self, type, spot->offset);
	if (*member)
		*spot = (struct spot){(*member)->type, spot->offset - (*member)->offset};
	return *member;
}

/* ---- pointers ---- */

static bool is_node_base(const char *name)
{
	return is_standard(name) && (strstr(name, "node_base") || strstr(name, "_end_node"));
}

/* "std::map<int, Foo>" has nodes that are called so. */
static u32 node_type(struct owner_members *self, const char *container)
{
	struct strbuf name = {0};
	u64 bytes = strlen(container);
	u32 type;

	strbuf_add(&name, container);
	if (bytes < 5 || strcmp(container + bytes - 5, " node") != 0)
		strbuf_add(&name, " node");
	type = declared_named(self->declared, strbuf_text(&name));
	strbuf_release(&name);
	return type;
}

static bool has_nodes(const char *name)
{
	static const char *const heads[] = {"std::map<",
					    "std::set<",
					    "std::multimap<",
					    "std::multiset<",
					    "std::list<",
					    "std::forward_list<",
					    "std::unordered_map<",
					    "std::unordered_set<",
					    "std::unordered_multimap<",
					    "std::unordered_multiset<"};

	for (u32 i = 0; i < sizeof heads / sizeof *heads; i++)
		if (strncmp(name, heads[i], strlen(heads[i])) == 0)
			return true;
	return false;
}

static u32 find_lead(struct owner_members *self, struct spot spot)
{
	const struct declared_member *member;
	const struct declared_type *type, *of;
	const char *container = NULL;
	u64 place;

	for (u32 i = 0; i < NESTING_MAX; i++) {
		type = declared_type(self->declared, spot.type);
		if (!type || type->form == DECLARED_UNION)
			return NO_DECLARED;
		if (has_nodes(type->name))
			container = type->name;
		if (!go_down(self, &spot, &member, &place))
			break;
	}
	type = declared_type(self->declared, spot.type);
	if (!type || type->form != DECLARED_POINTER || spot.offset)
		return NO_DECLARED;
	of = declared_type(self->declared, type->of);
	if (of && is_node_base(of->name))
		return container ? node_type(self, container) : NO_DECLARED;
	return type->of;
}

const struct declared_type *owner_members_at(struct owner_members *self, u32 type, u64 offset)
{
	const struct declared_member *member;
	struct spot spot = {type, offset};
	u64 place;

	for (u32 i = 0; i < NESTING_MAX && go_down(self, &spot, &member, &place); i++) {
	}
	return spot.offset ? NULL : declared_type(self->declared, spot.type);
}

/* Elements of an array are alike. */
static void enter_arrays(struct owner_members *self, u32 *type, u64 *offset)
{
	const struct declared_type *at = declared_type(self->declared, *type), *of;

	while (at && at->form == DECLARED_ARRAY && (of = declared_type(self->declared, at->of)) &&
	       of->size) {
		*offset %= of->size;
		*type = at->of;
		at = of;
	}
}

static u32 known_lead(struct owner_members *self, u32 type, u64 offset)
{
	u64 key, *known;
	u32 found;

	enter_arrays(self, &type, &offset);
	key = (u64)type << 32 ^ offset;
	if (offset > UINT32_MAX)
		return NO_DECLARED;
	known = map_find(&self->leads, key);
	if (known)
		return (u32)*known;
	found = find_lead(self, (struct spot){type, offset});
	self->failed |= !map_put(&self->leads, key, found) || declared_failed(self->declared);
	return found;
}

u32 owner_members_lead(struct owner_members *self, u32 type, u64 offset)
{
	u64 key = owner_members_key(type, offset);
	struct recent_slot *slot = recent_at(&self->last_leads, key);

	if (type == NO_DECLARED)
		return NO_DECLARED;
	if (offset >= UINT32_MAX)
		return known_lead(self, type, offset);
	if (slot->key != key)
		*slot = (struct recent_slot){key, known_lead(self, type, offset)};
	return (u32)slot->value;
}

/* ---- names ---- */

void owner_members_put(struct owner_members *self, u32 type, u64 offset, struct strbuf *out)
{
	struct spot spot = {type, offset};
	const struct declared_member *member;
	const struct declared_type *at;
	bool named = false;
	u64 place;

	for (u32 i = 0; i < NESTING_MAX; i++) {
		at = declared_type(self->declared, spot.type);
		if (at && named && !is_open(at->name))
			return;
		if (!go_down(self, &spot, &member, &place))
			break;
		if (!member)
			strbuf_addf(out, "[%" PRIu64 "]", place);
		else if (*member->name && (is_open(at->name) || *member->name != '_')) {
			strbuf_addf(out, ".%s", member->name);
			named = true;
		}
	}
	if (spot.offset)
		strbuf_addf(out, "+0x%" PRIx64, spot.offset);
}

bool owner_members_shared(struct owner_members *self, u32 type, u64 offset, u64 *inside)
{
	struct spot spot = {type, offset};
	const struct declared_member *member;
	const struct declared_type *at;
	u64 place;
	u32 i = 0;

	do {
		at = declared_type(self->declared, spot.type);
		*inside = spot.offset;
		if (at && strncmp(at->name, "std::shared_ptr<", 16) == 0)
			return true;
	} while (i++ < NESTING_MAX && go_down(self, &spot, &member, &place));
	return false;
}

void owner_members_release(struct owner_members *self)
{
	map_release(&self->leads);
	*self = (struct owner_members){0};
}
