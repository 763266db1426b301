/* SPDX-License-Identifier: MIT
 * Sends a stopped thread to the recorder's code that copies the memory; see scan/fork.h. */
#ifndef LIVE_SCAN_ARCH_AARCH64_FORK_ARCH_H
#define LIVE_SCAN_ARCH_AARCH64_FORK_ARCH_H

#include "format/arch/fork.h"
#include "live/scan/registers.h"

enum {
	FORK_VECTORS_MAGIC = 0x46508001,
	FORK_VECTORS_BYTES = 528,
	FORK_SVE = 0x405,     /* NT_ARM_SVE */
	FORK_ZA = 0x40c,      /* NT_ARM_ZA */
	FORK_GCS = 0x410,     /* NT_ARM_GCS */
	FORK_BRANCH = 3 << 10 /* of pstate: an indirect branch was the last instruction */
};

static inline i32 fork_arch_syscall(u32 tid)
{
	i32 number;

	return scan_arch_regset(tid, NT_ARM_SYSTEM_CALL, &number, sizeof(number)) ? number : -1;
}

static inline bool fork_arch_is_still(u32 tid) { return fork_arch_syscall(tid) >= 0; }

/* A system call that goes on with the time that is left cannot be told from one that begins again;
 * and of vectors only those that every processor has are put back. */
static inline bool fork_arch_can(u32 tid)
{
	struct {
		u32 size, max_size;
		u16 length, max_length, flags, reserved;
	} scalable = {0};
	u64 guarded[3] = {0};
	struct user_regs_struct r;

	if (scan_arch_regset(tid, FORK_SVE, &scalable, sizeof(scalable)) && scalable.flags & 1)
		return false;
	if (scan_arch_regset(tid, FORK_ZA, &scalable, sizeof(scalable)) &&
	    scalable.size > sizeof(scalable))
		return false;
	if (scan_arch_regset(tid, FORK_GCS, guarded, sizeof(guarded)) && guarded[0])
		return false;
	if (!scan_arch_regset(tid, NT_PRSTATUS, &r, sizeof(r)))
		return false;
	switch (fork_arch_syscall(tid)) {
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_ppoll:
	case SYS_restart_syscall: return false;
	case SYS_futex: return !r.regs[3]; /* no time limit */
	default: return true;
	}
}

static inline bool fork_arch_fill(u32 tid, struct hw_fork_frame *frame)
{
	struct user_regs_struct r;
	struct user_fpsimd_struct vectors;

	if (!scan_arch_regset(tid, NT_PRSTATUS, &r, sizeof(r)) ||
	    !scan_arch_regset(tid, NT_PRFPREG, &vectors, sizeof(vectors)))
		return false;
	memcpy(frame->regs, r.regs, sizeof(frame->regs));
	frame->sp = r.sp;
	frame->pc = r.pc; /* already that of a system call that begins again */
	frame->pstate = r.pstate;
	frame->vectors_magic = FORK_VECTORS_MAGIC;
	frame->vectors_bytes = FORK_VECTORS_BYTES;
	frame->fpsr = vectors.fpsr;
	frame->fpcr = vectors.fpcr;
	memcpy(frame->vectors, vectors.vregs, sizeof(frame->vectors));
	return true;
}

static inline bool fork_arch_send(u32 tid, u64 code)
{
	struct user_regs_struct r;
	struct iovec at = {&r, sizeof(r)};

	if (!scan_arch_regset(tid, NT_PRSTATUS, &r, sizeof(r)))
		return false;
	r.pc = code;
	r.pstate &= ~(u64)FORK_BRANCH;
	return ptrace(PTRACE_SETREGSET, (pid_t)tid, (void *)NT_PRSTATUS, &at) == 0;
}

/* Whether the thread is about to go back. */
static inline bool fork_arch_is_last(u32 tid) { return fork_arch_syscall(tid) == SYS_rt_sigreturn; }

/* Of the system call that has just ended. */
static inline i64 fork_arch_result(u32 tid)
{
	struct user_regs_struct r;

	return scan_arch_regset(tid, NT_PRSTATUS, &r, sizeof(r)) ? (i64)r.regs[0] : -1;
}

#endif
