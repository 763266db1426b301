/* SPDX-License-Identifier: MIT
 * What the tests know of the C library that runs, by its version. */
#ifndef TESTS_TARGETS_LIBC_VERSION_H
#define TESTS_TARGETS_LIBC_VERSION_H

#include <gnu/libc-version.h>
#include <stdio.h>

/* 2.36: 236 */
static inline int libc_version(void)
{
	int major = 0, minor = 0;

	return sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor) == 2 ? major * 100 + minor : 0;
}

/* How many free blocks of each size it keeps for a thread. */
static inline int libc_cache_most(void) { return libc_version() >= 243 ? 16 : 7; }

#endif
