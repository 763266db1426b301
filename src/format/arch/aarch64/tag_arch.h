/* SPDX-License-Identifier: MIT
 * The top byte of a pointer is the program's: the processor does not look at it. */
#ifndef FORMAT_ARCH_AARCH64_TAG_ARCH_H
#define FORMAT_ARCH_AARCH64_TAG_ARCH_H

enum { HW_POINTER_TAGS = 1 };

static inline u64 hw_untagged(u64 pointer) { return pointer & ~(0xffull << 56); }

#endif
