/* SPDX-License-Identifier: MIT
 * si_make_structure(narg, type, ...): tells the type and goes on to the real function with all arguments as they
 * are, however many there are. Runs in the target. */
	.text
	.globl	si_make_structure
	.type	si_make_structure, %function
si_make_structure:
	.cfi_startproc
	hint	#25 /* paciasp, a landing mark as well */
	.cfi_negate_ra_state
	stp	x29, x30, [sp, #-80]!
	.cfi_def_cfa_offset 80
	.cfi_offset 29, -80
	.cfi_offset 30, -72
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	mov	x0, x1
	bl	hwl_structure_begins
	mov	x16, x0
	ldp	x0, x1, [sp, #16]
	ldp	x2, x3, [sp, #32]
	ldp	x4, x5, [sp, #48]
	ldp	x6, x7, [sp, #64]
	ldp	x29, x30, [sp], #80
	.cfi_restore 29
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	hint	#29 /* autiasp */
	.cfi_negate_ra_state
	br	x16
	.cfi_endproc
	.size	si_make_structure, . - si_make_structure
#include "format/arch/note.h"
