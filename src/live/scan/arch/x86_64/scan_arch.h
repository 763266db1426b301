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
		u32 number;
		u64 value;
	} all[] = {{"rbx", 3, r.rbx},  {"rbp", 6, r.rbp},  {"rsp", SCAN_STACK_REGISTER, r.rsp},
		   {"r12", 12, r.r12}, {"r13", 13, r.r13}, {"r14", 14, r.r14},
		   {"r15", 15, r.r15}, /* preserved */
		   {"rax", 0, r.rax},  {"rcx", 2, r.rcx},  {"rdx", 1, r.rdx},
		   {"rsi", 4, r.rsi},  {"rdi", 5, r.rdi},  {"r8", 8, r.r8},
		   {"r9", 9, r.r9},    {"r10", 10, r.r10}, {"r11", 11, r.r11}};

	thread->ends = scan_arch_is_end((i64)r.orig_rax);
	thread->waits = !thread->ends && (i64)r.orig_rax >= 0;
	thread->register_count = 0;
	for (u32 i = 0; i < (thread->ends ? 7 : sizeof(all) / sizeof(all[0])); i++)
		scan_arch_add(thread, all[i].name, all[i].number, all[i].value);
	thread->code = r.rip;
	thread->stack_pointer = r.rsp;
	thread->stack_used = r.rsp - (thread->ends ? 0 : SCAN_RED_ZONE);
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
