/* SPDX-License-Identifier: MIT
 * Elements of a growing array that are found by a number, of which a map has their places + 1; and
 * words for the values of an enum.
 *
 *	struct edge *edge = vec_at_key(&edges, &by_ends, key, (struct edge){.caller = caller});
 *	if (!edge)
 *		return err_memory(err);
 */
#ifndef HOST_BASE_KEYED_H
#define HOST_BASE_KEYED_H

#include <string.h>

#include "host/base/map.h"
#include "host/base/vec.h"

/* The element of the key; the one given is appended if it is new. NULL if there is no memory. */
#define vec_at_key(vec, map, key, ...)                                                             \
	({                                                                                         \
		u64 *place_ = map_at(map, key);                                                    \
                                                                                                   \
		if (place_ && !*place_ && vec_push(vec, __VA_ARGS__))                              \
			*place_ = (vec)->count;                                                    \
		place_ &&*place_ ? &(vec)->data[*place_ - 1] : NULL;                               \
	})

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
