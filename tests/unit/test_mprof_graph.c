/* SPDX-License-Identifier: MIT
 * The call graph of mprof: the paper's figures, and random programs against a count that looks
 * at each allocation's stack by itself. */
#include "study/analysis/mprof/edges.h"
#include "study/analysis/mprof/graph.h"
#include "unit/test_mprof.h"

enum {
	AT_ENTRY,
	AT_KIND,
	AT_INDEX,
	AT_TOTAL,
	AT_BYTES,
	AT_SHARE,
	AT_CALLED = 14,
	AT_OTHER,
	AT_NAME
};

static struct result *graph(struct program *program, bool keep)
{
	struct mprof_graph_query query = {.keep_cycles = keep};
	struct result *table = analyse_mprof_graph(&program->calls, &query, &program->feed.err);

	if (!table)
		FAIL("%s", program->feed.err.text);
	return table;
}

static const struct value *cell(const struct result *table, u64 row, u64 column)
{
	return result_cell(table, row, column);
}

/* The row of that kind and name in the entry of a function or cycle; fails if there is none. */
static u64 row_of(const struct result *table, const char *entry, const char *kind, const char *name)
{
	for (u64 i = 0; i < result_rows(table); i++) {
		if (strcmp(cell(table, i, AT_KIND)->text, "entry") ||
		    strcmp(cell(table, i, AT_NAME)->text, entry))
			continue;
		for (u64 k = 0; k < result_rows(table); k++)
			if (cell(table, k, AT_ENTRY)->number == cell(table, i, AT_ENTRY)->number &&
			    !strcmp(cell(table, k, AT_KIND)->text, kind) &&
			    (!name || !strcmp(cell(table, k, AT_NAME)->text, name)))
				return k;
	}
	FAIL("no %s %s in the entry of %s", kind, name ? name : "", entry);
}

static u64 rows_of_kind(const struct result *table, const char *kind)
{
	u64 count = 0;

	for (u64 i = 0; i < result_rows(table); i++)
		count += strcmp(cell(table, i, AT_KIND)->text, kind) == 0;
	return count;
}

TEST(figure_5, "the graph of the paper's example has the paper's numbers, in its order")
{
	/* kind, self + desc in tenths of a percent, bytes, percent, called, total or recur, name */
	static const struct {
		const char *kind;
		u32 tenths;
		u64 bytes, percent, called, other;
		const char *name;
	} rows[] = {
		{"entry", 1000, 0, 0, 0, 0, "main"},
		{"descendant", 0, 1023876, 50, 5019, 5019, "make_red_widget"},
		{"descendant", 0, 1016124, 49, 4981, 4981, "make_blue_widget"},
		{"all_descendants", 0, 2040000, 0, 0, 0, NULL},
		{"all_ancestors", 0, 2040000, 0, 0, 0, NULL},
		{"ancestor", 0, 1023876, 50, 5019, 5019, "make_red_widget"},
		{"ancestor", 0, 1016124, 49, 4981, 4981, "make_blue_widget"},
		{"entry", 1000, 2040000, 100, 10000, 0, "make_widget"},
		{"ancestor", 0, 1023876, 100, 5019, 10000, "main"},
		{"entry", 501, 0, 0, 5019, 0, "make_red_widget"},
		{"descendant", 0, 1023876, 100, 5019, 10000, "make_widget"},
		{"ancestor", 0, 1016124, 100, 4981, 10000, "main"},
		{"entry", 498, 0, 0, 4981, 0, "make_blue_widget"},
		{"descendant", 0, 1016124, 100, 4981, 10000, "make_widget"},
	};
	struct program *program = program_new();
	struct result *table;

	for (u32 i = 0; i < 10000; i++)
		allocate(program,
			 i < 5019 ? "main>make_red_widget>make_widget"
				  : "main>make_blue_widget>make_widget",
			 204);
	program_end(program);
	table = graph(program, false);
	CHECK_EQ(result_rows(table), sizeof rows / sizeof *rows);
	for (u64 i = 0; i < sizeof rows / sizeof *rows; i++) {
		CHECK_STR(cell(table, i, AT_KIND)->text, rows[i].kind);
		CHECK_EQ(cell(table, i, AT_BYTES)->number, rows[i].bytes);
		if (cell(table, i, AT_TOTAL)->known)
			CHECK_EQ(cell(table, i, AT_TOTAL)->real * 1000, rows[i].tenths);
		if (!rows[i].name)
			continue;
		CHECK_STR(cell(table, i, AT_NAME)->text, rows[i].name);
		CHECK_EQ(cell(table, i, AT_SHARE)->real * 100, rows[i].percent);
		CHECK_EQ(cell(table, i, AT_CALLED)->number, rows[i].called);
		CHECK_EQ(cell(table, i, AT_OTHER)->number, rows[i].other);
	}
	result_free(table);
	program_free(program);
}

