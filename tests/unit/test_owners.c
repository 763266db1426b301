/* SPDX-License-Identifier: MIT
 * Owners: sums of sets, the tree by shape, which roots count, and ways to chunks. */
#include <stdio.h>

#include "study/analysis/owners/choose.h"
#include "study/analysis/owners/paths.h"
#include "study/analysis/owners/result.h"
#include "study/analysis/owners/twice.h"
#include "study/analysis/owners/weigh.h"
#include "unit/test_analysis.h"
#include "unit/test_graph.h"

/* Functions of the program, which are contexts 1, 2 … */
enum { TABLE = 1, SESSION, BUFFER, FUNCTIONS };
static const char *const functions[] = {"make_table", "open_session", "make_buffer"};

struct heap {
	struct feed feed;
	struct made_graph made;
	struct symbol_frame frames[FUNCTIONS];
	struct symbol_entry entries[FUNCTIONS];
	struct symbol_table symbols;
	struct stack_source source;
	struct type_cascade types;
	struct owners owners;
};

/* Chunk i is allocated by places[i] and has 10 << i bytes. */
static void heap_new(struct heap *self, const u32 *places, u32 count, u32 roots)
{
	*self = (struct heap){.feed = feed_new(), .made = graph_new(count, roots)};
	tell_functions(&self->feed, FUNCTIONS);
	for (u32 i = 0; i < count; i++)
		tell_alloc(&self->feed, HW_MALLOC, places[i], 10ull << i);
	self->made.graph.ticks = self->feed.ticks;
	tell_end(&self->feed, IMAGE_EXITED);
	self->symbols = named_table(functions, FUNCTIONS - 1, self->frames, self->entries);
	self->source = (struct stack_source){.model = self->feed.model, .symbols = &self->symbols};
}

static void heap_make(struct heap *self)
{
	struct owners_query query = {.graph = &self->made.graph, .types = &self->types};
	struct type_query ask = {.source = &self->source};

	graph_make(&self->made);
	if (type_cascade_init(&self->types, &ask, &self->feed.err) < 0 ||
	    owners_make(&self->owners, &query, &self->feed.err) < 0)
		FAIL("%s", self->feed.err.text);
}

static void heap_release(struct heap *self)
{
	owners_release(&self->owners);
	type_cascade_release(&self->types);
	graph_release(&self->made);
	model_free(self->feed.model);
}

static const struct owner_sums *sums_called(const struct heap *self, const char *label)
{
	for (u64 i = 0; i < self->owners.kinds.count; i++)
		if (strcmp(self->owners.kinds.data[i].label, label) == 0)
			return &self->owners.kinds.data[i].sums;
	FAIL("nothing is called %s", label);
}

/* A table (0) that holds sessions (1, 2), each with a buffer (3, 4); a session (5) below a buffer. */
static void make_service(struct heap *self)
{
	static const u32 places[] = {TABLE, SESSION, SESSION, BUFFER, BUFFER, SESSION};

	heap_new(self, places, 6, 1);
	self->made.roots[0].kind = ROOT_MAPPING;
	graph_edge(&self->made, 6, 0, 16);
	graph_edge(&self->made, 0, 1, 0);
	graph_edge(&self->made, 0, 2, 8);
	graph_edge(&self->made, 1, 3, 0);
	graph_edge(&self->made, 2, 4, 24);
	graph_edge(&self->made, 4, 5, 0);
	heap_make(self);
}

