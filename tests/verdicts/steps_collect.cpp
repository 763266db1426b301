// SPDX-License-Identifier: MIT
// verdict: kind=steps function=collect calls=351000
// Searches in an index: the hits of each search, a thousand or so, are collected in a vector that begins with nothing.
#include "noise.h"
#include <vector>

namespace {

struct Hit {
	unsigned document, position;
	double weight;
};

struct Index {
	std::vector<unsigned> postings;
};

Index make_index()
{
	Index index;

	index.postings.reserve(40000);
	for (unsigned i = 0; i < 40000; i++)
		index.postings.push_back(noise_random());
	return index;
}

APART std::vector<Hit> collect(const Index &index, unsigned from, unsigned count)
{
	std::vector<Hit> hits; // the flaw: reserve(count)

	for (unsigned i = 0; i < count; i++) {
		unsigned posting = index.postings[(from + i) % index.postings.size()];

		hits.push_back({posting % 1000, posting / 1000, i * 0.5});
	}
	return hits;
}

double best(const std::vector<Hit> &hits)
{
	double weight = 0;

	for (const Hit &hit : hits)
		if (hit.weight > weight)
			weight = hit.weight;
	return weight;
}

} // namespace

int main()
{
	Index index;
	double total = 0;

	noise_start();
	index = make_index();
	for (unsigned i = 0; i < 39000; i++) {
		total += best(collect(index, i * 7, 300 + i % 200)); // 10 allocations each, 9 too many
		if (i % 20 == 0)
			noise_turn(i);
	}
	printf("%.0f\n", total);
	noise_end();
}
