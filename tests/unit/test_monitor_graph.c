/* SPDX-License-Identifier: MIT
 * The graph of a scan, of memory of our own: each pointer once, from where it stands to where it leads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/test.h"
#include "live/scan/arch/arch.h"
#include "live/scan/graph.h"
#include "live/scan/mark.h"

enum { BLOCKS = 500, STRIDE = 4096, ROOT_WORDS = 512, REGISTERS = 3 };

struct world {
	u8 *memory;
	u64 *roots; /* a page */
	struct scan_index index;
	struct scan_memory view;
	struct scan_edges edges;
	struct scan_mark mark;
	struct scan_pointers pointers;
	struct scan_numbers numbers;
	struct scan_thread thread;
	struct scan_graph graph;
	u64 random;
};

static u64 draw(struct world *w, u64 below)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (w->random >> 11) % below;
}

static void *pages(u64 bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		FAIL("no memory");
	return memory;
}

/* A pointer to a start or a middle, just behind a block, or none. */
static u64 draw_value(struct world *w)
{
	u64 start = (u64)(uintptr_t)w->memory + draw(w, BLOCKS) * STRIDE;

	switch (draw(w, 6)) {
	case 0: return draw(w, 1 << 20);
	case 5: return draw(w, 1000) << 32 | draw(w, 1000); /* two numbers */
	case 1: return start + 1 + draw(w, 1000);
	case 2: return start + STRIDE - 1;
	default: return start;
	}
}

/* Chunks are numbered against the order of their addresses, some of them are not aligned. */
static void world_make(struct world *w, u64 seed)
{
	struct err err = {0};

	*w = (struct world){.random = seed * 2 + 1};
	w->memory = pages(BLOCKS * STRIDE);
	w->roots = pages(ROOT_WORDS * 8);
	for (u64 i = 0; i < BLOCKS; i++) {
		struct scan_block block = {.address = (u64)(uintptr_t)w->memory + i * STRIDE,
					   .size = 1 + draw(w, 2000), .chunk = (BLOCKS - i) * 3};

		block.address += draw(w, 10) ? 0 : draw(w, 8);
		CHECK(vec_push(&w->index.blocks, block));
		for (u64 k = draw(w, 60); k; k--)
			((u64 *)(void *)(w->memory + i * STRIDE))[draw(w, 250)] = draw_value(w);
	}
	for (u64 i = 0; i < 40; i++)
		w->roots[draw(w, ROOT_WORDS)] = draw_value(w);
	/* one past the last byte, of the last block, too */
	for (u64 i = 0; i < 60; i++) {
		const struct scan_block *block = &w->index.blocks.data[i ? draw(w, BLOCKS) : BLOCKS - 1];
		u64 *words = i % 2 ? w->roots : (u64 *)(void *)(w->memory + draw(w, BLOCKS) * STRIDE);

		words[draw(w, 250)] = block->address + block->size;
	}
	/* more pointers of one pair than are kept */
	w->index.blocks.data[7].address = (u64)(uintptr_t)w->memory + 7 * STRIDE;
	w->index.blocks.data[7].size = 2000;
	w->index.blocks.data[9].address = (u64)(uintptr_t)w->memory + 9 * STRIDE;
	for (u64 i = 0; i < 100; i++)
		((u64 *)(void *)(w->memory + 7 * STRIDE))[i] = (u64)(uintptr_t)w->memory + 9 * STRIDE;
	w->thread = (struct scan_thread){.tid = 5, .register_count = REGISTERS};
	for (u32 i = 0; i < REGISTERS; i++)
		w->thread.registers[i] = i == 1 ? 3 : w->index.blocks.data[i].address + (i == 2 ? w->index.blocks.data[i].size : 0);
	if (scan_memory_open(&w->view, (u32)getpid(), (u32)getpid(), NULL, &err) < 0 ||
	    scan_memory_cache(&w->view, 0, &err) < 0 || scan_index_build(&w->index, &w->view, &err) < 0 ||
	    scan_edges_find(&w->edges, &w->view, &w->index, true, &err) < 0 ||
	    scan_mark_init(&w->mark, &w->view, &w->index, &w->edges, &err) < 0)
		FAIL("%s", err.text);
	w->pointers.low = w->index.regions.data[0].start;
	w->mark.kept = &w->pointers;
	w->numbers.most = w->index.bytes;
	w->mark.beside = &w->numbers;
	scan_mark_range(&w->mark, (u64)(uintptr_t)w->roots, (u64)(uintptr_t)(w->roots + ROOT_WORDS));
}