TEST(sets, "what one of a set holds for another is counted once")
{
	struct heap heap;
	u64 all = 10 + 20 + 40 + 80 + 160 + 320;

	make_service(&heap);
	CHECK_EQ(sums_called(&heap, "open_session")->chunks, 3);
	CHECK_EQ(sums_called(&heap, "open_session")->bytes, 20 + 40 + 320);
	CHECK_EQ(sums_called(&heap, "open_session")->retained, all - 10);
	CHECK_EQ(sums_called(&heap, "make_buffer")->retained, 80 + 160 + 320);
	CHECK_EQ(sums_called(&heap, "make_table")->retained, all);
	CHECK_EQ(sums_called(&heap, "mapped memory")->retained, all);
	CHECK_EQ(sums_called(&heap, "mapped memory")->chunks, 0);
	for (u32 i = 0; i < heap.feed.model->points.count; i++)
		if (heap.owners.points[i].chunks == 3)
			CHECK_EQ(heap.owners.points[i].retained, all - 10);
	heap_release(&heap);
}

TEST(shapes, "owners that are called alike and held alike are one")
{
	static const struct {
		const char *label;
		u64 nodes, retained, bytes;
	} want[] = {
		{"mapped memory", 1, 630, 0},
		{"make_table", 1, 630, 10},
		{"open_session", 3, 620, 380}, /* the third is below a buffer, as in a tree */
		{"make_buffer", 2, 560, 240},
	};
	struct heap heap;

	make_service(&heap);
	CHECK_EQ(heap.owners.shapes.count, 6); /* the program first, what is lost last */
	for (u32 i = 0; i < 4; i++) {
		const struct owner_shape *shape = &heap.owners.shapes.data[i + 1];

		CHECK_STR(heap.owners.kinds.data[shape->kind].label, want[i].label);
		CHECK_EQ(shape->nodes, want[i].nodes);
		CHECK_EQ(shape->depth, i + 1);
		CHECK_EQ(shape->sums.retained, want[i].retained);
		CHECK_EQ(shape->sums.bytes, want[i].bytes);
	}
	heap_release(&heap);
}

TEST(list, "a list is one shape however long it is")
{
	enum { LENGTH = 40 };
	u32 places[LENGTH];
	struct heap heap;

	for (u32 i = 0; i < LENGTH; i++)
		places[i] = SESSION;
	heap_new(&heap, places, LENGTH, 1);
	heap.made.roots[0].kind = ROOT_TLS;
	graph_edge(&heap.made, LENGTH, 0, 0);
	for (u32 i = 0; i + 1 < LENGTH; i++)
		graph_edge(&heap.made, i, i + 1, 0);
	heap_make(&heap);
	CHECK_EQ(heap.owners.shapes.count, 4);
	CHECK_EQ(heap.owners.shapes.data[2].nodes, LENGTH);
	CHECK_EQ(heap.owners.shapes.data[2].sums.retained, heap.owners.shapes.data[2].sums.bytes);
	heap_release(&heap);
}

TEST(weak_roots, "a frame holds only what no variable and no outer frame leads to")
{
	static const u32 places[] = {TABLE, SESSION, BUFFER, BUFFER};
	enum { DATA = 4, INNER, OUTER, REGISTER };
	struct heap heap;

	heap_new(&heap, places, 4, 4);
	heap.made.roots[0].kind = ROOT_MAPPING;
	heap.made.roots[1] =
		(struct stream_root){.kind = ROOT_STACK, .address = 0x1000, .name = ""};
	heap.made.roots[2] =
		(struct stream_root){.kind = ROOT_STACK, .address = 0x2000, .name = ""};
	heap.made.roots[3] = (struct stream_root){.kind = ROOT_REGISTER, .name = "rax"};
	graph_edge(&heap.made, DATA, 0, 0);
	graph_edge(&heap.made, 0, 1, 0);
	graph_edge(&heap.made, INNER, 1, 0); /* the variable's */
	graph_edge(&heap.made, INNER, 2, 8); /* the outer frame's */
	graph_edge(&heap.made, OUTER, 2, 0);
	graph_edge(&heap.made, INNER, 3, 16);
	graph_edge(&heap.made, REGISTER, 3, 0);
	heap_make(&heap);
	CHECK_EQ(heap.owners.tree.holder[1], 0);
	CHECK_EQ(heap.owners.tree.holder[2], OUTER);
	CHECK_EQ(heap.owners.tree.holder[3], INNER);
	CHECK_EQ(heap.owners.tree.retained[REGISTER], 0);
	heap_release(&heap);
}

