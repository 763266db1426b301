/* SPDX-License-Identifier: MIT
 * Allocations whose sum is known, for estimates from samples: many small ones, some medium, a few
 * large. Every second one is kept. Usage: sampled COUNT */
#include "expect.h"

#include <stdlib.h>

static void allocate(size_t size, unsigned long count, uint64_t *bytes)
{
	for (unsigned long i = 0; i < count; i++) {
		void *volatile memory = malloc(size);

		expect_true(memory != NULL, "malloc failed");
		*bytes += size;
		if (i % 2)
			free(memory);
	}
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = {21, 101, 517, 4005, 40005};
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 200000;
	uint64_t bytes = 0, allocations = 0;

	expect_begin();
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		allocate(sizes[i], count, &bytes);
		allocations += count;
		/* The larger the fewer: each class weighs in. */
		count = count / 4 + 1;
	}
	expect_total("allocations", allocations);
	expect_total("bytes", bytes);
	expect_total("failed_calls", 0);
	expect_end();
	return 0;
}
