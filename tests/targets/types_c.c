/* SPDX-License-Identifier: MIT
 * A C program that tells the types of its blocks; tests/run/types.sh knows what it tells. */
#include <stdlib.h>
#include <string.h>

#include <heapwise/heapwise.h>

struct first {
	int a, b;
};

int main(void)
{
	struct first *first = HEAPWISE_TYPE(malloc(sizeof(*first)), struct first);
	unsigned char *bytes = heapwise_set_type(calloc(12, 1), "unsigned char", 12);
	char *cookie = malloc(8 + 7 * 24), *twice = malloc(100), *freed = malloc(50), local[16], *last;

	heapwise_set_type(cookie + 8, "struct behind a cookie", 7);
	heapwise_set_type(twice, "struct that is replaced", 3);
	heapwise_set_type(twice + 60, "struct that was another before", 0);
	heapwise_set_type(freed, "struct that is gone", 1);
	free(freed);
	last = heapwise_set_type(malloc(200 << 20), "struct last word", 0); /* too large for the table of cells */
	heapwise_set_type(NULL, "struct nothing", 1);
	heapwise_set_type(local, "struct on the stack", 1);
	heapwise_set_type((void *)(uintptr_t)"text", "struct in the program", 1);
	heapwise_set_type(first, NULL, 1);
	return first && bytes && cookie && twice && last ? 0 : 1;
}