TEST(frame_parts, "of one frame objects come first and are equal, then pointers, then what has no name")
{
	/* two objects, two pointers and the rest, each of which has the next one's chunk as well */
	static const u8 parts[] = {FRAME_OBJECT, FRAME_OBJECT, FRAME_POINTER, FRAME_POINTER + 1, FRAME_REST};
	struct made_graph made = graph_new(5, 5);
	struct owner_root_name names[5] = {0};
	struct owner_roots roots = {.names = {names, 5, 5}};
	u64 *ignored;

	for (u32 i = 0; i < 5; i++) {
		made.roots[i].kind = ROOT_STACK;
		names[4 - i].order = owner_frame_order(0x1000, parts[i]);
		graph_edge(&made, 5 + 4 - i, i, 0);
		if (i > 0)
			graph_edge(&made, 5 + 4 - i, i - 1, 8);
	}
	graph_make(&made);
	roots.graph = made.graph;
	ignored = owner_weigh(&roots, NULL);
	for (u64 node = 5; node < 10; node++)
		for (u64 i = made.graph.starts[node]; i < made.graph.starts[node + 1]; i++) {
			u32 part = 9 - (u32)node;
			bool is_own = made.graph.edges[i].target == part;

			/* the second object shares the first one's */
			CHECK_EQ(*ignored >> i & 1, !is_own && part > 1);
		}
	free(ignored);
	graph_release(&made);
}

TEST(several, "what two roots hold is held by the nearest and others")
{
	static const u32 places[] = {TABLE, SESSION};
	struct owners_show show = {0};
	struct result *result;
	struct heap heap;

	heap_new(&heap, places, 2, 2);
	heap.made.roots[0].kind = heap.made.roots[1].kind = ROOT_MAPPING;
	graph_edge(&heap.made, 2, 1, 0);
	graph_edge(&heap.made, 3, 1, 0);
	heap_make(&heap);
	result = owners_result(&heap.owners, &show, &heap.feed.err);
	CHECK_STR(result_field(result, "summary")->text,
		  "mapped memory and others hold 20 B of 30 B through open_session");
	CHECK_EQ(result_field(result, "lost_bytes")->number, 10);
	CHECK_EQ(cell(result->parts.data[0], 0, "retained_bytes")->number, 20);
	CHECK_STR(cell(result->parts.data[0], 1, "owner")->text, "open_session");
	CHECK_EQ(cell(result->parts.data[0], 1, "depth")->number, 1);
	CHECK_STR(cell(result->parts.data[0], 2, "owner")->text, "lost");
	result_free(result);
	heap_release(&heap);
}

TEST(shared, "a table belongs to the variable that has it, not to objects of others that point back to it")
{
	static const u32 places[] = {BUFFER, SESSION, BUFFER, TABLE, SESSION};
	/* chunks have 10, 20, 40, 80 and 160 bytes; roots are 5 (a service) and 6 (its scripts) */
	static const u32 edges[][2] = {{5, 2}, {5, 3}, {6, 1}, {1, 3}, {3, 4}, {4, 3}, {2, 0}, {4, 0}};
	struct heap heap;

	/* the service holds more than the scripts; or less; or the scripts point to the table themselves */
	for (u32 round = 0; round < 3; round++) {
		u32 program;

		heap_new(&heap, places, 5, 2);
		heap.made.roots[0].kind = heap.made.roots[1].kind = ROOT_MAPPING;
		for (u32 i = 0; i < 8; i++)
			graph_edge(&heap.made, edges[i][0], edges[i][1], 8 * i);
		if (round == 1)
			heap.made.told.data[0].source = 6;
		if (round == 2)
			graph_edge(&heap.made, 6, 3, 64);
		heap_make(&heap);
		program = heap.owners.tree.program;
		CHECK_EQ(heap.owners.tree.holder[3], round ? program : 5);
		CHECK_EQ(heap.owners.tree.holder[0], round ? program : 5);
		CHECK_EQ(heap.owners.tree.retained[5], round == 1 ? 0 : round == 2 ? 40 : 10 + 40 + 80 + 160);
		CHECK_EQ(heap.owners.tree.retained[3], 80 + 160);
		heap_release(&heap);
	}
}

