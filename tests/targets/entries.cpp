// SPDX-License-Identifier: MIT
// entries   allocations for the four example queries of the type preserving profiler's paper: from some
// std::vector, of types whose names begin with std::, that live long, by one thread. Prints how many of
// each there are, as JSON.
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct Record {
	int number;
	double values[11];
};

static unsigned long vectors, lasting, threaded;

static void fill(std::vector<int> &numbers, int count)
{
	for (int i = 0; i < count; i++) {
		vectors += numbers.size() == numbers.capacity();
		numbers.push_back(i);
	}
}

// Freed in the turn that allocates it.
static void briefly(int turns)
{
	for (int i = 0; i < turns; i++) {
		std::unique_ptr<Record> record(new Record());

		record->number = i;
	}
}

static void other_thread()
{
	std::vector<std::unique_ptr<Record>> own;

	own.reserve(70);
	vectors++;
	for (int i = 0; i < 70; i++)
		own.emplace_back(new Record());
	threaded = 71;
}

int main()
{
	std::map<int, Record> known;
	std::vector<int> numbers;

	for (int i = 0; i < 40; i++)
		known[i].number = i;
	lasting = 40;
	std::this_thread::sleep_for(std::chrono::milliseconds(30));
	known.clear();
	fill(numbers, 1000);
	briefly(500);
	std::thread(other_thread).join();
	printf("{\"vectors\": %lu, \"lasting\": %lu, \"threaded\": %lu}\n", vectors, lasting, threaded);
	return 0;
}
