/* SPDX-License-Identifier: MIT
 * What a leak scan must know of the processor: the registers of a stopped thread, and how a C
 * library's thread descriptor can be told. */
#ifndef LIVE_SCAN_ARCH_X86_64_SCAN_ARCH_H
#define LIVE_SCAN_ARCH_X86_64_SCAN_ARCH_H

#include "live/scan/registers.h"

enum {
	SCAN_RED_ZONE = 128, /* bytes below the stack pointer that are in use */
	/* A descriptor begins with its own address, and has it again in its third word. */
	SCAN_TELLS_DESCRIPTORS = 1,
	SCAN_DESCRIPTOR_SELF = 16,
};

static inline bool scan_arch_registers(struct scan_thread *thread)
{
	struct user_regs_struct r;

	if (!scan_arch_regset(thread->tid, NT_PRSTATUS, &r, sizeof(r)))
		return false;
	const u64 preserved[] = {r.rbx, r.rbp, r.rsp, r.r12, r.r13, r.r14, r.r15};
	const u64 scratch[] = {r.rax, r.rcx, r.rdx, r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11};

	thread->register_count = 0;
	for (u32 i = 0; i < sizeof(preserved) / sizeof(preserved[0]); i++)
		scan_arch_add(thread, preserved[i]);
	for (u32 i = 0;
	     i < sizeof(scratch) / sizeof(scratch[0]) && !scan_arch_is_end((i64)r.orig_rax); i++)
		scan_arch_add(thread, scratch[i]);
	thread->stack_pointer = r.rsp;
	thread->thread_pointer = r.fs_base;
	return true;
}

/* The system call that the thread is in; -1 = none. */
static inline i64 scan_arch_syscall(u32 tid)
{
	struct user_regs_struct r;

	return scan_arch_regset(tid, NT_PRSTATUS, &r, sizeof(r)) ? (i64)r.orig_rax : -1;
}

#endif
