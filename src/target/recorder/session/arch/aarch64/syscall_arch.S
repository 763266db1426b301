/* SPDX-License-Identifier: MIT
 * syscall(3) for programs, as libc has it, but that seccomp is looked at first (sandbox.c). In assembly, because a
 * call may return twice, or on another stack. Runs in the target. */
#ifndef HWR_PAGES
	.text
	.globl	syscall
	.type	syscall, %function
syscall:
	.cfi_startproc
	hint	#34 /* bti c */
	cmp	x0, #277 /* SYS_seccomp */
	b.eq	hwr_syscall_seccomp
	mov	x8, x0
	mov	x0, x1
	mov	x1, x2
	mov	x2, x3
	mov	x3, x4
	mov	x4, x5
	mov	x5, x6
	mov	x6, x7
	svc	#0
	cmn	x0, #4095
	b.cs	hwr_syscall_failed
	ret
	.cfi_endproc
	.size	syscall, .-syscall
#endif
#include "format/arch/note.h"
