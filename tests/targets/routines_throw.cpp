// SPDX-License-Identifier: MIT
// As routines.c, with exceptions.
#include <cstdio>
#include <stdexcept>

#define NOINLINE __attribute__((noinline))

static unsigned long throws_count, passes_count, catches_count, after_count;

extern "C" {
NOINLINE int throws(int n);
NOINLINE int passes(int n);
NOINLINE int catches(int n);
NOINLINE int after(int n);
}

int throws(int n)
{
	throws_count++;
	if (n % 2)
		throw std::runtime_error("on purpose");
	return n;
}

int passes(int n)
{
	passes_count++;
	return throws(n) + 1;
}

int after(int n)
{
	after_count++;
	__asm__ volatile("" : : : "memory");
	return n;
}

int catches(int n)
{
	int sum = 0;

	catches_count++;
	for (int i = 0; i < n; i++) {
		try {
			sum += passes(i);
		} catch (const std::exception &) {
			sum--;
		}
		sum += after(i);
	}
	return sum;
}

int main()
{
	int sum = catches(50) + catches(1);

	std::printf("throws %lu\npasses %lu\ncatches %lu\nafter %lu\ncatches>after %lu\ncatches>passes %lu\n",
		    throws_count, passes_count, catches_count, after_count, after_count, passes_count);
	return sum > 100000;
}
