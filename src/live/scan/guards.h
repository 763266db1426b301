/* SPDX-License-Identifier: MIT
 * Guards of stacks: glibc since 2.42 lets the kernel (6.13) guard the ends of stacks without
 * mappings of their own, and the kernel joins stacks that are neighbours. */
#ifndef LIVE_SCAN_GUARDS_H
#define LIVE_SCAN_GUARDS_H

#include "live/scan/mapping.h"

/* Makes a guard a mapping that cannot be read, as it was before, where the kernel tells of it
 * (since 6.15). pagemap: of the process. False without memory. */
bool guards_part(struct mapping_list *mappings, int pagemap);

#endif
