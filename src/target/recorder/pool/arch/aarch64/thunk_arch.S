/* SPDX-License-Identifier: MIT
 * The thunk of aarch64; see thunk.h. On entry the site's number is in x17; x16 and x17 belong to whoever
 * stands between a caller and a function. */
#include "thunk_arch.h"

.macro each_integer op
	\op x0, x1, [sp, 8]
	\op x2, x3, [sp, 24]
	\op x4, x5, [sp, 40]
	\op x6, x7, [sp, 56]
	\op x8, x9, [sp, 72]
	\op x10, x11, [sp, 88]
	\op x12, x13, [sp, 104]
	\op x14, x15, [sp, 120]
.endm
/* x18 belongs to the platform, and nothing here changes it */
.macro each_vector op
	add x16, sp, HWR_THUNK_VECTORS
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
	.globl hwr_thunk
	.hidden hwr_thunk
	.type hwr_thunk, %function
	.p2align 4
hwr_thunk:
	.cfi_startproc
	hint 25 /* paciasp, a landing mark as well */
	.cfi_negate_ra_state
	stp x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov x29, sp
	.cfi_def_cfa_register x29
	sub sp, sp, HWR_THUNK_BYTES
	each_integer stp
	each_vector stp
	add x2, sp, HWR_THUNK_CALLER
	str x30, [x2]
	add x0, x29, 16
	str x0, [x2, 8]
	ldr x0, [x29]
	str x0, [x2, 16]
	mov x0, sp
	mov x1, x17
	bl hwr_thunk_before
	each_vector ldp
	each_integer ldp
	ldr x16, [sp]
	blr x16
	each_integer stp
	each_vector stp
	mov x0, sp
	bl hwr_thunk_after
	each_vector ldp
	each_integer ldp
	mov sp, x29
	.cfi_def_cfa_register sp
	ldp x29, x30, [sp], 16
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	hint 29 /* autiasp */
	.cfi_negate_ra_state
	ret
	.cfi_endproc
	.size hwr_thunk, .-hwr_thunk

#include "format/arch/note.h"
