// SPDX-License-Identifier: MIT
// Three habits in one loop: the program with which Memoro's authors showed their diagrams in 2018, written
// anew. main() has three allocation points, one of them deep in std::vector::push_back().
//
//	contrived [TURNS]      prints what it allocated
//
// Build it with `heapwise c++ -g -O1`, so that its accesses are recorded.
#include <cstdio>
#include <cstdlib>
#include <vector>

static volatile int sink;

// So that a turn takes some time, without a system call.
static void work(int rounds)
{
	for (int i = 0; i < rounds; i++)
		sink = sink + i;
}

int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 4096; // a power of two fills the last array of the vector
	std::vector<int> numbers;
	unsigned long moves = 0, sum = 0;

	for (int i = 0; i < turns; i++) {
		// Lives long, every byte is used, and yet: reserve() would make it one allocation.
		moves += numbers.size() == numbers.capacity();
		numbers.push_back(i);

		// Written and read, all of it, and freed; the next turn does the same again.
		int *volatile line = new int[25];

		for (int j = 0; j < 25; j++)
			line[j] = i + j;
		work(500);
		for (int j = 0; j < 25; j++)
			sum += static_cast<unsigned long>(line[j]);
		delete[] line;

		// Four bytes of 400 are used, at once, and then it is kept for nothing.
		int *volatile record = new int[100];

		record[0] = i;
		sum += static_cast<unsigned long>(record[0]);
		work(1500);
		delete[] record;
	}
	for (int number : numbers)
		sum += static_cast<unsigned long>(number);
	fprintf(stderr, "vector %lu line %d record %d sum %lu\n", moves, turns, turns, sum);
	return 0;
}
