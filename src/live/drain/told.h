/* SPDX-License-Identifier: MIT
 * What the correlator and its parts are given. */
#ifndef LIVE_DRAIN_TOLD_H
#define LIVE_DRAIN_TOLD_H

#include "format/record.h"

/* A record and the thread that published it. */
struct told_record {
	struct hw_record record;
	u32 thread; /* index of a told thread */
	u32 serial; /* the correlator's: of a birth that waited, 0 = it did not */
};

#endif
