/* SPDX-License-Identifier: MIT
 * Recognises arrays of pointers, hash tables with and without chains, and dynamic arrays.
 * Host. Looks at a sample of a large array for the distance of its places. */
#include "study/analysis/owners/arrays.h"

#include <string.h>

#include "study/analysis/owners/typed.h"

#define NONE UINT32_MAX

enum {
	WORD = 8,
	WORDS_MAX = 16,   /* of a place */
	SAMPLE_MAX = 512, /* pointers that say how far apart places are */
	LINKS_MAX = 4,    /* offsets that may lead to the next of a chain */
	HEADS_MAX = 64,   /* chunks that say which offsets these are */
};

/* Pointers of one word of all places. */
struct column {
	u64 pointers, alike;
	u32 like;  /* one of the chunks that they lead to, which most are like, */
	u64 votes; /* by a majority vote */
};

struct array {
	struct containing *to;
	struct owners *owners;
	struct array_region at;
	u64 first, end; /* edges */
	struct column columns[WORDS_MAX];
	u32 main;         /* the column with most pointers */
	u64 filled, last; /* places with pointers, and the last of them */
};

static const struct stream_edge *edges_of(const struct array *self)
{
	return owners_graph(self->owners)->edges;
}

static u64 offset_of(const struct array *self, u64 edge)
{
	return owners_edge_offset(self->owners, self->at.node, edge) - self->at.start;
}

static bool counts(const struct array *self, u64 edge)
{
	return !edge_is_in(self->owners->ignored, edge) && offset_of(self, edge) % WORD == 0;
}

static bool is_like(const struct array *self, u64 edge, const struct column *column)
{
	return contain_alike(self->owners, edges_of(self)[edge].target, column->like);
}

/* ---- places ---- */

static void find_edges(struct array *self)
{
	const struct stream_graph *graph = owners_graph(self->owners);

	self->first = graph->starts[self->at.node];
	self->end = graph->starts[self->at.node + 1];
	while (self->first < self->end &&
	       owners_edge_offset(self->owners, self->at.node, self->first) < self->at.start)
		self->first++;
	while (self->first < self->end && offset_of(self, self->end - 1) >= self->at.bytes)
		self->end--;
}

/* Kinds of the columns for places of this many bytes, from the pointers before `end`. */
static void vote(struct array *self, u64 stride, u64 end)
{
	memset(self->columns, 0, sizeof self->columns);
	for (u64 i = self->first; i < end; i++) {
		struct column *column = &self->columns[offset_of(self, i) % stride / WORD];

		if (!counts(self, i))
			continue;
		column->pointers++;
		if (!column->votes)
			column->like = edges_of(self)[i].target;
		column->votes += is_like(self, i, column) ? 1 : (u64)-1;
	}
	for (u64 i = self->first; i < end; i++) {
		struct column *column = &self->columns[offset_of(self, i) % stride / WORD];

		column->alike += counts(self, i) && is_like(self, i, column);
	}
}

/* How many of the words of a place have pointers, and whether these lead to chunks that are alike.
 */
static bool judge(const struct array *self, u64 stride, double *share)
{
	u64 used = 0, pointers = 0, alike = 0;

	for (u64 i = 0; i < stride / WORD; i++) {
		used += self->columns[i].pointers > 0;
		pointers += self->columns[i].pointers;
		alike += self->columns[i].alike;
	}
	*share = (double)used / (double)(stride / WORD);
	return pointers && alike * 4 >= pointers * 3;
}

/* Places with pointers: a few say nothing of words without. */
static u64 places_before(const struct array *self, u64 stride, u64 end)
{
	u64 before = UINT64_MAX, count = 0;

	for (u64 i = self->first; i < end; i++) {
		u64 place = offset_of(self, i) / stride;

		count += counts(self, i) && place != before;
		before = place;
	}
	return count;
}

