/* SPDX-License-Identifier: MIT
 * Picks the CPU's folder, for scan/fork.c. */
#ifndef LIVE_SCAN_ARCH_FORK_H
#define LIVE_SCAN_ARCH_FORK_H

#if defined(__x86_64__)
#include "live/scan/arch/x86_64/fork_arch.h"
#elif defined(__aarch64__)
#include "live/scan/arch/aarch64/fork_arch.h"
#else
#error "Heapwise records on x86_64 and aarch64"
#endif

#endif
