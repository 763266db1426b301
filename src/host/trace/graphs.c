/* SPDX-License-Identifier: MIT
 * Graphs of pointers into columns and back. The first half runs on the monitor's drain thread; the
 * second on the host, where nothing is allocated by a number that the payload does not back. */
#include "host/trace/graphs.h"

#include <stdlib.h>
#include <string.h>

#include "host/trace/cursor.h"
#include "host/trace/decode.h"
#include "host/trace/guard.h"

_Static_assert((int)HW_GRAPH_COLUMNS <= COLUMNS_MAX, "a parcel has a part for each column");

enum {
	NAME_MAX_BYTES = 4096, /* longer names of roots are cut */
	ROOTS_FULL = 1 << 20,  /* bytes of a block's roots */
};

/* ---- what both halves know ---- */

/* Chunks of one type follow each other, and a member of theirs leads to chunks that do, too: the
 * last target by place in the node. Anew in each block. */
struct targets {
	u64 last[HW_GRAPH_SLOTS + 1];
};

static inline u64 *target_slot(struct targets *self, u64 from)
{
	return &self->last[from / 8 < HW_GRAPH_SLOTS ? from / 8 : HW_GRAPH_SLOTS];
}

static u64 node_count(const struct stream_graph *graph)
{
	return graph->chunk_count + graph->root_count;
}

/* ---- writing ---- */

static void put_edge(struct strbuf *columns, struct targets *targets, u64 step,
		     const struct stream_edge *edge)
{
	u64 *slot = target_slot(targets, edge->from);

	varint_add(&columns[HW_GRAPH_COLUMN_FROM], word_step(step));
	varint_add(&columns[HW_GRAPH_COLUMN_TARGET], hw_zigzag((i64)(edge->target - *slot)));
	varint_add(&columns[HW_GRAPH_COLUMN_TO], edge->to);
	*slot = edge->target;
}

static void put_root(struct strbuf *column, const struct stream_root *root)
{
	const char *name = root->name ? root->name : "";

	varint_add(column, root->kind);
	varint_add(column, root->tid);
	varint_add(column, root->address);
	varint_add(column, root->bytes);
	varint_add(column, root->code);
	bytes_add(column, name, strnlen(name, NAME_MAX_BYTES));
}

/* Puts the edges of a node, as many as there is room for. */
static u64 put_edges(struct columns *to, struct targets *targets, const struct stream_graph *graph,
		     const struct graph_place *place)
{
	u64 end = graph->starts[place->node + 1], room = HW_BLOCK_EDGES_MAX - to->items;
	u64 from =
		place->edge > graph->starts[place->node] ? graph->edges[place->edge - 1].from : 0;

	if (end - place->edge > room)
		end = place->edge + room;
	varint_add(&to->data[HW_GRAPH_COLUMN_DEGREE], end - place->edge);
	for (u64 i = place->edge; i < end; i++) {
		put_edge(to->data, targets, graph->edges[i].from - from, &graph->edges[i]);
		from = graph->edges[i].from;
	}
	to->items += (u32)(end - place->edge);
	return end;
}

static bool is_full(const struct columns *self, u64 rows)
{
	return self->items == HW_BLOCK_EDGES_MAX || rows == HW_BLOCK_NODES_MAX ||
	       self->data[HW_GRAPH_COLUMN_ROOT].count >= ROOTS_FULL;
}

struct parcel *graph_take(const struct stream_graph *graph, struct graph_place *place)
{
	struct columns columns = {0};
	struct strbuf *head = &columns.data[HW_GRAPH_COLUMN_HEAD];
	struct targets targets = {0};
	struct parcel *parcel;
	u64 nodes = node_count(graph), rows = 0, expected = 0;

	varint_add(head, graph->ticks);
	varint_add(head, graph->chunk_count);
	varint_add(head, graph->root_count);
	varint_add(head, nodes ? graph->starts[nodes] : 0);
	varint_add(head, place->node);
	varint_add(head, place->edge);
	while (place->node < nodes && !is_full(&columns, rows)) {
		u64 node = place->node;

		if (place->edge > graph->starts[node]) {
			/* it goes on from the block before */
		} else if (node < graph->chunk_count) {
			varint_add(&columns.data[HW_GRAPH_COLUMN_CHUNK],
				   graph->chunks[node] - expected);
			expected = graph->chunks[node] + 1;
		} else {
			put_root(&columns.data[HW_GRAPH_COLUMN_ROOT],
				 &graph->roots[node - graph->chunk_count]);
		}
		rows++;
		place->edge = put_edges(&columns, &targets, graph, place);
		place->node += place->edge == graph->starts[node + 1];
	}
	varint_add(head, rows);
	parcel = columns_take(&columns, HW_GRAPH_COLUMNS);
	columns_release(&columns);
	return parcel;
}

