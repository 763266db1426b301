/* SPDX-License-Identifier: MIT
 * How a thread of the program makes a copy of its memory for the monitor. The monitor stops all
 * threads, writes the state of one into struct hw_fork_frame and sends it to hw_control.fork_code.
 * That code forks twice, so that the copy is nobody's child, and goes back to where the thread was,
 * whatever became of the monitor meanwhile. Picks the CPU's folder. */
#ifndef FORMAT_ARCH_FORK_H
#define FORMAT_ARCH_FORK_H

#ifndef __ASSEMBLER__
#include "format/types.h"
#endif

#if defined(__x86_64__)
#include "format/arch/x86_64/fork_arch.h"
#elif defined(__aarch64__)
#include "format/arch/aarch64/fork_arch.h"
#else
#error "Heapwise records on x86_64 and aarch64"
#endif

#endif
