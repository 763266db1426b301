/* SPDX-License-Identifier: GPL-2.0-or-later
 * Notes each access to the block that it begins in. The functions are called by translated code,
 * hundreds of millions of times. */
#ifndef TARGET_VALGRIND_ACCESS_H
#define TARGET_VALGRIND_ACCESS_H

#include "target/valgrind/sites.h"

/* Reading the CPU's counter can cost more than all the rest. It is read for every 64th access, at
 * events, and when a thread gets the CPU; accesses between count as a tick each. */
enum { CLOCK_EVERY = 64 };
extern u64 hwv_clock, hwv_clock_limit;

/* Reads the counter. It never goes back, and never shows the same value twice. */
u64 hwv_clock_read(void);

/* The thread that runs, numbered from 1 over the life of the process. */
extern u32 hwv_running;

extern u64 hwv_missed; /* accesses that were looked up and belong to no block */

/* The accesses of a site, or of two, all reads or all writes; address: the lowest one of each. */
VG_REGPARM(2) void hwv_read(Addr address, struct site *site);
VG_REGPARM(2) void hwv_write(Addr address, struct site *site);
VG_REGPARM(3) void hwv_read_read(Addr first, Addr second, struct site *sites);
VG_REGPARM(3) void hwv_read_write(Addr first, Addr second, struct site *sites);
VG_REGPARM(3) void hwv_write_write(Addr first, Addr second, struct site *sites);

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
