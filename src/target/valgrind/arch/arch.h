/* SPDX-License-Identifier: GPL-2.0-or-later
 * Picks the CPU's folder; every file in it has a neighbour of the same name. */
#ifndef TARGET_VALGRIND_ARCH_ARCH_H
#define TARGET_VALGRIND_ARCH_ARCH_H

#if defined(__x86_64__)
#include "target/valgrind/arch/x86_64/call_arch.h"
#include "target/valgrind/arch/x86_64/loader_arch.h"
#elif defined(__aarch64__)
#include "target/valgrind/arch/aarch64/call_arch.h"
#include "target/valgrind/arch/aarch64/loader_arch.h"
#else
#error "Heapwise records on x86_64 and aarch64"
#endif

#endif
