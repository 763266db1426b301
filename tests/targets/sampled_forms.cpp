/* SPDX-License-Identifier: MIT
 * As sampled.c, but by every function that allocates in turn, each of which must count its bytes once; and each function
 * that frees. Before that calls that fail, which are recorded whether they are drawn or not. Usage: sampled_forms COUNT */
#include "expect.h"

#include <malloc.h>
#include <new>
#include <stdlib.h>
#include <sys/resource.h>

enum { FORMS = 13, FAILURES = 8 }; // odd: every second block of each form is kept

static const std::align_val_t alignment{64};

static void *allocate(unsigned form, size_t size)
{
	void *memory = nullptr;

	switch (form) {
	case 0: return malloc(size);
	case 1: return calloc(1, size);
	case 2: return realloc(nullptr, size);
	case 3: return reallocarray(nullptr, size, 1);
	case 4: return posix_memalign(&memory, 64, size) ? nullptr : memory;
	case 5: return aligned_alloc(32, size);
	case 6: return memalign(128, size);
	case 7: return ::operator new(size);
	case 8: return ::operator new[](size);
	case 9: return ::operator new(size, std::nothrow);
	case 10: return ::operator new[](size, std::nothrow);
	case 11: return ::operator new(size, alignment);
	default: return ::operator new[](size, alignment, std::nothrow);
	}
}

static void release(unsigned form, void *memory, size_t size)
{
	switch (form) {
	case 7: ::operator delete(memory, size); break;
	case 8: ::operator delete[](memory); break;
	case 9: ::operator delete(memory, std::nothrow); break;
	case 10: ::operator delete[](memory, std::nothrow); break;
	case 11: ::operator delete(memory, alignment); break;
	case 12: ::operator delete[](memory, alignment); break;
	default: free(memory);
	}
}

/* No room for more data: of a size that would be passed over if it gave something. */
static void fail(void)
{
	struct rlimit before, none;

	getrlimit(RLIMIT_DATA, &before);
	none = before;
	none.rlim_cur = 1; // 0 would be none
	setrlimit(RLIMIT_DATA, &none);
	for (unsigned i = 0; i < FAILURES; i++)
		expect_true(!allocate(i % 4, 200000), "there was room");
	setrlimit(RLIMIT_DATA, &before);
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = {21, 101, 517, 4005, 40005};
	unsigned long count = argc > 1 ? strtoul(argv[1], nullptr, 10) : 200000;
	uint64_t bytes = 0, allocations = 0;

	fail();
	expect_begin();
	for (size_t size : sizes) {
		for (unsigned long i = 0; i < count; i++) {
			void *memory = allocate(i % FORMS, size);

			expect_true(memory != nullptr, "an allocation failed");
			bytes += size;
			if (i % 2)
				release(i % FORMS, memory, size);
		}
		allocations += count;
		count = count / 4 + 1; // the larger the fewer: each class weighs in
	}
	expect_total("allocations", allocations);
	expect_total("bytes", bytes);
	expect_total("failed_calls", FAILURES);
	expect_end();
	return 0;
}
