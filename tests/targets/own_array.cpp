// SPDX-License-Identifier: MIT
// Prints how often its library's operator new[] was called: as often as it used new[].
#include <cstdio>

extern unsigned own_arrays;

int main()
{
	for (int i = 0; i < 1000; i++) {
		char *volatile array = new char[10 + i];
		int *volatile number = new int(i);

		delete[] array;
		delete number;
	}
	std::printf("%u\n", own_arrays);
	return own_arrays == 1000 ? 0 : 1;
}
