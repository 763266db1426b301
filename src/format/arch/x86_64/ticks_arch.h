/* SPDX-License-Identifier: MIT
 * Reads the counter; see format/ticks.h. */
#ifndef FORMAT_ARCH_X86_64_TICKS_ARCH_H
#define FORMAT_ARCH_X86_64_TICKS_ARCH_H

#include "format/types.h"

static inline u64 hw_ticks(void) { return __builtin_ia32_rdtsc(); }
enum { HW_TICKS_APART = 4 }; /* a nanosecond at the least */

#endif
