/* SPDX-License-Identifier: MIT
 * Dominators and retained bytes: small graphs by hand, random ones against what removing a node
 * frees, against a slow implementation, and against networkx. */
#include <stdio.h>

#include "study/analysis/emad/statistics.h"
#include "study/analysis/owners/dominators.h"
#include "unit/test_graph.h"

static struct dominators dominators_of(const struct made_graph *made)
{
	struct dominators_query query = {.graph = &made->graph, .bytes = graph_bytes, .self = made};
	struct dominators tree;
	struct err err = {0};

	if (dominators_find(&tree, &query, &err) < 0)
		FAIL("%s", err.text);
	return tree;
}

/* ---- by hand ---- */

enum { A, B, C, D, E, ROOT };

static void edges(struct made_graph *self, const u32 (*pairs)[2], u64 count)
{
	for (u64 i = 0; i < self->graph.chunk_count; i++)
		self->bytes[i] = 1ull << i;
	for (u64 i = 0; i < count; i++)
		graph_edge(self, pairs[i][0], pairs[i][1], 0);
	graph_make(self);
}

#define EDGES(self, ...)                                                                           \
	edges(self, (const u32[][2]){__VA_ARGS__},                                                 \
	      sizeof((const u32[][2]){__VA_ARGS__}) / sizeof(u32[2]))

TEST(diamond, "what two chunks share belongs to the one that holds both")
{
	struct made_graph made = graph_new(5, 1);
	struct dominators tree;

	EDGES(&made, {ROOT, A}, {A, B}, {A, C}, {B, D}, {C, D}, {D, E});
	tree = dominators_of(&made);
	CHECK_EQ(tree.holder[D], A);
	CHECK_EQ(tree.holder[E], D);
	CHECK_EQ(tree.holder[A], ROOT);
	CHECK_EQ(tree.holder[ROOT], tree.program);
	CHECK_EQ(tree.retained[A], 31);
	CHECK_EQ(tree.retained[B], 2);
	CHECK_EQ(tree.retained[D], 8 + 16);
	CHECK_EQ(tree.retained[tree.program], 31);
	CHECK_EQ(tree.retained[tree.lost], 0);
	dominators_release(&tree);
	graph_release(&made);
}

TEST(lost, "what no root leads to is held by its leaders, of a ring the oldest chunk")
{
	struct made_graph made = graph_new(5, 1);
	struct dominators tree;

	/* a ring of B, C and D, to which nothing leads, and which leads to E; A is alone */
	EDGES(&made, {C, D}, {D, B}, {B, C}, {C, E});
	tree = dominators_of(&made);
	CHECK_EQ(tree.leader_count, 2);
	CHECK_EQ(tree.holder[A], tree.lost);
	CHECK_EQ(tree.holder[B], tree.lost);
	CHECK_EQ(tree.holder[C], B);
	CHECK_EQ(tree.holder[E], C);
	CHECK_EQ(tree.retained[B], 30);
	CHECK_EQ(tree.retained[tree.lost], 31);
	CHECK_EQ(tree.holder[tree.lost], tree.program);
	dominators_release(&tree);
	graph_release(&made);
}

TEST(lost_tree, "a later chunk that leads to an earlier one is its leader")
{
	struct made_graph made = graph_new(5, 1);
	struct dominators tree;

	EDGES(&made, {ROOT, E}, {C, A}, {C, B}, {D, B}, {A, E});
	tree = dominators_of(&made);
	CHECK_EQ(tree.leader_count, 2);
	CHECK_EQ(tree.holder[A], C);
	CHECK_EQ(tree.holder[B], tree.lost);
	CHECK_EQ(tree.retained[C], 4 + 1);
	CHECK_EQ(tree.holder[E], ROOT); /* what is lost does not share it */
	dominators_release(&tree);
	graph_release(&made);
}

