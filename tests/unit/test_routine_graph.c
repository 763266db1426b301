/* SPDX-License-Identifier: MIT
 * The call graph of a routine trace: Algorithms 1 to 3 on cases that were computed by hand, random
 * programs against a plain reference, and steps that make no sense. */
#include "study/analysis/emad/routine_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/strbuf.h"
#include "lib/test.h"

/* A script: "thread routine" with > for a beginning and < for an end, +size for an allocation:
 * "0>m 0>i 0+32 0<i 0<m". Routines are letters, whose address is the letter. Time goes by 10. */
struct play {
	struct routine_graph graph;
	struct stream_sink sink;
	u64 ticks, block;
	struct err err;
};

static void play_begin(struct play *self)
{
	memset(self, 0, sizeof(*self));
	self->sink = routine_graph_sink(&self->graph);
	self->sink.image(self->sink.self, &(struct stream_image){.program = "p"}, &self->err);
}

static void play_row(struct play *self, struct stream_routine row)
{
	if (self->sink.routines(self->sink.self, &row, 1, &self->err) < 0)
		FAIL("%s", self->err.text);
}

static void play(struct play *self, const char *script)
{
	while (*script) {
		struct stream_routine row = {.thread = (u32)strtoul(script, (char **)&script, 10)};
		char what = *script++;

		row.ticks = self->ticks += 10;
		row.step = what == '>'	 ? ROUTINE_ENTER
			   : what == '+' ? ROUTINE_ALLOCATION
					 : ROUTINE_LEAVE;
		if (what == '+') {
			row.value = strtoul(script, (char **)&script, 10);
			row.address = self->block += 16;
		} else {
			row.address = (u8)*script++;
		}
		row.how = what == '!' ? HW_LEAVE_UNWOUND : 0;
		play_row(self, row);
		while (*script == ' ')
			script++;
	}
}

static void play_end(struct play *self)
{
	if (routine_graph_finish(&self->graph, &self->err) < 0)
		FAIL("%s", self->err.text);
}

