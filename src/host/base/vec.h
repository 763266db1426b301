/* SPDX-License-Identifier: MIT
 * Growing arrays of any element type. All zero is the empty array.
 *
 *	VEC(struct event) events = {0};
 *	if (!vec_push(&events, event))
 *		return err_memory(err);
 *	for (u64 i = 0; i < events.count; i++)
 *		use(&events.data[i]);
 *	vec_release(&events);
 *
 * Elements move when the array grows: keep indexes, not pointers. A failed growth leaves the array
 * as it was. */
#ifndef HOST_BASE_VEC_H
#define HOST_BASE_VEC_H

#include <stdlib.h>

#include "format/types.h"

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *data;                                                                        \
		u64 count, capacity;                                                               \
	}

/* Room for `extra` more elements; false if there is no memory. */
#define vec_reserve(vec, extra)                                                                    \
	((vec)->capacity - (vec)->count >= (u64)(extra) ||                                         \
	 vec_grow((void **)(void *)&(vec)->data, &(vec)->capacity, (vec)->count, (extra),          \
		  sizeof(*(vec)->data)))

/* Appends one element; false if there is no memory. The value is evaluated once, after growing. */
#define vec_push(vec, ...)                                                                         \
	(vec_reserve((vec), 1) && ((vec)->data[(vec)->count++] = (__VA_ARGS__), true))

/* The count becomes at least `wanted`; new elements are zero. false if there is no memory. */
#define vec_extend(vec, wanted)                                                                    \
	((vec)->count >= (u64)(wanted) ||                                                          \
	 (vec_reserve((vec), (u64)(wanted) - (vec)->count) &&                                      \
	  (vec_zero((vec)->data, (vec)->count, (wanted), sizeof(*(vec)->data)),                    \
	   (vec)->count = (wanted), true)))

#define vec_clear(vec) ((void)((vec)->count = 0))

/* Frees the elements' memory; the array is empty and ready again. */
#define vec_release(vec)                                                                           \
	(free((vec)->data), (vec)->data = NULL, (vec)->count = 0, (void)((vec)->capacity = 0))

/* Behind the macros. */
bool vec_grow(void **data, u64 *capacity, u64 count, u64 extra, u64 size);
void vec_zero(void *data, u64 from, u64 to, u64 size);

#endif
