/* SPDX-License-Identifier: MIT
 * What a leak scan must know of the processor: the registers of a stopped thread, and how a C
 * library's thread descriptor can be told. */
#ifndef LIVE_SCAN_ARCH_AARCH64_SCAN_ARCH_H
#define LIVE_SCAN_ARCH_AARCH64_SCAN_ARCH_H

#include "live/scan/registers.h"

enum {
	SCAN_RED_ZONE = 0,
	SCAN_TELLS_DESCRIPTORS = 0,
	SCAN_DESCRIPTOR_SELF = 0,
	/* Thread-local variables lie above the thread pointer, the C library's record of the thread
	 * below it. */
	SCAN_TLS_ABOVE = 1,
	SCAN_RECORD_BYTES = 0x800,
	SCAN_STACK_REGISTER = 31, /* its number in DWARF */
	SCAN_GLIBC_HUGE = 1,      /* glibc asks for huge pages by itself, from 2.43 on */
};

/* The system call that the thread is in; -1 = none. */
static inline i64 scan_arch_syscall(u32 tid)
{
	i32 number;

	return scan_arch_regset(tid, NT_ARM_SYSTEM_CALL, &number, sizeof(number)) ? number : -1;
}

static inline bool scan_arch_registers(struct scan_thread *thread)
{
	static const char *const names[] = {"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",
					    "x8",  "x9",  "x10", "x11", "x12", "x13", "x14", "x15",
					    "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23",
					    "x24", "x25", "x26", "x27", "x28", "x29", "x30"};
	struct user_regs_struct r;

	if (!scan_arch_regset(thread->tid, NT_PRSTATUS, &r, sizeof(r)))
		return false;
	thread->ends = scan_arch_is_end(scan_arch_syscall(thread->tid));
	thread->register_count = 0;
	for (u32 i = thread->ends ? 19 : 0; i < 31; i++) /* from x19 on they are preserved */
		scan_arch_add(thread, names[i], i, r.regs[i]);
	scan_arch_add(thread, "sp", SCAN_STACK_REGISTER, r.sp);
	thread->code = r.pc;
	thread->stack_pointer = thread->stack_used = r.sp;
	return scan_arch_regset(thread->tid, NT_ARM_TLS, &thread->thread_pointer, sizeof(u64));
}

#endif
