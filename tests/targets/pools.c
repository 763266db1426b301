/* SPDX-License-Identifier: MIT
 * Programs with allocators of their own. Prints what a recording must have: "allocs frees bytes kept", of
 * the pools, and "mallocs" beside them. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena.h"

#ifdef __clang__
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noinline, noclone))
#endif

void *region_alloc(size_t size), *plain_alloc(size_t size), *plain_resize(void *block, size_t size),
	*jumping_alloc(size_t size);
void region_free(void *block), plain_free(void *block);
void *cell_get(const void *owner);
void cell_put(const void *owner, void *cell);

static unsigned long allocs, frees, bytes, mallocs;

static void *counted(void *block, size_t size)
{
	__atomic_add_fetch(&allocs, block != NULL, __ATOMIC_RELAXED);
	__atomic_add_fetch(&bytes, block ? size : 0, __ATOMIC_RELAXED);
	return block;
}

static void count_free(void) { __atomic_add_fetch(&frees, 1, __ATOMIC_RELAXED); }

/* ---- the program's own pool, cut from one block of malloc that it got beforehand ---- */

static char *region;
static size_t region_used, region_size;

__attribute__((noinline)) void *region_alloc(size_t size)
{
	void *block = region + region_used;

	if (region_used + size > region_size)
		return NULL;
	region_used += (size + 15) & ~(size_t)15;
	return block;
}

__attribute__((noinline)) void region_free(void *block) { *(volatile char *)block = 0; }

/* ---- one that passes on what malloc gives ---- */

__attribute__((noinline)) void *plain_alloc(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return block;
}

__attribute__((noinline)) void plain_free(void *block) { free(block); }

__attribute__((noinline)) void *plain_resize(void *block, size_t size) { return realloc(block, size); }

/* ---- one that may not return ---- */

static jmp_buf out;

__attribute__((noinline)) void *jumping_alloc(size_t size)
{
	if (size == 13)
		longjmp(out, 1);
	return arena_alloc(size);
}

/* ---- one that only the file's symbol table knows ---- */

ALONE static void *local_alloc(size_t size)
{
	void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return block == MAP_FAILED ? NULL : block;
}

ALONE static void local_free(void *block) { munmap(block, 4096); }

/* ---- one whose blocks have one size, which is no argument ---- */

enum { CELL_BYTES = 48, CELLS = 40 };
static char cells[CELLS][CELL_BYTES];
static void *cells_unused[CELLS];
static int cells_left;

__attribute__((noinline)) void *cell_get(const void *owner)
{
	return owner && cells_left ? cells_unused[--cells_left] : NULL;
}

__attribute__((noinline)) void cell_put(const void *owner, void *cell)
{
	if (owner)
		cells_unused[cells_left++] = cell;
}

/* ---- cases ---- */

static void library(void)
{
	void *blocks[500];

	for (int i = 0; i < 500; i++)
		blocks[i] = counted(arena_alloc(100), 100);
	for (int i = 0; i < 500; i++) {
		arena_free(blocks[i]);
		count_free();
	}
	for (int i = 0; i < 100; i++) {
		char *copy = counted(arena_copy("some text"), 10);

		arena_free(copy);
		count_free();
	}
	arena_release();
}

static void program(void)
{
	void *blocks[100];

	region = malloc(region_size = 100000);
	mallocs++;
	for (int i = 0; i < 100; i++)
		blocks[i] = counted(region_alloc(24), 24);
	for (int i = 0; i < 90; i++) {
		region_free(blocks[i]);
		count_free();
	}
	free(region);
}

/* Two pairs, one of which has its size in the third place and its block in the second. */
static void two(void)
{
	for (int i = 0; i < 50; i++) {
		void *a = counted(arena_alloc(40), 40), *b = counted(sized_alloc(7, "x", 1000), 1000);

		arena_free(a);
		sized_free(7, b);
		count_free();
		count_free();
	}
	arena_release();
}

/* Blocks of malloc's, freed by whom they should not be freed by, and the other way round. */
static void wrapper(void)
{
	char *copy = strdup("strdup calls malloc");
	void *block = counted(plain_alloc(10), 10), *grown;

	mallocs++;
	plain_free(copy);
	block = counted(plain_resize(block, 5000), 5000);
	count_free();
	grown = realloc(block, 9000); /* ends the pool's block, and its own is malloc's */
	count_free();
	mallocs++;
	free(grown);
	block = counted(plain_alloc(77), 77);
	free(block);
	count_free();
	for (int i = 0; i < 1000; i++) {
		plain_free(counted(plain_alloc((size_t)i), (size_t)i));
		count_free();
	}
}

