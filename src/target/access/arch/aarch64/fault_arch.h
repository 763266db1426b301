/* SPDX-License-Identifier: MIT
 * What the CPU says of a fault. aarch64. */
#ifndef TARGET_ACCESS_ARCH_AARCH64_FAULT_ARCH_H
#define TARGET_ACCESS_ARCH_AARCH64_FAULT_ARCH_H

#include <ucontext.h>

#include "format/types.h"

enum { FAULT_ESR_MAGIC = 0x45535201, FAULT_ESR_WNR = 1 << 6 };

/* The syndrome register is one of the records behind the registers; without it, a read. */
static inline bool hwr_fault_is_write(const void *context)
{
	const u8 *at = ((const ucontext_t *)context)->uc_mcontext.__reserved;
	const u8 *end = at + sizeof(((const ucontext_t *)context)->uc_mcontext.__reserved);

	while (at + 16 <= end) {
		u32 magic = ((const u32 *)at)[0], size = ((const u32 *)at)[1];

		if (magic == FAULT_ESR_MAGIC)
			return ((const u64 *)at)[1] & FAULT_ESR_WNR;
		if (!magic || !size)
			break;
		at += size;
	}
	return false;
}

#endif