TEST(figure_6, "a stack that has a function twice credits it with its bytes once")
{
	struct program *program = program_new();
	struct result *table;
	u64 row;

	allocate(program, "main>F>G>F>G", 10);
	program_end(program);
	table = graph(program, true);
	row = row_of(table, "F", "descendant", "G");
	CHECK_EQ(cell(table, row, AT_BYTES)->number, 10);
	CHECK_EQ(cell(table, row, AT_CALLED)->number, 2);
	CHECK_EQ(cell(table, row_of(table, "main", "descendant", "F"), AT_BYTES)->number, 10);
	CHECK_EQ(cell(table, row_of(table, "G", "descendant", "F"), AT_BYTES)->number, 10);
	CHECK_EQ(cell(table, row_of(table, "G", "entry", NULL), AT_BYTES)->number, 10);
	CHECK_EQ(rows_of_kind(table, "cycle"), 0);
	result_free(table);

	table = graph(program, false);
	CHECK_EQ(rows_of_kind(table, "cycle"), 1);
	CHECK_EQ(rows_of_kind(table, "member"), 2);
	row = row_of(table, "<cycle 1>", "ancestor", "main");
	CHECK_EQ(cell(table, row, AT_BYTES)->number, 10);
	CHECK_EQ(cell(table, row, AT_CALLED)->number, 1);
	row = row_of(table, "<cycle 1>", "entry", NULL);
	CHECK_EQ(cell(table, row, AT_BYTES)->number, 10);
	CHECK_EQ(cell(table, row, AT_OTHER)->number, 3);
	/* starred fields are blank between members, the number of calls is not */
	row = row_of(table, "F", "descendant", "G");
	CHECK(!cell(table, row, AT_BYTES)->known && !cell(table, row, AT_SHARE)->known &&
	      !cell(table, row, AT_OTHER)->known);
	for (u64 i = AT_SHARE + 1; i < AT_CALLED; i++)
		CHECK(!cell(table, row, i)->known);
	CHECK_EQ(cell(table, row, AT_CALLED)->number, 2);
	result_free(table);
	program_free(program);
}

TEST(self_recursion, "a function that only calls itself is no cycle")
{
	struct program *program = program_new();
	struct result *table;
	u64 row;

	allocate(program, "main>f>f>f", 7);
	program_end(program);
	table = graph(program, false);
	row = row_of(table, "f", "entry", NULL);
	CHECK_EQ(rows_of_kind(table, "cycle"), 0);
	CHECK_EQ(rows_of_kind(table, "descendant"), 1);
	CHECK_EQ(cell(table, row, AT_CALLED)->number, 1);
	CHECK_EQ(cell(table, row, AT_OTHER)->number, 2);
	CHECK(cell(table, row, AT_TOTAL)->real == 1);
	result_free(table);
	program_free(program);
}

/* ---- random programs ---- */

enum { FUNCTIONS = 9, STACKS = 40, DEPTH = 12 };

struct naive { /* by function */
	u64 total[FUNCTIONS], above[FUNCTIONS], below[FUNCTIONS], self[FUNCTIONS];
	u64 recur[FUNCTIONS], called[FUNCTIONS];
	u64 edge[FUNCTIONS][FUNCTIONS], calls[FUNCTIONS][FUNCTIONS];
	bool reach[FUNCTIONS][FUNCTIONS];
};

static void count_stack(struct naive *naive, const u32 *stack, u32 depth, u64 size)
{
	bool seen[FUNCTIONS] = {false}, above[FUNCTIONS] = {false}, below[FUNCTIONS] = {false};
	bool edge[FUNCTIONS][FUNCTIONS] = {{false}};

	for (u32 i = 0; i < depth; i++) {
		seen[stack[i]] = true;
		if (i == 0)
			continue;
		if (stack[i] == stack[i - 1]) {
			naive->recur[stack[i]]++;
			continue;
		}
		above[stack[i]] = below[stack[i - 1]] = edge[stack[i - 1]][stack[i]] = true;
		naive->calls[stack[i - 1]][stack[i]]++;
		naive->called[stack[i]]++;
		naive->reach[stack[i - 1]][stack[i]] = true;
	}
	naive->self[stack[depth - 1]] += size;
	for (u32 i = 0; i < FUNCTIONS; i++) {
		naive->total[i] += seen[i] * size;
		naive->above[i] += above[i] * size;
		naive->below[i] += below[i] * size;
		for (u32 k = 0; k < FUNCTIONS; k++)
			naive->edge[i][k] += edge[i][k] * size;
	}
}

static void close_reach(struct naive *naive)
{
	for (u32 k = 0; k < FUNCTIONS; k++)
		for (u32 i = 0; i < FUNCTIONS; i++)
			for (u32 j = 0; j < FUNCTIONS; j++)
				naive->reach[i][j] |= naive->reach[i][k] && naive->reach[k][j];
}

static u32 make_stack(u32 *stack, char *text)
{
	u32 depth = 1 + (u32)rand() % DEPTH;

	for (u32 i = 0; i < depth; i++) {
		stack[i] = (u32)rand() % (rand() % 3 ? 3 : FUNCTIONS);
		text += sprintf(text, "%sf%u", i ? ">" : "", stack[i]);
	}
	return depth;
}

