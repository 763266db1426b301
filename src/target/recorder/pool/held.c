/* SPDX-License-Identifier: MIT
 * The set of addresses; see held.h. Keys are in one of two buckets of one cache line each: a lookup reads
 * both whole, so an entry can simply be cleared. */
#include "target/recorder/pool/held.h"

#include "format/atomics.h"
#include "target/recorder/state/sys.h"

enum { BUCKET = 8, BUCKET_BITS = 18 }; /* 2,097,152 addresses at the most: 16 MB, touched as needed */

static u64 *table;

bool hwr_held_init(void)
{
	if (!table)
		table = hwr_map_private((size_t)BUCKET * sizeof *table << BUCKET_BITS);
	return table != NULL;
}

static u64 *bucket_of(u64 key, u32 which)
{
	u64 hash = (key ^ key >> 32) * (which ? 0xc2b2ae3d27d4eb4full : 0x9e3779b97f4a7c15ull);

	return &table[(hash >> (64 - BUCKET_BITS)) * BUCKET];
}

static bool bucket_swap(u64 *bucket, u64 from, u64 to)
{
	for (u32 i = 0; i < BUCKET; i++) {
		u64 found = from;

		if (load_relaxed(&bucket[i]) == from && cas_acq_rel(&bucket[i], &found, to))
			return true;
	}
	return false;
}

bool hwr_held_add(u64 key)
{
	return table && (bucket_swap(bucket_of(key, 0), 0, key) || bucket_swap(bucket_of(key, 1), 0, key));
}

bool hwr_held_drop(u64 key)
{
	return table && (bucket_swap(bucket_of(key, 0), key, 0) || bucket_swap(bucket_of(key, 1), key, 0));
}
