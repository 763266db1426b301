/* SPDX-License-Identifier: MIT
 * Rows of an array that are found by a key, of which a map has the index + 1; their order; and words
 * for the values of an enum. */
#ifndef HOST_BASE_ROWS_H
#define HOST_BASE_ROWS_H

#include <string.h>

#include "host/base/map.h"
#include "host/base/vec.h"

/* The row of a key, put there as it is written last if it is new; NULL if there is no memory. Valid
 * until the next.
 *	struct sum *sum = keyed_row(&sums, &by_key, key, (struct sum){.key = key});
 */
#define keyed_row(vec, map, key, ...)                                                              \
	({                                                                                         \
		u64 *keyed_index = map_at((map), (key));                                           \
		if (keyed_index && !*keyed_index && vec_push((vec), __VA_ARGS__))                  \
			*keyed_index = (vec)->count;                                               \
		keyed_index &&*keyed_index ? &(vec)->data[*keyed_index - 1] : NULL;                \
	})

/* As qsort does, of a VEC that may be empty. */
#define rows_sort(vec, compare)                                                                    \
	((vec)->count ? qsort((vec)->data, (vec)->count, sizeof *(vec)->data, compare) : (void)0)

/* What comparing functions return of two numbers; largest first: order_u64(b, a). */
static inline int order_u64(u64 a, u64 b) { return a < b ? -1 : a > b; }

/* Puts the index of a word in the array, which is a value of the enum, into *value; false if it is
 * none of them. */
#define word_parse(words, word, value)                                                             \
	word_find(words, sizeof(words) / sizeof *(words), word, (u32 *)(value))
static inline bool word_find(const char *const *words, u64 count, const char *word, u32 *value)
{
	for (u32 i = 0; i < count; i++)
		if (strcmp(words[i], word) == 0) {
			*value = i;
			return true;
		}
	return false;
}

#endif
