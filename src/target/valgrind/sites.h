/* SPDX-License-Identifier: GPL-2.0-or-later
 * Places in translated code that access memory. A site is one or more accesses of one sort, to
 * addresses that have the same distance from each other whenever the code runs (fields of a
 * struct), and that all happen if one does. */
#ifndef TARGET_VALGRIND_SITES_H
#define TARGET_VALGRIND_SITES_H

#include "target/valgrind/block.h"

enum { HWV_SITE_PARTS = 8 };

/* One of its accesses. */
struct part {
	u32 offset; /* from the site's lowest address */
	u32 bytes;
};

struct site {
	struct block *block; /* that was accessed last; it may have ended */
	u64 reach;           /* from the lowest address to the end of the highest access */
	u64 accesses, bytes;
	struct part parts[HWV_SITE_PARTS]; /* in the order of the code */
};

/* So many sites, one behind the other, for one call in the translation that is being made. */
struct site *hwv_sites_new(u32 count);

/* A translation of the code at this address begins. Its sites are freed when Valgrind forgets
 * it. */
void hwv_sites_begin(Addr code);

void hwv_sites_init(void);

#endif
