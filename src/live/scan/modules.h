/* SPDX-License-Identifier: MIT
 * The modules in the memory of a program that is scanned, as their own headers there describe
 * them. */
#ifndef LIVE_SCAN_MODULES_H
#define LIVE_SCAN_MODULES_H

#include "live/scan/memory.h"

struct scan_module {
	const char *path;
	u64 start, end; /* zeroed data included, in whole pages */
	u64 base;       /* what is added to the addresses in its file */
};

struct scan_modules {                 /* all zero = empty */
	VEC(struct scan_module) rows; /* by address */
	/* of the thread-local variables that each thread has from its start, at least */
	u64 tls_bytes;
};

/* Reads the program's memory. False without memory. */
bool scan_modules_read(struct scan_modules *self, struct scan_memory *memory);
void scan_modules_release(struct scan_modules *self);

#endif