/* The page of roots is two places, and there is one before it without any pointer. */
static void places_make(struct world *w)
{
	u64 start = (u64)(uintptr_t)w->roots;
	const struct stream_root rows[] = {
		{.kind = ROOT_MAPPING, .address = start - 64, .bytes = 64, .name = "before"},
		{.kind = ROOT_DATA, .address = start, .bytes = ROOT_WORDS * 4, .name = "first"},
		{.kind = ROOT_DATA, .address = start + ROOT_WORDS * 4, .bytes = ROOT_WORDS * 4, .name = "second"},
		{.kind = ROOT_REGISTER, .tid = 5, .name = "r0"},
		{.kind = ROOT_REGISTER, .tid = 5, .name = "r1"},
		{.kind = ROOT_REGISTER, .tid = 5, .name = "r2"},
	};

	for (u32 i = 0; i < 6; i++)
		CHECK(vec_push(&w->graph.places.rows, rows[i]));
	w->graph.places.ranges = 3;
}

static void world_release(struct world *w)
{
	scan_graph_release(&w->graph);
	vec_release(&w->pointers.words);
	vec_release(&w->numbers.kept.words);
	scan_mark_release(&w->mark);
	scan_edges_release(&w->edges);
	scan_memory_close(&w->view);
	scan_index_release(&w->index);
	munmap(w->memory, BLOCKS * STRIDE);
	munmap(w->roots, ROOT_WORDS * 8);
}

/* ---- what must be there ---- */

/* The block that a value points into, or else to the end of. */
static u32 block_of_value(const struct world *w, u64 value)
{
	u32 to = scan_index_find(&w->index, value);

	for (u32 i = 0; i < BLOCKS && to == NO_BLOCK; i++)
		if (w->index.blocks.data[i].address + w->index.blocks.data[i].size == value)
			to = i;
	return to;
}

/* Compares the node's edges with the words of [start, start + bytes); `self` is the block itself. */
static void check_words(struct world *w, u64 node, u64 start, u64 bytes, u32 self)
{
	const struct stream_graph *graph = &w->graph.graph;
	u64 edge = graph->starts[node], end = graph->starts[node + 1];
	u32 pairs[BLOCKS] = {0};

	for (u64 at = (start + 7) & ~7ull; at + 8 <= start + bytes; at += 8) {
		u64 value = *(const u64 *)(uintptr_t)at;
		u32 to = block_of_value(w, value);

		if (to == NO_BLOCK || to == self || pairs[to]++ >= SCAN_PAIR_MAX)
			continue;
		CHECK(edge < end);
		CHECK_EQ(graph->edges[edge].from, at - start);
		CHECK_EQ(graph->edges[edge].to, value - w->index.blocks.data[to].address);
		CHECK_EQ(graph->chunks[graph->edges[edge].target], w->index.blocks.data[to].chunk);
		edge++;
	}
	CHECK_EQ(edge, end);
}

static bool fits(u64 word, u64 most)
{
	return word && (word <= most || (word >> 32 <= most && (word & UINT32_MAX) <= most));
}

/* The bytes that limit a number beside the edge. */
static u64 most_of(const struct world *w, const struct stream_edge *edges, u64 first, u64 at)
{
	const struct stream_edge *edge = &edges[at];
	u64 bytes = w->index.blocks.data[BLOCKS - 1 - edge->target].size;

	if (edge->to == bytes && at >= first + 3 && edge[-3].target == edge->target && edge[-3].from + 24 == edge->from)
		return w->index.bytes;
	return bytes | 1;
}

