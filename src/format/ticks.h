/* SPDX-License-Identifier: MIT
 * The CPU's constant-rate counter, which stamps events in the target and clocks in the monitor. */
#ifndef HW_FORMAT_TICKS_H
#define HW_FORMAT_TICKS_H

#include "types.h"

#if defined(__x86_64__)
static inline u64 hw_ticks(void) { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
static inline u64 hw_ticks(void)
{
	u64 ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
	return ticks;
}
#else
#error "Heapwise records on x86_64 and aarch64"
#endif

#endif
