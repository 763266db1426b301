/* SPDX-License-Identifier: MIT
 * Functions of known allocators, by which the recorder finds them where no call of theirs passes
 * it: linked into the program, or called by names of their own. Both processes share the table:
 * what became of a function is told by its number. */
#ifndef FORMAT_ALLOCATORS_H
#define FORMAT_ALLOCATORS_H

#include "family.h"
#include "session.h"

/* name, word of --allocator, looked for by default, a function that each of its kind has */
#define HW_ALLOCATORS(A)                                                                           \
	A(PROGRAM, "program", 1, "malloc") /* the C and C++ names, in the program itself */        \
	A(JEMALLOC, "jemalloc", 1, "je_malloc")                                                    \
	A(TCMALLOC, "tcmalloc", 1, "tc_malloc")                                                    \
	A(MIMALLOC, "mimalloc", 1, "mi_malloc")                                                    \
	A(BOEHM, "boehm", 0, "GC_malloc")                                                          \
	A(APR, "apr", 0, "apr_palloc")                                                             \
	A(TALLOC, "talloc", 0, "_talloc_free")                                                     \
	/* pools of libstdc++ */                                                                   \
	A(PMR, "pmr", 0, "_ZNSt3pmr28unsynchronized_pool_resource11do_allocateEmm")

#define HW_ALLOCATOR_ENUM(name, word, by_default, probe) HW_ALLOCATOR_##name,
enum hw_allocator { HW_ALLOCATORS(HW_ALLOCATOR_ENUM) HW_ALLOCATOR_COUNT };
#undef HW_ALLOCATOR_ENUM

enum hw_entry_role {
	HW_ENTRY_GIVES, /* the result is the block */
	/* argument `block` points to where the block's address is put; the result is 0 then */
	HW_ENTRY_STORES,
	HW_ENTRY_TEXT,    /* the result is a text, and the block as large as it */
	HW_ENTRY_RESIZES, /* argument `block` ends, the result is another one */
	/* argument `block` points to its address, before and after; the result is 0 then */
	HW_ENTRY_RESIZES_AT,
	/* argument `block` has the size from then on if it is the result; else nothing happened */
	HW_ENTRY_EXPANDS,
	/* the same if the result is not below the size; argument `count` is what it may have
	 * more */
	HW_ENTRY_GROWS,
	HW_ENTRY_ENDS, /* argument `block` ends */
};

struct hw_entry {
	const char *name;
	u8 allocator, role, kind;
	u8 size, count; /* arguments of which the size is the product, from 1; 0 = none */
	u8 block;       /* from 1 */
};

