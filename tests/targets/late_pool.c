/* SPDX-License-Identifier: MIT
 * A plugin with an allocator. */
#include <stdlib.h>

void *late_alloc(size_t size);
void late_free(void *block);

void *late_alloc(size_t size)
{
	char *block = malloc(size + 16);

	return block ? block + 16 : NULL;
}

void late_free(void *block) { free((char *)block - 16); }
