/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "live/scan/glibc.h"
#include "live/scan/mark.h"
#include "live/scan/roots.h"
#include "live/scan/trace.h"

/* Blocks in memory of our own, which the scan reads as that of any process. */
enum { BLOCKS = 400, STRIDE = 256 };

struct graph {
	u8 *memory;
	u64 *roots; /* a page */
	struct scan_index index;
	struct scan_memory view;
	struct scan_edges edges;
	struct scan_mark mark;
	u8 want[BLOCKS];
	u64 random;
};

static u64 draw(struct graph *g, u64 below)
{
	g->random ^= g->random << 13;
	g->random ^= g->random >> 7;
	g->random ^= g->random << 17;
	return (g->random >> 11) % below;
}

static void *pages(u64 bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		FAIL("no memory");
	return memory;
}

/* Our own memory, as it is now. */
static void own_open(struct scan_memory *view)
{
	struct err err = {0};

	if (scan_memory_open(view, (u32)getpid(), (u32)getpid(), NULL, &err) < 0 || scan_memory_cache(view, 0, &err) < 0)
		FAIL("%s", err.text);
}

static u64 address_of(const struct graph *g, u64 block)
{
	return (u64)(uintptr_t)(g->memory + block * STRIDE);
}

/* Where the block can be pointed to: its start, its middle, its last byte, behind it. */
static u64 draw_pointer(struct graph *g)
{
	u64 block = draw(g, BLOCKS), size = g->index.blocks.data[block].size;
	u64 offsets[] = {0, 0, 0, size / 2, size ? size - 1 : 0, size};

	return address_of(g, block) + offsets[draw(g, 6)];
}

static void graph_make(struct graph *g, u64 seed)
{
	struct err err = {0};

	memset(g, 0, sizeof(*g));
	g->random = seed * 2 + 1;
	g->memory = pages(BLOCKS * STRIDE);
	g->roots = pages(4096);
	for (u64 i = 0; i < BLOCKS; i++) {
		struct scan_block block = {address_of(g, i), draw(g, 200), i};

		if (!vec_push(&g->index.blocks, block))
			FAIL("no memory");
	}
	for (u64 i = 0; i < BLOCKS; i++) {
		u64 size = g->index.blocks.data[i].size & ~7ull;

		for (u64 count = draw(g, 3); count-- && size;) {
			u64 value = draw_pointer(g);

			memcpy(g->memory + i * STRIDE + draw(g, size / 8) * 8, &value, 8);
		}
		/* What lies between blocks is nobody's. */
		memcpy(g->memory + i * STRIDE + STRIDE - 8, &(u64){draw_pointer(g)}, 8);
	}
	for (u64 i = 0; i < 12; i++)
		g->roots[draw(g, 512)] = draw_pointer(g);
	own_open(&g->view);
	if (scan_index_build(&g->index, &g->view, &err) < 0 ||
	    scan_edges_find(&g->edges, &g->view, &g->index, false, &err) < 0 ||
	    scan_mark_init(&g->mark, &g->view, &g->index, &g->edges, &err) < 0)
		FAIL("%s", err.text);
}

static void graph_release(struct graph *g)
{
	scan_mark_release(&g->mark);
	scan_edges_release(&g->edges);
	scan_memory_close(&g->view);
	scan_index_release(&g->index);
	munmap(g->memory, BLOCKS * STRIDE);
	munmap(g->roots, 4096);
}

/* The block that value lies in, by looking at all. */
static i64 owner(const struct graph *g, u64 value)
{
	for (u64 i = 0; i < BLOCKS; i++) {
		u64 size = g->index.blocks.data[i].size;

		if (value >= address_of(g, i) && value < address_of(g, i) + (size ? size : 1))
			return (i64)i;
	}
	return -1;
}

/* The forms of blocks that are known by a pointer into them: counted ones, and old strings. */
static bool counted(const struct graph *g, u64 block, u64 value)
{
	u64 count, capacity, size = g->index.blocks.data[block].size;

	memcpy(&count, g->memory + block * STRIDE, 8);
	memcpy(&capacity, g->memory + block * STRIDE + 8, 8);
	if (value == address_of(g, block) + 24 && 24 + capacity + 1 == size && count <= capacity)
		return true;
	return value == address_of(g, block) + 8 && size >= 8 && count && (size - 8) % count == 0;
}

