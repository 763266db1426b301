/* SPDX-License-Identifier: MIT
 * What the memory outside of blocks is: a module's data, a thread's stack, its thread-local
 * variables, registers, other mappings. Says where a pointer stands, not whether it counts
 * (roots.h). */
#ifndef LIVE_SCAN_PLACES_H
#define LIVE_SCAN_PLACES_H

#include "host/base/arena.h"
#include "host/trace/stream.h"
#include "live/scan/modules.h"
#include "live/scan/roots.h"

struct scan_places { /* all zero = empty */
	/* Ranges by address, which do not overlap; then registers, in the order of the threads. */
	VEC(struct stream_root) rows;
	u64 ranges;         /* how many of them are no registers */
	struct arena names; /* of the rows */
};

/* Reads nothing any more. */
int scan_places_find(struct scan_places *self, const struct scan_surroundings *around,
		     const struct scan_modules *modules, struct err *err);
void scan_places_release(struct scan_places *self);

#endif
