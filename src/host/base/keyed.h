/* SPDX-License-Identifier: MIT
 * Elements of a growing array that are found by a number. The map has their places + 1.
 *
 *	struct edge *edge = vec_at_key(&edges, &by_ends, key, (struct edge){.caller = caller});
 *	if (!edge)
 *		return err_memory(err);
 */
#ifndef HOST_BASE_KEYED_H
#define HOST_BASE_KEYED_H

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

#endif