/* The rules as sentences: apply them to every word until nothing changes. */
static bool spread(struct graph *g, u64 value, u8 from)
{
	i64 block = owner(g, value);
	bool firm = block >= 0 && from == CLASS_REACHABLE &&
		    (value == address_of(g, (u64)block) || counted(g, (u64)block, value));
	u8 to = firm ? CLASS_REACHABLE : CLASS_POSSIBLE;

	if (block < 0 || (from != CLASS_REACHABLE && from != CLASS_POSSIBLE) ||
	    g->want[block] == CLASS_REACHABLE || g->want[block] == to)
		return false;
	g->want[block] = to;
	return true;
}

static bool spread_block(struct graph *g, u64 block)
{
	u64 words[STRIDE / 8];
	bool changed = false;

	memcpy(words, g->memory + block * STRIDE, STRIDE);
	for (u64 i = 0; i < g->index.blocks.data[block].size / 8; i++)
		changed |= spread(g, words[i], g->want[block]);
	return changed;
}

static void follow_lost(struct graph *g, u64 block, u64 leader)
{
	u64 words[STRIDE / 8];

	memcpy(words, g->memory + block * STRIDE, STRIDE);
	for (u64 i = 0; i < g->index.blocks.data[block].size / 8; i++) {
		i64 next = owner(g, words[i]);

		if (next < 0 || (u64)next == leader || g->want[next] != CLASS_UNKNOWN)
			continue;
		g->want[next] = CLASS_INDIRECT;
		follow_lost(g, (u64)next, leader);
	}
}

static void graph_judge(struct graph *g)
{
	bool changed = true;

	for (u64 i = 0; i < 512; i++)
		spread(g, g->roots[i], CLASS_REACHABLE);
	while (changed) {
		changed = false;
		for (u64 i = 0; i < BLOCKS; i++)
			changed |= spread_block(g, i);
	}
	for (u64 i = 0; i < BLOCKS; i++) {
		if (g->want[i] == CLASS_UNKNOWN)
			follow_lost(g, i, i);
	}
	for (u64 i = 0; i < BLOCKS; i++) {
		if (g->want[i] == CLASS_UNKNOWN)
			g->want[i] = CLASS_LOST;
	}
}

TEST(rules, "blocks that point to each other at random have the classes that the rules say")
{
	u64 seen[CLASS_COUNT] = {0};

	for (u64 seed = 1; seed <= 60; seed++) {
		struct graph g;
		struct err err = {0};

		graph_make(&g, seed);
		if (seed % 2) /* as kernels before 6.7 */
			g.view.asks = false;
		scan_mark_range(&g.mark, (u64)(uintptr_t)g.roots, (u64)(uintptr_t)g.roots + 4096);
		CHECK_EQ(scan_mark_finish(&g.mark, &err), 0);
		graph_judge(&g);
		for (u64 i = 0; i < BLOCKS; i++) {
			seen[g.want[i]]++;
			if (g.mark.classes[i] != g.want[i])
				FAIL("seed %u: block %u is %u, not %u", (u32)seed, (u32)i,
				     g.mark.classes[i], g.want[i]);
		}
		graph_release(&g);
	}
	for (u32 i = CLASS_REACHABLE; i < CLASS_COUNT; i++)
		CHECK(seen[i] > 100);
}

