/* SPDX-License-Identifier: MIT
 * The entries of gates on x86_64; see gates.h. The call's address is in rcx, which the kernel changes, as r11; all else
 * has to be as it was, also what lies below the stack pointer. Upper halves of vector registers stay as they are:
 * nothing here touches them. */
#include "window_arch.h"

#define RED_ZONE 128
#define VECTORS 64
#define FRAME (VECTORS + 16 * 16)

.macro each_integer action
	\action %rdi, 0
	\action %rsi, 8
	\action %rdx, 16
	\action %r10, 24
	\action %r8, 32
	\action %r9, 40
.endm
.macro each_vector action
	\action %xmm0, VECTORS
	\action %xmm1, VECTORS + 16
	\action %xmm2, VECTORS + 32
	\action %xmm3, VECTORS + 48
	\action %xmm4, VECTORS + 64
	\action %xmm5, VECTORS + 80
	\action %xmm6, VECTORS + 96
	\action %xmm7, VECTORS + 112
	\action %xmm8, VECTORS + 128
	\action %xmm9, VECTORS + 144
	\action %xmm10, VECTORS + 160
	\action %xmm11, VECTORS + 176
	\action %xmm12, VECTORS + 192
	\action %xmm13, VECTORS + 208
	\action %xmm14, VECTORS + 224
	\action %xmm15, VECTORS + 240
.endm
.macro look register, at
	movq \register, %r11
	shrq $HWR_WINDOW_BITS, %r11
	cmpl $HWR_WINDOW, %r11d
	je hwr_gate_always
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
	.globl hwr_gate
	.hidden hwr_gate
	.type hwr_gate, @function
	.p2align 4
hwr_gate:
	.cfi_startproc
	.cfi_def_cfa_offset 0
	.cfi_register %rip, %rcx
	endbr64
	each_integer look
	notrack jmp *%rcx
	.cfi_endproc
	.size hwr_gate, .-hwr_gate

/* For who walks the stack this is a call from where the system call is made. */
	.globl hwr_gate_always
	.hidden hwr_gate_always
	.type hwr_gate_always, @function
	.p2align 4
hwr_gate_always:
	.cfi_startproc
	.cfi_def_cfa_offset 0
	.cfi_register %rip, %rcx
	endbr64
	leaq -RED_ZONE(%rsp), %rsp
	.cfi_def_cfa_offset RED_ZONE
	pushq %rcx
	.cfi_def_cfa_offset RED_ZONE + 8
	.cfi_offset %rip, -(RED_ZONE + 8)
	pushq %rbp
	.cfi_def_cfa_offset RED_ZONE + 16
	.cfi_offset %rbp, -(RED_ZONE + 16)
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq $FRAME, %rsp
	andq $-16, %rsp
	each_integer keep
	movslq %eax, %rax
	movq %rax, 48(%rsp)
	each_vector keep_vector
	movq %rsp, %rdi
	call hwr_gate_call
	each_vector give_vector
	each_integer give
	movq %rbp, %rsp
	.cfi_def_cfa_register %rsp
	popq %rbp
	.cfi_def_cfa_offset RED_ZONE + 8
	.cfi_same_value %rbp
	popq %rcx
	.cfi_def_cfa_offset RED_ZONE
	.cfi_register %rip, %rcx
	leaq RED_ZONE(%rsp), %rsp
	.cfi_def_cfa_offset 0
	addq $2, %rcx
	notrack jmp *%rcx
	.cfi_endproc
	.size hwr_gate_always, .-hwr_gate_always

#include "format/arch/note.h"
