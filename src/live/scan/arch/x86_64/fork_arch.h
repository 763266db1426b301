/* SPDX-License-Identifier: MIT
 * Sends a stopped thread to the recorder's code that copies the memory; see scan/fork.h. */
#ifndef LIVE_SCAN_ARCH_X86_64_FORK_ARCH_H
#define LIVE_SCAN_ARCH_X86_64_FORK_ARCH_H

#include "format/arch/fork.h"
#include "live/scan/registers.h"

enum {
	/* what the kernel puts into rax where it would begin a system call again */
	FORK_RESTART_FIRST = -514, /* with its number */
	FORK_RESTART_LAST = -512,
	FORK_RESTART_BLOCK = -516, /* as restart_syscall */
};

/* In a system call, so that it is in none of the program's own sections that may not be left. */
static inline bool fork_arch_is_still(u32 tid)
{
	struct user_regs_struct r;

	return scan_arch_regset(tid, NT_PRSTATUS, &r, sizeof(r)) && (i64)r.orig_rax >= 0;
}

/* Whether the state of every thread can be put back. */
static inline bool fork_arch_can(u32 tid)
{
	(void)tid;
	return true;
}

static inline bool fork_arch_fill(u32 tid, struct hw_fork_frame *frame)
{
	struct user_regs_struct r;
	i64 result;

	if (!scan_arch_regset(tid, NT_PRSTATUS, &r, sizeof(r)))
		return false;
	frame->rip = r.rip;
	frame->rax = r.rax;
	frame->rcx = r.rcx;
	frame->rdx = r.rdx;
	frame->rsi = r.rsi;
	frame->rdi = r.rdi;
	frame->r8 = r.r8;
	frame->r10 = r.r10;
	frame->r11 = r.r11;
	frame->flags = (u8)r.eflags;
	frame->overflow = r.eflags >> 11 & 1;
	result = (i64)r.rax;
	if ((i64)r.orig_rax >= 0 &&
	    ((result >= FORK_RESTART_FIRST && result <= FORK_RESTART_LAST) ||
	     result == FORK_RESTART_BLOCK)) {
		frame->rax = result == FORK_RESTART_BLOCK ? SYS_restart_syscall : r.orig_rax;
		frame->rip -= 2;
	}
	return true;
}

static inline bool fork_arch_send(u32 tid, u64 code)
{
	struct user_regs_struct r;
	struct iovec at = {&r, sizeof(r)};

	if (!scan_arch_regset(tid, NT_PRSTATUS, &r, sizeof(r)))
		return false;
	r.rip = code;
	r.orig_rax = UINT64_MAX; /* the kernel begins nothing again */
	return ptrace(PTRACE_SETREGSET, (pid_t)tid, (void *)NT_PRSTATUS, &at) == 0;
}

/* Whether the thread is about to go back. */
static inline bool fork_arch_is_last(u32 tid)
{
	struct user_regs_struct r;

	return scan_arch_regset(tid, NT_PRSTATUS, &r, sizeof(r)) &&
	       r.orig_rax == SYS_rt_sigprocmask && r.rdi == 2;
}

/* Of the system call that has just ended. */
static inline i64 fork_arch_result(u32 tid)
{
	struct user_regs_struct r;

	return scan_arch_regset(tid, NT_PRSTATUS, &r, sizeof(r)) ? (i64)r.rax : -1;
}

#endif
