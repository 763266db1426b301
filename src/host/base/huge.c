/* SPDX-License-Identifier: MIT
 * Asks the kernel for huge pages; see huge.h. Host. */
#include "host/base/huge.h"

#include <stdlib.h>
#include <sys/mman.h>

void huge_ask(void *memory, u64 bytes)
{
	const u64 page = 2 << 20;
	u64 start = ((u64)(uintptr_t)memory + page - 1) & ~(page - 1);
	u64 end = ((u64)(uintptr_t)memory + bytes) & ~(page - 1);

	if (memory && start < end)
		madvise((void *)(uintptr_t)start, end - start, MADV_HUGEPAGE);
}

void *huge_alloc(u64 count, u64 each)
{
	void *memory = reallocarray(NULL, count, each);

	huge_ask(memory, count * each);
	return memory;
}

void *huge_zeroed(u64 count, u64 each)
{
	void *memory = calloc(count, each);

	huge_ask(memory, count * each);
	return memory;
}
