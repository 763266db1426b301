/* SPDX-License-Identifier: MIT
 * syscall(3) for programs, as libc has it, but that seccomp is looked at first (sandbox.c). In assembly, because a
 * call may return twice, or on another stack. Runs in the target. */
#ifndef HWR_PAGES
	.text
	.globl	syscall
	.type	syscall, @function
syscall:
	.cfi_startproc
	endbr64
	cmpq	$317, %rdi /* SYS_seccomp */
	je	hwr_syscall_seccomp
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	movq	%r9, %r8
	movq	8(%rsp), %r9
	syscall
	cmpq	$-4095, %rax
	jae	1f
	ret
1:	movq	%rax, %rdi
	jmp	hwr_syscall_failed
	.cfi_endproc
	.size	syscall, .-syscall
#endif
#include "format/arch/note.h"