/* clang-format off */
#define HW_E(allocator, name, role, kind, size, count, block)                                      \
	{ #name, HW_ALLOCATOR_##allocator, HW_ENTRY_##role, HW_##kind, size, count, block }

/* Rows of family.h. */
#define HW_E_FAMILY(result, name, parameters, arguments, ...) HW_E(PROGRAM, name, __VA_ARGS__),
#define HW_E_NEW(number, name, kind, ...) HW_E(PROGRAM, name, GIVES, kind, 1, 0, 0),
#define HW_E_DELETE(number, name, kind, ...) HW_E(PROGRAM, name, ENDS, kind, 0, 0, 1),

/* The same functions with the prefix that a build of it was given. */
#define HW_E_JEMALLOC(prefix)                                                                      \
	HW_E(JEMALLOC, prefix##malloc, GIVES, MALLOC, 1, 0, 0),                                    \
	HW_E(JEMALLOC, prefix##calloc, GIVES, CALLOC, 1, 2, 0),                                    \
	HW_E(JEMALLOC, prefix##realloc, RESIZES, REALLOC, 2, 0, 1),                                \
	HW_E(JEMALLOC, prefix##free, ENDS, FREE, 0, 0, 1),                                         \
	HW_E(JEMALLOC, prefix##posix_memalign, STORES, MEMALIGN, 3, 0, 1),                         \
	HW_E(JEMALLOC, prefix##aligned_alloc, GIVES, MEMALIGN, 2, 0, 0),                           \
	HW_E(JEMALLOC, prefix##memalign, GIVES, MEMALIGN, 2, 0, 0),                                \
	HW_E(JEMALLOC, prefix##valloc, GIVES, MEMALIGN, 1, 0, 0),                                  \
	HW_E(JEMALLOC, prefix##mallocx, GIVES, MALLOC, 1, 0, 0),                                   \
	HW_E(JEMALLOC, prefix##rallocx, RESIZES, REALLOC, 2, 0, 1),                                \
	HW_E(JEMALLOC, prefix##xallocx, GROWS, REALLOC, 2, 3, 1),                                  \
	HW_E(JEMALLOC, prefix##dallocx, ENDS, FREE, 0, 0, 1),                                      \
	HW_E(JEMALLOC, prefix##sdallocx, ENDS, FREE, 0, 0, 1)
/* clang-format on */

static const struct hw_entry hw_entries[] = {
	HW_FAMILY(HW_E_FAMILY, HW_E_FAMILY, HW_E_FAMILY) HW_NEW_FORMS(HW_E_NEW, HW_E_NEW)
		HW_DELETE_FORMS(HW_E_DELETE)

			HW_E_JEMALLOC(je_),
	HW_E_JEMALLOC(_rjem_), /* of Rust's jemallocator */
	HW_E(JEMALLOC, mallocx, GIVES, MALLOC, 1, 0, 0),
	HW_E(JEMALLOC, rallocx, RESIZES, REALLOC, 2, 0, 1),
	HW_E(JEMALLOC, xallocx, GROWS, REALLOC, 2, 3, 1),
	HW_E(JEMALLOC, dallocx, ENDS, FREE, 0, 0, 1),
	HW_E(JEMALLOC, sdallocx, ENDS, FREE, 0, 0, 1),

	HW_E(TCMALLOC, tc_malloc, GIVES, MALLOC, 1, 0, 0),
	HW_E(TCMALLOC, tc_malloc_skip_new_handler, GIVES, MALLOC, 1, 0, 0),
	HW_E(TCMALLOC, tc_calloc, GIVES, CALLOC, 1, 2, 0),
	HW_E(TCMALLOC, tc_realloc, RESIZES, REALLOC, 2, 0, 1),
	HW_E(TCMALLOC, tc_free, ENDS, FREE, 0, 0, 1),
	HW_E(TCMALLOC, tc_free_sized, ENDS, FREE, 0, 0, 1),
	HW_E(TCMALLOC, tc_cfree, ENDS, FREE, 0, 0, 1),
	HW_E(TCMALLOC, tc_memalign, GIVES, MEMALIGN, 2, 0, 0),
	HW_E(TCMALLOC, tc_posix_memalign, STORES, MEMALIGN, 3, 0, 1),
	HW_E(TCMALLOC, tc_valloc, GIVES, MEMALIGN, 1, 0, 0),
	HW_E(TCMALLOC, tc_pvalloc, GIVES, MEMALIGN, 1, 0, 0),
	HW_E(TCMALLOC, tc_new, GIVES, NEW, 1, 0, 0),
	HW_E(TCMALLOC, tc_newarray, GIVES, NEW_ARRAY, 1, 0, 0),
	HW_E(TCMALLOC, tc_new_nothrow, GIVES, NEW, 1, 0, 0),
	HW_E(TCMALLOC, tc_newarray_nothrow, GIVES, NEW_ARRAY, 1, 0, 0),
	HW_E(TCMALLOC, tc_new_aligned, GIVES, NEW, 1, 0, 0),
	HW_E(TCMALLOC, tc_newarray_aligned, GIVES, NEW_ARRAY, 1, 0, 0),
	HW_E(TCMALLOC, tc_delete, ENDS, DELETE, 0, 0, 1),
	HW_E(TCMALLOC, tc_deletearray, ENDS, DELETE_ARRAY, 0, 0, 1),
	HW_E(TCMALLOC, tc_delete_sized, ENDS, DELETE, 0, 0, 1),
	HW_E(TCMALLOC, tc_deletearray_sized, ENDS, DELETE_ARRAY, 0, 0, 1),
	HW_E(TCMALLOC, tc_delete_nothrow, ENDS, DELETE, 0, 0, 1),
	HW_E(TCMALLOC, tc_deletearray_nothrow, ENDS, DELETE_ARRAY, 0, 0, 1),
	HW_E(TCMALLOC, tc_delete_aligned, ENDS, DELETE, 0, 0, 1),
	HW_E(TCMALLOC, tc_deletearray_aligned, ENDS, DELETE_ARRAY, 0, 0, 1),
	HW_E(TCMALLOC, tc_new_aligned_nothrow, GIVES, NEW, 1, 0, 0),
	HW_E(TCMALLOC, tc_newarray_aligned_nothrow, GIVES, NEW_ARRAY, 1, 0, 0),
	HW_E(TCMALLOC, tc_delete_sized_aligned, ENDS, DELETE, 0, 0, 1),
	HW_E(TCMALLOC, tc_deletearray_sized_aligned, ENDS, DELETE_ARRAY, 0, 0, 1),
	HW_E(TCMALLOC, tc_delete_aligned_nothrow, ENDS, DELETE, 0, 0, 1),
	HW_E(TCMALLOC, tc_deletearray_aligned_nothrow, ENDS, DELETE_ARRAY, 0, 0, 1),

	HW_E(MIMALLOC, mi_malloc, GIVES, MALLOC, 1, 0, 0),
	HW_E(MIMALLOC, mi_malloc_small, GIVES, MALLOC, 1, 0, 0),
	HW_E(MIMALLOC, mi_zalloc, GIVES, CALLOC, 1, 0, 0),
	HW_E(MIMALLOC, mi_zalloc_small, GIVES, CALLOC, 1, 0, 0),
	HW_E(MIMALLOC, mi_mallocn, GIVES, MALLOC, 1, 2, 0),
	HW_E(MIMALLOC, mi_calloc, GIVES, CALLOC, 1, 2, 0),
	HW_E(MIMALLOC, mi_realloc, RESIZES, REALLOC, 2, 0, 1),
	HW_E(MIMALLOC, mi_reallocn, RESIZES, REALLOC, 2, 3, 1),
	HW_E(MIMALLOC, mi_reallocf, RESIZES, REALLOC, 2, 0, 1),
	HW_E(MIMALLOC, mi_rezalloc, RESIZES, REALLOC, 2, 0, 1),
	HW_E(MIMALLOC, mi_recalloc, RESIZES, REALLOC, 2, 3, 1),
	HW_E(MIMALLOC, mi_free, ENDS, FREE, 0, 0, 1),
	HW_E(MIMALLOC, mi_free_size, ENDS, FREE, 0, 0, 1),
	HW_E(MIMALLOC, mi_free_aligned, ENDS, FREE, 0, 0, 1),
	HW_E(MIMALLOC, mi_free_size_aligned, ENDS, FREE, 0, 0, 1),
	HW_E(MIMALLOC, mi_cfree, ENDS, FREE, 0, 0, 1),
	HW_E(MIMALLOC, mi_strdup, TEXT, MALLOC, 0, 0, 0),
	HW_E(MIMALLOC, mi_strndup, TEXT, MALLOC, 0, 0, 0),
	HW_E(MIMALLOC, mi_malloc_aligned, GIVES, MEMALIGN, 1, 0, 0),
	HW_E(MIMALLOC, mi_malloc_aligned_at, GIVES, MEMALIGN, 1, 0, 0),
	HW_E(MIMALLOC, mi_zalloc_aligned, GIVES, MEMALIGN, 1, 0, 0),
	HW_E(MIMALLOC, mi_calloc_aligned, GIVES, MEMALIGN, 1, 2, 0),
	HW_E(MIMALLOC, mi_realloc_aligned, RESIZES, REALLOC, 2, 0, 1),
	HW_E(MIMALLOC, mi_posix_memalign, STORES, MEMALIGN, 3, 0, 1),
	HW_E(MIMALLOC, mi_memalign, GIVES, MEMALIGN, 2, 0, 0),
	HW_E(MIMALLOC, mi_aligned_alloc, GIVES, MEMALIGN, 2, 0, 0),
	HW_E(MIMALLOC, mi_valloc, GIVES, MEMALIGN, 1, 0, 0),
	HW_E(MIMALLOC, mi_pvalloc, GIVES, MEMALIGN, 1, 0, 0),
	HW_E(MIMALLOC, mi_heap_malloc, GIVES, MALLOC, 2, 0, 0),
	HW_E(MIMALLOC, mi_heap_malloc_small, GIVES, MALLOC, 2, 0, 0),
	HW_E(MIMALLOC, mi_heap_zalloc, GIVES, CALLOC, 2, 0, 0),
	HW_E(MIMALLOC, mi_heap_mallocn, GIVES, MALLOC, 2, 3, 0),
	HW_E(MIMALLOC, mi_heap_calloc, GIVES, CALLOC, 2, 3, 0),
	HW_E(MIMALLOC, mi_heap_realloc, RESIZES, REALLOC, 3, 0, 2),
	HW_E(MIMALLOC, mi_heap_malloc_aligned, GIVES, MEMALIGN, 2, 0, 0),
	HW_E(MIMALLOC, mi_new, GIVES, NEW, 1, 0, 0),
	HW_E(MIMALLOC, mi_new_n, GIVES, NEW, 1, 2, 0),
	HW_E(MIMALLOC, mi_new_nothrow, GIVES, NEW, 1, 0, 0),
	HW_E(MIMALLOC, mi_new_aligned, GIVES, NEW, 1, 0, 0),
	HW_E(MIMALLOC, mi_new_aligned_nothrow, GIVES, NEW, 1, 0, 0),
	HW_E(MIMALLOC, mi_new_realloc, RESIZES, REALLOC, 2, 0, 1),
	HW_E(MIMALLOC, mi_new_reallocn, RESIZES, REALLOC, 2, 3, 1),
	HW_E(MIMALLOC, mi_expand, EXPANDS, REALLOC, 2, 0, 1),
	HW_E(MIMALLOC, mi__expand, EXPANDS, REALLOC, 2, 0, 1),
	HW_E(MIMALLOC, mi_reallocarray, RESIZES, REALLOC, 2, 3, 1),
	HW_E(MIMALLOC, mi_reallocarr, RESIZES_AT, REALLOC, 2, 3, 1),
	HW_E(MIMALLOC, mi_mbsdup, TEXT, MALLOC, 0, 0, 0),
	HW_E(MIMALLOC, mi_zalloc_aligned_at, GIVES, MEMALIGN, 1, 0, 0),
	HW_E(MIMALLOC, mi_calloc_aligned_at, GIVES, MEMALIGN, 1, 2, 0),
	HW_E(MIMALLOC, mi_realloc_aligned_at, RESIZES, REALLOC, 2, 0, 1),
	HW_E(MIMALLOC, mi_rezalloc_aligned, RESIZES, REALLOC, 2, 0, 1),
	HW_E(MIMALLOC, mi_rezalloc_aligned_at, RESIZES, REALLOC, 2, 0, 1),
	HW_E(MIMALLOC, mi_recalloc_aligned, RESIZES, REALLOC, 2, 3, 1),
	HW_E(MIMALLOC, mi_recalloc_aligned_at, RESIZES, REALLOC, 2, 3, 1),
	HW_E(MIMALLOC, mi_aligned_recalloc, RESIZES, REALLOC, 2, 3, 1),
	HW_E(MIMALLOC, mi_aligned_offset_recalloc, RESIZES, REALLOC, 2, 3, 1),
	HW_E(MIMALLOC, mi_heap_strdup, TEXT, MALLOC, 0, 0, 0),
	HW_E(MIMALLOC, mi_heap_strndup, TEXT, MALLOC, 0, 0, 0),
	HW_E(MIMALLOC, mi_heap_malloc_aligned_at, GIVES, MEMALIGN, 2, 0, 0),
	HW_E(MIMALLOC, mi_heap_zalloc_aligned, GIVES, MEMALIGN, 2, 0, 0),
	HW_E(MIMALLOC, mi_heap_zalloc_aligned_at, GIVES, MEMALIGN, 2, 0, 0),
	HW_E(MIMALLOC, mi_heap_calloc_aligned, GIVES, MEMALIGN, 2, 3, 0),
	HW_E(MIMALLOC, mi_heap_calloc_aligned_at, GIVES, MEMALIGN, 2, 3, 0),
	HW_E(MIMALLOC, mi_heap_reallocn, RESIZES, REALLOC, 3, 4, 2),
	HW_E(MIMALLOC, mi_heap_reallocf, RESIZES, REALLOC, 3, 0, 2),
	HW_E(MIMALLOC, mi_heap_rezalloc, RESIZES, REALLOC, 3, 0, 2),
	HW_E(MIMALLOC, mi_heap_recalloc, RESIZES, REALLOC, 3, 4, 2),
	HW_E(MIMALLOC, mi_heap_realloc_aligned, RESIZES, REALLOC, 3, 0, 2),
	HW_E(MIMALLOC, mi_heap_realloc_aligned_at, RESIZES, REALLOC, 3, 0, 2),
	HW_E(MIMALLOC, mi_heap_rezalloc_aligned, RESIZES, REALLOC, 3, 0, 2),
	HW_E(MIMALLOC, mi_heap_rezalloc_aligned_at, RESIZES, REALLOC, 3, 0, 2),
	HW_E(MIMALLOC, mi_heap_recalloc_aligned, RESIZES, REALLOC, 3, 4, 2),
	HW_E(MIMALLOC, mi_heap_recalloc_aligned_at, RESIZES, REALLOC, 3, 4, 2),
	HW_E(MIMALLOC, mi_heap_alloc_new, GIVES, NEW, 2, 0, 0),
	HW_E(MIMALLOC, mi_heap_alloc_new_n, GIVES, NEW, 2, 3, 0),

	HW_E(BOEHM, GC_malloc, GIVES, POOL, 1, 0, 0),
	HW_E(BOEHM, GC_malloc_atomic, GIVES, POOL, 1, 0, 0),
	HW_E(BOEHM, GC_malloc_uncollectable, GIVES, POOL, 1, 0, 0),
	HW_E(BOEHM, GC_malloc_atomic_uncollectable, GIVES, POOL, 1, 0, 0),
	HW_E(BOEHM, GC_malloc_ignore_off_page, GIVES, POOL, 1, 0, 0),
	HW_E(BOEHM, GC_malloc_atomic_ignore_off_page, GIVES, POOL, 1, 0, 0),
	HW_E(BOEHM, GC_malloc_explicitly_typed, GIVES, POOL, 1, 0, 0),
	HW_E(BOEHM, GC_memalign, GIVES, POOL, 2, 0, 0),
	HW_E(BOEHM, GC_strdup, TEXT, POOL, 0, 0, 0),
	HW_E(BOEHM, GC_strndup, TEXT, POOL, 0, 0, 0),
	HW_E(BOEHM, GC_realloc, RESIZES, POOL, 2, 0, 1),
	HW_E(BOEHM, GC_free, ENDS, POOL_FREE, 0, 0, 1),

	HW_E(APR, apr_palloc, GIVES, POOL, 2, 0, 0),
	HW_E(APR, apr_pcalloc, GIVES, POOL, 2, 0, 0),

	HW_E(TALLOC, talloc_named_const, GIVES, POOL, 2, 0, 0),
	HW_E(TALLOC, _talloc_zero, GIVES, POOL, 2, 0, 0),
	HW_E(TALLOC, _talloc_array, GIVES, POOL, 2, 3, 0),
	HW_E(TALLOC, talloc_strdup, TEXT, POOL, 0, 0, 0),
	HW_E(TALLOC, _talloc_free, ENDS, POOL_FREE, 0, 0, 1),

	HW_E(PMR, _ZNSt3pmr28unsynchronized_pool_resource11do_allocateEmm, GIVES, POOL, 2, 0, 0),
	HW_E(PMR, _ZNSt3pmr28unsynchronized_pool_resource13do_deallocateEPvmm, ENDS, POOL_FREE, 0,
	     0, 2),
	HW_E(PMR, _ZNSt3pmr26synchronized_pool_resource11do_allocateEmm, GIVES, POOL, 2, 0, 0),
	HW_E(PMR, _ZNSt3pmr26synchronized_pool_resource13do_deallocateEPvmm, ENDS, POOL_FREE, 0, 0,
	     2),
};
enum { HW_ENTRIES = sizeof(hw_entries) / sizeof(hw_entries[0]) };
_Static_assert((u32)HW_ENTRIES <= (u32)HW_ENTRIES_MAX, "hw_control has a place for each");

/* What became of a function, in hw_control.entries: the higher of two counts. */
enum hw_entry_state {
	HW_ENTRY_UNSEEN = 0,
	HW_ENTRY_RECORDED = 1,
	HW_ENTRY_NO_ROOM = 2, /* of one module at least it could not be recorded, as with pools */
	HW_ENTRY_UNFIT = 3,
	HW_ENTRY_SHADOWED = 4,
};

/* Which allocators are looked for unless the user says so: a bit each. */
static inline u32 hw_allocators_default(void)
{
#define HW_ALLOCATOR_BIT(name, word, by_default, probe) | (u32)(by_default) << HW_ALLOCATOR_##name
	return 0 HW_ALLOCATORS(HW_ALLOCATOR_BIT);
#undef HW_ALLOCATOR_BIT
}

#endif
