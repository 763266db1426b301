/* SPDX-License-Identifier: MIT
 * Picks the CPU's folder; every file in it has a neighbour of the same name. */
#ifndef TARGET_RECORDER_POOL_ARCH_ARCH_H
#define TARGET_RECORDER_POOL_ARCH_ARCH_H

#if defined(__x86_64__)
#include "target/recorder/pool/arch/x86_64/thunk_arch.h"
#elif defined(__aarch64__)
#include "target/recorder/pool/arch/aarch64/thunk_arch.h"
#else
#error "Heapwise records on x86_64 and aarch64"
#endif

#endif
