/* SPDX-License-Identifier: MIT
 * An allocator that grants any size and gives 64 bytes, one block after the other. */
#include <stddef.h>

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *memory, size_t size);
void free(void *memory);

enum { SLOT = 64 };
static _Alignas(SLOT) char room[1 << 20];
static size_t used;

void *malloc(size_t size)
{
	(void)size;
	return used < sizeof(room) ? &room[__atomic_fetch_add(&used, SLOT, __ATOMIC_RELAXED)] : NULL;
}

void *calloc(size_t count, size_t size) { return malloc(count * size); }

void *realloc(void *memory, size_t size) { return memory ? memory : malloc(size); }

void free(void *memory) { (void)memory; }
