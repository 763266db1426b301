// SPDX-License-Identifier: MIT
// verdict: kind=steps function=add_all calls=240000
// Sets of numbers, filled one by one: the table of an unordered_map is made anew at each size, with all that is in it moved over.
// The nodes come from a pool, as they should.
#include "noise.h"
#include <memory>
#include <unordered_map>
#include <vector>

namespace {

struct Pool { // bump allocation, reset after each set
	std::vector<char> bytes = std::vector<char>(400000);
	size_t used = 0;
};

Pool *pool;

template <typename T> struct Pooled {
	using value_type = T;
	Pooled() = default;
	template <typename U> Pooled(const Pooled<U> &) {}
	T *allocate(size_t count)
	{
		if (count > 1) // tables
			return static_cast<T *>(::operator new(count * sizeof(T)));
		pool->used += sizeof(T);
		return reinterpret_cast<T *>(pool->bytes.data() + pool->used - sizeof(T));
	}
	void deallocate(T *what, size_t count)
	{
		if (count > 1)
			::operator delete(what);
	}
	template <typename U> bool operator==(const Pooled<U> &) const { return true; }
	template <typename U> bool operator!=(const Pooled<U> &) const { return false; }
};

using Counts = std::unordered_map<unsigned, unsigned, std::hash<unsigned>, std::equal_to<unsigned>,
				  Pooled<std::pair<const unsigned, unsigned>>>;

APART void add_all(Counts &counts, unsigned from)
{
	for (unsigned i = 0; i < 130; i++) // the flaw: counts.reserve(130)
		counts[(from + i) * 2654435761u]++;
}

} // namespace

int main()
{
	size_t total = 0;

	noise_start();
	pool = new Pool;
	for (unsigned i = 0; i < 60000; i++) {
		Counts counts;

		add_all(counts, i);
		total += counts.size();
		pool->used = 0;
		if (i % 30 == 0)
			noise_turn(i);
	}
	printf("%zu\n", total);
	delete pool;
	noise_end();
}
