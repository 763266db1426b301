/* SPDX-License-Identifier: GPL-2.0-or-later
 * Picks the CPU's folder; every file in it has a neighbour of the same name. */
#ifndef VALGRIND_ARCH_H
#define VALGRIND_ARCH_H

#if defined(__x86_64__)
#include "valgrind/arch/x86_64/call_arch.h"
#include "valgrind/arch/x86_64/loader_arch.h"
#elif defined(__aarch64__)
#include "valgrind/arch/aarch64/call_arch.h"
#include "valgrind/arch/aarch64/loader_arch.h"
#else
#error "Heapwise records on x86_64 and aarch64"
#endif

#endif
