/* SPDX-License-Identifier: MIT
 * Picks the CPU's folder; every file in it has a neighbour of the same name. */
#ifndef RECORDER_ARCH_H
#define RECORDER_ARCH_H

#if defined(__x86_64__)
#include "recorder/arch/x86_64/elf_arch.h"
#include "recorder/unwind/arch/x86_64/sys_arch.h"
#include "recorder/unwind/arch/x86_64/unwind_arch.h"
#elif defined(__aarch64__)
#include "recorder/arch/aarch64/elf_arch.h"
#include "recorder/unwind/arch/aarch64/sys_arch.h"
#include "recorder/unwind/arch/aarch64/unwind_arch.h"
#else
#error "Heapwise records on x86_64 and aarch64"
#endif

#endif
