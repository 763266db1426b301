/* SPDX-License-Identifier: MIT
 * nocfi_with_frame(function, argument), nocfi_without_frame(function, argument): call function
 * with argument from code that has no unwind information. */
	.text
	.globl nocfi_with_frame
	.type nocfi_with_frame, %function
nocfi_with_frame:
	stp x29, x30, [sp, #-48]!
	mov x29, sp
	mov x9, x0
	mov w0, w1
	blr x9
	ldp x29, x30, [sp], #48
	ret
	.size nocfi_with_frame, . - nocfi_with_frame

	.globl nocfi_without_frame
	.type nocfi_without_frame, %function
nocfi_without_frame:
	str x30, [sp, #-32]!
	mov x9, x0
	mov w0, w1
	blr x9
	ldr x30, [sp], #32
	ret
	.size nocfi_without_frame, . - nocfi_without_frame
	.section .note.GNU-stack, "", %progbits