TEST(ignored, "an edge that does not count holds nothing")
{
	struct made_graph made = graph_new(5, 1);
	const u64 ignored = 1 << 1; /* B → C */
	struct dominators_query query = {.graph = &made.graph,
					 .bytes = graph_bytes,
					 .self = &made,
					 .ignored = &ignored};
	struct dominators tree;

	EDGES(&made, {ROOT, A}, {A, B}, {B, C}, {ROOT, D});
	CHECK_EQ(dominators_find(&tree, &query, NULL), 0);
	CHECK_EQ(tree.holder[B], A);
	CHECK_EQ(tree.holder[C], tree.lost);
	dominators_release(&tree);
	graph_release(&made);
}

TEST(empty, "a graph without nodes has no owners")
{
	struct made_graph made = graph_new(0, 0);
	struct dominators tree;

	graph_make(&made);
	tree = dominators_of(&made);
	CHECK_EQ(tree.node_count, 2);
	CHECK_EQ(tree.retained[tree.program], 0);
	dominators_release(&tree);
	graph_release(&made);
}

TEST(damaged, "a graph whose edges lead nowhere is not sound")
{
	struct made_graph made = graph_new(2, 1);

	EDGES(&made, {2, 0}, {0, 1});
	CHECK(graph_is_sound(&made.graph));
	made.edges[0].target = 7;
	CHECK(!graph_is_sound(&made.graph));
	made.edges[0].target = 1;
	made.starts[1] = 2;
	made.starts[2] = 1;
	CHECK(!graph_is_sound(&made.graph));
	graph_release(&made);
}

TEST(deep, "a list of a million chunks is held from end to end")
{
	enum { LENGTH = 1000000 };
	struct made_graph made = graph_new(LENGTH, 1);
	struct dominators tree;

	graph_edge(&made, LENGTH, 0, 0);
	for (u32 i = 0; i < LENGTH; i++) {
		made.bytes[i] = 1;
		if (i + 1 < LENGTH)
			graph_edge(&made, i, i + 1, 0);
		if (i) /* and back */
			graph_edge(&made, i, i - 1, 8);
	}
	graph_make(&made);
	tree = dominators_of(&made);
	CHECK_EQ(tree.retained[0], LENGTH);
	CHECK_EQ(tree.retained[LENGTH - 1], 1);
	CHECK_EQ(tree.holder[LENGTH - 1], LENGTH - 2);
	dominators_release(&tree);
	graph_release(&made);
}

/* ---- random ---- */

enum { GRAPHS = 300 };

static u32 below(struct random_source *random, u64 count)
{
	return (u32)(random_share(random) * (double)count);
}

/* Few or many edges, near or far, lists, rings and what nothing leads to. */
static struct made_graph random_graph(struct random_source *random, u64 most)
{
	u64 chunks = 1 + below(random, most), roots = below(random, 6);
	struct made_graph made = graph_new(chunks, roots);
	u64 count = (u64)((double)chunks * 3 * random_share(random));
	bool near = below(random, 2);

	for (u64 i = 0; i < chunks; i++)
		made.bytes[i] = 1 + below(random, 1000);
	for (u64 i = 0; i < count; i++) {
		u32 from = below(random, chunks);
		u32 to = near ? (from + below(random, 4)) % (u32)chunks : below(random, chunks);

		graph_edge(&made, from, to, below(random, 64) * 8);
	}
	for (u64 i = 0; i < roots; i++)
		for (u32 n = 1 + below(random, 3); n--;)
			graph_edge(&made, (u32)(chunks + i), below(random, chunks), n * 8);
	graph_make(&made);
	return made;
}

/* Marks what the node leads to, without going through `without`. */
static void reach(const struct made_graph *made, u8 *seen, u32 node, u32 without)
{
	VEC(u32) stack = {0};

	if (node == without || seen[node])
		return;
	seen[node] = 1;
	for (;;) {
		for (u64 i = made->starts[node]; i < made->starts[node + 1]; i++) {
			u32 target = made->edges[i].target;

			if (target == without || seen[target])
				continue;
			seen[target] = 1;
			vec_push(&stack, target);
		}
		if (!stack.count)
			break;
		node = stack.data[--stack.count];
	}
	vec_release(&stack);
}

/* The same graph as reachability sees it: without edges from what is lost to what is not. */
static struct made_graph only_ways(const struct made_graph *made)
{
	u64 chunks = made->graph.chunk_count, nodes = chunks + made->graph.root_count;
	struct made_graph ways = graph_new(chunks, made->graph.root_count);
	u8 *held = calloc(nodes, 1);

