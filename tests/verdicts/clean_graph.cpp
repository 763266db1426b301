// SPDX-License-Identifier: MIT
// verdict: kind=none
// A graph with edges in vectors, changed at random places, and a search with queue and marks made once.
#include "noise.h"
#include <vector>

namespace {

constexpr unsigned nodes = 3000;

struct Graph {
	std::vector<std::vector<unsigned>> edges;
	std::vector<unsigned> colour, queue;
};

APART std::vector<unsigned> edges_of(unsigned node)
{
	std::vector<unsigned> edges(8 + node % 8);

	for (auto &edge : edges)
		edge = noise_random() % nodes;
	return edges;
}

APART Graph make_graph()
{
	Graph graph;

	graph.edges.reserve(nodes);
	for (unsigned i = 0; i < nodes; i++)
		graph.edges.push_back(edges_of(i));
	graph.colour.resize(nodes);
	graph.queue.reserve(nodes);
	return graph;
}

size_t reach(Graph &graph, unsigned from, unsigned colour, size_t limit)
{
	graph.queue.clear();
	graph.queue.push_back(from);
	graph.colour[from] = colour;
	for (size_t i = 0; i < graph.queue.size() && graph.queue.size() < limit; i++)
		for (unsigned next : graph.edges[graph.queue[i]])
			if (graph.colour[next] != colour && graph.queue.size() < nodes) {
				graph.colour[next] = colour;
				graph.queue.push_back(next);
			}
	return graph.queue.size();
}

} // namespace

int main()
{
	size_t sum = 0;

	noise_start();
	Graph graph = make_graph();
	for (unsigned i = 0; i < 16000; i++) {
		unsigned changed = noise_random() % nodes;

		if (i % 16 == 0)
			graph.edges[changed] = edges_of(changed);
		sum += reach(graph, changed, i + 1, 400);
		noise_turn(i);
	}
	printf("%zu\n", sum);
	noise_end();
}
