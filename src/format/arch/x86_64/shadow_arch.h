/* SPDX-License-Identifier: MIT
 * Where the shadow, the board and the heap of access runs are; see format/shadow.h.
 *
 * What a compiler is told is HW_SHADOW_OFFSET; changing it makes programs that were instrumented
 * before unusable, so the board's version changes, too. All of it must be out of the way of what
 * the kernel maps by itself: programs, libraries, stacks, with legacy layouts (ulimit -s
 * unlimited), too. */
#ifndef FORMAT_ARCH_X86_64_SHADOW_ARCH_H
#define FORMAT_ARCH_X86_64_SHADOW_ARCH_H

#define HW_SHADOW_OFFSET_TEXT 0x7fff8000 /* as compilers are told; fits a 32-bit displacement */
#define HW_SHADOW_OFFSET 0x7fff8000ull
#define HW_SHADOW_BYTES (1ull << 44) /* of 47 bits of address space */
#define HW_BOARD_ADDRESS 0x7fff0000ull
#define HW_HEAP_COVERAGE 0x120000000000ull
#define HW_HEAP_CHUNKS 0x180000000000ull
#define HW_HEAP_START 0x200000000000ull

#endif