bool graph_is_written(const struct stream_graph *graph, const struct graph_place *place)
{
	return place->node == node_count(graph);
}

/* ---- reading ---- */

struct head {
	struct stream_graph graph;
	u64 edge_count, node, edge, rows;
};

static void get_head(struct cursor *in, struct head *head)
{
	head->graph.ticks = cursor_get(in);
	head->graph.chunk_count = cursor_get_u32(in);
	head->graph.root_count = cursor_get_u32(in);
	head->edge_count = cursor_get(in);
	head->node = cursor_get(in);
	head->edge = cursor_get(in);
	head->rows = cursor_get(in);
	in->bad |= head->rows > HW_BLOCK_NODES_MAX || head->node > UINT32_MAX ||
		   node_count(&head->graph) > UINT32_MAX ||
		   head->node + head->rows > node_count(&head->graph);
}

/* Whether the block is the one that comes next. */
static bool goes_on(const struct graph_gather *self, const struct head *head)
{
	const struct stream_graph *a = &self->graph, *b = &head->graph;

	return self->open && a->ticks == b->ticks && a->chunk_count == b->chunk_count &&
	       a->root_count == b->root_count && self->edge_count == head->edge_count &&
	       head->edge == self->edges.count &&
	       (head->node == self->starts.count ||
		(head->edge && head->node + 1 == self->starts.count));
}

static bool get_chunk(struct graph_gather *self, struct cursor *in, u64 *expected)
{
	u64 step = cursor_get(in), chunk = *expected + step;
	u64 least = self->chunks.count ? self->chunks.data[self->chunks.count - 1] + 1 : 0;

	in->bad |= chunk < step || chunk < least || chunk == NO_CHUNK;
	*expected = chunk + 1;
	return vec_push(&self->chunks, chunk);
}

static bool get_root(struct graph_gather *self, struct cursor *in)
{
	u64 kind = cursor_get(in);
	struct stream_root root = {.kind = (u8)kind, .tid = cursor_get_u32(in)};

	root.address = cursor_get(in);
	root.bytes = cursor_get(in);
	root.code = cursor_get(in);
	in->bad |= kind >= ROOT_KINDS;
	root.name = cursor_text(in, &self->names);
	return in->bad || (root.name && vec_push(&self->roots, root));
}

static bool get_edge(struct graph_gather *self, struct cursor *columns, struct targets *targets,
		     u64 *from)
{
	u64 code = cursor_get(&columns[HW_GRAPH_COLUMN_FROM]), *slot;
	struct stream_edge edge = {.to = cursor_get_u32(&columns[HW_GRAPH_COLUMN_TO])};

	*from += word_step_bytes(code);
	slot = target_slot(targets, *from);
	*slot += (u64)hw_unzigzag(cursor_get(&columns[HW_GRAPH_COLUMN_TARGET]));
	columns[HW_GRAPH_COLUMN_FROM].bad |= code >> 34 || *from > UINT32_MAX;
	columns[HW_GRAPH_COLUMN_TARGET].bad |= *slot >= self->graph.chunk_count;
	edge.from = (u32)*from;
	edge.target = (u32)*slot;
	return vec_push(&self->edges, edge);
}

/* The nodes and edges of a block: false without memory. */
static bool get_nodes(struct graph_gather *self, const struct head *head, struct cursor *columns,
		      u64 items)
{
	struct targets targets = {0};
	bool again = head->node + 1 == self->starts.count, good = true;
	u64 expected = 0;

	for (u64 row = 0; row < head->rows && good; row++) {
		bool known = again && row == 0;
		u64 degree = cursor_get(&columns[HW_GRAPH_COLUMN_DEGREE]);
		u64 from = known ? self->edges.data[self->edges.count - 1].from : 0;

		if (!known) {
			good = vec_push(&self->starts, self->edges.count) &&
			       (head->node + row < self->graph.chunk_count
					? get_chunk(self, &columns[HW_GRAPH_COLUMN_CHUNK],
						    &expected)
					: get_root(self, &columns[HW_GRAPH_COLUMN_ROOT]));
		}
		columns[HW_GRAPH_COLUMN_DEGREE].bad |= degree > items;
		if (cursors_bad(columns, HW_GRAPH_COLUMNS))
			return good;
		items -= degree;
		for (; degree && good && !cursors_bad(columns, HW_GRAPH_COLUMNS); degree--)
			good = get_edge(self, columns, &targets, &from);
	}
	columns[HW_GRAPH_COLUMN_DEGREE].bad |= items != 0;
	return good;
}

/* The reader numbers chunks without the gaps that damage leaves, and so must the graph. New places
 * of the nodes to `places`, UINT32_MAX = lost; true if any is. */
static bool renumber(struct graph_gather *self, u32 *places)
{
	u32 kept = 0;

	for (u64 i = 0; i < self->chunks.count; i++) {
		u64 chunk = decoder_chunk(self->decoder, self->chunks.data[i]);

		places[i] = chunk == NO_CHUNK ? UINT32_MAX : kept;
		if (chunk != NO_CHUNK)
			self->chunks.data[kept++] = chunk;
	}
	return kept < self->chunks.count;
}

