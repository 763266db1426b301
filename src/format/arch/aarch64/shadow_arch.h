/* SPDX-License-Identifier: MIT
 * Where the shadow, the board and the heap of access runs are; see format/shadow.h.
 *
 * What a compiler is told is HW_SHADOW_OFFSET; changing it makes programs that were instrumented
 * before unusable, so the board's version changes, too. All of it must be out of the way of what
 * the kernel maps by itself: programs, libraries, stacks, with legacy layouts (ulimit -s
 * unlimited), too. */
#ifndef FORMAT_ARCH_AARCH64_SHADOW_ARCH_H
#define FORMAT_ARCH_AARCH64_SHADOW_ARCH_H

#define HW_SHADOW_OFFSET_TEXT 0x400000000000
#define HW_SHADOW_OFFSET 0x400000000000ull
#define HW_SHADOW_BYTES (1ull << 45) /* of 48 bits */
#define HW_BOARD_ADDRESS 0x3ffffff00000ull
#define HW_HEAP_COVERAGE 0x200000000000ull
#define HW_HEAP_CHUNKS 0x280000000000ull
#define HW_HEAP_START 0x600000000000ull

#endif
