/* SPDX-License-Identifier: MIT
 * nocfi_with_frame(function, argument), nocfi_without_frame(function, argument): call function
 * with argument from code that has no unwind information. */
	.text
	.globl nocfi_with_frame
	.type nocfi_with_frame, @function
nocfi_with_frame:
	push %rbp
	mov %rsp, %rbp
	sub $32, %rsp
	mov %rdi, %rax
	mov %esi, %edi
	call *%rax
	leave
	ret
	.size nocfi_with_frame, . - nocfi_with_frame

	.globl nocfi_without_frame
	.type nocfi_without_frame, @function
nocfi_without_frame:
	sub $40, %rsp
	mov %rdi, %rax
	mov %esi, %edi
	call *%rax
	add $40, %rsp
	ret
	.size nocfi_without_frame, . - nocfi_without_frame
	.section .note.GNU-stack, "", @progbits
