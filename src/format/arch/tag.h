/* SPDX-License-Identifier: MIT
 * The address that a pointer means. Picks the CPU's folder. */
#ifndef FORMAT_ARCH_TAG_H
#define FORMAT_ARCH_TAG_H

#include "format/types.h"

#if defined(__x86_64__)
#include "format/arch/x86_64/tag_arch.h"
#elif defined(__aarch64__)
#include "format/arch/aarch64/tag_arch.h"
#else
#error "Heapwise records on x86_64 and aarch64"
#endif

#endif
