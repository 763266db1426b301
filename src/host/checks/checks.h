/* SPDX-License-Identifier: MIT
 * Shorter checks in what gcc writes for the assembler of x86-64. Other text stays as it is. Host.
 *
 * To the sanitizer that the checks are made for, the shadow says how many of 8 bytes may be
 * accessed. So gcc looks at the shadow of 1, 2 or 4 bytes twice:
 *
 *		movzbl	2147450880(%rax), %edx    the shadow
 *		movq	%rdi, %rax
 *		andl	$7, %eax
 *		addl	$3, %eax                  where in its 8 bytes the last one is
 *		cmpb	%dl, %al
 *		jl	.L19                      below the shadow: may be accessed
 *		testb	%dl, %dl
 *		jne	.L63                      calls __asan_report_load4_noabort
 *	.L19:
 *
 * Ours is 0 or negative. Nothing is below it, the first branch is never taken, and all that is
 * there for it can go: in sqlite3 half of the checks are such, and the instrumented program takes a
 * tenth less time without it when it is not recorded. gcc has no option for that; clang asks for 0
 * first.
 *
 * And gcc computes the address where the report wants it, before it is known whether there is one:
 *
 *		leaq	8(%rbx), %rdi
 *		movq	%rdi, %rax                becomes leaq 8(%rbx), %rax; the line above goes
 *		shrq	$3, %rax
 *		cmpb	$0, 2147450880(%rax)
 *		jne	.L9
 *	.L2:
 *		...
 *	.L9:                                      gets the leaq from above
 *		call	__asan_report_load8_noabort
 *		jmp	.L2
 *
 * That is one instruction less of those that always run. It does the same if nobody else wants
 * %rdi, neither before the branch nor, because the call loses it, behind .L2; if nobody else leads
 * to .L9; and if %rbx is the same there. In sqlite3 nearly half of the checks are such. */
#ifndef HOST_CHECKS_CHECKS_H
#define HOST_CHECKS_CHECKS_H

#include "host/base/err.h"
#include "host/base/strbuf.h"
#include "format/types.h"

/* A variable of the environment: which assembler is gcc's own. */
#define CHECKS_ASSEMBLER "HEAPWISE_ASSEMBLER"

/* Appends the text to `shorter`, without what its checks do not need. *count is the number of
 * checks that became shorter. */
int checks_shorten(const char *text, u64 bytes, struct strbuf *shorter, u64 *count,
		   struct err *err);

#endif
