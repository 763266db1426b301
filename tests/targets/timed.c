/* SPDX-License-Identifier: MIT
 * timed   a long loop of small blocks, whose calls are quick; one block in twenty is large
 * and mapped by the kernel, which takes a hundred times as long. */
#include <malloc.h>
#include <stdlib.h>

int main(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	for (int i = 0; i < 1000000; i++) {
		char *volatile block = malloc(i % 20 ? 64 : 1 << 20);

		free(block);
	}
	return 0;
}
