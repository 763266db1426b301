/* SPDX-License-Identifier: MIT
 * Makes the graph of a scan; see graph.h. Runs on a scan's thread. Pointers are resolved twice, to
 * count them and to put them in their places: to keep what they were resolved to would take more
 * memory than the graph itself. */
#include "live/scan/graph.h"

#include <stdlib.h>
#include <string.h>

#include "format/arch/tag.h"
#include "host/base/search.h"

enum { PAIRS = 1024 };

struct pair {
	u32 source, target, count;
};

struct building {
	struct scan_graph *to;
	const struct scan_graph_source *from;
	u32 *nodes;  /* of each block */
	u32 *blocks; /* of each node, while numbers are taken */
	u32 *roots;  /* of each place: its number among those with pointers */
	bool fill;
	u32 at;                   /* block or place of the last pointer */
	struct pair pairs[PAIRS]; /* that were met last */
};

/* What a pointer stands in. */
struct holder {
	u32 node;
	u64 start;
};

static u32 offset_of(u64 bytes) { return bytes < UINT32_MAX ? (u32)bytes : UINT32_MAX; }

/* ---- edges ----------------------------------------------------------------------------------- */

/* A table of which each entry leads to the same block says no more than some of them do. The same
 * are left out each time. */
static bool is_one_too_many(struct building *self, u32 source, u32 target)
{
	struct pair *pair = &self->pairs[(source * 0x9e3779b1u ^ target * 0x85ebca77u) >> 22];

	if (pair->source != source || pair->target != target || !pair->count)
		*pair = (struct pair){source, target, 0};
	return pair->count++ >= SCAN_PAIR_MAX;
}
_Static_assert(PAIRS == 1 << (32 - 22), "pairs fit the hash");

static void edge_take(struct building *self, const struct holder *holder, u64 at, u32 block,
		      u64 value)
{
	u32 target = self->nodes[block];
	u64 *start = &self->to->starts[holder->node];

	if (target == holder->node || is_one_too_many(self, holder->node, target))
		return;
	if (self->fill)
		self->to->edges[*start] = (struct stream_edge){
			target, offset_of(at - holder->start),
			offset_of(value - self->from->index->blocks.data[block].address)};
	++*start;
}

/* Pointers of slices and of ranges come by address. */
static struct holder block_of(struct building *self, u64 at)
{
	const struct scan_index *index = self->from->index;
	const struct scan_block *blocks = index->blocks.data;

	if (blocks[self->at].address > at) {
		u64 before = scan_last_before(index, 0, index->blocks.count, at);

		self->at = before < index->blocks.count ? (u32)before : 0;
	}
	while (self->at + 1 < index->blocks.count && blocks[self->at + 1].address <= at)
		self->at++;
	return (struct holder){self->nodes[self->at], blocks[self->at].address};
}

static struct holder place_of(struct building *self, u64 at)
{
	const struct stream_root *rows = self->to->places.rows.data;

	while (self->at + 1 < self->to->places.ranges && rows[self->at + 1].address <= at)
		self->at++;
	return (struct holder){(u32)self->from->index->blocks.count + self->roots[self->at],
			       rows[self->at].address};
}

/* Places without pointers are none. */
static bool place_is_root(const struct building *self, u64 place)
{
	u64 next = place + 1 < self->to->places.rows.count ? self->roots[place + 1]
							   : self->to->graph.root_count;

	return self->roots[place] < next;
}

static void pointers_take(struct building *self, const struct scan_pointers *pointers,
			  struct holder (*holder_of)(struct building *self, u64 at))
{
	struct scan_pointers_reader reader = scan_pointers_read(pointers);
	u64 at[SCAN_GROUP], values[SCAN_GROUP];
	u32 blocks[SCAN_GROUP], count;

	do {
		for (count = 0;
		     count < SCAN_GROUP && scan_pointers_next(&reader, &at[count], &values[count]);
		     count++) {
		}
		scan_index_find_all(self->from->index, values, blocks, count);
		for (u32 i = 0; i < count; i++) {
			struct holder holder;

			if (blocks[i] == NO_BLOCK)
				blocks[i] = scan_index_ends(self->from->index, values[i]);
			if (blocks[i] == NO_BLOCK)
				continue;
			holder = holder_of(self, at[i]);
			edge_take(self, &holder, at[i], blocks[i], values[i]);
		}
	} while (count == SCAN_GROUP);
}