	memcpy(ways.bytes, made->bytes, chunks * sizeof *ways.bytes);
	for (u64 i = chunks; i < nodes; i++)
		reach(made, held, (u32)i, UINT32_MAX);
	for (u64 i = 0; i < made->told.count; i++) {
		const struct made_edge *told = &made->told.data[i];

		if (held[told->source] || !held[told->edge.target])
			graph_edge(&ways, told->source, told->edge.target, told->edge.from);
	}
	graph_make(&ways);
	free(held);
	return ways;
}

static u64 chunks_bytes(const struct made_graph *made, const u8 *seen)
{
	u64 sum = 0;

	for (u64 i = 0; i < made->graph.chunk_count; i++)
		sum += seen[i] ? made->bytes[i] : 0;
	return sum;
}

/* Leaders by definition: no chunk leads to it that it does not lead to, and of those that lead to
 * each other it is the first. */
static void find_leaders(const struct made_graph *made, u8 *leader)
{
	u64 chunks = made->graph.chunk_count, nodes = chunks + made->graph.root_count;
	u8 *held = calloc(nodes, 1), **from = calloc(chunks, sizeof *from);

	for (u64 i = chunks; i < nodes; i++)
		reach(made, held, (u32)i, UINT32_MAX);
	for (u32 i = 0; i < chunks; i++) {
		from[i] = calloc(nodes, 1);
		reach(made, from[i], i, UINT32_MAX);
	}
	for (u32 i = 0; i < chunks; i++) {
		leader[i] = !held[i];
		for (u32 k = 0; k < chunks && leader[i]; k++)
			leader[i] = !from[k][i] || (from[i][k] && i <= k);
	}
	for (u32 i = 0; i < chunks; i++)
		free(from[i]);
	free(from);
	free(held);
}

static void reach_all(const struct made_graph *made, const u8 *leader, u8 *seen, u32 without)
{
	u64 chunks = made->graph.chunk_count, nodes = chunks + made->graph.root_count;

	memset(seen, 0, nodes);
	for (u32 i = 0; i < nodes; i++)
		if (i >= chunks || leader[i])
			reach(made, seen, i, without);
}

static void check_removed(const struct made_graph *made, const struct dominators *tree,
			  struct random_source *random)
{
	u64 chunks = made->graph.chunk_count, nodes = chunks + made->graph.root_count;
	u8 *leader = calloc(nodes, 1), *seen = calloc(nodes, 1);
	u64 all;

	find_leaders(made, leader);
	reach_all(made, leader, seen, UINT32_MAX);
	all = chunks_bytes(made, seen);
	CHECK_EQ(tree->retained[tree->program], all);
	for (u32 i = 0; i < 20; i++) {
		u32 node = below(random, nodes);

		reach_all(made, leader, seen, node);
		CHECK_EQ(tree->retained[node], all - chunks_bytes(made, seen));
	}
	for (u64 i = 0; i < chunks; i++)
		if (leader[i])
			CHECK_EQ(tree->holder[i], tree->lost);
	free(leader);
	free(seen);
}

TEST(removed, "removing a node frees what it retains, in 300 random graphs")
{
	struct random_source random = {11};

	for (u32 i = 0; i < GRAPHS; i++) {
		struct made_graph made = random_graph(&random, i % 3 ? 60 : 250);
		struct made_graph ways = only_ways(&made);
		struct dominators tree = dominators_of(&made);

		check_removed(&ways, &tree, &random);
		dominators_release(&tree);
		graph_release(&ways);
		graph_release(&made);
	}
}

/* ---- a slow implementation ---- */

enum { SMALL = 52 };

struct slow {
	u64 preds[64], dominators[64]; /* sets of nodes */
	u32 nodes;
};