TEST(find, "the block of an address is found in dense and in sparse heaps, and at its borders")
{
	struct scan_index index = {0};
	struct scan_memory all = SCAN_MEMORY_CLOSED;
	struct err err = {0};
	u64 random = 99, at = 0x10000;

	if (!scan_memory_add(&all, (struct mapping){.end = UINT64_MAX}))
		FAIL("no memory");

	for (u64 i = 0; i < 20000; i++) {
		struct scan_block block = {.size = 0, .chunk = i};

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		at += 16 + (random >> 40) % (i % 1000 == 0 ? 1ull << 24 : 64);
		block.address = at;
		block.size = (random >> 20) % (i % 777 == 0 ? 1 << 22 : 100);
		at += block.size ? block.size : 1;
		if (!vec_push(&index.blocks, block))
			FAIL("no memory");
	}
	for (u64 i = 0; i < 10000; i++) { /* in any order */
		struct scan_block swap = index.blocks.data[i];

		index.blocks.data[i] = index.blocks.data[19999 - i];
		index.blocks.data[19999 - i] = swap;
	}
	CHECK_EQ(scan_index_build(&index, &all, &err), 0);
	for (u32 i = 0; i < 20000; i++) {
		const struct scan_block *block = &index.blocks.data[i];
		u64 end = block->address + scan_block_extent(block);

		CHECK_EQ(block->chunk, i);
		CHECK_EQ(scan_index_find(&index, block->address), i);
		CHECK_EQ(scan_index_find(&index, end - 1), i);
		CHECK_EQ(scan_index_find(&index, end), NO_BLOCK);
		CHECK_EQ(scan_index_ends(&index, end), block->size ? i : NO_BLOCK);
		CHECK_EQ(scan_index_ends(&index, end + 1), NO_BLOCK);
		CHECK_EQ(scan_index_find(&index, block->address - 1), NO_BLOCK);
	}
	CHECK_EQ(scan_index_find(&index, 0), NO_BLOCK);
	CHECK_EQ(scan_index_find(&index, UINT64_MAX), NO_BLOCK);
	scan_index_release(&index);
	CHECK_EQ(scan_index_build(&index, &all, &err), 0);
	CHECK_EQ(scan_index_find(&index, 1), NO_BLOCK);
	scan_index_release(&index);
	scan_memory_close(&all);
}

TEST(claims, "a block is as large as the memory that is there, whatever size the program tells")
{
	static const u64 claimed[] = {100, 1ull << 62, 5000, UINT64_MAX, 40, 1ull << 63, 7};
	u8 *area = pages(5 * 4096);
	u64 start = (u64)(uintptr_t)area;
	/* Two pages, a hole, a page, a hole; and where nothing ever is. */
	const u64 at[] = {start, start + 200, start + 300, start + 3 * 4096 + 16, start + 3 * 4096 + 4000, start + 2 * 4096 + 8,
			  UINT64_MAX - 4};
	const u64 there[] = {100, 2 * 4096 - 200, 5000, 4080, 40, 0, 0};
	struct scan_index index = {0};
	struct scan_memory view;
	struct scan_edges edges;
	struct err err = {0};
	u64 cut = 0;

	munmap(area + 2 * 4096, 4096);
	munmap(area + 4 * 4096, 4096);
	for (u64 i = 0; i < 7; i++)
		if (!vec_push(&index.blocks, (struct scan_block){at[i], claimed[i], i}))
			FAIL("no memory");
	memcpy(area, &at[3], 8);
	memcpy(area + 300, &at[4], 8);
	own_open(&view);
	CHECK_EQ(scan_index_build(&index, &view, &err), 0);
	for (u64 i = 0; i < 7; i++) {
		const struct scan_block *block = &index.blocks.data[i];

		CHECK_EQ(block->size, there[block->chunk]);
	}
	for (u64 i = 0; i < index.cuts.count; i++) {
		const struct scan_block *block = &index.blocks.data[index.cuts.data[i].block];

		CHECK_EQ(block->size + index.cuts.data[i].bytes, claimed[block->chunk]);
		/* it goes on there, as the program says */
		CHECK_EQ(scan_index_ends(&index, block->address + block->size), NO_BLOCK);
		cut++;
	}
	CHECK_EQ(cut, 4);
	CHECK_EQ(scan_edges_find(&edges, &view, &index, false, &err), 0);
	CHECK_EQ(scan_index_find(&index, start + 3 * 4096 + 17), 4);
	scan_edges_release(&edges);
	scan_memory_close(&view);
	scan_index_release(&index);
}

