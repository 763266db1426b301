/* SPDX-License-Identifier: MIT
 * Picks the CPU's folder; every file in it has a neighbour of the same name. */
#ifndef TARGET_ACCESS_ARCH_ARCH_H
#define TARGET_ACCESS_ARCH_ARCH_H

#if defined(__x86_64__)
#include "target/access/arch/x86_64/fault_arch.h"
#elif defined(__aarch64__)
#include "target/access/arch/aarch64/fault_arch.h"
#else
#error "Heapwise records on x86_64 and aarch64"
#endif

/* A thread that libc does not know; its number, or -errno. run never returns. With
 * CLONE_CHILD_CLEARTID *number becomes 0 when it is gone. */
long hwr_helper_clone(long flags, void *stack_top, void (*run)(void), u32 *number);

#endif
