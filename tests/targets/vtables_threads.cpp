// SPDX-License-Identifier: MIT
// Threads that make, keep and delete objects of classes whose sizes are all different: a chunk's size says what
// its class must be. vtables_threads THREADS ROUNDS
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>
#include <vector>

struct Root {
	virtual ~Root() {}
	virtual int f() { return 0; }
};
template <int N> struct Item : Root { // its size is N
	char text[N - 8];
	int f() override { return N; }
};

static Root *make(unsigned which)
{
	switch (which % 4) {
	case 0: return new Item<48>;
	case 1: return new Item<64>;
	case 2: return new Item<80>;
	default: return new Item<96>;
	}
}

static void churn(unsigned seed, int rounds)
{
	std::vector<Root *> kept(4096); // objects live for some milliseconds: the monitor is not faster

	for (int i = 0; i < rounds; i++) {
		seed = seed * 1664525 + 1013904223;
		Root *&place = kept[seed >> 20];
		delete place;
		place = make(seed >> 12);
		if (i % 200 == 0)
			usleep(1000);
	}
	for (unsigned i = 0; i < 2048; i++) {
		delete kept[i];
		kept[i] = nullptr;
	}
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? std::atoi(argv[1]) : 4, rounds = argc > 2 ? std::atoi(argv[2]) : 20000;
	std::vector<std::thread> all;

	for (int i = 0; i < threads; i++)
		all.emplace_back(churn, 12345u * (i + 1), rounds);
	for (auto &thread : all)
		thread.join();
	if (!threads)
		churn(1, rounds);
	return 0;
}