/* Sizes from nothing to more than a buffer, with gaps between: every way to read them. */
static u64 blocks_spread(struct scan_index *index, u64 start, u64 *random)
{
	static const u64 sizes[] = {0, 40, 500, 9000, 70000, 200000, 1300000};
	u64 at = start;

	for (u64 i = 0; i < 600; i++) {
		struct scan_block block = {.chunk = i};

		*random = *random * 6364136223846793005ull + 1442695040888963407ull;
		block.address = at + 8 * ((*random >> 33) % 3);
		block.size = sizes[(*random >> 36) % 7] * (100 + (*random >> 40) % 50) / 100;
		at = ((block.address + block.size + 15) & ~15ull) + ((*random >> 50) % 9 ? 16 : 40000);
		if (!vec_push(&index->blocks, block))
			FAIL("no memory");
	}
	return at - start;
}

/* Pointers that were written into block `from`, at every 11th word: start, middle, start again. */
static u64 pointer_in(const struct scan_index *index, u64 from, u64 word)
{
	const struct scan_block *to = &index->blocks.data[(from * 7 + word) % index->blocks.count];

	return word % 3 == 1 ? to->address + to->size / 2 : to->address;
}

TEST(edges, "every pointer in blocks of all sizes is found once, on as many threads as there are")
{
	enum { AREA = 512 << 20, EVERY = 11 };
	struct scan_index index = {0};
	struct scan_memory view;
	struct scan_edges edges;
	struct err err = {0};
	u8 *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	u64 random = 5, inside = 0;
	u8 classes[600] = {0}; /* nothing is known to be reachable */

	if (area == MAP_FAILED)
		FAIL("no memory");
	CHECK(blocks_spread(&index, (u64)(uintptr_t)area, &random) < AREA);
	own_open(&view);
	CHECK_EQ(scan_index_build(&index, &view, &err), 0);
	for (u64 i = 0; i < index.blocks.count; i++) {
		u64 *words = (u64 *)(uintptr_t)index.blocks.data[i].address;

		for (u64 w = 0; w < index.blocks.data[i].size / 8; w += EVERY)
			words[w] = pointer_in(&index, i, w);
	}
	CHECK_EQ(scan_edges_find(&edges, &view, &index, false, &err), 0);
	CHECK_EQ(edges.count, sysconf(_SC_NPROCESSORS_ONLN) < SCAN_SLICES
				      ? (u32)sysconf(_SC_NPROCESSORS_ONLN)
				      : (u32)SCAN_SLICES);
	CHECK_EQ(scan_edges_look_inside(&edges, &view, &index, classes, &err), 0);
	for (u32 i = 0; i < index.blocks.count; i++) {
		const u32 *end, *edge = scan_edges_of(&edges, i, &end);
		const struct scan_inside *inside_end, *first = scan_edges_inside_of(&edges, i, &inside_end);
		u8 want[600] = {0}, got[600] = {0};
		u32 last = i;

		for (u64 w = 0; w < index.blocks.data[i].size / 8; w += EVERY) {
			u64 value = pointer_in(&index, i, w);
			u32 to = scan_index_find(&index, value);

			if (to == NO_BLOCK || to == i)
				continue;
			if (value != index.blocks.data[to].address) {
				inside += !want[to];
				want[to] = 1;
			} else if (to != last) {
				CHECK(edge < end);
				CHECK_EQ(*edge++, to);
				last = to;
			}
		}
		CHECK(edge == end);
		for (; first < inside_end; first++) { /* in any order, and one for each that are alike */
			const struct scan_block *to = &index.blocks.data[first->block];

			CHECK_EQ(first->source, i);
			CHECK_EQ(first->value, to->address + to->size / 2);
			got[first->block] = 1;
		}
		CHECK(memcmp(got, want, sizeof(got)) == 0);
	}
	CHECK(inside > 1000);
	scan_edges_release(&edges);
	scan_memory_close(&view);
	scan_index_release(&index);
	munmap(area, AREA);
}

TEST(given_up, "pointers are not looked for when time is up or somebody asked to stop")
{
	struct graph g;
	struct scan_edges edges;
	struct err err = {0};
	u32 asked = 1;

	graph_make(&g, 3);
	g.view.patience = (struct scan_patience){.cancel = &asked};
	CHECK(scan_edges_find(&edges, &g.view, &g.index, false, &err) < 0);
	CHECK_STR(err.text, "it was interrupted");
	scan_edges_release(&edges);
	g.view.patience = (struct scan_patience){.deadline_ns = 1};
	CHECK(scan_edges_find(&edges, &g.view, &g.index, false, &err) < 0);
	CHECK_STR(err.text, "it took too long");
	scan_edges_release(&edges);
	CHECK(scan_mark_finish(&g.mark, &err) < 0);
	graph_release(&g);
}