/* Their places are behind those of ranges, in the same order. */
static void registers_take(struct building *self)
{
	const struct scan_graph_source *from = self->from;
	u64 place = self->to->places.ranges;

	for (u64 i = 0; i < from->thread_count; i++) {
		for (u32 k = 0; k < from->threads[i].register_count; k++, place++) {
			u64 value = hw_untagged(from->threads[i].registers[k]);
			u32 block = scan_index_find(from->index, value);
			struct holder holder = {(u32)from->index->blocks.count + self->roots[place],
						0};

			if (block == NO_BLOCK)
				block = scan_index_ends(from->index, value);
			if (block != NO_BLOCK)
				edge_take(self, &holder, 0, block, value);
		}
	}
}

static void all_take(struct building *self, bool fill)
{
	self->fill = fill;
	self->at = 0;
	memset(self->pairs, 0, sizeof(self->pairs));
	for (u32 i = 0; i < self->from->edges->count; i++)
		pointers_take(self, &self->from->edges->slices[i].pointers, block_of);
	self->at = 0;
	if (self->to->places.ranges)
		pointers_take(self, self->from->roots, place_of);
	registers_take(self);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* What a number beside the pointer may be at most. Strings of libc++ mark their capacity with the
 * lowest bit; its deque has four pointers into an array, to the end of it last, and then how many
 * elements are elsewhere. */
static u64 beside_most(const struct building *self, const struct stream_edge *edges, u64 at)
{
	const struct stream_edge *edge = &edges[at];
	u64 bytes = self->from->index->blocks.data[self->blocks[edge->target]].size;

	return at >= 3 && edge->to == bytes && edge[-3].target == edge->target &&
			       edge[-3].from + 24 == edge->from
		       ? self->from->index->bytes
		       : bytes | 1;
}

/* Whether a pointer of the node is near, and the number may be one of what it leads to. */
static bool is_beside_edge(const struct building *self, u32 node, u64 offset, u64 word)
{
	const struct scan_graph *graph = self->to;
	u64 first = graph->starts[node], count = graph->starts[node + 1] - first;
	const struct stream_edge *edges = graph->edges + first;
	u64 at = bisect(i, count, edges[i].from + SCAN_BESIDE * 8ull < offset);

	for (; at < count && edges[at].from <= offset + SCAN_BESIDE * 8; at++)
		if (scan_number_fits(word, beside_most(self, edges, at)))
			return true;
	return false;
}

static bool numbers_take(struct building *self, const struct scan_pointers *numbers,
			 struct holder (*holder_of)(struct building *self, u64 at))
{
	struct scan_pointers_reader reader = scan_pointers_read(numbers);
	u64 at, value;

	self->at = 0;
	while (scan_numbers_next(&reader, &at, &value)) {
		struct holder holder;
		u64 offset;

		holder = holder_of(self, at);
		offset = at - holder.start;
		if (at < holder.start || (holder_of == place_of && !place_is_root(self, self->at)))
			continue;
		if (offset < UINT32_MAX && is_beside_edge(self, holder.node, offset, value) &&
		    !vec_push(&self->to->numbers,
			      (struct stream_number){number_place(holder.node, (u32)offset),
						     value}))
			return false;
	}
	return true;
}

/* Some of blocks that overlap are there twice. */
static void numbers_unite(struct scan_graph *graph)
{
	struct stream_number *rows = graph->numbers.data;
	u64 kept = 0;

	for (u64 i = 0; i < graph->numbers.count; i++)
		if (!kept || rows[kept - 1].place != rows[i].place)
			rows[kept++] = rows[i];
	graph->numbers.count = kept;
}

static bool all_numbers_take(struct building *self)
{
	const struct scan_graph_source *from = self->from;
	struct scan_graph *to = self->to;
	u64 count = from->index->blocks.count;
	bool good;

	self->blocks = malloc((count + 1) * sizeof(*self->blocks));
	/* also if there are none, so that this is known */
	good = self->blocks && vec_reserve(&to->numbers, 1);
	for (u64 i = 0; i < count && good; i++)
		self->blocks[self->nodes[i]] = (u32)i;
	for (u32 i = 0; i < from->edges->count && good; i++)
		good = numbers_take(self, &from->edges->slices[i].numbers.kept, block_of);
	if (good && to->places.ranges)
		good = numbers_take(self, from->root_numbers, place_of);
	good = good && scan_sort(to->numbers.data, to->numbers.count, sizeof(*to->numbers.data));
	if (good)
		numbers_unite(to);
	free(self->blocks);
	return good;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

struct numbered {
	u64 chunk; /* first: what they are sorted by */
	u64 block;
};

static bool nodes_number(struct building *self)
{
	const struct scan_index *index = self->from->index;
	u64 count = index->blocks.count;
	struct numbered *rows = malloc((count + 1) * sizeof(*rows));
	bool good = rows != NULL;

	for (u64 i = 0; i < count && good; i++)
		rows[i] = (struct numbered){index->blocks.data[i].chunk, i};
	good = good && scan_sort(rows, count, sizeof(*rows));
	for (u64 i = 0; i < count && good; i++) {
		self->to->chunks[i] = rows[i].chunk;
		self->nodes[rows[i].block] = (u32)i;
	}
	free(rows);
	return good;
}

/* Places without pointers are left out. */
static void roots_choose(struct building *self)
{
	struct scan_places *places = &self->to->places;
	u64 *starts = self->to->starts + self->from->index->blocks.count;
	u32 kept = 0;

	for (u64 i = 0; i < places->rows.count; i++) {
		self->roots[i] = kept;
		starts[kept] = starts[i];
		kept += starts[i] > 0;
	}
	self->to->graph.root_count = kept;
}

static void roots_take(struct building *self)
{
	struct scan_places *places = &self->to->places;
	u64 kept = 0;

	for (u64 i = 0; i < places->rows.count; i++)
		if (place_is_root(self, i))
			places->rows.data[kept++] = places->rows.data[i];
	places->rows.count = kept;
}

/* Counts become starts; returns the sum. */
static u64 starts_sum(u64 *starts, u64 nodes)
{
	u64 sum = 0;

	for (u64 i = 0; i <= nodes; i++) {
		u64 here = i < nodes ? starts[i] : 0;

		starts[i] = sum;
		sum += here;
	}
	return sum;
}

static int by_from(const void *a, const void *b)
{
	const struct stream_edge *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* Each start has become the next one's. Blocks that overlap are read in turns. */
static void starts_mend(struct scan_graph *self, u64 nodes)
{
	memmove(self->starts + 1, self->starts, nodes * sizeof(*self->starts));
	self->starts[0] = 0;
	for (u64 i = 0; i < nodes; i++) {
		u64 first = self->starts[i], count = self->starts[i + 1] - first;

		for (u64 k = first + 1; k < first + count; k++) {
			if (self->edges[k - 1].from <= self->edges[k].from)
				continue;
			qsort(self->edges + first, count, sizeof(*self->edges), by_from);
			break;
		}
	}
}

static bool graph_fill(struct building *self)
{
	struct scan_graph *to = self->to;
	u64 blocks = self->from->index->blocks.count, places = to->places.rows.count, nodes;

	to->chunks = malloc((blocks + 1) * sizeof(*to->chunks));
	to->starts = calloc(blocks + places + 1, sizeof(*to->starts));
	if (!to->chunks || !to->starts || !nodes_number(self))
		return false;
	if (self->from->contents) {
		to->contents = calloc(blocks + 1, sizeof(*to->contents));
		if (!to->contents ||
		    !scan_contents_number(self->from->contents, self->nodes, to->contents))
			return false;
	}
	for (u64 i = 0; i < places; i++)
		self->roots[i] = (u32)i;
	all_take(self, false);
	roots_choose(self);
	nodes = blocks + to->graph.root_count;
	to->edges = malloc((starts_sum(to->starts, nodes) + 1) * sizeof(*to->edges));
	if (!to->edges)
		return false;
	all_take(self, true);
	starts_mend(to, nodes);
	if (!all_numbers_take(self))
		return false;
	roots_take(self);
	return true;
}

int scan_graph_make(struct scan_graph *self, const struct scan_graph_source *from, struct err *err)
{
	struct building *building = calloc(1, sizeof(*building));
	bool good = building;

	if (building) {
		building->to = self;
		building->from = from;
		building->nodes = malloc((from->index->blocks.count + 1) * sizeof(u32));
		building->roots = malloc((self->places.rows.count + 1) * sizeof(u32));
		good = building->nodes && building->roots && graph_fill(building);
		free(building->nodes);
		free(building->roots);
		free(building);
	}
	if (!good)
		return err_memory(err);
	self->graph.chunk_count = from->index->blocks.count;
	self->graph.chunks = self->chunks;
	self->graph.starts = self->starts;
	self->graph.edges = self->edges;
	self->graph.roots = self->places.rows.data;
	self->graph.contents = self->contents;
	self->graph.numbers = self->numbers.data;
	self->graph.number_count = self->numbers.count;
	return 0;
}

void scan_graph_release(struct scan_graph *self)
{
	free(self->chunks);
	free(self->starts);
	free(self->edges);
	free(self->contents);
	vec_release(&self->numbers);
	scan_places_release(&self->places);
	*self = (struct scan_graph){0};
}
