/* SPDX-License-Identifier: MIT
 * Picks the CPU's folder; every file in it has a neighbour of the same name. */
#ifndef MONITOR_ARCH_H
#define MONITOR_ARCH_H

#if defined(__x86_64__)
#include "monitor/arch/x86_64/scan_arch.h"
#include "monitor/arch/x86_64/tool_arch.h"
#elif defined(__aarch64__)
#include "monitor/arch/aarch64/scan_arch.h"
#include "monitor/arch/aarch64/tool_arch.h"
#else
#error "Heapwise records on x86_64 and aarch64"
#endif

#endif
