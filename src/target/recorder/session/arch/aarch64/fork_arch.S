/* SPDX-License-Identifier: MIT
 * Makes a copy of the program's memory; see format/arch/fork.h. Runs in the target, in a thread that the monitor has
 * sent here from anywhere: uses no stack, and leaves by itself with all registers as they were. */
#include "format/arch/fork.h"

	.text
	.globl	hwr_fork
	.hidden	hwr_fork
	.type	hwr_fork, %function
hwr_fork:
	.cfi_startproc
	.cfi_undefined x30
	adrp	x19, hwr_fork_frame
	add	x19, x19, :lo12:hwr_fork_frame
	mov	x8, #135 /* rt_sigprocmask */
	mov	x0, #0 /* SIG_BLOCK: who else runs this code must run no handler */
	add	x1, x19, #4080
	add	x1, x1, #(HW_FORK_ALL - 4080)
	mov	x2, #0
	mov	x3, #8
	svc	#0
	mov	x8, #167 /* prctl */
	mov	x0, #37 /* PR_GET_CHILD_SUBREAPER */
	add	x20, x19, #4080
	add	x20, x20, #(HW_FORK_ADOPTS - 4080)
	mov	x1, x20
	svc	#0
	cbnz	x0, .Lback
	ldr	w0, [x20]
	cbnz	w0, .Lback
	mov	x8, #220 /* clone */
	mov	x0, #0x4100 /* CLONE_VM, CLONE_VFORK; no signal at its end */
	mov	x1, #0
	mov	x2, #0
	mov	x3, #0
	mov	x4, #0
	svc	#0
	cbz	x0, .Lbetween
	tbnz	x0, #63, .Lback
	mov	x20, x0
1:	mov	x8, #260 /* wait4 */
	mov	x0, x20
	mov	x1, #0
	mov	x2, #0x40000000 /* __WALL */
	mov	x3, #0
	svc	#0
	cmn	x0, #4 /* EINTR */
	b.eq	1b
.Lback:	mov	sp, x19
	mov	x8, #139 /* rt_sigreturn */
	svc	#0

	/* a process that shares the memory, and ends when it has made the copy */
.Lbetween:
	mov	x8, #220
	mov	x0, #0
	mov	x1, #0
	mov	x2, #0
	mov	x3, #0
	mov	x4, #0
	svc	#0
	cbnz	x0, 2f
	/* the copy, which the monitor holds: it keeps no file open, and goes no further */
	mov	x8, #436 /* close_range */
	mov	x0, #0
	mov	w1, #-1
	mov	x2, #2 /* CLOSE_RANGE_UNSHARE */
	svc	#0
2:	mov	x8, #94 /* exit_group */
	mov	x0, #0
	svc	#0
	brk	#0
	.cfi_endproc
	.size	hwr_fork, .-hwr_fork
#include "format/arch/note.h"
