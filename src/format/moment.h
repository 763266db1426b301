/* SPDX-License-Identifier: MIT
 * Both clocks at one moment: the counter that stamps events, and the time that it is turned
 * into. */
#ifndef FORMAT_MOMENT_H
#define FORMAT_MOMENT_H

#include "format/ticks.h"

struct hw_moment {
	u64 ticks, ns;
};

enum { HW_MOMENT_TRIES = 4 };

/* A thread that has to wait between two readings would tell of a moment that never was, and the
 * rate of a short run would be wrong for it: of a few tries the one counts that took least. */
static inline struct hw_moment hw_moment_read(u64 (*monotonic_ns)(void))
{
	struct hw_moment moment = {0};
	u64 least = UINT64_MAX;

	for (int i = 0; i < HW_MOMENT_TRIES; i++) {
		u64 before = hw_ticks(), ns = monotonic_ns(), took = hw_ticks() - before;

		if (took >= least)
			continue;
		least = took;
		moment = (struct hw_moment){.ticks = before + took / 2, .ns = ns};
	}
	return moment;
}

#endif
