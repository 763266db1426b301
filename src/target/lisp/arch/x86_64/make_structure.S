/* SPDX-License-Identifier: MIT
 * si_make_structure(narg, type, ...): tells the type and goes on to the real function with all arguments as they
 * are, however many there are. Runs in the target. */
	.text
	.globl	si_make_structure
	.type	si_make_structure, @function
si_make_structure:
	.cfi_startproc
	endbr64
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	pushq	%rcx
	.cfi_adjust_cfa_offset 8
	pushq	%r8
	.cfi_adjust_cfa_offset 8
	pushq	%r9
	.cfi_adjust_cfa_offset 8
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	movq	%rsi, %rdi
	call	hwl_structure_begins
	movq	%rax, %r11
	popq	%rax
	.cfi_adjust_cfa_offset -8
	popq	%r9
	.cfi_adjust_cfa_offset -8
	popq	%r8
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%r11
	.cfi_endproc
	.size	si_make_structure, . - si_make_structure
#include "format/arch/note.h"
