/* SPDX-License-Identifier: MIT */
#ifndef TARGETS_ARENA_H
#define TARGETS_ARENA_H

#include <stddef.h>

void *arena_alloc(size_t size);
void arena_free(void *block);
char *arena_copy(const char *text); /* by arena_alloc */
void arena_release(void);           /* gives everything back to malloc */
extern unsigned long arena_mallocs;

void *sized_alloc(int flags, const char *who, size_t size);
void sized_free(int flags, void *block);

#endif
