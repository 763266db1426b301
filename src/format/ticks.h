/* SPDX-License-Identifier: MIT
 * The CPU's constant-rate counter, which stamps events in the target and clocks in the monitor. */
#ifndef HW_FORMAT_TICKS_H
#define HW_FORMAT_TICKS_H

#include "types.h"

#if defined(__x86_64__)
static inline u64 hw_ticks(void) { return __builtin_ia32_rdtsc(); }
enum { HW_TICKS_APART = 4 }; /* a nanosecond at the least */
#elif defined(__aarch64__)
static inline u64 hw_ticks(void)
{
	u64 ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
	return ticks;
}
enum { HW_TICKS_APART = 0 }; /* of a counter that may be slower than events: they share its ticks */
#else
#error "Heapwise records on x86_64 and aarch64"
#endif

#endif
