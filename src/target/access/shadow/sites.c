/* SPDX-License-Identifier: MIT
 * The rare half of sites.h. Runs in the target. */
#include "target/access/shadow/sites.h"

enum { SEEN_SHIFT = 48, SEEN = 1 << (64 - SEEN_SHIFT) };

u64 hwr_sites_plain[HWR_SITES];

/* All that were looked at, and above bit 63 what was found: places that share an entry above are
 * not looked at again and again. Code that is unloaded, and replaced by other code at the same
 * place, has the old answers. */
static u64 seen[SEEN];
#define UPDATES (1ull << 63)

bool hwr_site_updates(u64 site)
{
	u64 *entry = &seen[hwr_site_hash(site) >> SEEN_SHIFT];
	u64 known = load_relaxed(entry);

	if ((known & ~UPDATES) != site) {
		known = site | (hwr_code_updates(site) ? UPDATES : 0);
		store_relaxed(entry, known);
	}
	if (known & UPDATES)
		return true;
	store_relaxed(&hwr_sites_plain[hwr_site_hash(site) >> 51], site);
	return false;
}
