/* SPDX-License-Identifier: MIT
 * Every function of the malloc family, with zero sizes, failing calls, realloc in all its forms,
 * and errno as the caller left it. Prints its expectation; see expect.h. */
#define _GNU_SOURCE
#include "expect.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

/* Naming the old block after realloc has ended it is the point of an expectation. */
#if defined __GNUC__ && !defined __clang__ && __GNUC__ >= 12
#pragma GCC diagnostic ignored "-Wuse-after-free"
#endif

/* Too large for any machine, and known to the compiler as little else: no warning, no folding. */
static volatile size_t huge = (size_t)PTRDIFF_MAX;
static volatile size_t zero;

/* What newer libraries have, and what old programs call. */
extern void free_sized(void *memory, size_t size) __attribute__((weak));
extern void free_aligned_sized(void *memory, size_t alignment, size_t size) __attribute__((weak));
extern void old_cfree(void *memory) __attribute__((weak));
#ifdef __GLIBC__
#ifdef __x86_64__
__asm__(".symver old_cfree, cfree@GLIBC_2.2.5\n\t.weak old_cfree");
#else
__asm__(".symver old_cfree, cfree@GLIBC_2.17\n\t.weak old_cfree");
#endif
#endif

static void release(void *memory, size_t size)
{
	expect_free("free", memory, size);
	free(memory);
}

static void plain_calls(void)
{
	void *a = expect_alloc("malloc", malloc(37), 37);
	unsigned char *b = expect_alloc("calloc", calloc(7, 11), 77);

	for (int i = 0; i < 77; i++)
		expect_true(b[i] == 0, "calloc gave memory that is not zero");
	expect_true(malloc_usable_size(a) >= 37, "malloc_usable_size is below the size");
	expect_true(malloc_usable_size(NULL) == 0, "malloc_usable_size(NULL) is not 0");
	release(b, 77);
	release(a, 37);
	free(NULL);
}

static void zero_sizes(void)
{
	void *a = expect_alloc("malloc", malloc(zero), 0);
	void *b = expect_alloc("calloc", calloc(zero, 5), 0);
	void *c = expect_alloc("realloc", realloc(NULL, zero), 0);
	void *d = expect_alloc("memalign", memalign(64, zero), 0);

	expect_true(a && b && c && d, "a zero size gave NULL");
	release(d, 0);
	release(c, 0);
	release(b, 0);
	release(a, 0);
}

static void aligned_calls(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *a = expect_alloc("memalign", memalign(256, 101), 101);
	void *b = expect_alloc("memalign", aligned_alloc(64, 192), 192);
	void *c = NULL, *d = expect_alloc("memalign", valloc(55), 55);
	void *e = pvalloc(77);

	expect_true(posix_memalign(&c, 128, 333) == 0, "posix_memalign failed");
	expect_alloc("memalign", e, 77);
	expect_alloc("memalign", c, 333);
	expect_true((uintptr_t)a % 256 == 0 && (uintptr_t)b % 64 == 0, "not aligned");
	expect_true((uintptr_t)c % 128 == 0 && (uintptr_t)d % page == 0, "not aligned");
	expect_true(malloc_usable_size(e) >= page, "pvalloc gave less than a page");
	release(a, 101);
	release(b, 192);
	release(c, 333);
	release(d, 55);
	release(e, 77);
}

/* Each ends a block as free does, NULL included. */
static void other_frees(void)
{
	void *a = expect_alloc("malloc", malloc(61), 61), *b = expect_alloc("memalign", aligned_alloc(128, 256), 256);
	void *c = expect_alloc("malloc", malloc(62), 62);
	volatile int kept = errno = 78;

	expect_free("free", a, 61);
	if (free_sized)
		free_sized(a, 61);
	else
		free(a);
	expect_free("free", b, 256);
	if (free_aligned_sized)
		free_aligned_sized(b, 128, 256);
	else
		free(b);
	expect_free("free", c, 62);
	if (old_cfree)
		old_cfree(c);
	else
		free(c);
	if (free_sized)
		free_sized(NULL, 0);
	if (free_aligned_sized)
		free_aligned_sized(NULL, 64, 0);
	if (old_cfree)
		old_cfree(NULL);
	expect_true(errno == kept, "a function that frees changed errno");
}

static void realloc_calls(void)
{
	char *a = expect_alloc("realloc", realloc(NULL, 40), 40);
	void *old = a;

	strcpy(a, "kept");
	a = expect_realloc(old, 40, realloc(a, 100000), 100000);
	expect_true(!strcmp(a, "kept"), "realloc lost the contents");
	old = a;
	a = expect_realloc(old, 100000, realloc(a, 8), 8);
	old = a;
	a = expect_realloc(old, 8, reallocarray(a, 6, 9), 54);
	old = a;
	expect_free("realloc_free", old, 54);
	expect_true(realloc(a, zero) == NULL, "realloc(p, 0) did not free");
}

static void failed_calls(void)
{
	void *kept = expect_alloc("malloc", malloc(24), 24), *other = kept;

	errno = 0;
	expect_true(malloc(huge) == NULL && errno == ENOMEM, "malloc of too much");
	errno = 0;
	expect_true(calloc(huge, 16) == NULL && errno == ENOMEM, "calloc that overflows");
	errno = 0;
	expect_true(realloc(kept, huge) == NULL && errno == ENOMEM, "realloc to too much");
	errno = 0;
	expect_true(reallocarray(kept, huge, 8) == NULL && errno == ENOMEM, "reallocarray");
	errno = 0;
	expect_true(memalign(64, huge) == NULL && errno == ENOMEM, "memalign of too much");
	errno = 33;
	expect_true(posix_memalign(&other, 24, 8) == EINVAL, "posix_memalign, bad alignment");
	expect_true(posix_memalign(&other, 64, huge) == ENOMEM, "posix_memalign of too much");
	expect_true(errno == 33 || errno == ENOMEM, "posix_memalign set a strange errno");
	expect_true(other == kept, "a failed posix_memalign wrote its result");
	release(kept, 24);
}

static void errno_is_kept(void)
{
	void *a;

	errno = 77;
	a = expect_alloc("malloc", malloc(48), 48);
	expect_true(errno == 77, "malloc changed errno");
	expect_free("free", a, 48);
	free(a);
	expect_true(errno == 77, "free changed errno");
	a = expect_alloc("calloc", calloc(1, 49), 49);
	a = expect_realloc(a, 49, realloc(a, 50), 50);
	expect_true(errno == 77, "realloc changed errno");
	release(a, 50);
}

static void calls_of_libc(void)
{
	char *a = expect_alloc("malloc", strdup("five!"), 6);
	char *b = expect_alloc("malloc", strndup("longer text", 3), 4);
	wchar_t *c = expect_alloc("malloc", wcsdup(L"wide"), 5 * sizeof(wchar_t));

	release(a, 6);
	release(b, 4);
	release(c, 5 * sizeof(wchar_t));
}

static void large_sizes(void)
{
	for (size_t size = 1; size <= (size_t)64 << 20; size *= 4) {
		void *a = expect_alloc("malloc", malloc(size), size);

		expect_true(a != NULL, "malloc failed");
		release(a, size);
	}
}

int main(void)
{
	expect_begin();
	plain_calls();
	zero_sizes();
	aligned_calls();
	other_frees();
	realloc_calls();
	failed_calls();
	errno_is_kept();
	calls_of_libc();
	large_sizes();
	expect_alloc("malloc", malloc(1234), 1234); /* kept */
	expect_total("failed_calls", 6);
	expect_end();
	return 0;
}
