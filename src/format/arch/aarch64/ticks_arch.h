/* SPDX-License-Identifier: MIT
 * Reads the counter; see format/ticks.h. */
#ifndef FORMAT_ARCH_AARCH64_TICKS_ARCH_H
#define FORMAT_ARCH_AARCH64_TICKS_ARCH_H

#include "format/types.h"

static inline u64 hw_ticks(void)
{
	u64 ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
	return ticks;
}
enum { HW_TICKS_APART = 0 }; /* of a counter that may be slower than events: they share its ticks */

#endif
