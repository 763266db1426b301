// SPDX-License-Identifier: MIT
// A library that replaces one operator, and counts its calls.
#include <cstdlib>
#include <new>

unsigned own_arrays;

void *operator new[](size_t size)
{
	void *p = malloc(size ? size : 1);

	own_arrays++;
	if (!p)
		throw std::bad_alloc();
	return p;
}
