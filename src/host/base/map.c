/* SPDX-License-Identifier: MIT
 * Open-addressing map. Removal shifts the cluster back instead of leaving tombstones, so a map
 * that lives long does not get slower. Runs on the host. Never shrinks. */
#include "host/base/map.h"

#include <stdlib.h>
#include <string.h>

/* Index of key's slot, or of the free slot where it belongs. */
static u64 slot_index(const struct map *map, u64 key)
{
	u64 mask = map->capacity - 1;
	u64 i = hash_u64(key) & mask;

	while (map->slots[i].key && map->slots[i].key != key)
		i = (i + 1) & mask;
	return i;
}

static bool grow(struct map *map)
{
	u64 capacity = map->capacity ? map->capacity * 2 : 16;
	struct map old = *map;

	if (capacity > SIZE_MAX / sizeof(*map->slots))
		return false;
	map->slots = calloc(capacity, sizeof(*map->slots));
	if (!map->slots) {
		map->slots = old.slots;
		return false;
	}
	map->capacity = capacity;
	for (u64 i = 0; i < old.capacity; i++) {
		if (old.slots[i].key)
			map->slots[slot_index(map, old.slots[i].key)] = old.slots[i];
	}
	free(old.slots);
	return true;
}

u64 *map_find(const struct map *map, u64 key)
{
	u64 i;

	if (!key)
		return map->has_zero ? (u64 *)&map->zero_value : NULL;
	if (!map->capacity)
		return NULL;
	i = slot_index(map, key);
	return map->slots[i].key ? &map->slots[i].value : NULL;
}

u64 *map_at(struct map *map, u64 key)
{
	u64 i;

	if (!key) {
		if (!map->has_zero)
			map->zero_value = 0;
		map->has_zero = true;
		return &map->zero_value;
	}
	if (map->used >= map->capacity - map->capacity / 4 && !grow(map))
		return NULL;
	i = slot_index(map, key);
	if (!map->slots[i].key) {
		map->slots[i] = (struct map_slot){.key = key};
		map->used++;
	}
	return &map->slots[i].value;
}

bool map_put(struct map *map, u64 key, u64 value)
{
	u64 *at = map_at(map, key);

	if (!at)
		return false;
	*at = value;
	return true;
}

/* Fills the hole with the next slot of the cluster that may stand there, until the cluster ends. */
static void close_hole(struct map *map, u64 hole)
{
	u64 mask = map->capacity - 1;

	for (u64 i = (hole + 1) & mask; map->slots[i].key; i = (i + 1) & mask) {
		u64 home = hash_u64(map->slots[i].key) & mask;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue; /* its home lies behind the hole */
		map->slots[hole] = map->slots[i];
		hole = i;
	}
	map->slots[hole].key = 0;
}

bool map_remove(struct map *map, u64 key, u64 *value)
{
	u64 *at = map_find(map, key);

	if (!at)
		return false;
	if (value)
		*value = *at;
	if (!key) {
		map->has_zero = false;
		return true;
	}
	close_hole(map, slot_index(map, key));
	map->used--;
	return true;
}

u64 map_count(const struct map *map) { return map->used + map->has_zero; }

bool map_next(const struct map *map, u64 *at, u64 *key, u64 *value)
{
	while (*at < map->capacity) {
		const struct map_slot *slot = &map->slots[(*at)++];

		if (!slot->key)
			continue;
		*key = slot->key;
		*value = slot->value;
		return true;
	}
	if (*at != map->capacity || !map->has_zero)
		return false;
	++*at;
	*key = 0;
	*value = map->zero_value;
	return true;
}

void map_clear(struct map *map)
{
	if (map->capacity)
		memset(map->slots, 0, map->capacity * sizeof(*map->slots));
	map->used = 0;
	map->has_zero = false;
}

void map_release(struct map *map)
{
	free(map->slots);
	*map = (struct map){0};
}
