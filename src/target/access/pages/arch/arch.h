/* SPDX-License-Identifier: MIT
 * Picks the CPU's folder; every file in it has a neighbour of the same name. */
#ifndef TARGET_ACCESS_PAGES_ARCH_ARCH_H
#define TARGET_ACCESS_PAGES_ARCH_ARCH_H

#if defined(__x86_64__)
#include "target/access/pages/arch/x86_64/window_arch.h"
#elif defined(__aarch64__)
#include "target/access/pages/arch/aarch64/window_arch.h"
#else
#error "Heapwise records on x86_64 and aarch64"
#endif

#endif
