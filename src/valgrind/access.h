/* SPDX-License-Identifier: GPL-2.0-or-later
 * Notes each access to the block that it begins in. The functions are called by translated code,
 * hundreds of millions of times. */
#ifndef VALGRIND_ACCESS_H
#define VALGRIND_ACCESS_H

#include "valgrind/block.h"

/* Reading the CPU's counter can cost more than all the rest. It is read for every 64th access to the
 * heap, at events, and when a thread gets the CPU; accesses between count as a tick each. */
enum { CLOCK_EVERY = 64 };
extern u64 hwv_clock, hwv_clock_limit;

/* Reads the counter. It never goes back, and never shows the same value twice. */
u64 hwv_clock_read(void);

/* The thread that runs, numbered from 1 over the life of the process. */
extern u32 hwv_running;

extern u64 hwv_checked; /* accesses that were looked up */

VG_REGPARM(2) void hwv_read(Addr address, UWord bytes);
VG_REGPARM(2) void hwv_write(Addr address, UWord bytes);
/* Two accesses of one block of code; bytes: of the first, and above HWV_SECOND those of the second. */
enum { HWV_SECOND = 32 };
VG_REGPARM(3) void hwv_read_two(Addr first, Addr second, UWord bytes);
VG_REGPARM(3) void hwv_write_two(Addr first, Addr second, UWord bytes);
VG_REGPARM(2) void hwv_modify(Addr address, UWord bytes); /* one read, and one write */

/* Memory that a system call reads or writes. */
void hwv_access_init(void);

/* Distinct bytes of a block: accessed, and those read and those written. */
struct covered {
	u64 bytes;
	u64 sides[HW_SIDES];
};

/* Of a block whose coverage is measured. */
struct covered hwv_covered_bytes(const struct block *block);

#endif
