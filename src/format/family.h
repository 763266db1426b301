/* SPDX-License-Identifier: MIT
 * The malloc family and C++'s operators: the one list of functions that allocate and free. From it
 * come the hooks' real functions, those of the recorder's own heap, and the names that are looked
 * for in programs and sources. */
#ifndef FORMAT_FAMILY_H
#define FORMAT_FAMILY_H

/* row(result, name, parameters, arguments, role, kind, size, count, block), the last five as in
 * struct hw_entry. F: functions that the recorder calls; A: those of them that align, whose hooks
 * are all alike; G: what is left. */
#define HW_FAMILY(F, A, G)                                                                         \
	F(void *, malloc, (size_t size), (size), GIVES, MALLOC, 1, 0, 0)                           \
	F(void *, calloc, (size_t count, size_t size), (count, size), GIVES, CALLOC, 1, 2, 0)      \
	F(void *, realloc, (void *old, size_t size), (old, size), RESIZES, REALLOC, 2, 0, 1)       \
	G(void *, reallocarray, (void *old, size_t count, size_t size), (old, count, size),        \
	  RESIZES, REALLOC, 2, 3, 1)                                                               \
	F(void, free, (void *p), (p), ENDS, FREE, 0, 0, 1)                                         \
	G(void, cfree, (void *p), (p), ENDS, FREE, 0, 0, 1)                                        \
	G(void, free_sized, (void *p, size_t size), (p, size), ENDS, FREE, 0, 0, 1)                \
	G(void, free_aligned_sized, (void *p, size_t alignment, size_t size),                      \
	  (p, alignment, size), ENDS, FREE, 0, 0, 1)                                               \
	F(int, posix_memalign, (void **result, size_t alignment, size_t size),                     \
	  (result, alignment, size), STORES, MEMALIGN, 3, 0, 1)                                    \
	A(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size), GIVES,        \
	  MEMALIGN, 2, 0, 0)                                                                       \
	A(void *, memalign, (size_t alignment, size_t size), (alignment, size), GIVES, MEMALIGN,   \
	  2, 0, 0)                                                                                 \
	A(void *, valloc, (size_t size), (size), GIVES, MEMALIGN, 1, 0, 0)                         \
	A(void *, pvalloc, (size_t size), (size), GIVES, MEMALIGN, 1, 0, 0)

/* form(number, name, kind, parameters, arguments); names are mangled as on every LP64 Linux. A:
 * with an alignment. */
#define HW_NEW_FORMS(F, A)                                                                         \
	F(0, _Znwm, NEW, (size_t size), (size))                                                    \
	F(1, _Znam, NEW_ARRAY, (size_t size), (size))                                              \
	F(2, _ZnwmRKSt9nothrow_t, NEW, (size_t size, const void *n), (size, n))                    \
	F(3, _ZnamRKSt9nothrow_t, NEW_ARRAY, (size_t size, const void *n), (size, n))              \
	A(4, _ZnwmSt11align_val_t, NEW, (size_t size, size_t a), (size, a))                        \
	A(5, _ZnamSt11align_val_t, NEW_ARRAY, (size_t size, size_t a), (size, a))                  \
	A(6, _ZnwmSt11align_val_tRKSt9nothrow_t, NEW, (size_t size, size_t a, const void *n),      \
	  (size, a, n))                                                                            \
	A(7, _ZnamSt11align_val_tRKSt9nothrow_t, NEW_ARRAY,                                        \
	  (size_t size, size_t a, const void *n), (size, a, n))

#define HW_DELETE_FORMS(F)                                                                         \
	F(8, _ZdlPv, DELETE, (void *p), (p))                                                       \
	F(9, _ZdaPv, DELETE_ARRAY, (void *p), (p))                                                 \
	F(10, _ZdlPvm, DELETE, (void *p, size_t s), (p, s))                                        \
	F(11, _ZdaPvm, DELETE_ARRAY, (void *p, size_t s), (p, s))                                  \
	F(12, _ZdlPvRKSt9nothrow_t, DELETE, (void *p, const void *n), (p, n))                      \
	F(13, _ZdaPvRKSt9nothrow_t, DELETE_ARRAY, (void *p, const void *n), (p, n))                \
	F(14, _ZdlPvSt11align_val_t, DELETE, (void *p, size_t a), (p, a))                          \
	F(15, _ZdaPvSt11align_val_t, DELETE_ARRAY, (void *p, size_t a), (p, a))                    \
	F(16, _ZdlPvmSt11align_val_t, DELETE, (void *p, size_t s, size_t a), (p, s, a))            \
	F(17, _ZdaPvmSt11align_val_t, DELETE_ARRAY, (void *p, size_t s, size_t a), (p, s, a))      \
	F(18, _ZdlPvSt11align_val_tRKSt9nothrow_t, DELETE, (void *p, size_t a, const void *n),     \
	  (p, a, n))                                                                               \
	F(19, _ZdaPvSt11align_val_tRKSt9nothrow_t, DELETE_ARRAY,                                   \
	  (void *p, size_t a, const void *n), (p, a, n))

/* For rows that are passed over. */
#define HW_NO_ROW(...)

#endif
