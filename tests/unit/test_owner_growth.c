/* SPDX-License-Identifier: MIT
 * What grows between two scans: one row for each container, named by its owner. */
#include <stdio.h>

#include "study/analysis/owners/growth.h"
#include "unit/test_analysis.h"
#include "unit/test_graph.h"

#define NONE UINT32_MAX

/* Functions of the program, which are contexts 1, 2 … */
enum { TABLE = 1, SESSION, BUFFER, CLIENT, FUNCTIONS };
static const char *const functions[] = {"make_table", "open_session", "make_buffer", "open_client"};

enum { CHUNKS = 200, ROOTS = 3, SECOND = 1000000000 };

/* A recording: its chunks are allocated one after the other. */
struct recording {
	struct feed feed;
	struct symbol_frame frames[FUNCTIONS];
	struct symbol_entry entries[FUNCTIONS];
	struct symbol_table symbols;
	struct stack_source source;
	struct type_cascade types;
	u32 chunks;
};

static void record(struct recording *self)
{
	*self = (struct recording){.feed = feed_new()};
	tell_functions(&self->feed, FUNCTIONS);
	self->symbols = named_table(functions, FUNCTIONS - 1, self->frames, self->entries);
	self->source = (struct stack_source){.model = self->feed.model, .symbols = &self->symbols};
}

static void record_end(struct recording *self)
{
	struct type_query ask = {.source = &self->source};

	tell_end(&self->feed, IMAGE_EXITED);
	if (type_cascade_init(&self->types, &ask, &self->feed.err) < 0)
		FAIL("%s", self->feed.err.text);
}

/* Number of the new chunk. */
static u32 chunk(struct recording *self, u32 function, u64 bytes)
{
	tell_alloc(&self->feed, HW_MALLOC, function, bytes);
	return self->chunks++;
}

/* What is live at a moment: chunks [0, CHUNKS) and roots behind them, each a pointer in the data of
 * a library of its own. */
struct moment {
	struct made_edge edges[2 * CHUNKS];
	u32 count;
	bool live[CHUNKS];
	const char *roots[ROOTS];
	u64 ticks;
};

static u32 root(struct moment *self, u32 number, const char *path)
{
	self->roots[number] = path;
	return CHUNKS + number;
}

static void point(struct moment *self, u32 from, u32 to, u32 offset)
{
	self->edges[self->count++] = (struct made_edge){from, {to, offset, 0}};
	if (from < CHUNKS)
		self->live[from] = true;
	self->live[to] = true;
}

/* A graph of the live chunks alone. */
static struct made_graph scan(const struct moment *self)
{
	u32 node_of[CHUNKS + ROOTS], chunks = 0;
	struct made_graph made;

	for (u32 i = 0; i < CHUNKS; i++)
		if (self->live[i])
			node_of[i] = chunks++;
	made = graph_new(chunks, ROOTS);
	made.graph.ticks = self->ticks;
	for (u32 i = 0; i < CHUNKS; i++)
		if (self->live[i])
			made.chunks[node_of[i]] = i;
	for (u32 i = 0; i < ROOTS; i++) {
		node_of[CHUNKS + i] = chunks + i;
		made.roots[i] = (struct stream_root){.kind = ROOT_DATA,
						     .address = 0x700100 + 0x10000 * i,
						     .bytes = 64,
						     .code = 0x700000 + 0x10000 * i,
						     .name = self->roots[i] ?: "/lib/libnone.so"};
	}
	for (u32 i = 0; i < self->count; i++)
		graph_edge(&made, node_of[self->edges[i].source],
			   node_of[self->edges[i].edge.target], self->edges[i].edge.from);
	graph_make(&made);
	return made;
}

struct comparing {
	struct made_graph graphs[2];
	struct owners after;
	struct owner_growth growth;
};

static void compare(struct comparing *self, struct recording *runs[2], struct moment moments[2])
{
	struct owners_query queries[2];
	struct err err = {0};

	*self = (struct comparing){.growth = {.limits = {.min_share = 0.01}}};
	for (u32 i = 0; i < 2; i++) {
		self->graphs[i] = scan(&moments[i]);
		queries[i] = (struct owners_query){&self->graphs[i].graph, &runs[i]->types};
	}
	if (owners_make(&self->after, &queries[1], &err) < 0 ||
	    owner_growth_find(&self->growth, &queries[0], &self->after, &err) < 0)
		FAIL("%s", err.text);
}

static void compare_one(struct comparing *self, struct recording *run, struct moment moments[2])
{
	struct recording *runs[2] = {run, run};

	tell_clock(&run->feed, run->feed.ticks + 1000000, 60ull * SECOND);
	record_end(run);
	compare(self, runs, moments);
}

static void comparing_release(struct comparing *self)
{
	owner_growth_release(&self->growth);
	owners_release(&self->after);
	graph_release(&self->graphs[0]);
	graph_release(&self->graphs[1]);
}

