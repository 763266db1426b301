/* SPDX-License-Identifier: MIT
 * Blocks of all sizes, whose room the allocator tells itself. All of it is written to, so that it
 * is resident.
 *
 *	slack COUNT MOST   COUNT blocks of 1 to MOST bytes
 *
 * Prints "requested BYTES" and "usable BYTES" of these. With OWN_HEAP it has an allocator of its
 * own, which knows no class but the powers of two. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef OWN_HEAP
static char *heap[64];
static size_t left[64];

static int class_of(size_t size)
{
	int class = 4;

	while (class < 40 && ((size_t)1 << class) < size)
		class ++;
	return class;
}

void *malloc(size_t size)
{
	int class = class_of(size);
	char *block;

	if (left[class] == 0) {
		left[class] = 256;
		heap[class] = mmap(NULL, left[class] << class, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	block = heap[class];
	heap[class] += (size_t)1 << class;
	left[class]--;
	return block;
}

static volatile size_t freed;

void free(void *block)
{
	if (block)
		freed = freed + 1;
}

static size_t room_of(const void *block, size_t size)
{
	return block ? (size_t)1 << class_of(size) : 0;
}
#else
static size_t room_of(void *block, size_t size)
{
	size_t room = malloc_usable_size(block);

	return room > size ? room : size;
}
#endif

static char *make_block(size_t size) { return malloc(size); }

int main(int argc, char **argv)
{
	size_t count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0, most, requested = 0, usable = 0;
	static char *volatile kept[1 << 20];

	if (!count || count > sizeof kept / sizeof *kept)
		return 2;
	most = strtoul(argv[2], NULL, 10);
	for (size_t i = 0; i < count; i++) {
		size_t size = 1 + i * 2654435761u % most;
		volatile char *block = kept[i] = make_block(size);
		size_t room = room_of((void *)block, size);

		for (size_t k = 0; k < room; k++)
			block[k] = 1;
		requested += size;
		usable += room;
	}
	dprintf(1, "requested %zu\nusable %zu\n", requested, usable);
	return 0;
}