/* Compares the node's numbers with the words near its edges; returns the first of the next node's. */
static u64 check_numbers(const struct world *w, u64 node, u64 start, u64 bytes, u64 row)
{
	const struct stream_graph *graph = &w->graph.graph;

	for (u64 at = (start + 7) & ~7ull; at + 8 <= start + bytes; at += 8) {
		u64 word = *(const u64 *)(uintptr_t)at, first = graph->starts[node];
		bool is_near = false;

		for (u64 i = first; i < graph->starts[node + 1]; i++)
			is_near |= llabs((i64)(graph->edges[i].from - (at - start))) <= 16 && fits(word, most_of(w, graph->edges, first, i));
		if (!is_near)
			continue;
		CHECK(row < graph->number_count);
		CHECK_EQ(graph->numbers[row].place, number_place((u32)node, (u32)(at - start)));
		CHECK_EQ(graph->numbers[row].value, word);
		row++;
	}
	return row;
}

static void check_roots(struct world *w)
{
	static const char *const names[] = {"first", "second", "r0", "r2"}; /* those with pointers */
	const struct stream_graph *graph = &w->graph.graph;

	CHECK_EQ(graph->root_count, 4);
	for (u32 i = 0; i < 4; i++)
		CHECK_STR(graph->roots[i].name, names[i]);
	for (u32 i = 0; i < 2; i++)
		check_words(w, BLOCKS + i, graph->roots[i].address, graph->roots[i].bytes, NO_BLOCK);
	for (u32 i = 2; i < 4; i++) {
		const struct stream_edge *edge = &graph->edges[graph->starts[BLOCKS + i]];

		CHECK_EQ(graph->starts[BLOCKS + i + 1] - graph->starts[BLOCKS + i], 1);
		CHECK_EQ(edge->from, 0);
		CHECK_EQ(edge->to, i == 2 ? 0 : w->index.blocks.data[2].size);
	}
}

static void check_all_numbers(const struct world *w)
{
	const struct stream_graph *graph = &w->graph.graph;
	u64 row = 0;

	for (u32 i = 0; i < BLOCKS; i++) {
		const struct scan_block *block = &w->index.blocks.data[BLOCKS - 1 - i];

		row = check_numbers(w, i, block->address, block->size, row);
	}
	for (u32 i = 0; i < 2; i++)
		row = check_numbers(w, BLOCKS + i, graph->roots[i].address, graph->roots[i].bytes, row);
	CHECK_EQ(row, graph->number_count);
	CHECK(row > 20);
}

/* What the leak scan says of blocks is not changed by pointers to their ends. */
static void check_classes(const struct world *w)
{
	bool met[BLOCKS] = {false};

	for (u32 i = 0; i < ROOT_WORDS; i++) {
		u32 to = scan_index_find(&w->index, w->roots[i]);

		if (to != NO_BLOCK)
			met[to] = true;
	}
	for (u32 i = 0; i < BLOCKS; i++)
		CHECK_EQ(w->mark.classes[i] != CLASS_UNKNOWN, met[i]);
}

TEST(every_pointer, "the graph has each pointer that memory holds, and no other")
{
	for (u64 seed = 1; seed <= 20; seed++) {
		struct world w;
		struct err err = {0};
		struct scan_graph_source from;

		world_make(&w, seed);
		places_make(&w);
		from = (struct scan_graph_source){.index = &w.index, .edges = &w.edges, .roots = &w.pointers,
							 .root_numbers = &w.numbers.kept, .threads = &w.thread, .thread_count = 1};
		CHECK_EQ(scan_graph_make(&w.graph, &from, &err), 0);
		CHECK_EQ(w.graph.graph.chunk_count, BLOCKS);
		for (u32 i = 0; i < BLOCKS; i++) {
			const struct scan_block *block = &w.index.blocks.data[i];

			/* by number they are in reverse order */
			CHECK_EQ(w.graph.graph.chunks[BLOCKS - 1 - i], block->chunk);
			check_words(&w, BLOCKS - 1 - i, block->address, block->size, i);
		}
		check_roots(&w);
		check_all_numbers(&w);
		check_classes(&w);
		world_release(&w);
	}
}