static void recording_release(struct recording *self)
{
	type_cascade_release(&self->types);
	model_free(self->feed.model);
}

struct wanted {
	const char *owner, *elements; /* NULL = it grew itself */
	u64 count[2], bytes[2];
};

static void wants(const struct comparing *self, const struct wanted *rows, u64 count)
{
	const struct owner_growth *growth = &self->growth;

	CHECK_EQ(growth->rows.count, count);
	for (u64 i = 0; i < count; i++) {
		const struct grown_row *row = &growth->rows.data[i];

		CHECK_STR(growth->paths.data[row->owner].label, rows[i].owner);
		if (rows[i].elements)
			CHECK_STR(growth->paths.data[row->elements].label, rows[i].elements);
		else
			CHECK_EQ(row->elements, NONE);
		for (u32 side = 0; side < 2; side++) {
			CHECK_EQ(row->count[side], rows[i].count[side]);
			CHECK_EQ(row->bytes[side], rows[i].bytes[side]);
		}
	}
}
#define WANTS(self, ...)                                                                           \
	wants(self, (const struct wanted[]){__VA_ARGS__},                                          \
	      sizeof((const struct wanted[]){__VA_ARGS__}) / sizeof(struct wanted))

#define A "data of liba.so without a symbol"
#define B "data of libb.so without a symbol"

/* A list at a root, of chunks [first, end), each with a buffer that is the next chunk. */
static void list(struct moment *self, u32 from, u32 first, u32 end)
{
	for (u32 i = first; i < end; i += 2) {
		point(self, from, i, 0);
		point(self, i, i + 1, 8);
		from = i;
	}
}

static void sessions(struct recording *self, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		chunk(self, SESSION, 32);
		chunk(self, BUFFER, 1000);
	}
}

TEST(list_grows, "a list that grows is one row with its owner, not its owner or its parts")
{
	struct moment moments[2] = {{.ticks = 0}, {.ticks = 0}};
	struct comparing found;
	struct recording run;

	record(&run);
	sessions(&run, 40);
	moments[0].ticks = run.feed.ticks;
	moments[1].ticks = run.feed.ticks + 500000;
	list(&moments[0], root(&moments[0], 0, "/lib/liba.so"), 0, 20);
	list(&moments[1], root(&moments[1], 0, "/lib/liba.so"), 0, 80);
	compare_one(&found, &run, moments);
	WANTS(&found, {A, "open_session", {10, 40}, {10320, 41280}});
	/* the newest is an example, and the clock says how fast it is */
	CHECK_EQ(found.graphs[1].chunks[found.growth.rows.data[0].node], 78);
	CHECK(found.growth.span_ns > 0);
	CHECK_EQ((u64)(grown_bytes_per_s(&found.growth, &found.growth.rows.data[0]) *
			       (double)found.growth.span_ns / 1e9 +
		       0.5),
		 30960);
	comparing_release(&found);
	recording_release(&run);
}

/* A table with an array of buckets, which is another chunk later, and chains of nodes that each
 * know the next of all: as std::unordered_map. */
static void map_fill(struct moment *self, u32 buckets, u32 first, u32 end)
{
	u32 table = 0;

	point(self, root(self, 0, "/lib/liba.so"), table, 0);
	point(self, table, buckets, 0);
	point(self, table, first, 16);
	for (u32 i = first; i < end; i++) {
		if (i + 1 < end)
			point(self, i, i + 1, 0);
		point(self, buckets, i, 8 * (i - first));
	}
}

TEST(rehashed, "a hash table that was rehashed is one row with its array")
{
	struct moment moments[2] = {{.ticks = 1}, {.ticks = 2}};
	struct comparing found;
	struct recording run;

	record(&run);
	chunk(&run, TABLE, 56);
	chunk(&run, BUFFER, 80);  /* buckets */
	chunk(&run, BUFFER, 800); /* and those after it was rehashed */
	for (u32 i = 0; i < 60; i++)
		chunk(&run, SESSION, 40);
	map_fill(&moments[0], 1, 3, 13);
	map_fill(&moments[1], 2, 3, 63);
	compare_one(&found, &run, moments);
	WANTS(&found, {"make_table", "open_session", {10, 60}, {400 + 80, 2400 + 800}});
	comparing_release(&found);
	recording_release(&run);
}

TEST(one_of_two, "of two caches of one type the one that grows is told")
{
	struct moment moments[2] = {{.ticks = 1}, {.ticks = 2}};
	struct comparing found;
	struct recording run;

	record(&run);
	sessions(&run, 60);
	for (u32 i = 0; i < 2; i++) {
		list(&moments[i], root(&moments[i], 0, "/lib/liba.so"), 0, 40);
		list(&moments[i], root(&moments[i], 1, "/lib/libb.so"), 40, i ? 120 : 60);
	}
	compare_one(&found, &run, moments);
	WANTS(&found, {B, "open_session", {10, 40}, {10320, 41280}});
	comparing_release(&found);
	recording_release(&run);
}

