/* SPDX-License-Identifier: MIT
 * The set of addresses; see held.h. Runs in the target. */
#include "target/recorder/pool/held.h"

#include "target/recorder/state/buckets.h"
#include "target/recorder/state/sys.h"

enum { BUCKET_BITS = 18 }; /* 2,097,152 addresses at the most: 16 MB, touched as needed */

static u64 *table;

bool hwr_held_init(void)
{
	if (!table)
		table = hwr_map_private((size_t)HWR_BUCKET * sizeof *table << BUCKET_BITS);
	return table != NULL;
}

static bool swap(u64 key, u64 from, u64 to)
{
	return table && hwr_buckets_swap((struct hwr_buckets){table, BUCKET_BITS}, key ^ key >> 32,
					 from, to);
}

bool hwr_held_add(u64 key) { return swap(key, 0, key); }

bool hwr_held_drop(u64 key) { return swap(key, key, 0); }
