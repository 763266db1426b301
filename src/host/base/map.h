/* SPDX-License-Identifier: MIT
 * A map from u64 to u64: open addressing, linear probing, at most 3/4 full. Any key and any value
 * is allowed. All zero is the empty map.
 *
 *	u64 *count = map_at(&map, key);
 *	if (!count)
 *		return err_memory(err);
 *	++*count;
 *
 * Pointers to values are valid until the next map_put, map_at or map_remove. */
#ifndef HOST_BASE_MAP_H
#define HOST_BASE_MAP_H

#include "format/types.h"

struct map_slot {
	u64 key; /* 0 = free: key 0 itself lives in struct map */
	u64 value;
};

struct map {
	struct map_slot *slots;
	u64 capacity; /* of slots: 0 or a power of two */
	u64 used;     /* slots that are taken */
	u64 zero_value;
	bool has_zero;
};

/* The value of key, or NULL. */
u64 *map_find(const struct map *map, u64 key);

/* The value of key, put there as 0 if it is new; NULL if there is no memory. */
u64 *map_at(struct map *map, u64 key);

/* Sets the value of key; false if there is no memory. */
bool map_put(struct map *map, u64 key, u64 value);

/* Takes key out, and its value into *value if that is not NULL; false if it was not there. */
bool map_remove(struct map *map, u64 key, u64 *value);

u64 map_count(const struct map *map);

/* Calls for each pair in no particular order: start with *at = 0; false at the end.
 *	for (u64 at = 0, key, value; map_next(&map, &at, &key, &value);) ... */
bool map_next(const struct map *map, u64 *at, u64 *key, u64 *value);

/* Takes all keys out and keeps the memory. */
void map_clear(struct map *map);
void map_release(struct map *map);

/* Spreads the bits of a number; for callers that build tables of their own. */
static inline u64 hash_u64(u64 x)
{
	x ^= x >> 32;
	x *= 0x9e3779b97f4a7c15ull;
	return x ^ (x >> 29);
}

/* FNV-1a of a text and its end, so that "ab", "c" is another one than "a", "bc". Goes on from
 * another hash, or begins with HASH_START. */
#define HASH_START 0xcbf29ce484222325ull
static inline u64 hash_text(u64 hash, const char *text)
{
	do
		hash = (hash ^ (u8)*text) * 0x100000001b3ull;
	while (*text++);
	return hash;
}

#endif