/* The distance at which the fewest words have pointers; 0 = there is none. */
static u64 find_stride(struct array *self)
{
	u64 end = self->end - self->first > SAMPLE_MAX ? self->first + SAMPLE_MAX : self->end;
	double least = 2, share;
	u64 found = 0;

	for (u64 stride = WORD; stride <= WORDS_MAX * WORD; stride += WORD) {
		if (stride > WORD && self->at.bytes % stride)
			continue;
		vote(self, stride, end);
		if (!judge(self, stride, &share) || share >= least ||
		    places_before(self, stride, end) < ARRAY_FILLED_MIN)
			continue;
		least = share;
		found = stride;
	}
	return found;
}

static void count_places(struct array *self)
{
	u64 before = UINT64_MAX;

	for (u64 i = self->first; i < self->end; i++) {
		u64 place = offset_of(self, i) / self->at.stride;

		if (!counts(self, i) || place == before)
			continue;
		self->filled++;
		self->last = before = place;
	}
}

/* ---- chains ---- */

static bool is_main(const struct array *self, u64 edge)
{
	return counts(self, edge) && offset_of(self, edge) % self->at.stride / WORD == self->main &&
	       is_like(self, edge, &self->columns[self->main]);
}

/* Offsets at which some of the chunks point to others that are alike. */
static u32 find_links(const struct array *self, u32 *links)
{
	const struct stream_graph *graph = owners_graph(self->owners);
	u32 count = 0, heads = 0;

	for (u64 i = self->first; i < self->end && heads < HEADS_MAX; i++) {
		u32 head = edges_of(self)[i].target;

		if (!is_main(self, i))
			continue;
		heads++;
		for (u64 k = graph->starts[head]; k < graph->starts[head + 1]; k++) {
			u32 known = 0;

			if (!contain_alike(self->owners, graph->edges[k].target,
					   self->columns[self->main].like))
				continue;
			while (known < count && links[known] != graph->edges[k].from)
				known++;
			if (known == count && count < LINKS_MAX)
				links[count++] = graph->edges[k].from;
		}
	}
	return count;
}

/* Takes what is behind the heads, which are taken; false if a chain leads to what was there. */
static bool follow_chains(struct array *self, u32 link, u64 heads)
{
	for (u64 i = 0; i < heads; i++) {
		u32 node = contain_target(self->owners, self->to->parts.data[i], link);

		while (node != NONE &&
		       contain_alike(self->owners, node, self->columns[self->main].like)) {
			if (!contain_take(self->to, node))
				return false;
			node = contain_target(self->owners, node, link);
		}
	}
	return true;
}

/* Takes the elements of a hash table with chains; returns how many, 0 = it is none. */
static u64 take_chains(struct array *self)
{
	u64 before = self->to->parts.count, heads, most = 0;
	u32 links[LINKS_MAX], count, best = 0;

	count = find_links(self, links);
	if (!count)
		return 0;
	for (u64 i = self->first; i < self->end; i++)
		if (is_main(self, i) && !contain_take(self->to, edges_of(self)[i].target))
			goto none; /* two places lead to it, or it is some other's */
	heads = self->to->parts.count - before;
	for (u32 i = 0; i < count; i++) {
		bool is_good = follow_chains(self, links[i], heads);

		if (is_good && self->to->parts.count - before - heads > most) {
			most = self->to->parts.count - before - heads;
			best = links[i];
			if (i + 1 == count)
				return heads + most;
		}
		contain_give_back(self->to, before + heads);
	}
	if (most && follow_chains(self, best, heads))
		return heads + most;
none:
	contain_give_back(self->to, before);
	return 0;
}

/* ---- what it is ---- */

/* Open addressing: as many places as a power of two, and gaps between those that are filled. */
static bool is_scattered(const struct array *self, u64 capacity)
{
	return (capacity & (capacity - 1)) == 0 && (self->last + 1 - self->filled) * 16 >= capacity;
}

/* An array in a variable is no chunk: what only it leads to is what it retains. */
static u64 retained_below(const struct array *self)
{
	u64 sum = 0;
	u32 before = NONE;

	for (u64 i = self->first; i < self->end; i++) {
		u32 target = edges_of(self)[i].target;

		if (target != before && self->owners->tree.holder[target] == self->at.node)
			sum += self->owners->tree.retained[target];
		before = target;
	}
	return sum;
}

