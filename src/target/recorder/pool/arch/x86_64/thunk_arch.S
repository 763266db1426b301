/* SPDX-License-Identifier: MIT
 * The thunk of x86_64; see thunk.h. On entry the site's number is on the stack, above it the return
 * address. Upper halves of vector registers stay as they are: nothing here touches them. */
#include "thunk_arch.h"

.macro each_integer action
	\action %rdi, 8
	\action %rsi, 16
	\action %rdx, 24
	\action %rcx, 32
	\action %r8, 40
	\action %r9, 48
	\action %rax, 56
	\action %r10, 64
	\action %r11, 72
.endm
.macro each_vector action
	\action %xmm0, HWR_THUNK_VECTORS
	\action %xmm1, HWR_THUNK_VECTORS + 16
	\action %xmm2, HWR_THUNK_VECTORS + 32
	\action %xmm3, HWR_THUNK_VECTORS + 48
	\action %xmm4, HWR_THUNK_VECTORS + 64
	\action %xmm5, HWR_THUNK_VECTORS + 80
	\action %xmm6, HWR_THUNK_VECTORS + 96
	\action %xmm7, HWR_THUNK_VECTORS + 112
	\action %xmm8, HWR_THUNK_VECTORS + 128
	\action %xmm9, HWR_THUNK_VECTORS + 144
	\action %xmm10, HWR_THUNK_VECTORS + 160
	\action %xmm11, HWR_THUNK_VECTORS + 176
	\action %xmm12, HWR_THUNK_VECTORS + 192
	\action %xmm13, HWR_THUNK_VECTORS + 208
	\action %xmm14, HWR_THUNK_VECTORS + 224
	\action %xmm15, HWR_THUNK_VECTORS + 240
.endm
.macro keep register, at
	movq \register, \at(%rsp)
.endm
.macro give register, at
	movq \at(%rsp), \register
.endm
.macro keep_vector register, at
	movaps \register, \at(%rsp)
.endm
.macro give_vector register, at
	movaps \at(%rsp), \register
.endm

	.text
	.globl hwr_thunk
	.hidden hwr_thunk
	.type hwr_thunk, @function
	.p2align 4
hwr_thunk:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	endbr64
	pushq %rbp
	.cfi_def_cfa_offset 24
	.cfi_offset %rbp, -24
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq $HWR_THUNK_BYTES, %rsp
	andq $-16, %rsp
	each_integer keep
	each_vector keep_vector
	movq 16(%rbp), %rax
	movq %rax, HWR_THUNK_CALLER(%rsp)
	leaq 24(%rbp), %rax
	movq %rax, HWR_THUNK_CALLER + 8(%rsp)
	movq (%rbp), %rax
	movq %rax, HWR_THUNK_CALLER + 16(%rsp)
	movq %rsp, %rdi
	movq 8(%rbp), %rsi
	leaq HWR_THUNK_CALLER(%rsp), %rdx
	call hwr_thunk_before
	each_integer give
	each_vector give_vector
	call *(%rsp)
	each_integer keep
	each_vector keep_vector
	movq %rsp, %rdi
	call hwr_thunk_after
	each_integer give
	each_vector give_vector
	movq %rbp, %rsp
	popq %rbp
	.cfi_def_cfa %rsp, 16
	leaq 8(%rsp), %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size hwr_thunk, .-hwr_thunk

#include "format/arch/note.h"
