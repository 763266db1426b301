// SPDX-License-Identifier: MIT
// verdict: kind=none
// A text index: built once with reserved vectors, asked many times, with results in a buffer that is used again.
#include "noise.h"
#include <string>
#include <vector>

namespace {

constexpr unsigned terms = 1200;

struct Posting {
	std::string term;
	std::vector<unsigned> documents;
	std::vector<float> weights;
};

APART std::string make_term(unsigned number) { return "a term of the index, number " + std::to_string(number); }

APART std::vector<unsigned> make_documents(unsigned number)
{
	std::vector<unsigned> documents(40 + number % 60);

	for (auto &document : documents)
		document = noise_random() % 10000;
	return documents;
}

APART std::vector<float> make_weights(size_t count) { return std::vector<float>(count, 0.5f); }

std::vector<Posting> build()
{
	std::vector<Posting> index;

	index.reserve(terms);
	for (unsigned i = 0; i < terms; i++) {
		auto documents = make_documents(i);
		auto weights = make_weights(documents.size());

		index.push_back({make_term(i), std::move(documents), std::move(weights)});
	}
	return index;
}

void ask(const std::vector<Posting> &index, unsigned a, unsigned b, std::vector<unsigned> &results)
{
	results.clear();
	for (unsigned document : index[a].documents)
		for (unsigned other : index[b].documents)
			if (document == other)
				results.push_back(document);
}

} // namespace

int main()
{
	std::vector<unsigned> results;
	size_t found = 0;

	noise_start();
	auto index = build();
	results.reserve(10000);
	for (unsigned i = 0; i < 16000; i++) {
		ask(index, noise_random() % terms, noise_random() % terms, results);
		found += results.size();
		noise_turn(i);
	}
	printf("%zu\n", found);
	noise_end();
}