/* Whether two pointers in a row lead to the start of a chunk and behind what is used of it. */
static inline bool is_used_pair(const struct owners *self, u32 node, u64 edge)
{
	const struct stream_graph *graph = owners_graph(self);
	const struct stream_edge *begin = &graph->edges[edge], *end = begin + 1;

	return edge != NO_EDGE && edge + 1 < graph->starts[node + 1] && !begin->to && end->to &&
	       begin->target == end->target && end->from == begin->from + WORD &&
	       !edge_is_in(self->ignored, edge) && !edge_is_in(self->ignored, edge + 1);
}

static void add(struct array *self, bool is_whole)
{
	struct owner_container found = {.holder = self->at.node,
					.offset = self->at.start,
					.first = self->at.node,
					.type = "",
					.capacity = self->at.bytes / self->at.stride,
					.elements = take_chains(self)};
	u32 holder = self->owners->came_from[self->at.node];

	found.sort = found.elements || is_scattered(self, found.capacity) ? CONTAINER_TABLE
		     : self->at.stride == WORD                            ? CONTAINER_POINTERS
									  : CONTAINER_ARRAY;
	if (!found.elements) {
		found.elements = self->filled;
		if (!is_whole)
			found.sums.retained = retained_below(self);
	}
	if (is_whole && holder != self->at.node) {
		u64 edge = owners_edge_to(self->owners, holder, self->at.node);

		found.holder = holder;
		found.offset = edge == NO_EDGE ? 0 : owners_edge_offset(self->owners, holder, edge);
		if (found.sort != CONTAINER_TABLE && is_used_pair(self->owners, holder, edge))
			found.elements = edges_of(self)[edge + 1].to / self->at.stride;
	}
	found.slack_bytes =
		contain_slack(found.sort == CONTAINER_TABLE ? self->filled : found.elements,
			      found.capacity, self->at.stride);
	if (is_whole && !contain_take(self->to, self->at.node))
		contain_give_back(self->to, 0);
	else
		contain_end(self->to, &found);
}

void array_add(struct containing *self, const struct array_region *region)
{
	const struct stream_graph *graph = owners_graph(self->owners);
	struct array array = {.to = self, .owners = self->owners, .at = *region};
	bool is_whole = region->node < graph->chunk_count && !region->start &&
			region->bytes == owners_bytes(self->owners, region->node);
	bool is_given = region->stride;
	double share;

	if (graph->starts[region->node + 1] - graph->starts[region->node] < ARRAY_FILLED_MIN)
		return;
	find_edges(&array);
	if (!is_given && array.end - array.first >= ARRAY_FILLED_MIN)
		array.at.stride = find_stride(&array);
	if (!array.at.stride || array.at.stride > WORDS_MAX * WORD || array.at.stride % WORD)
		return;
	count_places(&array);
	vote(&array, array.at.stride, array.end);
	if (array.filled < ARRAY_FILLED_MIN ||
	    (!judge(&array, array.at.stride, &share) && !is_given))
		return;
	for (u32 i = 1; i < WORDS_MAX; i++)
		if (array.columns[i].alike > array.columns[array.main].alike)
			array.main = i;
	/* a tree whose nodes have many children is none */
	if (!contain_alike(self->owners, array.columns[array.main].like, region->node))
		add(&array, is_whole);
}

static void add_used(struct containing *self, u32 node, u64 edge)
{
	struct owners *owners = self->owners;
	const struct stream_edge *begin = &owners_graph(owners)->edges[edge], *end = begin + 1;
	const struct declared_type *type;
	u64 offset, bytes;
	u32 lead;
	struct owner_container found = {.holder = node,
					.first = begin->target,
					.sort = CONTAINER_ARRAY,
					.type = "",
					.elements = CONTAINER_UNKNOWN,
					.capacity = CONTAINER_UNKNOWN};

	/* shared pointers in a row look alike */
	offset = found.offset = owners_edge_offset(owners, node, edge);
	lead = owner_lead(owners, node, offset);
	if ((owners->type_of[node] != NO_DECLARED &&
	     (lead == NO_DECLARED || owner_lead(owners, node, offset + WORD) != lead)) ||
	    !contain_take(self, begin->target))
		return;
	bytes = owners_bytes(owners, begin->target);
	found.slack_bytes = bytes > end->to ? bytes - end->to : 0;
	type = declared_type(owners->members.declared, lead);
	if (type && type->size) {
		found.elements = end->to / type->size;
		found.capacity = bytes / type->size;
	}
	contain_end(self, &found);
}

