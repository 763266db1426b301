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
	/* Thread-local variables lie below the thread pointer, the C library's record of the thread
	 * above it. */
	SCAN_TLS_ABOVE = 0,
	SCAN_RECORD_BYTES = 0x900,
	SCAN_STACK_REGISTER = 7, /* its number in DWARF */
	SCAN_GLIBC_HUGE = 0,     /* glibc asks for huge pages by itself, from 2.43 on */
};

static inline bool scan_arch_registers(struct scan_thread *thread)
{
	struct user_regs_struct r;

	if (!scan_arch_regset(thread->tid, NT_PRSTATUS, &r, sizeof(r)))
		return false;
	const struct {
		const char *name;
		u64 value;
	} all[] = {{"rbx", r.rbx}, {"rbp", r.rbp}, {"rsp", r.rsp}, {"r12", r.r12}, {"r13", r.r13},
		   {"r14", r.r14}, {"r15", r.r15}, /* preserved */
		   {"rax", r.rax}, {"rcx", r.rcx}, {"rdx", r.rdx}, {"rsi", r.rsi}, {"rdi", r.rdi},
		   {"r8", r.r8},   {"r9", r.r9},   {"r10", r.r10}, {"r11", r.r11}};
	u32 count = scan_arch_is_end((i64)r.orig_rax) ? 7 : sizeof(all) / sizeof(all[0]);

	thread->register_count = 0;
	for (u32 i = 0; i < count; i++)
		scan_arch_add(thread, all[i].name, all[i].value);
	const u64 numbered[] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
				r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};

	memcpy(thread->numbered, numbered, sizeof(numbered));
	thread->code = r.rip;
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
