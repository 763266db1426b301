/* SPDX-License-Identifier: MIT
 * Patterns of accesses; see patterns.h.
 * Host. */
#include "study/model/patterns.h"

#include <string.h>

#include "host/base/bytemap.h"
#include "host/trace/block.h"

/* Which bytes were accessed; false if that is not told. */
static bool accessed_bytes(u64 *words, const struct stream_access *row)
{
	if (row->map)
		memcpy(words, row->map, HW_MAP_WORDS * sizeof(*words));
	else if (hw_access_has_gaps(row->low, row->high, row->covered_bytes))
		return false;
	else if (row->covered_bytes)
		bytemap_set(words, row->low, row->high);
	return true;
}

bool access_pattern_of(struct access_pattern *self, const struct stream_access *row, u64 size)
{
	u64 all[HW_MAP_WORDS] = {0};

	*self = (struct access_pattern){.size = (u16)size, .sided = row->sided};
	if (size > HW_MAP_BYTES || row->high > size || row->low > row->high ||
	    !accessed_bytes(all, row) || bytemap_next(all, size, HW_MAP_BYTES, true) < HW_MAP_BYTES)
		return false;
	for (u32 side = 0; side < HW_SIDES; side++) {
		const u64 *map = row->side_maps[side];
		bool split =
			row->sided && hw_access_is_split(row->side_bytes[side], row->covered_bytes);

		if (split && !map)
			return false;
		for (u32 i = 0; i < HW_MAP_WORDS && (!row->sided || row->side_bytes[side]); i++)
			self->sides[side][i] = all[i] & (split ? map[i] : ~0ull);
	}
	return true;
}

static u64 content_hash(const struct access_pattern *pattern)
{
	u64 words = (pattern->size + 63u) / 64;
	u64 head = (u64)pattern->point << 32 | (u64)pattern->size << 2 | (u64)pattern->sided << 1 |
		   pattern->mixed;

	if (pattern->mixed) /* one for each size */
		return hash_u64(head);
	return hash_u64(head) ^ checksum(pattern->sides[HW_SIDE_READ], words * sizeof(u64)) ^
	       hash_u64(checksum(pattern->sides[HW_SIDE_WRITTEN], words * sizeof(u64)));
}

static bool is_same(const struct access_pattern *a, const struct access_pattern *b)
{
	return a->point == b->point && a->size == b->size && a->sided == b->sided &&
	       a->mixed == b->mixed &&
	       (a->mixed || memcmp(a->sides, b->sides, sizeof a->sides) == 0);
}

/* The pattern's number, 0 if it is new; then *key is where it is to be. */
static u32 find(const struct pattern_table *self, const struct access_pattern *pattern, u64 *key)
{
	const u64 *number;

	for (*key = content_hash(pattern); (number = map_find(&self->by_content, *key)); ++*key)
		if (is_same(&self->rows.data[*number - 1], pattern))
			return (u32)*number;
	return 0;
}

static void join(struct access_pattern *into, const struct access_pattern *from)
{
	for (u32 side = 0; side < HW_SIDES; side++)
		for (u32 i = 0; i < HW_MAP_WORDS; i++)
			into->sides[side][i] |= from->sides[side][i];
}

u32 pattern_table_add(struct pattern_table *self, const struct access_pattern *pattern,
		      u32 *patterns)
{
	struct access_pattern wanted = *pattern;
	u64 key;
	u32 number = find(self, &wanted, &key);

	if (!number && *patterns >= POINT_PATTERNS_MAX) {
		wanted.mixed = true;
		number = find(self, &wanted, &key);
	}
	if (!number) {
		if (self->rows.count >= PATTERNS_MAX)
			return 0;
		wanted.chunks = 0;
		if (!vec_push(&self->rows, wanted) ||
		    !map_put(&self->by_content, key, self->rows.count))
			return UINT32_MAX;
		number = (u32)self->rows.count;
		++*patterns;
	}
	if (wanted.mixed)
		join(&self->rows.data[number - 1], pattern);
	self->rows.data[number - 1].chunks++;
	return number;
}

void pattern_table_remove(struct pattern_table *self, u32 number)
{
	if (number && number <= self->rows.count && self->rows.data[number - 1].chunks)
		self->rows.data[number - 1].chunks--;
}

void pattern_table_release(struct pattern_table *self)
{
	vec_release(&self->rows);
	map_release(&self->by_content);
}