TEST(shrinks, "what shrinks, and what is replaced, does not hide what grows")
{
	struct moment moments[2] = {{.ticks = 1}, {.ticks = 2}};
	struct comparing found;
	struct recording run;

	record(&run);
	sessions(&run, 80);
	list(&moments[0], root(&moments[0], 0, "/lib/liba.so"), 0, 80);
	list(&moments[1], root(&moments[1], 0, "/lib/liba.so"), 0, 20);
	list(&moments[0], root(&moments[0], 1, "/lib/libb.so"), 80, 82);
	list(&moments[1], root(&moments[1], 1, "/lib/libb.so"), 80, 90);
	/* none of these is the same as before */
	list(&moments[0], root(&moments[0], 2, "/lib/libc.so"), 100, 120);
	list(&moments[1], root(&moments[1], 2, "/lib/libc.so"), 120, 140);
	compare_one(&found, &run, moments);
	CHECK(found.growth.live_bytes[1] < found.growth.live_bytes[0]);
	WANTS(&found, {B, "open_session", {1, 5}, {1032, 5160}});
	comparing_release(&found);
	recording_release(&run);
}

TEST(array, "an array of pointers that moves is told with what it points to")
{
	struct moment moments[2] = {{.ticks = 1}, {.ticks = 2}};
	struct comparing found;
	struct recording run;

	record(&run);
	chunk(&run, TABLE, 80);
	chunk(&run, TABLE, 320);
	sessions(&run, 40);
	for (u32 i = 0; i < 2; i++) {
		point(&moments[i], root(&moments[i], 0, "/lib/liba.so"), i, 0);
		for (u32 k = 0; k < (i ? 40 : 10); k++) {
			point(&moments[i], i, 2 + 2 * k, 8 * k);
			point(&moments[i], 2 + 2 * k, 3 + 2 * k, 0);
		}
	}
	compare_one(&found, &run, moments);
	WANTS(&found, {"make_table", "open_session", {10, 40}, {10320 + 80, 41280 + 320}});
	comparing_release(&found);
	recording_release(&run);
}

TEST(itself, "a block that is larger is told itself")
{
	struct moment moments[2] = {{.ticks = 1}, {.ticks = 2}};
	struct comparing found;
	struct recording run;

	record(&run);
	chunk(&run, TABLE, 64);
	chunk(&run, BUFFER, 1000);
	chunk(&run, BUFFER, 9000);
	for (u32 i = 0; i < 2; i++) {
		point(&moments[i], root(&moments[i], 0, "/lib/liba.so"), 0, 0);
		point(&moments[i], 0, 1 + i, 0);
	}
	compare_one(&found, &run, moments);
	WANTS(&found, {"make_buffer", NULL, {1, 1}, {1000, 9000}});
	comparing_release(&found);
	recording_release(&run);
}

/* Clients (0, 1, and later 2), each with a list of buffers that begins with a chunk of its own. */
TEST(inside, "a list inside one of several owners is told, though there are more of these")
{
	struct moment moments[2] = {{.ticks = 1}, {.ticks = 2}};
	struct comparing found;
	struct recording run;

	record(&run);
	chunk(&run, TABLE, 64);
	for (u32 i = 0; i < 3; i++)
		chunk(&run, CLIENT, 50);
	for (u32 i = 0; i < 90; i++)
		chunk(&run, BUFFER, 100);
	for (u32 i = 0; i < 2; i++) {
		point(&moments[i], root(&moments[i], 0, "/lib/liba.so"), 0, 0);
		for (u32 k = 0; k < 2 + i; k++) {
			point(&moments[i], 0, 1 + k, 8 * k);
			point(&moments[i], 1 + k, 10 + k, 0);
		}
		for (u32 k = 0; k < (i ? 60 : 5); k++)
			point(&moments[i], k ? 19 + k : 11, 20 + k, 0);
	}
	compare_one(&found, &run, moments);
	WANTS(&found, {"open_client", "make_buffer", {7, 63}, {700, 6300}});
	comparing_release(&found);
	recording_release(&run);
}

TEST(new_container, "a container that is new is told by what is in it")
{
	struct moment moments[2] = {{.ticks = 1}, {.ticks = 2}};
	struct comparing found;
	struct recording run;

	record(&run);
	sessions(&run, 20);
	chunk(&run, TABLE, 64);
	list(&moments[0], root(&moments[0], 0, "/lib/liba.so"), 0, 2);
	list(&moments[1], root(&moments[1], 0, "/lib/liba.so"), 0, 2);
	point(&moments[1], root(&moments[1], 1, "/lib/libb.so"), 40, 0);
	list(&moments[1], 40, 2, 40);
	compare_one(&found, &run, moments);
	WANTS(&found, {"make_table", "open_session", {0, 19}, {0, 19 * 1032 + 64}});
	comparing_release(&found);
	recording_release(&run);
}

