// SPDX-License-Identifier: MIT
// As routine_stacks.c, with exceptions, operators and containers.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

static void *volatile kept;

static inline __attribute__((always_inline)) void touch(size_t size)
{
	kept = malloc(size);
	free(kept);
	__asm__ volatile("" : : : "memory");
}

extern "C" {
NOINLINE int in_throws(int n);
NOINLINE int in_passes(int n);
NOINLINE int in_cleans(int n);
NOINLINE int in_catches(int n);
NOINLINE int in_after(int n);
}

struct holder {
	char *bytes;
	holder() : bytes(new char[40]) {}
	~holder() { delete[] bytes; }
};

int in_throws(int n)
{
	touch(50);
	if (n % 2)
		throw std::runtime_error("on purpose");
	return n;
}

int in_passes(int n) { return in_throws(n) + 1; }

int in_cleans(int n)
{
	holder one;

	return in_passes(n) + 1;
}

int in_after(int n)
{
	std::vector<int> numbers(static_cast<size_t>(n) + 1);

	touch(60);
	return numbers[0] + n;
}

int in_catches(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		try {
			sum += in_cleans(i);
		} catch (const std::exception &error) {
			sum += static_cast<int>(std::string(error.what()).size());
			touch(70);
		}
		touch(80);
		sum += in_after(i);
	}
	return sum;
}

int main()
{
	return in_catches(10) < 0;
}
