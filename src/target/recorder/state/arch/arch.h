/* SPDX-License-Identifier: MIT
 * Picks the CPU's folder; every file in it has a neighbour of the same name. */
#ifndef TARGET_RECORDER_STATE_ARCH_ARCH_H
#define TARGET_RECORDER_STATE_ARCH_ARCH_H

#if defined(__x86_64__)
#include "target/recorder/state/arch/x86_64/elf_arch.h"
#include "target/recorder/state/arch/x86_64/sys_arch.h"
#include "target/recorder/state/arch/x86_64/unwind_arch.h"
#elif defined(__aarch64__)
#include "target/recorder/state/arch/aarch64/elf_arch.h"
#include "target/recorder/state/arch/aarch64/sys_arch.h"
#include "target/recorder/state/arch/aarch64/unwind_arch.h"
#else
#error "Heapwise records on x86_64 and aarch64"
#endif

#endif