TEST(weak_chunks, "what only a frame leads to does not share what a variable holds")
{
	static const u32 places[] = {TABLE, SESSION, BUFFER};
	enum { DATA = 3, SYSTEM, FRAME };
	struct heap heap;

	heap_new(&heap, places, 3, 3);
	heap.made.roots[0] = (struct stream_root){.kind = ROOT_TLS, .name = ""};
	heap.made.roots[1] = (struct stream_root){.kind = ROOT_DATA, .name = "/lib/libc.so.6"};
	heap.made.roots[2] = (struct stream_root){.kind = ROOT_STACK, .name = ""};
	graph_edge(&heap.made, DATA, 0, 0);
	graph_edge(&heap.made, 0, 1, 0);
	graph_edge(&heap.made, SYSTEM, 1, 0); /* as the allocator's lists do */
	graph_edge(&heap.made, FRAME, 2, 0);
	graph_edge(&heap.made, 2, 1, 8);
	heap_make(&heap);
	CHECK_EQ(heap.owners.tree.holder[1], 0);
	CHECK_EQ(heap.owners.tree.retained[DATA], 10 + 20);
	CHECK_EQ(heap.owners.tree.holder[2], FRAME);
	CHECK_EQ(heap.owners.tree.retained[FRAME], 40);
	heap_release(&heap);
}

TEST(doubtful, "a doubtful pointer holds what no other leads to, or only a frame does")
{
	static const u32 edges[][2] = {{0, 1}, {2, 1}, {2, 3}, {4, 0}, {5, 2}, {6, 3}};
	static const u64 doubtful = 1 << 1 | 1 << 2, wanted = 1 << 1 | 1 << 5;
	struct made_graph made = graph_new(4, 3);
	struct owner_root_name names[3] = {0};
	struct owner_roots roots = {.names = {names, 3, 3}};
	u64 *ignored;

	for (u32 i = 0; i < 3; i++)
		made.roots[i].kind = i < 2 ? ROOT_MAPPING : ROOT_STACK;
	for (u32 i = 0; i < 6; i++)
		graph_edge(&made, edges[i][0], edges[i][1], 8 * i);
	graph_make(&made);
	roots.graph = made.graph;
	ignored = owner_weigh(&roots, &doubtful);
	CHECK_EQ(*ignored, wanted);
	free(ignored);
	ignored = owner_weigh(&roots, NULL);
	CHECK_EQ(*ignored, 1 << 5);
	free(ignored);
	graph_release(&made);
}

TEST(ends, "a pointer to the end of a chunk holds it if no other leads to it")
{
	static const u32 places[] = {TABLE, SESSION, BUFFER, BUFFER};
	/* from, to, and where there: chunks have 10, 20, 40 and 80 bytes */
	static const u32 edges[][3] = {{4, 0, 0}, {0, 1, 20}, {0, 2, 40}, {5, 2, 0}, {4, 3, 79}, {5, 3, 0}};
	struct heap heap;

	heap_new(&heap, places, 4, 2);
	heap.made.roots[0].kind = heap.made.roots[1].kind = ROOT_MAPPING;
	for (u32 i = 0; i < 6; i++) {
		graph_edge(&heap.made, edges[i][0], edges[i][1], 8 * i);
		heap.made.told.data[i].edge.to = edges[i][2];
	}
	heap_make(&heap);
	CHECK_EQ(heap.owners.doubtful_count, 2);
	CHECK_EQ(heap.owners.tree.holder[1], 0);
	CHECK_EQ(heap.owners.tree.holder[2], 5);
	CHECK_EQ(heap.owners.tree.holder[3], heap.owners.tree.program); /* its last byte is its own */
	CHECK_EQ(heap.owners.tree.retained[heap.owners.tree.lost], 0);
	heap_release(&heap);
}