static void *thread(void *unused)
{
	(void)unused;
	for (int i = 0; i < 2000; i++) {
		void *a = counted(arena_alloc(32), 32), *b = malloc(10);
		void *c = counted(plain_alloc(64), 64);

		__atomic_add_fetch(&mallocs, 1, __ATOMIC_RELAXED);
		arena_free(a);
		free(b);
		plain_free(c);
		count_free();
		count_free();
	}
	return NULL;
}

static void threads(void)
{
	pthread_t all[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&all[i], NULL, thread, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(all[i], NULL);
	arena_release();
}

__attribute__((noinline)) static void deeper(int depth)
{
	volatile char room[200];

	memset((char *)room, depth, sizeof room);
	if (depth) {
		deeper(depth - 1);
	} else {
		free(malloc(50));
		mallocs++;
	}
	room[0] = 0;
}

static void jumps(void)
{
	for (volatile int i = 0; i < 10; i++) {
		if (!setjmp(out))
			jumping_alloc(13);
		deeper(5);
		arena_free(counted(jumping_alloc(20), 20));
		count_free();
	}
	arena_release();
}

static void local(void)
{
	for (int i = 0; i < 5; i++) {
		local_free(counted(local_alloc(4096), 4096));
		count_free();
	}
}

/* The library comes late, goes, and comes again. */
static void late(const char *path)
{
	for (int i = 0; i < 3; i++) {
		void *library_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		void *(*alloc)(size_t) = (void *(*)(size_t))dlsym(library_, "late_alloc");
		void (*release)(void *) = (void (*)(void *))dlsym(library_, "late_free");

		for (int k = 0; k < 20; k++) {
			release(counted(alloc(60), 60));
			count_free();
		}
		dlclose(library_);
	}
}

/* The owner is on the stack: no block is as large as its address. */
static void fixed(void)
{
	char owner = 0;
	void *mine[30];

	for (; cells_left < CELLS; cells_left++)
		cells_unused[cells_left] = cells[cells_left];
	for (int turn = 0; turn < 10; turn++) {
		for (int i = 0; i < 30; i++)
			mine[i] = counted(cell_get(&owner), CELL_BYTES);
		for (int i = 0; i < 30; i++) {
			cell_put(&owner, mine[i]);
			count_free();
		}
	}
}

/* Calls of which a CPU with landing marks asks that they reach one. */
static void pointers(void)
{
	void *(*volatile take[])(size_t) = { region_alloc, arena_alloc };
	void (*volatile give[])(void *) = { region_free, arena_free };

	region = malloc(region_size = 100000);
	mallocs++;
	for (int i = 0; i < 400; i++) {
		void *block = counted(take[i % 2](100), 100);

		if (i % 4 >= 2) {
			give[i % 2](block);
			count_free();
		}
	}
	arena_release();
	free(region);
}

static void forks(void)
{
	pid_t child = fork();

	if (child == 0) {
		library();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	library();
}

/* More blocks of malloc's inside pools than are kept account of. */
static void many(void)
{
	enum { MANY = 2300000 };
	void **blocks = malloc(MANY * sizeof *blocks);

	mallocs++;
	for (int i = 0; i < MANY; i++)
		blocks[i] = counted(plain_alloc(16), 16);
	for (int i = 0; i < MANY; i++) {
		plain_free(blocks[i]);
		count_free();
	}
	free(blocks);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = { { "library", library }, { "program", program }, { "two", two },
		      { "wrapper", wrapper }, { "threads", threads }, { "jumps", jumps },
		      { "local", local },     { "forks", forks },     { "many", many },
		      { "fixed", fixed },     { "pointers", pointers } };
	char line[200];
	int length;

	if (argc > 2)
		late(argv[2]);
	for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	length = snprintf(line, sizeof line, "allocs %lu frees %lu bytes %lu mallocs %lu\n", allocs, frees, bytes,
			  mallocs);
	return write(1, line, (size_t)length) == length ? 0 : 1;
}
