// SPDX-License-Identifier: MIT
// C++ exceptions through many frames, with destructors that allocate on the way, rethrown, caught
// half-way, stored and thrown again; and the allocations of ordinary containers.
#include "stacks.h"

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Toucher {
	size_t size;
	explicit Toucher(size_t bytes) : size(bytes) { stacks_touch(size); }
	~Toucher() { stacks_touch(size + 1); }
};

static NOINLINE int fall(int depth, int kind)
{
	Toucher toucher(32 + depth % 50);

	if (depth == 0) {
		if (kind == 0)
			throw std::runtime_error("a message too long for the small string buffer");
		if (kind == 1)
			throw 17;
		throw std::make_shared<std::string>("shared");
	}
	return fall(depth - 1, kind) + 1;
}

static NOINLINE int rethrow_half_way(int depth, int kind)
{
	Toucher toucher(100);

	if (depth % 10 != 5)
		return depth ? rethrow_half_way(depth - 1, kind) + 1 : fall(20, kind);
	try {
		return rethrow_half_way(depth - 1, kind) + 1;
	} catch (const std::exception &caught) {
		stacks_touch(64);
		throw std::runtime_error(std::string("outer ") + caught.what());
	} catch (...) {
		stacks_touch(65);
		throw;
	}
}

static NOINLINE void store_and_throw_again()
{
	std::exception_ptr stored;

	try {
		fall(60, 0);
	} catch (...) {
		stored = std::current_exception();
	}
	try {
		std::rethrow_exception(stored);
	} catch (const std::runtime_error &) {
		stacks_touch(77);
	}
}

template <typename Function> static NOINLINE void caught(Function function)
{
	try {
		function();
	} catch (const std::exception &exception) {
		stacks_touch(10 + std::string(exception.what()).size());
	} catch (int) {
		stacks_touch(11);
	} catch (...) {
		stacks_touch(12);
	}
}

static NOINLINE void containers(int round)
{
	std::map<std::string, std::vector<int>> map;

	for (int i = 0; i < 50; i++)
		map["a key that is longer than sixteen bytes " + std::to_string(i * round)].push_back(i);
	std::function<int(int)> add = [map, round](int x) { return x + round + (int)map.size(); };
	stacks_touch((size_t)add(8));
}

int main()
{
	for (int round = 0; round < stacks_rounds(20); round++)
		for (int kind = 0; kind < 3; kind++) {
			caught([=] { fall(10 + 10 * round, kind); });
			caught([=] { rethrow_half_way(40, kind); });
			caught([=] { store_and_throw_again(); });
			containers(round);
		}
	return stacks_done();
}