static void slow_preds(struct slow *self, const struct made_graph *made,
		       const struct dominators *tree)
{
	u64 chunks = made->graph.chunk_count;
	u8 leader[64] = {0};

	find_leaders(made, leader);
	self->nodes = (u32)tree->node_count;
	for (u32 i = 0; i < tree->lost; i++) {
		if (i >= chunks)
			self->preds[i] |= 1ull << tree->program;
		else if (leader[i])
			self->preds[i] |= 1ull << tree->lost;
		for (u64 k = made->starts[i]; k < made->starts[i + 1]; k++)
			self->preds[made->edges[k].target] |= 1ull << i;
	}
	self->preds[tree->lost] = 1ull << tree->program;
}

/* The sets shrink until nothing changes. */
static void slow_find(struct slow *self, u32 program)
{
	bool changed = true;

	memset(self->dominators, 0xff, sizeof self->dominators);
	self->dominators[program] = 1ull << program;
	while (changed) {
		changed = false;
		for (u32 i = 0; i < self->nodes; i++) {
			u64 set = ~0ull;

			for (u64 rest = self->preds[i]; rest; rest &= rest - 1)
				set &= self->dominators[__builtin_ctzll(rest)];
			set |= 1ull << i;
			if (i == program || set == self->dominators[i])
				continue;
			self->dominators[i] = set;
			changed = true;
		}
	}
}

/* Of those that dominate the node the one that all others dominate. */
static u32 slow_holder(const struct slow *self, u32 node)
{
	u64 rest = self->dominators[node] & ~(1ull << node);

	for (u64 left = rest; left; left &= left - 1) {
		u32 one = (u32)__builtin_ctzll(left);

		if (self->dominators[one] == rest)
			return one;
	}
	return UINT32_MAX;
}

TEST(slow, "holders are those of a slow implementation, in 300 random graphs")
{
	struct random_source random = {5};

	for (u32 i = 0; i < GRAPHS; i++) {
		struct made_graph made = random_graph(&random, SMALL);
		struct made_graph ways = only_ways(&made);
		struct dominators tree = dominators_of(&made);
		struct slow slow = {0};

		slow_preds(&slow, &ways, &tree);
		slow_find(&slow, tree.program);
		for (u32 node = 0; node < tree.program; node++)
			CHECK_EQ(tree.holder[node], slow_holder(&slow, node));
		dominators_release(&tree);
		graph_release(&ways);
		graph_release(&made);
	}
}

/* ---- networkx ---- */

static void write_graph(FILE *out, const struct made_graph *made, const struct dominators *tree)
{
	u64 chunks = made->graph.chunk_count;
	u8 *leader = calloc(tree->node_count, 1);

	find_leaders(made, leader);
	fprintf(out, "graph %u\nedge %u %u\n", tree->program, tree->program, tree->lost);
	for (u32 i = 0; i < tree->lost; i++) {
		if (i >= chunks || leader[i])
			fprintf(out, "edge %u %u\n", leader[i] ? tree->lost : tree->program, i);
		for (u64 k = made->starts[i]; k < made->starts[i + 1]; k++)
			fprintf(out, "edge %u %u\n", i, made->edges[k].target);
	}
	for (u32 i = 0; i < tree->node_count; i++)
		fprintf(out, "holder %u %u\n", i, tree->holder[i]);
	free(leader);
}

TEST(networkx, "holders are the immediate dominators of networkx")
{
	struct random_source random = {3};
	char path[4096], line[8192];
	FILE *out;

	if (system("python3 -c 'import networkx' 2>/dev/null") != 0)
		test_skip("needs package python3-networkx");
	snprintf(path, sizeof path, "%s/graphs", test_folder());
	out = fopen(path, "w");
	if (!out)
		FAIL("cannot write %s", path);
	for (u32 i = 0; i < GRAPHS; i++) {
		struct made_graph made = random_graph(&random, i % 3 ? 60 : 250);
		struct made_graph ways = only_ways(&made);
		struct dominators tree = dominators_of(&made);

		write_graph(out, &ways, &tree);
		dominators_release(&tree);
		graph_release(&ways);
		graph_release(&made);
	}
	fclose(out);
	snprintf(line, sizeof line, "python3 '%s/tests/unit/dominators.py' '%s' >/dev/null",
		 HEAPWISE_SOURCE_DIR, path);
	CHECK_EQ(system(line), 0);
}