void array_add_used(struct containing *self, u32 node)
{
	const struct stream_graph *graph = owners_graph(self->owners);

	for (u64 i = graph->starts[node]; i + 1 < graph->starts[node + 1]; i++)
		if (is_used_pair(self->owners, node, i))
			add_used(self, node, i);
}

/* ---- counted ---- */

/* Integers beside a pointer, the nearest first. */
struct beside {
	u64 values[2];
	u32 count;
};

static bool is_integer(const struct declared_type *type)
{
	return type && type->form == DECLARED_OTHER && (type->size == 4 || type->size == WORD) &&
	       !strstr(type->name, "float") && !strstr(type->name, "double");
}

/* Those on one side of it. */
static void look_beside(struct owners *self, u32 node, u64 edge, bool is_before, struct beside *out)
{
	struct owner_spot spot = owner_spot(self, node, owners_edge_offset(self, node, edge));

	for (int i = 0; i < 4 && out->count < 2; i++) {
		int halves = is_before ? -1 - i : 2 + i, word = (halves + 4) / 2 - 2;
		i64 at = (i64)spot.offset + 4 * halves;
		const struct declared_type *type =
			at < 0 ? NULL : owner_members_at(&self->members, spot.type, (u64)at);
		u64 value;

		if (!is_integer(type))
			continue;
		value = contain_number(self, node, edge, word);
		if (type->size < WORD)
			value = halves % 2 ? value >> 32 : (u32)value;
		out->values[out->count++] = value;
	}
}

/* Of two, the one that is not the places; of one, which is, all are used. */
static bool beside_used(const struct beside *self, u64 places, u64 *used)
{
	for (u32 i = 0; i < self->count; i++) {
		*used = self->values[self->count == 2 ? 1 - i : i];
		if (self->values[i] == places && *used <= places)
			return true;
	}
	return false;
}

static void add_counted(struct containing *self, u32 node, const struct owner_object *object,
			u64 edge)
{
	struct owners *owners = self->owners;
	const struct stream_edge *to = &owners_graph(owners)->edges[edge];
	u64 offset = owners_edge_offset(owners, node, edge);
	const struct declared_type *type =
		declared_type(owners->members.declared,
			      owner_lead_in(owners, node, object, offset));
	u64 bytes = owners_bytes(owners, to->target), places, used = 0;
	struct beside before = {0}, behind = {0};
	struct owner_container found = {.holder = node,
					.offset = offset,
					.first = to->target,
					.sort = CONTAINER_ARRAY,
					.type = ""};

	places = type && type->size ? bytes / type->size : 0;
	if (places < ARRAY_FILLED_MIN || bytes % type->size)
		return;
	look_beside(owners, node, edge, false, &behind);
	look_beside(owners, node, edge, true, &before);
	if (!beside_used(&behind, places, &used) && !beside_used(&before, places, &used)) {
		/* a 0 at the end of text may have a place of its own */
		if (type->size > 1 || (!beside_used(&behind, --places, &used) &&
				       !beside_used(&before, places, &used)))
			return;
	}
	found.elements = used;
	found.capacity = places;
	found.slack_bytes = contain_slack(used, places, type->size);
	if (type->size == 1)
		found.sort = CONTAINER_TEXT;
	if (contain_take(self, to->target))
		contain_end(self, &found);
}

void array_add_counted(struct containing *self, u32 node)
{
	struct owners *owners = self->owners;
	const struct stream_graph *graph = owners_graph(owners);
	struct owner_object object;

	if (owners->type_of[node] == NO_DECLARED)
		return;
	object = owner_object(owners, node);
	for (u64 i = graph->starts[node]; i < graph->starts[node + 1]; i++) {
		const struct stream_edge *to = &graph->edges[i];

		if (!to->to && owners->tree.retained[to->target] >= self->least &&
		    !owners->container_of[to->target] && !edge_is_in(owners->ignored, i))
			add_counted(self, node, &object, i);
	}
}
