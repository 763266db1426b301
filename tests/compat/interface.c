/* SPDX-License-Identifier: MIT
 * What a program can see of its allocator: prints it, so that a run with a recorder can be compared with one without.
 * Addresses are not printed: they are the kernel's to choose. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One line: whether there was a block, how it is aligned (to 4096 at most), its usable size, errno. */
static void *show(const char *call, size_t a, size_t b, void *p)
{
	int error = errno;
	size_t alignment = 4096;

	while (alignment > 1 && (uintptr_t)p % alignment)
		alignment /= 2;
	/* Beyond what is promised alignment is a matter of addresses. */
	printf("%s(%zu, %zu): %s, aligned %s, usable %zu, errno %d\n", call, a, b, p ? "block" : "NULL",
	       alignment >= 16 ? "to 16" : "badly", p ? malloc_usable_size(p) : 0, error);
	errno = 4242;
	return p;
}

static void show_sizes(void)
{
	static const size_t sizes[] = {0, 1, 7, 8, 15, 16, 17, 24, 25, 100, 1000, 1032, 1033, 4096, 65536, 131072, 1 << 20,
				       PTRDIFF_MAX, (size_t)PTRDIFF_MAX + 1, SIZE_MAX - 4096, SIZE_MAX};

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		size_t n = sizes[i];

		free(show("malloc", n, 0, malloc(n)));
		free(show("calloc", n, 1, calloc(n, 1)));
		free(show("calloc", 3, n, calloc(3, n)));
		free(show("realloc", 0, n, realloc(NULL, n)));
		free(show("reallocarray", 2, n, reallocarray(NULL, 2, n)));
		free(show("aligned_alloc", 64, n, aligned_alloc(64, n)));
		free(show("memalign", 256, n, memalign(256, n)));
		free(show("valloc", n, 0, valloc(n)));
		free(show("pvalloc", n, 0, pvalloc(n)));
	}
}

static void show_alignments(void)
{
	static const size_t alignments[] = {0, 1, 3, 8, 16, 24, 32, 48, 4096, 1 << 21, (size_t)1 << 63, SIZE_MAX};

	for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
		size_t a = alignments[i];
		void *p = (void *)0x1234;
		int status = posix_memalign(&p, a, 100);

		printf("posix_memalign(%zu): %d, %s, errno %d\n", a, status,
		       status ? p == (void *)0x1234 ? "untouched" : "CHANGED" : (uintptr_t)p % a ? "MISALIGNED" : "aligned", errno);
		if (!status)
			free(p);
		if (a && a <= 1 << 21 && (a & (a - 1)) == 0) {
			p = aligned_alloc(a, 100); /* how much of it is usable is a matter of addresses */
			printf("aligned_alloc(%zu): %s\n", a, (uintptr_t)p % a ? "MISALIGNED" : "aligned");
			free(p);
		}
		errno = 4242;
	}
}

/* What becomes of contents, and of a block whose realloc fails. */
static void show_realloc(void)
{
	char *p = malloc(100);

	memset(p, 'x', 100);
	p = show("realloc grows", 100, 10000, realloc(p, 10000));
	printf("    contents %s\n", p[0] == 'x' && p[99] == 'x' ? "kept" : "LOST");
	show("realloc fails", 10000, SIZE_MAX, realloc(p, SIZE_MAX));
	printf("    contents %s\n", p[99] == 'x' ? "kept" : "LOST");
	show("reallocarray overflows", SIZE_MAX / 2, 3, reallocarray(p, SIZE_MAX / 2, 3));
	p = show("realloc shrinks", 10000, 50, realloc(p, 50));
	show("realloc to nothing", 50, 0, realloc(p, 0));
	errno = 77;
	free(NULL);
	printf("free(NULL): errno %d\n", errno);
	errno = 78;
	free(malloc(1 << 20));
	printf("free of a mapped block: errno %d\n", errno);
	printf("malloc_usable_size(NULL): %zu\n", malloc_usable_size(NULL));
}

static void show_arena(const char *when)
{
	struct mallinfo2 info = mallinfo2();

	printf("mallinfo2 %s: in use %zu, mapped %zu in %zu, top %zu, arena %zu\n", when, info.uordblks, info.hblkhd,
	       info.hblks, info.keepcost, info.arena);
}

static void show_settings(void)
{
	void *small, *large;

	printf("mallopt M_MMAP_THRESHOLD: %d\n", mallopt(M_MMAP_THRESHOLD, 65536));
	small = malloc(60000);
	large = malloc(70000);
	show_arena("with a small and a mapped block");
	free(large);
	free(small);
	show_arena("after them");
	printf("malloc_trim: %d\n", malloc_trim(0));
	show_arena("after malloc_trim");
}

static void *in_thread(void *unused)
{
	(void)unused;
	free(show("malloc in a thread", 500, 0, malloc(500)));
	return NULL;
}

/* With MALLOC_PERTURB_ a block has other bytes than 0, with MALLOC_TOP_PAD_ the heap grows by more. */
static void show_environment(void)
{
	unsigned char *p = malloc(300);

	printf("first byte of a new block: %d\n", getenv("MALLOC_PERTURB_") ? p[100] : 0);
	free(p);
}

int main(void)
{
	pthread_t thread;

	/* The heap begins at a round address: what is left over beside aligned blocks depends on it since glibc 2.38. */
	sbrk((intptr_t)(-(uintptr_t)sbrk(0) & ((1 << 21) - 1)));
	setvbuf(stdout, malloc(8192), _IOFBF, 8192);
	errno = 4242;
	show_arena("at first");
	show_sizes();
	show_alignments();
	show_realloc();
	show_settings();
	show_environment();
	fflush(stdout);
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	return 0;
}