struct pieces {
	u32 asked, count;
};

static void piece_take(void *data, u64 address, const u64 *words, u64 count)
{
	struct pieces *self = data;

	(void)address, (void)words, (void)count;
	self->asked = ++self->count == 3;
}

TEST(given_up_inside, "somebody who asks to stop does not wait for the end of a large block")
{
	struct pieces pieces = {0};
	struct scan_memory view;
	u8 *area = pages(16 << 20);

	memset(area, 1, 16 << 20);
	own_open(&view);
	view.patience.cancel = &pieces.asked;
	scan_memory_each_word(&view, (u64)(uintptr_t)area, (u64)(uintptr_t)area + (16 << 20), piece_take, &pieces);
	CHECK_EQ(pieces.count, 3);
	scan_memory_close(&view);
	munmap(area, 16 << 20);
}

TEST(unreadable, "memory that is not there, or never was touched, holds no pointers")
{
	struct graph g;
	u8 *hole = pages(3 * 4096);
	u64 read;

	graph_make(&g, 7);
	munmap(hole + 4096, 4096);
	memset(hole, 0, 8);
	read = scan_mark_range(&g.mark, (u64)(uintptr_t)hole, (u64)(uintptr_t)hole + 3 * 4096);
	CHECK(read >= 4096 && read <= 2 * 4096);
	CHECK_EQ(scan_memory_word(&g.view, (u64)(uintptr_t)hole + 4096), 0);
	CHECK_EQ(g.view.gone, 0);
	graph_release(&g);
}