static u32 number_of(const struct program *program, u32 function)
{
	char name[8];

	snprintf(name, sizeof name, "f%u", function);
	for (u32 i = 0; i < program->calls.functions.count; i++)
		if (!strcmp(program->calls.functions.data[i].name, name))
			return i;
	return UINT32_MAX;
}

static void compare_edge(const struct mprof_edges *edges, u32 from, u32 to, u64 bytes, u64 calls)
{
	const u64 *index = map_find(&edges->by_ends, (u64)from << 32 | to);

	if (from == to || (!index && !calls))
		return;
	if (!index)
		FAIL("an edge is missing");
	CHECK_EQ(edges->edges.data[*index - 1].sum.bytes, bytes);
	CHECK_EQ(edges->edges.data[*index - 1].calls, calls);
}

static void compare(const struct program *program, const struct naive *naive)
{
	struct mprof_edges edges = {0};

	if (mprof_edges_read(&edges, &program->calls, true) < 0)
		FAIL("out of memory");
	for (u32 i = 0; i < FUNCTIONS; i++) {
		u32 x = number_of(program, i);
		const struct mprof_node *node = x == UINT32_MAX ? NULL : &edges.nodes.data[x];

		if (!node)
			continue;
		CHECK_EQ(node->total.bytes, naive->total[i]);
		CHECK_EQ(node->self.bytes, naive->self[i]);
		CHECK_EQ(node->above.bytes, naive->above[i]);
		CHECK_EQ(node->below.bytes, naive->below[i]);
		CHECK_EQ(node->called, naive->called[i]);
		CHECK_EQ(node->recur, naive->recur[i]);
		for (u32 k = 0; k < FUNCTIONS; k++) {
			u32 y = number_of(program, k);
			bool together = naive->reach[i][k] && naive->reach[k][i] && i != k;

			if (y == UINT32_MAX)
				continue;
			compare_edge(&edges, x, y, naive->edge[i][k], naive->calls[i][k]);
			CHECK_EQ(node->cycle != NO_CYCLE && i != k &&
					 node->cycle == edges.nodes.data[y].cycle,
				 together);
		}
	}
	mprof_edges_release(&edges);
}

TEST(random_graphs, "sums and cycles are those of a count over single stacks")
{
	for (u32 seed = 0; seed < 200; seed++) {
		struct program *program = program_new();
		struct naive naive = {0};

		srand(seed);
		for (u32 i = 0; i < STACKS; i++) {
			u32 stack[DEPTH], depth;
			char text[96];
			u64 size = (u64)rand() % 3000;

			depth = make_stack(stack, text);
			allocate(program, text, size);
			count_stack(&naive, stack, depth, size);
		}
		close_reach(&naive);
		program_end(program);
		compare(program, &naive);
		program_free(program);
	}
}

TEST(cycle_borders, "a cycle's total and what it asks of others are added once per stack")
{
	struct program *program = program_new();
	struct result *table;
	u64 row;

	allocate(program, "main>a>b>a>b>out", 100);
	allocate(program, "main>b>a>out", 20);
	allocate(program, "main>other>b>a>b", 3);
	allocate(program, "a>b", 1000);
	program_end(program);
	table = graph(program, false);
	row = row_of(table, "<cycle 1>", "entry", NULL);
	CHECK(cell(table, row, AT_TOTAL)->real == 1);
	CHECK_EQ(cell(table, row, AT_BYTES)->number, 1003);
	CHECK_EQ(cell(table, row, AT_CALLED)->number, 3);
	CHECK_EQ(cell(table, row, AT_OTHER)->number, 7);
	CHECK_EQ(cell(table, row_of(table, "<cycle 1>", "ancestor", "main"), AT_BYTES)->number,
		 120);
	CHECK_EQ(cell(table, row_of(table, "<cycle 1>", "ancestor", "other"), AT_BYTES)->number, 3);
	CHECK_EQ(cell(table, row_of(table, "<cycle 1>", "descendant", "out"), AT_BYTES)->number,
		 120);
	CHECK_EQ(cell(table, row_of(table, "<cycle 1>", "all_ancestors", NULL), AT_BYTES)->number,
		 123);
	result_free(table);
	program_free(program);
}

TEST(very_deep, "a chain of 200000 calls needs no deep recursion of ours")
{
	enum { CALLS = 200000 };
	struct program *program = program_new();
	struct result *table;

	name_number(program, "even", 4);
	name_number(program, "odd", 3);
	for (u32 i = 1; i <= CALLS; i++)
		tell_context(&program->feed, i, i - 1, PROGRAM_BASE + (i & 1) * FUNCTION_BYTES + 1);
	tell_alloc(&program->feed, HW_MALLOC, CALLS, 10);
	program_end(program);
	table = graph(program, false);
	CHECK_EQ(rows_of_kind(table, "cycle"), 1);
	CHECK_EQ(cell(table, row_of(table, "odd", "entry", NULL), AT_TOTAL)->real * 10, 10);
	result_free(table);
	program_free(program);
}
