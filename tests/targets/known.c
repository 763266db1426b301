/* SPDX-License-Identifier: MIT
 * known   1,000 blocks of 100 bytes, of which 500 are freed: for allocators that are linked in various ways. */
#include <stdlib.h>
#include <string.h>

int main(void)
{
	for (int i = 0; i < 1000; i++) {
		char *block = malloc(100);

		if (!block)
			return 1;
		memset(block, 1, 100);
		if (i % 2)
			free(block);
	}
	return 0;
}
