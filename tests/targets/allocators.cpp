/* SPDX-License-Identifier: MIT
 * allocators [THREADS]   every way to allocate, 1,000 times in each thread (0, the default: in main). Of each size
 * every second block is freed; the block of 1202 bytes becomes one of 4001. For allocators that are linked in
 * various ways. */
#include <malloc.h>
#include <stdlib.h>

#include <new>
#include <thread>
#include <vector>

static void work()
{
	for (int i = 0; i < 1000; i++) {
		void *volatile plain = malloc(1201);
		void *volatile cleared = calloc(7, 173);
		void *volatile grown = malloc(1202);
		void *volatile single = ::operator new(1205);
		char *volatile array = new char[1204];
		void *volatile nothrow = ::operator new(1206, std::nothrow);
		void *volatile aligned = aligned_alloc(64, 1216);
		void *stored = nullptr;

		grown = realloc(grown, 4001);
		if (posix_memalign(&stored, 64, 1203) != 0 || !plain || !cleared || !grown)
			abort();
		if (i % 2 == 0)
			continue;
		free(plain);
		free(cleared);
		free(grown);
		free(stored);
		free(aligned);
		delete[] array;
		::operator delete(single);
		::operator delete(nothrow);
	}
}

int main(int argc, char **argv)
{
	std::vector<std::thread> threads;

	if (argc < 2)
		work();
	for (int i = 0; argc > 1 && i < atoi(argv[1]); i++)
		threads.emplace_back(work);
	for (auto &thread : threads)
		thread.join();
	return 0;
}
