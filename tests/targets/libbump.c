/* SPDX-License-Identifier: MIT
 * An allocator that a signal may interrupt anywhere and enter again: sizes are stored in front of
 * blocks from a large mapping that only grows. A stand-in for allocators other than libc's. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *memory, size_t size);
void *memalign(size_t alignment, size_t size);
int posix_memalign(void **result, size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
void free(void *memory);
size_t malloc_usable_size(void *memory);

enum { HEADER = 16 };
static const size_t room_bytes = (size_t)16 << 30;
static char *room;
static size_t used;

static char *room_get(void)
{
	char *mapped = __atomic_load_n(&room, __ATOMIC_ACQUIRE), *none = NULL;

	if (mapped)
		return mapped;
	mapped = mmap(NULL, room_bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mapped == MAP_FAILED)
		return NULL;
	if (!__atomic_compare_exchange_n(&room, &none, mapped, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		munmap(mapped, room_bytes);
		return none;
	}
	return mapped;
}

/* Not through memalign, which others may have replaced. */
static void *allocate(size_t alignment, size_t size)
{
	char *start = room_get();
	uintptr_t block;
	size_t whole;

	if (alignment < HEADER)
		alignment = HEADER;
	if (!start || size > room_bytes / 2 || alignment > room_bytes / 2) {
		errno = ENOMEM;
		return NULL;
	}
	whole = (size + HEADER + alignment + 15) & ~(size_t)15;
	block = (uintptr_t)start + __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);
	if (block + whole > (uintptr_t)start + room_bytes) {
		errno = ENOMEM;
		return NULL;
	}
	block = (block + HEADER + alignment - 1) & ~(uintptr_t)(alignment - 1);
	*(size_t *)(block - HEADER) = size;
	return (void *)block;
}

void *malloc(size_t size) { return allocate(HEADER, size); }

void *memalign(size_t alignment, size_t size) { return allocate(alignment, size); }

void *aligned_alloc(size_t alignment, size_t size) { return allocate(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size)
{
	void *memory = allocate(alignment, size);

	if (!memory)
		return ENOMEM;
	*result = memory;
	return 0;
}

void *calloc(size_t count, size_t size)
{
	size_t whole;

	if (__builtin_mul_overflow(count, size, &whole)) {
		errno = ENOMEM;
		return NULL;
	}
	return allocate(HEADER, whole); /* never used before: zero */
}

size_t malloc_usable_size(void *memory)
{
	return memory ? *(size_t *)((char *)memory - HEADER) : 0;
}

void free(void *memory) { (void)memory; }

void *realloc(void *memory, size_t size)
{
	size_t old = memory ? *(size_t *)((char *)memory - HEADER) : 0;
	void *moved = allocate(HEADER, size);

	if (moved && memory)
		memcpy(moved, memory, old < size ? old : size);
	return moved;
}
