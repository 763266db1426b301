/* SPDX-License-Identifier: MIT
 * Makes a copy of the program's memory; see format/arch/fork.h. Runs in the target, in a thread that the monitor has
 * sent here from anywhere: uses no stack, and leaves by itself with all registers as they were. */
#include "format/arch/fork.h"

#define frame(field) (hwr_fork_frame + HW_FORK_##field)(%rip)

	.text
	.globl	hwr_fork
	.hidden	hwr_fork
	.type	hwr_fork, @function
hwr_fork:
	.cfi_startproc
	.cfi_undefined %rip
	movl	$14, %eax /* rt_sigprocmask */
	xorl	%edi, %edi /* SIG_BLOCK: who else runs this code must run no handler */
	leaq	frame(ALL), %rsi
	xorl	%edx, %edx
	movl	$8, %r10d
	syscall
	movl	$157, %eax /* prctl */
	movl	$37, %edi /* PR_GET_CHILD_SUBREAPER */
	leaq	frame(ADOPTS), %rsi
	syscall
	testl	%eax, %eax
	jnz	.Lback
	cmpl	$0, frame(ADOPTS)
	jne	.Lback
	movl	$56, %eax /* clone */
	movl	$0x4100, %edi /* CLONE_VM, CLONE_VFORK; no signal at its end */
	xorl	%esi, %esi
	xorl	%edx, %edx
	xorl	%r10d, %r10d
	xorl	%r8d, %r8d
	syscall
	testl	%eax, %eax
	jz	.Lbetween
	js	.Lback
	movl	%eax, %edi
1:	movl	$61, %eax /* wait4 */
	xorl	%esi, %esi
	movl	$0x40000000, %edx /* __WALL */
	xorl	%r10d, %r10d
	syscall
	cmpl	$-4, %eax /* EINTR */
	je	1b
.Lback:	movl	$14, %eax
	movl	$2, %edi /* SIG_SETMASK */
	leaq	frame(MASK), %rsi
	xorl	%edx, %edx
	movl	$8, %r10d
	syscall
	movb	frame(OVERFLOW), %al
	addb	$0x7f, %al
	movb	frame(FLAGS), %ah
	sahf
	movq	frame(RAX), %rax
	movq	frame(RCX), %rcx
	movq	frame(RDX), %rdx
	movq	frame(RSI), %rsi
	movq	frame(RDI), %rdi
	movq	frame(R8), %r8
	movq	frame(R10), %r10
	movq	frame(R11), %r11
	notrack jmp *frame(RIP)

	/* a process that shares the memory, and ends when it has made the copy */
.Lbetween:
	movl	$56, %eax
	xorl	%edi, %edi
	syscall
	testl	%eax, %eax
	jnz	2f
	/* the copy, which the monitor holds: it keeps no file open, and goes no further */
	movl	$436, %eax /* close_range */
	xorl	%edi, %edi
	movl	$-1, %esi
	movl	$2, %edx /* CLOSE_RANGE_UNSHARE */
	syscall
2:	movl	$231, %eax /* exit_group */
	xorl	%edi, %edi
	syscall
	ud2
	.cfi_endproc
	.size	hwr_fork, .-hwr_fork
#include "format/arch/note.h"