TEST(others, "what a second root points to for a while stays with its owner")
{
	struct moment moments[2] = {{.ticks = 1}, {.ticks = 2}};
	struct comparing found;
	struct recording run;

	record(&run);
	chunk(&run, TABLE, 64);
	chunk(&run, BUFFER, 10);
	sessions(&run, 40);
	for (u32 i = 0; i < 2; i++) {
		point(&moments[i], root(&moments[i], 0, "/lib/liba.so"), 0, 0);
		list(&moments[i], 0, 2, i ? 82 : 62);
	}
	/* from its tenth session on the list is now reachable through another root, too */
	point(&moments[1], root(&moments[1], 1, "/lib/libb.so"), 1, 0);
	point(&moments[1], 1, 20, 0);
	compare_one(&found, &run, moments);
	WANTS(&found, {"make_table", "open_session", {30, 40}, {30960, 41280}});
	comparing_release(&found);
	recording_release(&run);
}

TEST(stopped, "what does not grow since a scan in the middle has stopped")
{
	struct moment moments[3] = {{.ticks = 1000}, {.ticks = 3000}, {.ticks = 2000}};
	struct owners_query middle;
	struct made_graph graph;
	struct comparing found;
	struct recording run;

	record(&run);
	sessions(&run, 80);
	for (u32 i = 0; i < 3; i++) {
		list(&moments[i], root(&moments[i], 0, "/lib/liba.so"), 0, i ? 80 : 20);
		list(&moments[i], root(&moments[i], 1, "/lib/libb.so"), 80,
		     i == 2 ? 90
		     : i    ? 100
			    : 82);
	}
	compare_one(&found, &run, moments);
	CHECK_EQ(found.growth.rows.count, 2);
	graph = scan(&moments[2]);
	middle = (struct owners_query){&graph.graph, &run.types};
	CHECK_EQ(owner_growth_confirm(&found.growth, &middle, &found.after, &run.feed.err), 0);
	CHECK(found.growth.rows.data[0].stopped);
	CHECK_STR(found.growth.paths.data[found.growth.rows.data[1].owner].label, B);
	CHECK(!found.growth.rows.data[1].stopped);
	graph_release(&graph);
	comparing_release(&found);
	recording_release(&run);
}

/* ---- two runs ---- */

static void runs_make(struct recording runs[2], const u32 counts[2])
{
	for (u32 i = 0; i < 2; i++) {
		record(&runs[i]);
		sessions(&runs[i], counts[i]);
		record_end(&runs[i]);
	}
}

TEST(two_runs, "two runs are compared by names, and have no rate")
{
	struct moment moments[2] = {{.ticks = 1}, {.ticks = 2}};
	struct recording runs[2], *both[2] = {&runs[0], &runs[1]};
	struct comparing found;

	runs_make(runs, (const u32[]){10, 30});
	list(&moments[0], root(&moments[0], 0, "/lib/liba.so"), 0, 20);
	list(&moments[1], root(&moments[1], 0, "/lib/liba.so"), 0, 60);
	compare(&found, both, moments);
	WANTS(&found, {A, "open_session", {10, 30}, {10320, 30960}});
	CHECK_EQ(found.growth.span_ns, 0);
	CHECK(grown_bytes_per_s(&found.growth, &found.growth.rows.data[0]) == 0);
	comparing_release(&found);
	recording_release(&runs[0]);
	recording_release(&runs[1]);
}

TEST(renamed, "an owner with another name is not new if its parts are called alike")
{
	struct moment moments[2] = {{.ticks = 1}, {.ticks = 2}};
	struct recording runs[2], *both[2] = {&runs[0], &runs[1]};
	struct comparing found;

	runs_make(runs, (const u32[]){30, 40});
	list(&moments[0], root(&moments[0], 0, "/lib/liba.so"), 0, 60);
	list(&moments[1], root(&moments[1], 1, "/lib/libb.so"), 0, 60);
	compare(&found, both, moments);
	CHECK_EQ(found.growth.rows.count, 0);
	comparing_release(&found);
	/* and if it grows as well, it grows by the difference */
	list(&moments[1], 58, 60, 80);
	compare(&found, both, moments);
	WANTS(&found, {B, "open_session", {30, 40}, {30960, 41280}});
	CHECK_STR(found.growth.paths
			  .data[found.growth.paths.data[found.growth.rows.data[0].owner].was]
			  .label,
		  A);
	comparing_release(&found);
	recording_release(&runs[0]);
	recording_release(&runs[1]);
}