/* Those of nodes that are lost; and the others get their new numbers. */
static void lost_numbers_drop(struct graph_gather *self, const u32 *places)
{
	u64 kept = 0, lost = 0, chunks = self->chunks.count;

	for (u64 i = 0; i < chunks; i++)
		lost += places[i] == UINT32_MAX;
	for (u64 i = 0; i < self->number_rows.count; i++) {
		struct stream_number one = self->number_rows.data[i];
		u64 node = one.place >> 32;

		if (node < chunks && places[node] == UINT32_MAX)
			continue;
		one.place = number_place(node < chunks ? places[node] : (u32)(node - lost),
					 (u32)one.place);
		self->number_rows.data[kept++] = one;
	}
	self->number_rows.count = kept;
}

static void lost_drop(struct graph_gather *self, const u32 *places)
{
	u64 nodes = 0, edges = 0, chunks = 0;

	lost_numbers_drop(self, places);
	for (u64 i = 0; i + 1 < self->starts.count; i++) {
		u64 edge = self->starts.data[i], end = self->starts.data[i + 1];

		if (i < self->chunks.count && places[i] == UINT32_MAX)
			continue;
		if (i < self->chunks.count && self->told)
			self->told[chunks] = self->told[i];
		chunks += i < self->chunks.count;
		self->starts.data[nodes++] = edges;
		for (; edge < end; edge++) {
			struct stream_edge one = self->edges.data[edge];

			one.target = places[one.target];
			if (one.target != UINT32_MAX)
				self->edges.data[edges++] = one;
		}
	}
	self->starts.data[nodes] = edges;
	self->chunks.count = chunks;
}

static int numbering_mend(struct graph_gather *self, struct err *err)
{
	u32 *places = self->decoder ? malloc((self->chunks.count + 1) * sizeof(*places)) : NULL;

	if (!self->decoder)
		return 0;
	if (!places)
		return err_memory(err);
	if (renumber(self, places))
		lost_drop(self, places);
	free(places);
	return 0;
}

static int whole_tell(struct graph_gather *self, struct err *err)
{
	struct stream_graph *graph = &self->graph;
	int status = vec_push(&self->starts, self->edges.count) ? graph_rows_fill(self, err)
								: err_memory(err);

	if (status == 0)
		status = numbering_mend(self, err);
	if (status < 0)
		return status;
	graph->chunk_count = self->chunks.count;
	graph->chunks = self->chunks.data;
	graph->roots = self->roots.data;
	graph->starts = self->starts.data;
	graph->edges = self->edges.data;
	graph->contents = self->told;
	graph->numbers = self->number_rows.data;
	graph->number_count = self->number_rows.count;
	return guard_graph(self->guard, graph, err);
}

static int block_take(struct graph_gather *self, const struct head *head, struct cursor *columns,
		      u32 items, struct err *err)
{
	int status = 0;

	if (!get_nodes(self, head, columns, items))
		status = err_memory(err);
	else if (cursors_bad(columns, HW_GRAPH_COLUMNS) ||
		 !cursors_at_end(columns, HW_GRAPH_COLUMNS))
		status = BLOCK_CONTENT;
	else if (self->starts.count < node_count(&self->graph) ||
		 self->edges.count < self->edge_count)
		return 0;
	else
		status = self->edges.count > self->edge_count ? BLOCK_CONTENT
							      : whole_tell(self, err);
	graph_gather_release(self);
	graph_rows_release(self);
	return status;
}

int graph_tell(struct graph_gather *self, const struct block *block, struct err *err)
{
	struct cursor in = block_cursor(block), columns[HW_GRAPH_COLUMNS];
	struct head head = {0};

	if (block->items > HW_BLOCK_EDGES_MAX || !cursor_split(&in, columns, HW_GRAPH_COLUMNS))
		return BLOCK_CONTENT;
	get_head(&columns[HW_GRAPH_COLUMN_HEAD], &head);
	if (columns[HW_GRAPH_COLUMN_HEAD].bad)
		return BLOCK_CONTENT;
	if (head.node == 0 && head.edge == 0) {
		graph_gather_release(self);
		self->graph = head.graph;
		self->edge_count = head.edge_count;
		self->open = true;
	} else if (!goes_on(self, &head)) {
		graph_gather_release(self);
		return 0;
	}
	return block_take(self, &head, columns, block->items, err);
}

void graph_gather_release(struct graph_gather *self)
{
	vec_release(&self->chunks);
	vec_release(&self->starts);
	vec_release(&self->roots);
	vec_release(&self->edges);
	arena_release(&self->names);
	free(self->told);
	self->told = NULL;
	self->open = false;
}