TEST(twice, "one copy of what is alike is enough; zeros and untouched pages are listed beside it")
{
	static const u32 places[] = {TABLE, SESSION, SESSION, SESSION, BUFFER, BUFFER};
	/* two sessions are alike, one is like a buffer, and one buffer is all zero; of 10, 20, 40 … bytes */
	static const struct stream_content contents[] = {{0, 0}, {2, 0}, {2, 0}, {3, 0}, {3, 0}, {CONTENT_ZERO, 0}};
	const struct owners_show show = {.top = 10};
	struct owner_twice found = {0};
	struct result *result, *table;
	struct heap heap;

	heap_new(&heap, places, 6, 1);
	heap_make(&heap);
	result = owners_result(&heap.owners, &show, &heap.feed.err);
	CHECK(!result_field(result, "twice_saving_bytes")); /* nobody has looked */
	result_free(result);
	((struct stream_graph *)heap.owners.query.graph)->contents = contents;
	result = owners_result(&heap.owners, &show, &heap.feed.err);
	table = result->parts.data[result->parts.count - 1];
	CHECK_EQ(result_rows(table), 2);
	CHECK_EQ(result_field(result, "twice_saving_bytes")->number, 40 + 160);
	CHECK_EQ(result_field(result, "twice_chunks")->number, 4);
	CHECK_EQ(result_field(result, "twice_different")->number, 2);
	CHECK_EQ(result_field(result, "zero_bytes")->number, 320);
	/* of each pair the second counts: a buffer of 160 bytes, and a session of 40 */
	CHECK_EQ(cell(table, 0, "saving_bytes")->number, 160);
	CHECK_EQ(cell(table, 0, "alike_chunks")->number, 1);
	CHECK_EQ(cell(table, 0, "zero_chunks")->number, 1);
	CHECK_EQ(cell(table, 1, "saving_bytes")->number, 40);
	CHECK_EQ(cell(table, 1, "alike_chunks")->number, 3);
	CHECK_EQ(cell(table, 1, "different")->number, 2);
	result_free(result);
	/* by point alone; nothing was freed before the peak */
	CHECK_EQ(owner_twice_find(&found, &(struct twice_query){heap.feed.model, heap.owners.query.graph, NULL}, &heap.feed.err), 0);
	CHECK_EQ(found.rows.count, 2);
	CHECK_EQ(found.rows.data[0].sums.peak_bytes, 160);
	CHECK_EQ(found.all.peak_bytes, 200);
	CHECK(found.all.byte_ticks > 0);
	owner_twice_release(&found);
	heap_release(&heap);
}

TEST(scans, "of several scans the one with most live bytes is taken, or the nearest in time")
{
	static const u32 places[] = {TABLE, SESSION, BUFFER};
	static const u64 chunks[] = {0, 1, 2};
	struct stream_graph graphs[] = {
		{.ticks = 100, .chunks = chunks, .chunk_count = 1},
		{.ticks = 200, .chunks = chunks, .chunk_count = 3},
		{.ticks = 300, .chunks = chunks, .chunk_count = 0},
	};
	static const struct stream_content content = {CONTENT_ZERO, 0};
	struct owners_scans scans = {.graphs = graphs, .count = 3};
	struct heap heap;

	heap_new(&heap, places, 3, 0);
	scans.model = heap.feed.model;
	CHECK(owners_largest(&scans) == &graphs[1]);
	CHECK(!owners_largest_known(&scans));
	graphs[0].contents = &content;
	CHECK(owners_largest_known(&scans) == &graphs[0]);
	CHECK(owners_nearest(&scans, 120) == &graphs[0]);
	CHECK(owners_nearest(&scans, UINT64_MAX) == &graphs[2]);
	CHECK(owners_after(&scans, graphs[0].ticks + 1) == &graphs[1]);
	CHECK(owners_after(&scans, UINT64_MAX) == &graphs[2]);
	scans.count = 0;
	CHECK(!owners_largest(&scans) && !owners_nearest(&scans, 0));
	heap_release(&heap);
}