static int compare_words(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Edges as "mi1 mo1 …", sorted. */
static const char *edges(const struct play *self)
{
	static char text[4096];
	char words[256][32], *order[256];
	u64 count = self->graph.edges.count;

	text[0] = 0;
	for (u64 i = 0; i < count && i < 256; i++) {
		const struct routine_edge *edge = &self->graph.edges.data[i];

		snprintf(words[i], sizeof(words[i]), "%c%c%" PRIu64,
			 (char)self->graph.nodes.data[edge->caller.index].address,
			 (char)self->graph.nodes.data[edge->callee.index].address, edge->calls);
		order[i] = words[i];
	}
	qsort(order, count, sizeof(*order), compare_words);
	for (u64 i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 order[i]);
	return text;
}

static const struct routine_node *node(const struct play *self, char name)
{
	for (u64 i = 0; i < self->graph.nodes.count; i++)
		if (self->graph.nodes.data[i].address == (u64)name)
			return &self->graph.nodes.data[i];
	FAIL("no routine %c", name);
}

static const struct row {
	const char *what, *script, *edges;
	u64 nodes, missing, unfinished, strange;
} rows[] = {
	{"an empty trace is an empty graph", "", "", 0, 0, 0, 0},
	{"a routine alone has no edge", "0>m 0<m", "", 1, 0, 0, 0},
	{"Listing 4 gives Figure 2: main, Initialize, operation1 and 2 (p, q), malloc (a), free",
	 "0>m 0>i 0>a 0<a 0<i 0>p 0>a 0<a 0>q 0>f 0<f 0>f 0<f 0<q 0<p 0<m", "ia1 mi1 mp1 pa1 pq1 qf2",
	 6, 0, 0, 0},
	{"calls are counted, not edges", "0>m 0>a 0<a 0>a 0<a 0>a 0<a 0<m", "ma3", 2, 0, 0, 0},
	/* f jumps to g: its end is missing, g was begun by f */
	{"a tail call leaves one end missing", "0>m 0>f 0>g 0<g 0<m", "fg1 mf1", 3, 1, 0, 0},
	{"two tail calls in a row", "0>m 0>f 0>g 0>h 0<h 0<m", "fg1 gh1 mf1", 4, 2, 0, 0},
	{"nested missing ends are found at the first end below them",
	 "0>m 0>f 0>g 0>h 0<f 0>f 0<f 0<m", "fg1 gh1 mf2", 4, 2, 0, 0},
	{"the caller's end is missing, too, and found at its caller's",
	 "0>m 0>f 0>g 0<g 0>h 0<h 0<m", "fg1 fh1 mf1", 4, 1, 0, 0},
	{"recursion is an edge to itself", "0>m 0>f 0>f 0>f 0<f 0<f 0<f 0<m", "ff2 mf1", 2, 0, 0, 0},
	{"recursion by turns", "0>m 0>f 0>g 0>f 0>g 0<g 0<f 0<g 0<f 0<m", "fg2 gf1 mf1", 3, 0, 0, 0},
	/* Algorithm 3 ends the innermost f: what remains is closed at the end of m */
	{"a missing end in recursion", "0>m 0>f 0>f 0<f 0<m", "ff1 mf1", 2, 1, 0, 0},
	{"threads have stacks of their own", "0>m 1>w 0>f 1>f 0<f 1<f 0>g 1<w 0<g 0<m",
	 "mf1 mg1 wf1", 4, 0, 0, 0},
	{"the same routine ends in the thread that it was called in",
	 "0>m 1>m 0>f 1>f 1>g 0<f 1<g 1<f 0<m 1<m", "fg1 mf2", 3, 0, 0, 0},
	{"what is left on the stacks is closed at the end", "0>m 0>f 0>g 1>w 1>f", "fg1 mf1 wf1", 4, 0,
	 5, 0},
	{"an end of a routine that is not on the stack is ignored",
	 "0>m 0>f 0<x 0>g 0<g 0<f 0<m", "fg1 mf1", 4, 0, 0, 1},
	{"an end before any beginning is ignored", "0<m 0>m 0>f 0<f 0<m 0<m", "mf1", 2, 0, 0, 2},
	{"an end in another thread is ignored", "0>m 1<m 0>f 0<f 0<m", "mf1", 2, 0, 0, 1},
	{"a longjmp: what it passed is told as unwound", "0>m 0>f 0>g 0!g 0!f 0>h 0<h 0<m",
	 "fg1 mf1 mh1", 4, 0, 0, 0},
};

TEST(by_hand, "graphs that were computed by hand")
{
	for (u32 i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct play self;

		play_begin(&self);
		play(&self, row->script);
		play_end(&self);
		if (strcmp(edges(&self), row->edges) != 0 ||
		    self.graph.nodes.count != row->nodes ||
		    self.graph.counts.missing_exits != row->missing ||
		    self.graph.counts.unfinished != row->unfinished ||
		    self.graph.counts.strange_exits != row->strange)
			test_check(false, __FILE__, __LINE__,
				   "%s: got '%s', %" PRIu64 " nodes, missing %" PRIu64
				   ", unfinished %" PRIu64 ", strange %" PRIu64,
				   row->what, edges(&self), self.graph.nodes.count,
				   self.graph.counts.missing_exits, self.graph.counts.unfinished,
				   self.graph.counts.strange_exits);
		routine_graph_release(&self.graph);
	}
}

TEST(times, "time is inclusive once per stack, and exclusive of what was called")
{
	struct play self;

	play_begin(&self);
	/*    10   20   30   40   50   60   70   80 */
	play(&self, "0>m 0>f 0>f 0<f 0>g 0<g 0<f 0<m");
	play_end(&self);
	CHECK_EQ(node(&self, 'm')->inclusive_ticks, 70);
	CHECK_EQ(node(&self, 'm')->exclusive_ticks, 20);
	CHECK_EQ(node(&self, 'f')->inclusive_ticks, 50);
	CHECK_EQ(node(&self, 'f')->exclusive_ticks, 30 + 10);
	CHECK_EQ(node(&self, 'g')->inclusive_ticks, 10);
	CHECK_EQ(node(&self, 'f')->calls, 2);
	routine_graph_release(&self.graph);
	play_begin(&self); /* a missing end is where it was found; time that runs backwards is none */
	play(&self, "0>m 0>f 0>g 0<f");
	self.ticks = 0;
	play(&self, "0<m");
	play_end(&self);
	CHECK_EQ(node(&self, 'g')->inclusive_ticks, 10);
	CHECK_EQ(node(&self, 'f')->inclusive_ticks, 20);
	CHECK_EQ(node(&self, 'f')->exclusive_ticks, 10);
	CHECK_EQ(node(&self, 'm')->inclusive_ticks, 0);
	CHECK_EQ(node(&self, 'm')->exclusive_ticks, 0);
	routine_graph_release(&self.graph);
}

TEST(allocations, "an allocation is charged to the innermost routine of its thread, and below all of its callers")
{
	struct play self;

	play_begin(&self);
	play(&self, "0+1 0>m 0>f 0+10 0>f 0+100 0<f 1>w 1+1000 0<f 0+2 0<m 1<w 0+4");
	play_end(&self);
	CHECK_EQ(self.graph.counts.allocations, 6);
	CHECK_EQ(self.graph.counts.bytes, 1117);
	CHECK_EQ(self.graph.counts.outside_allocations, 2);
	CHECK_EQ(self.graph.counts.outside_bytes, 5);
	CHECK_EQ(node(&self, 'f')->allocations, 2);
	CHECK_EQ(node(&self, 'f')->bytes, 110);
	CHECK_EQ(node(&self, 'f')->below_allocations, 2);
	CHECK_EQ(node(&self, 'f')->below_bytes, 110);
	CHECK_EQ(node(&self, 'm')->allocations, 1);
	CHECK_EQ(node(&self, 'm')->below_allocations, 3);
	CHECK_EQ(node(&self, 'm')->below_bytes, 112);
	CHECK_EQ(node(&self, 'w')->below_bytes, 1000);
	routine_graph_release(&self.graph);
}

TEST(wrappers, "a block that a wrapper passes on is one allocation; a block that comes again after its free is two")
{
	struct play self;
	struct stream_routine made = {.address = 64, .value = 8, .step = ROUTINE_ALLOCATION};
	struct stream_routine gone = {.address = 64, .step = ROUTINE_FREE};
	struct stream_routine none = {.value = 8, .step = ROUTINE_ALLOCATION};

	play_begin(&self);
	play(&self, "0>n 0>a");
	play_row(&self, made);
	play(&self, "0<a");
	play_row(&self, made);
	play(&self, "0<n");
	CHECK_EQ(self.graph.counts.allocations, 1);
	CHECK_EQ(node(&self, 'a')->allocations, 1);
	play_row(&self, gone);
	play_row(&self, made);
	CHECK_EQ(self.graph.counts.allocations, 2);
	play_row(&self, none); /* an allocator that gave nothing */
	CHECK_EQ(self.graph.counts.allocations, 2);
	play_end(&self);
	routine_graph_release(&self.graph);
}

TEST(places, "routines are told apart by module and place: two at one address, at different times, are two")
{
	struct play self;
	struct stream_module first = {.id = 0, .base = 0x1000, .start = 0x1000, .end = 0x2000,
				      .path = "a"};
	struct stream_module second = {.id = 1, .generation = 1, .base = 0x1000, .start = 0x1000,
				       .end = 0x2000, .loaded_ticks = 50, .path = "b"};

	play_begin(&self);
	self.sink.module(self.sink.self, &first, &self.err);
	play_row(&self, (struct stream_routine){.ticks = 10, .address = 0x1010});
	self.sink.module(self.sink.self, &second, &self.err);
	play_row(&self, (struct stream_routine){.ticks = 20, .address = 0x1010,
						.step = ROUTINE_LEAVE});
	play_row(&self, (struct stream_routine){.ticks = 60, .address = 0x1010});
	play_row(&self, (struct stream_routine){.ticks = 70, .address = 0x5010});
	play_end(&self);
	CHECK_EQ(self.graph.nodes.count, 3);
	CHECK_EQ(self.graph.nodes.data[0].module, 0);
	CHECK_EQ(self.graph.nodes.data[0].address, 0x10);
	CHECK_EQ(self.graph.nodes.data[1].module, 1);
	CHECK_EQ(self.graph.nodes.data[1].calls, 1);
	CHECK_EQ(self.graph.nodes.data[2].module, NO_ROUTINE_MODULE);
	CHECK_EQ(self.graph.nodes.data[2].address, 0x5010);
	CHECK_EQ(self.graph.edges.count, 1);
	CHECK_EQ(self.graph.edges.data[0].caller.index, 1);
	CHECK_EQ(self.graph.edges.data[0].callee.index, 2);
	routine_graph_release(&self.graph);
}

/* ---- against a plain reference ---- */

enum { ROUTINES = 20, THREADS = 4, STEPS = 20000 };

struct plain { /* Algorithms 1 to 3 word by word, but for ends that are not on the stack */
	u32 stack[THREADS][STEPS];
	u32 depth[THREADS];
	u64 edges[ROUTINES][ROUTINES], calls[ROUTINES];
};

static void plain_pop(struct plain *self, u32 thread)
{
	u32 *stack = self->stack[thread], callee = stack[--self->depth[thread]];

	if (self->depth[thread])
		self->edges[stack[self->depth[thread] - 1]][callee]++;
}

static void plain_exit(struct plain *self, u32 thread, u32 routine)
{
	bool found = false;

	for (u32 i = 0; i < self->depth[thread]; i++)
		found |= self->stack[thread][i] == routine;
	if (!found)
		return;
	while (self->stack[thread][self->depth[thread] - 1] != routine)
		plain_pop(self, thread);
	plain_pop(self, thread);
}

static u64 random_state = 88172645463325252ull;

static u32 draw(u32 below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (u32)(random_state >> 11) % below;
}

/* lost: how many of 100 ends are missing; odd: how many are of any routine. */
static void compare_random(u32 lost, u32 odd)
{
	static struct plain plain;
	struct play self;
	u64 edges_count = 0;

	memset(&plain, 0, sizeof(plain));
	play_begin(&self);
	for (u32 i = 0; i < STEPS; i++) {
		u32 thread = draw(THREADS), routine = draw(ROUTINES), what = draw(100);
		u32 depth = plain.depth[thread];
		bool enters = what < 50 || (!depth && what >= odd);
		struct stream_routine row = {.thread = thread, .ticks = i,
					     .step = enters ? ROUTINE_ENTER : ROUTINE_LEAVE};

		if (enters) {
			plain.stack[thread][plain.depth[thread]++] = routine;
			plain.calls[routine]++;
		} else {
			if (draw(100) >= odd && depth) {
				u32 back = draw(100) < lost ? draw(depth < 5 ? depth : 5) : 0;

				routine = plain.stack[thread][depth - 1 - back];
			}
			plain_exit(&plain, thread, routine);
		}
		row.address = 100 + routine;
		play_row(&self, row);
	}
	for (u32 thread = 0; thread < THREADS; thread++)
		while (plain.depth[thread])
			plain_pop(&plain, thread);
	play_end(&self);
	for (u32 i = 0; i < self.graph.edges.count; i++) {
		const struct routine_edge *edge = &self.graph.edges.data[i];
		u64 caller = self.graph.nodes.data[edge->caller.index].address - 100;
		u64 callee = self.graph.nodes.data[edge->callee.index].address - 100;

		CHECK_EQ(edge->calls, plain.edges[caller][callee]);
	}
	for (u32 i = 0; i < ROUTINES * ROUTINES; i++)
		edges_count += plain.edges[i / ROUTINES][i % ROUTINES] != 0;
	CHECK_EQ(self.graph.edges.count, edges_count);
	for (u32 i = 0; i < self.graph.nodes.count; i++) {
		const struct routine_node *one = &self.graph.nodes.data[i];

		CHECK_EQ(one->calls, plain.calls[one->address - 100]);
		CHECK(one->exclusive_ticks <= one->inclusive_ticks * THREADS);
	}
	routine_graph_release(&self.graph);
}

TEST(random_programs, "random programs, with and without missing and strange ends, as a plain reference has them")
{
	for (u32 round = 0; round < 10; round++) {
		compare_random(0, 0);
		compare_random(30, 0);
		compare_random(10, 10);
		compare_random(0, 100);
	}
}

TEST(deep, "a stack that never shrinks is cut at its outer end; edges are kept")
{
	struct play self;
	struct stream_routine batch[1024];
	u64 steps = (9ull << 20), edges_sum = 0;

	play_begin(&self);
	for (u64 i = 0; i < steps; i += 1024) {
		for (u64 k = 0; k < 1024; k++)
			batch[k] = (struct stream_routine){.ticks = i + k,
							   .address = 'a' + (i + k) % 7};
		if (self.sink.routines(self.sink.self, batch, 1024, &self.err) < 0)
			FAIL("%s", self.err.text);
	}
	CHECK(self.graph.counts.cut_frames > 1 << 20);
	play_end(&self);
	CHECK_EQ(self.graph.edges.count, 7);
	for (u64 i = 0; i < self.graph.edges.count; i++)
		edges_sum += self.graph.edges.data[i].calls;
	CHECK_EQ(edges_sum, steps - 1);
	CHECK_EQ(self.graph.counts.unfinished + self.graph.counts.cut_frames, steps);
	routine_graph_release(&self.graph);
}

TEST(garbage, "rows of any numbers do no harm")
{
	struct play self;

	play_begin(&self);
	for (u32 i = 0; i < 200000; i++) {
		struct stream_routine row = {.ticks = random_state, .step = (u8)draw(ROUTINE_STEPS)};

		row.thread = draw(100);
		row.address = draw(3) ? draw(5) : random_state;
		row.value = random_state * 3;
		row.how = (u16)draw(65536);
		play_row(&self, row);
	}
	play_end(&self);
	CHECK(self.graph.counts.enters + self.graph.counts.leaves > 0);
	play_end(&self); /* once more changes nothing */
	routine_graph_release(&self.graph);
}
