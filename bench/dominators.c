/* SPDX-License-Identifier: MIT
 * How long owners take: makes a graph of pointers up, finds who holds what, and says as JSON how long that took and how much
 * memory it needed besides the graph.
 *
 *	dominators [CHUNKS]
 *
 * Most chunks are held by one that is a little older, as in lists and trees; some by any, as in tables; two in five have a
 * pointer back or across, and one in a thousand is held by a root, or seldom by nobody. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "study/analysis/emad/statistics.h"
#include "study/analysis/owners/dominators.h"

enum { ROOTS = 100 };

struct making {
	u64 *starts;
	struct stream_edge *edges; /* NULL = edges are counted */
};

/* Of the processor: others use it as well. */
static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static u64 most_resident_bytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (u64)usage.ru_maxrss << 10;
}

static void edge(struct making *self, u64 from, u64 to)
{
	if (self->edges)
		self->edges[--self->starts[from]] = (struct stream_edge){.target = (u32)to};
	else
		self->starts[from]++;
}

static void tell_edges(struct making *self, u64 chunks)
{
	struct random_source random = {1};

	edge(self, chunks, 0);
	for (u64 i = 1; i < chunks; i++) {
		u64 pick = random_next(&random), far = random_next(&random) % i;
		u64 near = i - 1 - (pick >> 32) % (i < 64 ? i : 64);
		u64 from = pick % 10 < 7 ? near : far;

		if (pick % 1000 == 0)
			from = chunks + far % (ROOTS + ROOTS / 20);
		if (from < chunks + ROOTS)
			edge(self, from, i);
		if (pick % 5 == 0 && from < chunks)
			edge(self, i, from);
		if (pick % 5 == 1)
			edge(self, far, i);
	}
}

static u64 make(struct stream_graph *graph, struct making *making)
{
	u64 nodes = graph->chunk_count + graph->root_count, count = 0;

	making->starts = calloc(nodes + 1, sizeof *making->starts);
	if (!making->starts)
		return 0;
	tell_edges(making, graph->chunk_count);
	for (u64 i = 0; i <= nodes; i++)
		making->starts[i] = count += making->starts[i];
	making->edges = malloc((count + 1) * sizeof *making->edges);
	if (making->edges)
		tell_edges(making, graph->chunk_count);
	graph->starts = making->starts;
	graph->edges = making->edges;
	return making->edges ? count : 0;
}

static u64 bytes_of(const void *self, u32 chunk)
{
	(void)self;
	return 16 + chunk % 128;
}

int main(int argc, char **argv)
{
	u64 chunks = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	struct stream_graph graph = {.chunk_count = chunks, .root_count = ROOTS};
	struct making making = {0};
	u64 edges = make(&graph, &making), before;
	struct dominators tree;
	struct err err = {0};
	double start;

	if (!edges)
		return 1;
	before = most_resident_bytes();
	start = now();
	if (dominators_find(&tree, &(struct dominators_query){.graph = &graph, .bytes = bytes_of}, &err) < 0) {
		fprintf(stderr, "dominators: %s\n", err.text);
		return 1;
	}
	printf("{\"chunks\": %" PRIu64 ", \"edges\": %" PRIu64 ", \"leaders\": %" PRIu64
	       ", \"seconds\": %.2f, \"bytes_per_chunk\": %.1f}\n",
	       chunks, edges, tree.leader_count, now() - start,
	       (double)(most_resident_bytes() - before) / (double)chunks);
	dominators_release(&tree);
	free(making.starts);
	free(making.edges);
	return 0;
}
