/* SPDX-License-Identifier: MIT
 * The shadow and the board (format/shadow.h), on the recorder's side. Runs in the target. */
#ifndef TARGET_ACCESS_SHADOW_SHADOW_H
#define TARGET_ACCESS_SHADOW_SHADOW_H

#include "format/atomics.h"
#include "format/shadow.h"

/* Maps what is not there yet, and makes the heap's part of the shadow writable; false if it
 * cannot. */
bool hwr_shadow_open(void);

/* From now on reports come to the recorder. mode: enum hw_access_mode. */
void hwr_shadow_listen(u32 mode, bool coverage);

/* In adaptive mode short accesses by the C library, of at most so many bytes, are as those by an
 * instruction: of hot memory only some are seen. 0 in other modes, and in a process that is not
 * recorded: that one has no shadow to look at. */
extern u64 hwr_shadow_short;
static inline bool hwr_shadow_sees(u64 address, u64 bytes)
{
	return bytes > load_relaxed(&hwr_shadow_short) ||
	       (bytes && load_relaxed(hw_shadow_of(address)));
}

/* Whether instrumented code has just reported that access itself, and the C library is to do it:
 * gcc does so for copies of structures and for __memcpy_chk, mempcpy, bzero and the like, all of
 * which may become a call of memcpy or memset. Forgets it. */
bool hwr_access_told(u64 address, u64 bytes, bool write);

/* Ticks that HWR_SHADOW_REPORTS reports of accesses to this chunk take. */
enum { HWR_SHADOW_REPORTS = 2048 };
u64 hwr_shadow_reports_cost(u64 chunk);

/* Ticks of some work that is like reports. It takes longer when the CPU is slower, or shared with
 * somebody else's thread, and so do they. */
u64 hwr_shadow_pace(void);

/* Whether the code at pc belongs to an instrumented module. */
bool hwr_shadow_is_instrumented(u64 pc);

#endif
