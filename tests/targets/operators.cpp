// SPDX-License-Identifier: MIT
// A program that replaces half of the operators, which is enough: the other half gives back what malloc
// gave. OWN_NEW: it has its own operator new, and the library's delete; else the other way round.
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <vector>

#ifdef OWN_NEW
void *operator new(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		throw std::bad_alloc();
	return p;
}
#else
void operator delete(void *p) noexcept { free(p); }
void operator delete(void *p, size_t) noexcept { free(p); }
#endif

int main()
{
	std::map<std::string, std::vector<int>> table;
	int *volatile numbers = new int[100];
	std::string *volatile word = new std::string(100, 'x');

	for (int i = 0; i < 1000; i++)
		table[std::string(40, 'a' + i % 20)].push_back(i);
	delete[] numbers;
	delete word;
	return table.size() == 20 ? 0 : 1;
}
