// SPDX-License-Identifier: MIT
// operator new as the C++ standard has it, for programs in which our operators are the only ones: see operators.c. Runs in
// the target, in libheapwise.a only, and there only in programs that call an operator: they have a C++ library.
#include <cstddef>
#include <new>

extern "C" {
void *hwr_own_new(std::size_t size, std::size_t alignment, bool throws);
void *hwr_own_memory(std::size_t size, std::size_t alignment);
}

static void *allocate(std::size_t size, std::size_t alignment)
{
	for (;;) {
		void *p = hwr_own_memory(size, alignment);
		std::new_handler handler;

		if (p)
			return p;
		handler = std::get_new_handler();
		if (!handler)
			throw std::bad_alloc();
		handler();
	}
}

void *hwr_own_new(std::size_t size, std::size_t alignment, bool throws)
{
	if (throws)
		return allocate(size, alignment);
	try {
		return allocate(size, alignment);
	} catch (...) {
		return nullptr;
	}
}
