/* SPDX-License-Identifier: MIT
 * Recognises the containers of libstdc++ and libc++ by where their pointers are. Both have three
 * pointers in a vector, and next before all else in nodes of lists and hash tables; their trees,
 * deques and strings differ, and so do the sizes of these.
 * Host. */
#include "study/analysis/owners/library.h"

#include <string.h>

#define NONE UINT32_MAX

enum { WORD = 8 };

/* A container that is looked at. */
struct looking {
	struct containing *to;
	struct owners *owners;
	u32 node;
	u64 offset;
	u32 type;
	u64 size; /* of the container itself */
	struct owner_container found;
};

static u64 type_bytes(const struct looking *self, u32 type)
{
	const struct declared_type *at = declared_type(self->owners->members.declared, type);

	return at ? at->size : 0;
}

static u32 target(const struct looking *self, u64 offset)
{
	return contain_target(self->owners, self->node, self->offset + offset);
}

static const struct stream_edge *edge(const struct looking *self, u64 offset)
{
	u64 at = contain_edge(self->owners, self->node, self->offset + offset);

	return at == NO_EDGE ? NULL : &owners_graph(self->owners)->edges[at];
}

/* Also one just behind a chunk, which is doubtful. */
static const struct stream_edge *any_edge(const struct looking *self, u64 offset)
{
	u64 at = contain_any_edge(self->owners, self->node, self->offset + offset);

	return at == NO_EDGE ? NULL : &owners_graph(self->owners)->edges[at];
}

/* The number that is so many words behind the pointer at the offset. */
static u64 number(const struct looking *self, u64 offset, int words)
{
	u64 at = contain_any_edge(self->owners, self->node, self->offset + offset);

	return at == NO_EDGE ? 0 : contain_number(self->owners, self->node, at, words);
}

/* ---- arrays ---- */

/* A pointer to the end of the used part is none into the chunk if all of it is used. */
static bool look_at_vector(struct looking *self)
{
	const struct stream_edge *begin = edge(self, 0), *end = edge(self, WORD);
	u64 place = type_bytes(self, owner_members_lead(&self->owners->members, self->type, 0));
	u64 bytes, used;

	if (!begin || !contain_take(self->to, begin->target))
		return false;
	self->found.first = begin->target;
	bytes = owners_bytes(self->owners, begin->target);
	bytes -= begin->to < bytes ? begin->to : bytes;
	used = end && end->target == begin->target && end->to >= begin->to ? end->to - begin->to
									   : bytes;
	if (strcmp(self->found.type, "std::vector<bool>") == 0) {
		self->found.capacity = bytes * 8;
	} else if (place) {
		self->found.elements = used / place;
		self->found.capacity = bytes / place;
		self->found.slack_bytes = bytes - used;
	}
	return true;
}

/* libstdc++: pointer, length, places without the one of the 0 at the end; libc++: places and a bit,
 * length, pointer. Where the places are not those of the buffer, it is no such string. */
static bool look_at_text(struct looking *self)
{
	bool is_libcxx = self->size == 3 * WORD;
	u64 at = is_libcxx ? 2 * WORD : 0, bytes, places, length, place = 1;
	u32 chunk = target(self, at);

	if (chunk == NONE || !contain_take(self->to, chunk))
		return false;
	self->found.first = chunk;
	if (strcmp(self->found.type, "std::string") != 0)
		place = type_bytes(self,
				   owner_members_lead(&self->owners->members, self->type, at));
	bytes = owners_bytes(self->owners, chunk);
	if (!place || bytes < place)
		return true;
	self->found.capacity = bytes / place - 1;
	places = is_libcxx ? number(self, at, -2) & ~(u64)1 : number(self, at, 2) + 1;
	length = number(self, at, is_libcxx ? -1 : 1);
	if (places * place == bytes && length < places) {
		self->found.elements = length;
		self->found.slack_bytes = contain_slack(length, self->found.capacity, place);
	}
	return true;
}

/* ---- deques ---- */

/* Takes the blocks that the places [first, end) of the map lead to; returns how many. */
static u64 take_blocks(struct looking *self, u32 map, u64 first, u64 end)
{
	u64 blocks = 0;

	for (u64 at = first; at < end; at += WORD) {
		u32 block = contain_target(self->owners, map, at);

		blocks += block != NONE && contain_take(self->to, block);
	}
	return blocks;
}

/* libstdc++: the map and its places, and two cursors of four pointers: element, block, end of the
 * block, place in the map. */
static bool look_at_cursors(struct looking *self, u32 map, u64 place)
{
	const struct stream_edge *start = edge(self, 2 * WORD), *finish = edge(self, 6 * WORD);
	const struct stream_edge *first = edge(self, 5 * WORD), *last = edge(self, 9 * WORD);
	u64 block, blocks;

	if (!start || !finish || !first || !last || first->target != map || last->target != map ||
	    last->to < first->to)
		return false;
	block = owners_bytes(self->owners, start->target);
	blocks = take_blocks(self, map, first->to, (u64)last->to + WORD);
	if (!place || !block)
		return true;
	self->found.capacity = blocks * (block / place);
	self->found.elements =
		((u64)(last->to - first->to) / WORD * block + finish->to - start->to) / place;
	self->found.slack_bytes = contain_slack(self->found.elements, self->found.capacity, place);
	return true;
}

/* libc++: four pointers into the map, of which the second and third are around the blocks; the
 * place of the first element, and how many there are. */