TEST(packed, "pointers far from each other, and back, are kept where they stand")
{
	static const u64 at[] = {0, 8, 16, 8 * 65534, 8 * 131068, 8 * 200000, 80, 0x7ffffffffff8, 88};
	struct scan_pointers pointers = {.low = 0x10000};
	struct scan_pointers_reader reader;
	u64 place = 0, value = 0;

	for (u32 i = 0; i < 9; i++)
		CHECK(scan_pointers_add(&pointers, at[i], i % 2 ? 0x10000 : 0xffffffffffff));
	reader = scan_pointers_read(&pointers);
	for (u32 i = 0; i < 9; i++) {
		CHECK(scan_pointers_next(&reader, &place, &value));
		CHECK_EQ(place, at[i]);
		CHECK_EQ(value, i % 2 ? 0x10000 : 0xffffffffffff);
	}
	CHECK(!scan_pointers_next(&reader, &place, &value));
	vec_release(&pointers.words);
}

/* ---- places ---- */

/* "kind tid start+bytes code name" of each row, addresses less 0x10000 */
static const char *places_text(const struct scan_places *places)
{
	static const char *const kinds[] = {"data", "stack", "tls", "register", "mapping"};
	static char text[1024];
	u64 used = 0;

	for (u64 i = 0; i < places->ranges && used < sizeof text; i++) {
		const struct stream_root *row = &places->rows.data[i];

		used += (u64)snprintf(text + used, sizeof text - used, "%s %u %llx+%llx %llx %s\n", kinds[row->kind],
				      row->tid, (unsigned long long)row->address - 0x10000, (unsigned long long)row->bytes,
				      (unsigned long long)row->code, row->name);
	}
	return text;
}

TEST(places, "memory is that of a module to its end, then mapped; frames go up to thread-local variables")
{
	const struct mapping mappings[] = {
		{.start = 0x10000, .end = 0x12000, .readable = true, .writable = true, .kind = MAPPING_FILE, .path = "m"},
		/* its zeroed data, and what the program mapped behind it */
		{.start = 0x12000, .end = 0x18000, .readable = true, .writable = true, .path = ""},
		{.start = 0x20000, .end = 0x30000, .readable = true, .writable = true, .path = ""},
	};
	struct frame frames[] = {{0x2c000, 0x500}, {0x2c100, 0x600}, {0x2e000, 0x700}};
	const struct scan_thread thread = {.tid = 7, .stack_pointer = 0x2c000, .thread_pointer = 0x2f000, .code = 0x500,
					   .frames = frames, .frame_count = 3};
	struct scan_memory memory = {.pid = 7};
	/* more variables than there are: those of modules that were loaded later */
	struct scan_modules modules = {.tls_bytes = 0x1800};
	struct scan_surroundings around = {.memory = &memory, .threads = &thread, .thread_count = 1};
	struct scan_places places = {0};
	struct err err = {0};
	char want[512];
	u64 low = thread.stack_pointer - SCAN_RED_ZONE - 0x10000;

	if (SCAN_TLS_ABOVE)
		test_skip("the variables lie elsewhere on this CPU");
	for (u32 i = 0; i < 3; i++)
		CHECK(vec_push(&memory.mappings, mappings[i]));
	CHECK(vec_push(&modules.rows, (struct scan_module){"m", 0x10000, 0x13000, 0xf000}));
	CHECK_EQ(scan_places_find(&places, &around, &modules, &err), 0);
	snprintf(want, sizeof want,
		 "data 0 0+2000 f000 m\ndata 0 2000+1000 f000 m\nmapping 0 3000+5000 0 \nmapping 0 10000+%llx 0 \n"
		 "stack 7 %llx+%llx 500 \nstack 7 1c100+1f00 600 \ntls 7 1e000+1900 0 \nmapping 0 1f900+700 0 \n",
		 (unsigned long long)low - 0x10000, (unsigned long long)low, 0x1c100ull - low);
	CHECK_STR(places_text(&places), want);
	scan_places_release(&places);
	vec_release(&memory.mappings);
	scan_modules_release(&modules);
}
