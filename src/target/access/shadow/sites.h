/* SPDX-License-Identifier: MIT
 * Which stores are the halves of atomic operations. Compilers check a read-modify-write as they
 * check a store, and report it as one; the instruction behind the check tells. It is looked at once
 * per place in the code. Runs in the target, on the path of every recorded store. */
#ifndef TARGET_ACCESS_SHADOW_SITES_H
#define TARGET_ACCESS_SHADOW_SITES_H

#include "format/atomics.h"
#include "format/types.h"

enum { HWR_SITES = 8192 };
extern u64 hwr_sites_plain[HWR_SITES]; /* places whose store is nothing else; 0 = none known */

static inline u64 hwr_site_hash(u64 site) { return site * 0x9e3779b97f4a7c15ull; }

/* Whether the report that returns to this place is known to be of a store. False also if it was not
 * looked at yet. */
static inline bool hwr_site_is_plain(u64 site)
{
	return load_relaxed(&hwr_sites_plain[hwr_site_hash(site) >> 51]) == site;
}
_Static_assert(HWR_SITES == 1 << (64 - 51), "the hash has as many values");

/* Whether memory is read and written by one atomic operation there. */
bool hwr_site_updates(u64 site);

/* The same, off the code (access/arch). */
bool hwr_code_updates(u64 pc);

#endif