/* ---- ways ---- */

TEST(path, "the shortest way to a chunk names each holder and pointer")
{
	struct result *result;
	struct heap heap;

	make_service(&heap);
	result = owners_path_result(&heap.owners, "5", &heap.feed.err);
	CHECK_STR(result_field(result, "path")->text,
		  "mapped memory +0x10 → make_table +0x8 → open_session +0x18 → make_buffer +0x0 "
		  "→ open_session");
	CHECK_STR(result_field(result, "holder")->text, "make_buffer");
	result_free(result);
	result = owners_path_result(&heap.owners, "0x1010", &heap.feed.err);
	CHECK_EQ(result_field(result, "chunk")->number, 1);
	result_free(result);
	/* the larger of the two */
	result = owners_path_result(&heap.owners, "buffer", &heap.feed.err);
	CHECK_EQ(result_field(result, "chunk")->number, 4);
	result_free(result);
	CHECK(!owners_path_result(&heap.owners, "7", &heap.feed.err));
	CHECK_EQ(heap.feed.err.code, ERR_USAGE);
	heap_release(&heap);
}

TEST(lost_path, "the way to what is lost begins with the chunk that leads it")
{
	static const u32 places[] = {TABLE, SESSION, BUFFER};
	struct owner_path path = {0};
	struct heap heap;

	heap_new(&heap, places, 3, 1);
	graph_edge(&heap.made, 2, 1, 8);
	graph_edge(&heap.made, 1, 0, 0);
	heap_make(&heap);
	CHECK_EQ(owner_path_find(&path, &heap.owners, 0, &heap.feed.err), 0);
	CHECK_EQ(path.steps.count, 3);
	CHECK_EQ(path.steps.data[0].node, 2);
	CHECK_STR(path.steps.data[0].member, "+0x8");
	owner_path_release(&path);
	heap_release(&heap);
}

TEST(data_parts, "a variable that goes on in the next mapping is one root")
{
	static const u32 places[] = {TABLE, SESSION};
	struct owner_path path = {0};
	struct heap heap;

	heap_new(&heap, places, 2, 2);
	for (u32 i = 0; i < 2; i++)
		heap.made.roots[i] = (struct stream_root){.kind = ROOT_DATA,
							  .address = 0x700100 + 16 * i,
							  .bytes = 16,
							  .code = 0x700000,
							  .name = "/no/such/libquiet.so"};
	/* without symbols a pointer is a variable: this one begins in the first mapping */
	graph_edge(&heap.made, 2, 0, 12);
	graph_edge(&heap.made, 3, 1, 3);
	heap_make(&heap);
	CHECK_EQ(heap.owners.roots.graph.root_count, 1);
	CHECK_EQ(heap.owners.tree.retained[2], 30);
	CHECK_EQ(owner_path_find(&path, &heap.owners, 1, &heap.feed.err), 0);
	CHECK_STR(path.steps.data[0].member, "+0x7");
	owner_path_release(&path);
	heap_release(&heap);
}

