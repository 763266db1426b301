/* SPDX-License-Identifier: MIT
 * A library with allocators of its own: blocks of one size from arenas that malloc gives. Its functions
 * call each other directly (-Bsymbolic), as those of many libraries do. */
#include "arena.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 256, CELLS = 64 };

struct arena {
	struct arena *next;
	char cells[CELLS][CELL];
};

static struct arena *arenas;
static void *unused; /* cells, each with the next one's address in it */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
unsigned long arena_mallocs;

__attribute__((noinline)) void *arena_alloc(size_t size)
{
	void **cell;

	if (size > CELL)
		return NULL;
	pthread_mutex_lock(&lock);
	if (!unused) {
		struct arena *arena = malloc(sizeof *arena);

		arena_mallocs++;
		arena->next = arenas;
		arenas = arena;
		for (int i = 0; i < CELLS; i++) {
			*(void **)arena->cells[i] = unused;
			unused = arena->cells[i];
		}
	}
	cell = unused;
	unused = *cell;
	pthread_mutex_unlock(&lock);
	return cell;
}

void arena_free(void *block)
{
	if (!block)
		return;
	pthread_mutex_lock(&lock);
	*(void **)block = unused;
	unused = block;
	pthread_mutex_unlock(&lock);
}

char *arena_copy(const char *text)
{
	char *copy = arena_alloc(strlen(text) + 1);

	return copy ? strcpy(copy, text) : NULL;
}

void arena_release(void)
{
	while (arenas) {
		struct arena *next = arenas->next;

		free(arenas);
		arenas = next;
	}
	unused = NULL;
}

void *sized_alloc(int flags, const char *who, size_t size)
{
	(void)flags;
	(void)who;
	return malloc(size);
}

void sized_free(int flags, void *block)
{
	(void)flags;
	free(block);
}