TEST(mappings_told_twice, "mappings that change while they are read are apart, and in order")
{
	/* Seen before and after it grew; one that swallowed its neighbours; one that was seen whole before; nothing. */
	static const struct mapping told[] = {{.start = 10, .end = 20}, {.start = 10, .end = 30}, {.start = 15, .end = 40},
					      {.start = 20, .end = 40}, {.start = 50, .end = 50}, {.start = 45, .end = 60},
					      {.start = 40, .end = 70}};
	static const u64 wanted[][2] = {{10, 20}, {20, 30}, {30, 40}, {45, 60}, {60, 70}};
	struct scan_memory memory = SCAN_MEMORY_CLOSED;

	for (u64 i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		CHECK(scan_memory_add(&memory, told[i]));
	CHECK_EQ(memory.mappings.count, sizeof(wanted) / sizeof(wanted[0]));
	for (u64 i = 0; i < memory.mappings.count; i++) {
		CHECK_EQ(memory.mappings.data[i].start, wanted[i][0]);
		CHECK_EQ(memory.mappings.data[i].end, wanted[i][1]);
	}
	scan_memory_close(&memory);
}

/* ---- another process ------------------------------------------------------------------------- */

static void *volatile held;

/* One block that a global holds, and one that nothing holds: its address is nowhere in this
 * frame. */
static __attribute__((noinline)) void blocks_make(struct scan_index *index)
{
	u8 *area = pages(2 * 4096);

	held = area + 64;
	if (!vec_push(&index->blocks, (struct scan_block){(u64)(uintptr_t)area + 64, 100, 0}) ||
	    !vec_push(&index->blocks, (struct scan_block){(u64)(uintptr_t)area + 4608, 100, 1}))
		FAIL("no memory");
}

static void hold(struct tracer *tracer, pid_t child)
{
	struct err err = {0};

	if (tracer_seize(tracer, (u32)child, &err) < 0)
		test_skip("%s", err.text);
	while (tracer_poll(tracer) == TRACER_RUNNING)
		usleep(1000);
}

static int mark_all(struct scan_mark *mark, const struct scan_surroundings *around)
{
	struct scan_roots roots = {0};
	struct scan_edges edges = {0};
	struct err err = {0};
	int status;

	CHECK_EQ(scan_roots_find(&roots, around, &err), 0);
	CHECK_EQ(scan_edges_find(&edges, around->memory, around->index, false, &err), 0);
	CHECK_EQ(scan_mark_init(mark, around->memory, around->index, &edges, &err), 0);
	for (u64 i = 0; i < roots.spans.count; i++)
		scan_mark_range(mark, roots.spans.data[i].start, roots.spans.data[i].end);
	status = scan_mark_finish(mark, &err);
	scan_roots_release(&roots);
	scan_edges_release(&edges);
	return status;
}

enum { STATE_BINS = 127, PAGE = 4096 };

/* A state of a main arena that has so many bytes before its bins; where it begins. */
static u64 *state_make(u8 *data, u8 *heap, u64 before, u32 arenas)
{
	u64 *bins = (u64 *)(void *)(data + 1024), *state = bins - before / 8, *at = state;

	for (u32 i = 0; i < STATE_BINS; i++)
		bins[2 * i] = bins[2 * i + 1] = (u64)(uintptr_t)(bins + 2 * i) - 16;
	bins[-2] = (u64)(uintptr_t)heap + 16; /* the rest */
	for (u32 i = 0; i < arenas; i++) {
		u64 *next = (u64 *)(void *)(heap + PAGE * (i + 1) + 48);

		at[before / 8 + STATE_BINS * 2 + 2] = (u64)(uintptr_t)next;
		at = next;
	}
	at[before / 8 + STATE_BINS * 2 + 2] = (u64)(uintptr_t)state;
	return state;
}

TEST(states, "where the main arena's state begins is told by the arenas, which lead back to it, in each version")
{
	static const struct {
		u64 before, known; /* bytes before the bins, and those of them that are known */
		u32 arenas;
	} cases[] = {{0x68, 0x68, 0}, {0x68, 0x68, 3}, {0x70, 0x70, 0}, {0x70, 0x70, 5}, {0x18, 0x18, 0}, {0x18, 0x18, 9}, {0x40, 16, 0}, {0x40, 16, 2}};

	for (u32 i = 0; i < sizeof cases / sizeof *cases; i++) {
		u8 *data = pages(4 * PAGE), *heap = pages(16 * PAGE);
		u64 *state = state_make(data, heap, cases[i].before, cases[i].arenas);
		struct scan_memory view = SCAN_MEMORY_CLOSED;
		struct scan_span span = {0};
		u64 bins = (u64)(uintptr_t)state + cases[i].before;

		own_open(&view);
		if (!glibc_main_state(&view, scan_memory_mapping(&view, bins), &span) || span.start != bins - cases[i].known ||
		    span.end != bins + STATE_BINS * 16 + 64)
			FAIL("row %u: it begins %d bytes before", i, (int)(bins - span.start));
		scan_memory_close(&view);
		munmap(data, 4 * PAGE);
		munmap(heap, 16 * PAGE);
	}
}

TEST(mapped_alone, "a block that is mapped alone is known by its head, in each version")
{
	static const struct {
		u64 offset, before, own; /* of the block's head, and its two words */
		bool alone;
	} cases[] = {
		{0, 0, 3 * PAGE | 2, true},                  /* to 2.42 */
		{0, 0, (3 * PAGE - 16) | 2, true},           /* since 2.43: without its head */
		{0, 1, (3 * PAGE - 16) | 2, true},           /* in huge pages */
		{1024, 1024, (3 * PAGE - 1024) | 2, true},   /* aligned */
		{1024, 1024, (3 * PAGE - 1040) | 2, true},
		{1024, 1025, (3 * PAGE - 1040) | 2, true},
		{0, 0, (3 * PAGE - 32) | 2, false},
		{0, 0, 3 * PAGE | 1, false},
		{0, 16, 3 * PAGE | 2, false},
		{1024, 0, (3 * PAGE - 1024) | 2, false},
	};

	for (u32 i = 0; i < sizeof cases / sizeof *cases; i++) {
		u8 *memory = pages(3 * PAGE);
		struct scan_memory view = SCAN_MEMORY_CLOSED;
		struct scan_block block = {(u64)(uintptr_t)memory + cases[i].offset + 16, 2 * PAGE, 0};
		struct scan_span span = {0};
		u64 words[] = {cases[i].before, cases[i].own};

		memcpy(memory + cases[i].offset, words, sizeof words);
		own_open(&view);
		if (glibc_mapped_block(&view, &block, &span) != cases[i].alone)
			FAIL("row %u", i);
		if (cases[i].alone && (span.start != (u64)(uintptr_t)memory || span.end != span.start + 3 * PAGE))
			FAIL("row %u: another span", i);
		scan_memory_close(&view);
		munmap(memory, 3 * PAGE);
	}
}

TEST(guards, "stacks that are joined, and guarded by the kernel without mappings, are apart")
{
	enum { STACK = 4, STACKS = 600, GUARD_INSTALL = 102 };
	u8 *memory = pages(STACKS * STACK * PAGE);
	struct scan_memory view = SCAN_MEMORY_CLOSED;
	u32 apart = 0;

	for (u64 i = 0; i < STACKS; i++)
		if (madvise(memory + i * STACK * PAGE, PAGE, GUARD_INSTALL) != 0)
			test_skip("this kernel guards with mappings");
	own_open(&view);
	for (u64 i = 0; i < STACKS; i++) {
		u64 start = (u64)(uintptr_t)memory + i * STACK * PAGE;
		const struct mapping *guard = scan_memory_mapping(&view, start);
		const struct mapping *stack = scan_memory_mapping(&view, start + PAGE);

		if (!guard || !stack)
			FAIL("stack %u is not mapped", (u32)i);
		apart += guard->start == start && !guard->readable && !guard->writable && stack == guard + 1 && stack->writable &&
			 stack->start == start + PAGE && (i + 1 == STACKS || stack->end == start + STACK * PAGE) &&
			 scan_memory_guarded(&view, (u64)(stack - view.mappings.data));
	}
	scan_memory_close(&view);
	if (!apart)
		test_skip("this kernel does not tell where it guards");
	CHECK_EQ(apart, STACKS);
	munmap(memory, STACKS * STACK * PAGE);
}

TEST(at_once, "a process that runs is held, looked at, and runs on as if nothing had been")
{
	struct scan_index index = {0};
	struct scan_memory memory = SCAN_MEMORY_CLOSED;
	struct scan_mark mark = {0};
	struct tracer tracer = {.at_once = true};
	struct scan_surroundings around = {.memory = &memory, .index = &index};
	struct scan_thread *threads;
	struct err err = {0};
	pid_t child;
	int status;

	blocks_make(&index);
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 30; i++)
			usleep(10000);
		_exit(17);
	}
	usleep(20000);
	hold(&tracer, child);
	CHECK_EQ(tracer_threads(&tracer, &threads, &around.thread_count, &err), 0);
	CHECK(around.thread_count >= 1);
	around.threads = threads;
	CHECK_EQ(scan_memory_open(&memory, (u32)child, (u32)child, NULL, &err), 0);
	CHECK_EQ(scan_memory_cache(&memory, 0, &err), 0);
	CHECK_EQ(scan_index_build(&index, &memory, &err), 0);
	CHECK_EQ(mark_all(&mark, &around), 0);
	tracer_release(&tracer);
	CHECK_EQ(mark.classes[0], CLASS_REACHABLE);
	/* Sanitizers keep frames that are over. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	CHECK_EQ(mark.classes[1], CLASS_LOST);
#endif
	CHECK_EQ(waitpid(child, &status, 0), (u64)child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 17);
	scan_mark_release(&mark);
	scan_memory_close(&memory);
	scan_index_release(&index);
	free(threads);
}

TEST(killed,
     "a process that is killed while it is watched is held at its end, and dies of the signal")
{
	struct tracer tracer = {0};
	struct err err = {0};
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		for (;;)
			pause();
	}
	if (tracer_seize(&tracer, (u32)child, &err) < 0)
		test_skip("%s", err.text);
	CHECK_EQ(tracer_poll(&tracer), TRACER_RUNNING);
	kill(child, SIGKILL);
	while (tracer_poll(&tracer) == TRACER_RUNNING)
		usleep(1000);
	CHECK(tracer.ending);
	tracer_release(&tracer);
	CHECK_EQ(waitpid(child, &status, 0), (u64)child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK_EQ(tracer_poll(&tracer), TRACER_GONE);
	CHECK(tracer_seize(&tracer, (u32)child, &err) < 0);
	tracer_release(&tracer);
}
