/* SPDX-License-Identifier: MIT
 * _start as the C library has it, without unwind information. */
	.text
	.globl _start
	.type _start, @function
_start:
	xorl %ebp, %ebp
	movq %rdx, %r9
	popq %rsi
	movq %rsp, %rdx
	andq $-16, %rsp
	pushq %rax
	pushq %rsp
	xorl %r8d, %r8d
	xorl %ecx, %ecx
	movq main@GOTPCREL(%rip), %rdi
	call *__libc_start_main@GOTPCREL(%rip)
	hlt
	.size _start, . - _start
	.section .note.GNU-stack, "", @progbits
