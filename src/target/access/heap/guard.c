/* SPDX-License-Identifier: MIT
 * Whoever calls the C library's functions past ours, by a pointer that dlsym gave to a module with
 * a scope of its own (RTLD_DEEPBIND) or from within the C library, may hand it a block of the heap,
 * on which it would end the program. So these functions begin with a jump to here. Runs in the
 * target; the jumps are put there before there is a second thread. */
#include "target/access/heap/guard.h"

#include <link.h>
#include <malloc.h>
#include <stdlib.h>

#include "target/access/heap/chunk.h"
#include "target/access/heap/heap.h"
#include "target/recorder/pool/detour.h"
#include "target/recorder/state/objects.h"
#include "target/recorder/state/real.h"

static struct { /* what the functions were */
	void (*free)(void *p);
	void *(*realloc)(void *p, size_t size);
	size_t (*usable_size)(void *p);
} libc;

static void guard_free(void *p)
{
	if (hwr_heap_has((u64)p))
		free(p); /* ours, as below */
	else
		libc.free(p);
}

static void *guard_realloc(void *p, size_t size)
{
	return hwr_heap_has((u64)p) ? realloc(p, size) : libc.realloc(p, size);
}

static size_t guard_usable_size(void *p)
{
	return hwr_heap_has((u64)p) ? malloc_usable_size(p) : libc.usable_size(p);
}

/* Where it cannot be done all is as without it. */
static void guard(const struct link_map *map, const char *name, u64 instead, void **real)
{
	struct hwr_detour detour = {.instead = instead};

	if (hwr_real_function_in(map, name, &detour.function, &detour.bytes) &&
	    hwr_detour_make(&detour) == HW_POOL_RECORDED)
		*real = (void *)detour.real;
}

void hwr_guard_libc(void)
{
	static bool done;
	const struct link_map *map = hwr_first_map();

	while (map && !hwr_is_library(map->l_name, "libc.so"))
		map = map->l_next;
	if (!map || done)
		return;
	done = true;
	guard(map, "free", (u64)guard_free, (void **)&libc.free);
	guard(map, "realloc", (u64)guard_realloc, (void **)&libc.realloc);
	guard(map, "malloc_usable_size", (u64)guard_usable_size, (void **)&libc.usable_size);
}

/* Real ones of the allocator behind would not know the heap's chunks. */
HWR_EXPORT size_t malloc_usable_size(void *p)
{
	static void *real;
	size_t size = p ? hwr_heap_usable_size(p) : 0;
	size_t (*next)(void *);

	if (size != SIZE_MAX)
		return size;
	next = (size_t(*)(void *))hwr_real_once(&real, "malloc_usable_size");
	return next ? next(p) : 0;
}
