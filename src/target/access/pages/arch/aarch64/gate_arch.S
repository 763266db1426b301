/* SPDX-License-Identifier: MIT
 * The entries of gates on aarch64; see gates.h. x16 and x17 are on the stack, and x17 says where the stub goes on: there at
 * the call, 8 bytes further behind it. All else has to be as it was, flags included. */
#include "window_arch.h"

#define BEHIND 8       /* gate_arch.c: from LEAVE to LEAVE_BEHIND */
#define CALL 28        /* and to CALL */
#define OTHERS 64
#define VECTORS 160
#define FRAME (VECTORS + 32 * 16)

.macro look register
	lsr x16, \register, HWR_WINDOW_BITS
	sub x16, x16, HWR_WINDOW
	cbz x16, hwr_gate_always
.endm
.macro each_argument op
	\op x0, x1, [sp]
	\op x2, x3, [sp, 16]
	\op x4, x5, [sp, 32]
.endm
.macro each_other op
	\op x6, x7, [sp, OTHERS]
	\op x8, x9, [sp, OTHERS + 16]
	\op x10, x11, [sp, OTHERS + 32]
	\op x12, x13, [sp, OTHERS + 48]
	\op x14, x15, [sp, OTHERS + 64]
.endm
.macro each_vector op
	add x16, sp, VECTORS
	\op q0, q1, [x16]
	\op q2, q3, [x16, 32]
	\op q4, q5, [x16, 64]
	\op q6, q7, [x16, 96]
	\op q8, q9, [x16, 128]
	\op q10, q11, [x16, 160]
	\op q12, q13, [x16, 192]
	\op q14, q15, [x16, 224]
	\op q16, q17, [x16, 256]
	\op q18, q19, [x16, 288]
	\op q20, q21, [x16, 320]
	\op q22, q23, [x16, 352]
	\op q24, q25, [x16, 384]
	\op q26, q27, [x16, 416]
	\op q28, q29, [x16, 448]
	\op q30, q31, [x16, 480]
.endm

	.text
	.globl hwr_gate
	.hidden hwr_gate
	.type hwr_gate, %function
	.p2align 4
hwr_gate:
	.cfi_startproc
	.cfi_return_column 96
	.cfi_def_cfa_offset 16
	.cfi_register 96, 17
	hint 34 /* bti c */
	look x0
	look x1
	look x2
	look x3
	look x4
	look x5
	br x17
	.cfi_endproc
	.size hwr_gate, .-hwr_gate

/* For who walks the stack this is a call from where the system call is made, whose x30 is not changed: hence the column
 * for addresses of what was interrupted. */
	.globl hwr_gate_always
	.hidden hwr_gate_always
	.type hwr_gate_always, %function
	.p2align 4
hwr_gate_always:
	.cfi_startproc
	.cfi_return_column 96
	.cfi_def_cfa_offset 16
	.cfi_register 96, 17
	hint 34 /* bti c */
	stp x29, x30, [sp, -48]!
	.cfi_def_cfa_offset 64
	.cfi_offset x29, -64
	.cfi_offset x30, -56
	ldr x16, [x17, CALL]
	stp x17, x16, [sp, 16]
	.cfi_offset 96, -40
	mrs x16, nzcv
	str x16, [sp, 32]
	mov x29, sp
	.cfi_def_cfa_register x29
	sub sp, sp, FRAME
	each_argument stp
	each_other stp
	str x8, [sp, 48]
	each_vector stp
	mov x0, sp
	bl hwr_gate_call
	str x0, [sp]
	each_vector ldp
	each_other ldp
	each_argument ldp
	ldr x16, [x29, 32]
	msr nzcv, x16
	ldr x17, [x29, 16]
	mov sp, x29
	.cfi_def_cfa_register sp
	ldp x29, x30, [sp], 48
	.cfi_def_cfa_offset 16
	.cfi_restore x29
	.cfi_restore x30
	.cfi_register 96, 17
	add x17, x17, BEHIND
	br x17
	.cfi_endproc
	.size hwr_gate_always, .-hwr_gate_always

#include "format/arch/note.h"
