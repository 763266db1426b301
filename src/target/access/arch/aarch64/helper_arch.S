/* SPDX-License-Identifier: MIT
 * hwr_helper_clone, see arch.h; aarch64. */
	.text
	.globl hwr_helper_clone
	.hidden hwr_helper_clone
	.type hwr_helper_clone, %function
hwr_helper_clone:
	.cfi_startproc
	mov x9, x2
	mov x4, x3
	mov x2, #0
	mov x3, #0
	mov x8, #220
	svc #0
	cbz x0, 1f
	ret
	.cfi_endproc
1:
	.cfi_startproc
	.cfi_undefined x30
	mov x29, #0
	mov x30, #0
	blr x9
	brk #0
	.cfi_endproc
	.size hwr_helper_clone, . - hwr_helper_clone
#include "format/arch/note.h"
