/* SPDX-License-Identifier: MIT
 * Picks the CPU's folder; every file in it has a neighbour of the same name. */
#ifndef LIVE_SCAN_ARCH_ARCH_H
#define LIVE_SCAN_ARCH_ARCH_H

#if defined(__x86_64__)
#include "live/scan/arch/x86_64/scan_arch.h"
#elif defined(__aarch64__)
#include "live/scan/arch/aarch64/scan_arch.h"
#else
#error "Heapwise records on x86_64 and aarch64"
#endif

#endif
