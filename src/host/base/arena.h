/* SPDX-License-Identifier: MIT
 * Memory with one lifetime: many small allocations, freed in one call. One arena per lifetime (a
 * load, an analysis, a request). Not for use by two threads at once.
 *
 *	struct arena arena = {0};
 *	struct node *node = arena_new(&arena, struct node);
 *	if (!node)
 *		return err_memory(err);
 *	...
 *	arena_release(&arena);
 */
#ifndef HOST_BASE_ARENA_H
#define HOST_BASE_ARENA_H

#include <stdarg.h>

#include "format/types.h"

struct arena_block;

struct arena {                      /* all zero = empty and ready */
	struct arena_block *blocks; /* newest first */
	u8 *next, *end;             /* free part of the newest block */
	u64 bytes;                  /* handed out so far, padding included */
};

/* Zeroed memory, aligned to 16; NULL if there is none. 0 bytes give a valid pointer. */
void *arena_alloc(struct arena *arena, u64 bytes);

/* The same for count elements; NULL also if count * size overflows. */
void *arena_alloc_array(struct arena *arena, u64 count, u64 size);

#define arena_new(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define arena_new_array(arena, type, count)                                                        \
	((type *)arena_alloc_array((arena), (count), sizeof(type)))

/* A terminated copy of the bytes, which need no terminator of their own. */
char *arena_copy_text(struct arena *arena, const char *text, u64 bytes);

/* A copy of a string; NULL if text is NULL or there is no memory. */
char *arena_copy(struct arena *arena, const char *text);

/* A text as printf has it; NULL if there is no memory. */
char *arena_format(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
char *arena_vformat(struct arena *arena, const char *format, va_list arguments)
	__attribute__((format(printf, 2, 0)));

/* What `other` has handed out lives as long as `arena` from now on; other is empty and ready. */
void arena_adopt(struct arena *arena, struct arena *other);

/* Frees everything; the arena is empty and ready again. */
void arena_release(struct arena *arena);

#endif
