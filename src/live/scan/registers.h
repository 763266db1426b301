/* SPDX-License-Identifier: MIT
 * Asks the kernel for the registers of a stopped thread; for the files of arch/. */
#ifndef LIVE_SCAN_REGISTERS_H
#define LIVE_SCAN_REGISTERS_H

#include <elf.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "live/scan/thread.h"

static inline bool scan_arch_regset(u32 tid, long which, void *bytes, size_t count)
{
	struct iovec at = {bytes, count};

	return ptrace(PTRACE_GETREGSET, (pid_t)tid, (void *)which, &at) == 0;
}

/* A thread that ends does not come back: of its registers only those count that functions preserve,
 * which may be variables of its callers. What is in the others was left behind by calls that are
 * over. */
static inline bool scan_arch_is_end(i64 syscall)
{
	return syscall == SYS_exit || syscall == SYS_exit_group;
}

static inline void scan_arch_add(struct scan_thread *thread, const char *name, u32 number,
				 u64 value)
{
	thread->names[thread->register_count] = name;
	thread->numbers[thread->register_count] = (u8)number;
	thread->registers[thread->register_count++] = value;
	thread->numbered[number] = value;
}

#endif
