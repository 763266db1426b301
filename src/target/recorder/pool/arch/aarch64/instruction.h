/* SPDX-License-Identifier: MIT
 * What of aarch64's instructions has to be known of those that are moved. Runs in the target. */
#ifndef TARGET_RECORDER_POOL_ARCH_AARCH64_INSTRUCTION_H
#define TARGET_RECORDER_POOL_ARCH_AARCH64_INSTRUCTION_H

#include "format/types.h"

/* What is relative to its own place: adr, adrp, loads of constants, jumps. */
static inline bool hwr_instruction_is_relative(u32 code)
{
	return (code & 0x1f000000) == 0x10000000 || (code & 0x3b000000) == 0x18000000 ||
	       (code & 0x7c000000) == 0x14000000 || (code & 0x7e000000) == 0x34000000 ||
	       (code & 0x7e000000) == 0x36000000 || (code & 0xff000000) == 0x54000000;
}

#endif
