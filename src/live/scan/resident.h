/* SPDX-License-Identifier: MIT
 * Where the memory of a recorded process is: its mappings, and which pages of those that blocks may
 * lie in are resident, and the caches of its threads, as struct stream_memory tells it. */
#ifndef LIVE_SCAN_RESIDENT_H
#define LIVE_SCAN_RESIDENT_H

#include "live/drain/berths.h"
#include "host/trace/stream.h"

/* Looks at the process and tells the sink; why: enum memory_why. The process may run; then what it
 * does meanwhile makes the rows differ from their sum. It takes time by how much memory there is:
 * call it rarely. 0 also if nothing could be seen. */
int resident_tell(const struct berth *berth, const struct berths *berths, u32 why,
		  const struct stream_sink *sink, struct err *err);

#endif