static void look_at_size(struct looking *self, u32 map, u64 place)
{
	const struct stream_edge *first = any_edge(self, WORD), *end = any_edge(self, 2 * WORD),
				 *last = any_edge(self, 3 * WORD);
	bool is_known = first && end && last && first->target == map && end->target == map &&
			last->target == map;
	u64 all = owners_bytes(self->owners, map), used = number(self, 3 * WORD, 2), blocks;

	blocks = take_blocks(self, map, is_known ? first->to : 0, is_known ? end->to : all);
	if (!place || !blocks)
		return;
	self->found.capacity =
		blocks *
		(owners_bytes(self->owners, self->to->parts.data[self->to->parts.count - 1]) /
		 place);
	if (!is_known || !owners_graph(self->owners)->numbers || self->size != 6 * WORD ||
	    number(self, 3 * WORD, 1) + used > self->found.capacity)
		return;
	self->found.elements = used;
	self->found.slack_bytes = contain_slack(used, self->found.capacity, place);
}

static bool look_at_deque(struct looking *self)
{
	u32 map = target(self, 0);
	const struct declared_type *element =
		declared_type(self->owners->members.declared,
			      owner_members_lead(&self->owners->members, self->type, 0));
	u64 place = element ? type_bytes(self, element->of) : 0;

	if (map == NONE || !contain_take(self->to, map))
		return false;
	self->found.first = map;
	if (!look_at_cursors(self, map, place))
		look_at_size(self, map, place);
	return true;
}

/* ---- nodes ---- */

/* Those that begin with a pointer to the next; returns how many. The last one may lead back to the
 * container itself. */
static u64 take_list(struct looking *self, u32 node)
{
	u64 count = 0;

	while (node != NONE && node != self->node && contain_take(self->to, node)) {
		node = contain_target(self->owners, node, 0);
		count++;
	}
	return count;
}

static bool look_at_list(struct looking *self)
{
	u32 first = target(self, 0);

	self->found.elements = take_list(self, first);
	self->found.first = first;
	return self->found.elements;
}

/* The bucket of the first node leads to the container itself. */
static u64 filled_buckets(const struct looking *self, u32 buckets)
{
	const struct stream_graph *graph = owners_graph(self->owners);
	u64 filled = 0;

	for (u64 i = graph->starts[buckets]; i < graph->starts[buckets + 1]; i++)
		filled += graph->edges[i].target != self->node;
	return filled + (self->found.elements > 0);
}

static bool look_at_table(struct looking *self)
{
	u64 start = self->size > 7 * WORD ? self->size - 7 * WORD : 0;
	u32 buckets = target(self, start), first = target(self, start + 2 * WORD);

	self->found.first = buckets != NONE ? buckets : first;
	if (buckets != NONE && contain_take(self->to, buckets))
		self->found.capacity = owners_bytes(self->owners, buckets) / WORD;
	self->found.elements = take_list(self, first);
	if (self->found.capacity != CONTAINER_UNKNOWN)
		self->found.slack_bytes =
			contain_slack(filled_buckets(self, buckets), self->found.capacity, WORD);
	return self->to->parts.count;
}

static u64 take_tree(struct looking *self, u32 root, u64 left)
{
	struct containing *to = self->to;
	u64 count = 0;

	vec_clear(&to->stack);
	to->failed |= !vec_push(&to->stack, root);
	while (to->stack.count && !to->failed) {
		u32 node = to->stack.data[--to->stack.count];

		if (node == NONE || node == self->node || !contain_take(to, node))
			continue;
		count++;
		to->failed |=
			!vec_push(&to->stack, contain_target(self->owners, node, left)) ||
			!vec_push(&to->stack, contain_target(self->owners, node, left + WORD));
	}
	return count;
}

/* libstdc++ ends in a node (colour, parent, left, right) and the number; its parent is the root,
 * and nodes are alike. libc++ has the first node, the root and the number; nodes begin with left
 * and right. */
static bool look_at_tree(struct looking *self)
{
	bool is_libcxx = self->size < 6 * WORD;
	u32 root = target(self, is_libcxx ? WORD : self->size - 4 * WORD);

	self->found.first = root;
	if (root != NONE)
		self->found.elements = take_tree(self, root, is_libcxx ? 0 : 2 * WORD);
	return root != NONE;
}

/* ---- all ---- */

void library_add(struct containing *self, u32 node, u64 offset, const struct container_field *field)
{
	static bool (*const look[CONTAINER_SORTS])(struct looking *) = {
		[CONTAINER_ARRAY] = look_at_vector, [CONTAINER_TEXT] = look_at_text,
		[CONTAINER_DEQUE] = look_at_deque,  [CONTAINER_LIST] = look_at_list,
		[CONTAINER_TREE] = look_at_tree,    [CONTAINER_TABLE] = look_at_table,
	};
	const struct declared_type *type =
		declared_type(self->owners->members.declared, field->type);
	struct looking looking = {
		.to = self,
		.owners = self->owners,
		.node = node,
		.offset = offset,
		.type = field->type,
		.size = type->size,
		.found = {.holder = node,
			  .offset = offset,
			  .sort = field->sort,
			  .type = type->name,
			  .elements = CONTAINER_UNKNOWN,
			  .capacity = CONTAINER_UNKNOWN,
			  .slack_bytes = CONTAINER_UNKNOWN},
	};

	if (look[field->sort] && look[field->sort](&looking))
		contain_end(self, &looking.found);
	else
		contain_give_back(self, 0);
}
