/* SPDX-License-Identifier: MIT
 * Picks the CPU's folder; every file in it has a neighbour of the same name. */
#ifndef FORMAT_ARCH_ARCH_H
#define FORMAT_ARCH_ARCH_H

#if defined(__x86_64__)
#include "format/arch/x86_64/machine_arch.h"
#include "format/arch/x86_64/shadow_arch.h"
#include "format/arch/x86_64/ticks_arch.h"
#elif defined(__aarch64__)
#include "format/arch/aarch64/machine_arch.h"
#include "format/arch/aarch64/shadow_arch.h"
#include "format/arch/aarch64/ticks_arch.h"
#else
#error "Heapwise records on x86_64 and aarch64"
#endif

#endif
