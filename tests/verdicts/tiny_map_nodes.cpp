// SPDX-License-Identifier: MIT
// verdict: kind=tiny function=add_edge bytes=19200000 chunks=400000
// A graph whose edges are a std::map of numbers: nodes of 48 bytes for 8 bytes of data each, and a header for every one.
#include "noise.h"
#include <map>

namespace {

constexpr unsigned edges = 400000;

class Graph
{
public:
	APART void add_edge(unsigned from, unsigned to) { to_[from] = to; } // the flaw: a sorted vector of pairs
	unsigned follow(unsigned from) const
	{
		auto found = to_.find(from);

		return found == to_.end() ? 0 : found->second;
	}

private:
	std::map<unsigned long, unsigned> to_;
};

unsigned walk(const Graph &graph, unsigned from, unsigned steps)
{
	for (unsigned i = 0; i < steps; i++)
		from = graph.follow(from % edges);
	return from;
}

} // namespace

int main()
{
	Graph graph;
	unsigned sum = 0;

	noise_start();
	for (unsigned i = 0; i < edges; i++)
		graph.add_edge(i, i * 2654435761u);
	for (unsigned i = 0; i < 6000; i++) {
		sum += walk(graph, i, 10);
		noise_turn(i);
	}
	printf("%u\n", sum);
	noise_end();
}
