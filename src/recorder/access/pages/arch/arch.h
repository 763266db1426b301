/* SPDX-License-Identifier: MIT
 * Picks the CPU's folder; every file in it has a neighbour of the same name. */
#ifndef RECORDER_PAGES_ARCH_H
#define RECORDER_PAGES_ARCH_H

#if defined(__x86_64__)
#include "recorder/access/pages/arch/x86_64/gate_arch.h"
#elif defined(__aarch64__)
#include "recorder/access/pages/arch/aarch64/gate_arch.h"
#else
#error "Heapwise records on x86_64 and aarch64"
#endif

#endif
