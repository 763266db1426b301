/* SPDX-License-Identifier: MIT
 * Pointers are addresses, all 64 bits of them. */
#ifndef FORMAT_ARCH_X86_64_TAG_ARCH_H
#define FORMAT_ARCH_X86_64_TAG_ARCH_H

enum { HW_POINTER_TAGS = 0 };

static inline u64 hw_untagged(u64 pointer) { return pointer; }

#endif
