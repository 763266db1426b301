/* SPDX-License-Identifier: MIT
 * What the CPU says of a fault. x86_64. */
#ifndef TARGET_ACCESS_ARCH_X86_64_FAULT_ARCH_H
#define TARGET_ACCESS_ARCH_X86_64_FAULT_ARCH_H

#include <ucontext.h>

#include "format/types.h"

enum { FAULT_REG_ERR = 19 }; /* gregs: the page fault's error code, bit 1 = write */

static inline bool hwr_fault_is_write(const void *context)
{
	return ((const ucontext_t *)context)->uc_mcontext.gregs[FAULT_REG_ERR] & 2;
}

#endif