TEST(data_module, "data of a module that no stack has is called by its file")
{
	static const u32 places[] = {TABLE};
	struct heap heap;

	heap_new(&heap, places, 1, 1);
	heap.made.roots[0] = (struct stream_root){.kind = ROOT_DATA,
						  .address = 0x700100,
						  .bytes = 64,
						  .code = 0x700000,
						  .name = "/no/such/libquiet.so"};
	graph_edge(&heap.made, 1, 0, 16);
	heap_make(&heap);
	CHECK_STR(owners_kind(&heap.owners, 1)->label, "data of libquiet.so without a symbol");
	CHECK_EQ(heap.owners.roots.names.data[0].offset, 0x110);
	heap_release(&heap);
}

/* ---- containers ---- */

/* The only container that is not lost. */
static const struct owner_container *only_container(const struct heap *self)
{
	if (self->owners.containers.count != 2)
		FAIL("%u containers", (u32)self->owners.containers.count - 1);
	return &self->owners.containers.data[1];
}

TEST(list_container, "chunks that are alike and point to the next are a list")
{
	enum { LENGTH = 12 };
	u32 places[LENGTH];
	struct heap heap;

	for (u32 i = 0; i < LENGTH; i++)
		places[i] = SESSION;
	heap_new(&heap, places, LENGTH, 1);
	heap.made.roots[0].kind = ROOT_TLS;
	graph_edge(&heap.made, LENGTH, 0, 24);
	for (u32 i = 0; i + 1 < LENGTH; i++) {
		graph_edge(&heap.made, i, i + 1, 0);
		graph_edge(&heap.made, i + 1, i, 8);
	}
	heap_make(&heap);
	CHECK_EQ(only_container(&heap)->sort, CONTAINER_LIST);
	CHECK_EQ(only_container(&heap)->elements, LENGTH);
	CHECK_EQ(only_container(&heap)->holder, LENGTH);
	CHECK_EQ(only_container(&heap)->offset, 24);
	CHECK_EQ(only_container(&heap)->sums.retained, heap.owners.tree.retained[LENGTH]);
	CHECK_EQ(only_container(&heap)->sums.chunks, LENGTH);
	heap_release(&heap);
}

/* The first container. */
static const struct owner_container *first_container(const struct heap *self)
{
	if (self->owners.containers.count < 2)
		FAIL("no container");
	return &self->owners.containers.data[1];
}

enum { HEADS = 10, TABLE_NODE = HEADS + 2 };

/* A table, which is the last and largest chunk, of places that lead to sessions, the first and
 * second of which lead to one more. */
static void make_table(struct heap *self, bool into_another)
{
	u32 places[TABLE_NODE + 1];

	for (u32 i = 0; i < TABLE_NODE; i++)
		places[i] = SESSION;
	places[TABLE_NODE] = TABLE;
	heap_new(self, places, TABLE_NODE + 1, 1);
	self->made.roots[0].kind = ROOT_TLS;
	graph_edge(&self->made, TABLE_NODE + 1, TABLE_NODE, 0);
	for (u32 i = 0; i < HEADS; i++)
		graph_edge(&self->made, TABLE_NODE, i, i * 8);
	graph_edge(&self->made, 0, HEADS, 16);
	graph_edge(&self->made, 1, into_another ? 2 : HEADS + 1, 16);
	if (into_another)
		graph_edge(&self->made, TABLE_NODE, HEADS + 1, HEADS * 8);
	heap_make(self);
}

TEST(chains, "an array of chains is a hash table, unless one chain leads into another")
{
	struct heap heap;

	make_table(&heap, false);
	CHECK_EQ(first_container(&heap)->sort, CONTAINER_TABLE);
	CHECK_EQ(first_container(&heap)->elements, 12);
	CHECK_EQ(first_container(&heap)->sums.chunks, 13);
	CHECK_EQ(heap.owners.container_of[HEADS + 1], 1);
	heap_release(&heap);
	make_table(&heap, true);
	CHECK_EQ(first_container(&heap)->sort, CONTAINER_POINTERS);
	CHECK_EQ(first_container(&heap)->elements, 11);
	CHECK_EQ(first_container(&heap)->sums.chunks, 1);
	heap_release(&heap);
}
