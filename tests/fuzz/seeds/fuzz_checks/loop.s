	.file	"a.c"
	.text
	.p2align 4
	.globl	f
	.type	f, @function
f:
.LASANPC22:
.LFB22:
	.cfi_startproc
	pushq	%r15
	.cfi_def_cfa_offset 16
	.cfi_offset 15, -16
	pushq	%r14
	.cfi_def_cfa_offset 24
	.cfi_offset 14, -24
	pushq	%r13
	.cfi_def_cfa_offset 32
	.cfi_offset 13, -32
	pushq	%r12
	.cfi_def_cfa_offset 40
	.cfi_offset 12, -40
	pushq	%rbp
	.cfi_def_cfa_offset 48
	.cfi_offset 6, -48
	pushq	%rbx
	.cfi_def_cfa_offset 56
	.cfi_offset 3, -56
	subq	$24, %rsp
	.cfi_def_cfa_offset 80
	testl	%esi, %esi
	jle	.L8
	movslq	%esi, %rsi
	movq	%rdi, %rbx
	movq	%rdx, %r12
	xorl	%r14d, %r14d
	salq	$4, %rsi
	leaq	(%rdi,%rsi), %r15
	.p2align 4,,10
	.p2align 3
.L7:
	movq	%rbx, %rax
	shrq	$3, %rax
	movzbl	2147450880(%rax), %eax
	testb	%al, %al
	je	.L3
	jle	.L36
.L3:
	leaq	2(%rbx), %rdi
	movsbl	(%rbx), %ecx
	movq	%rdi, %rax
	shrq	$3, %rax
	movl	%ecx, %r13d
	movzbl	2147450880(%rax), %edx
	movq	%rdi, %rax
	andl	$7, %eax
	addl	$1, %eax
	cmpb	%dl, %al
	jl	.L4
	testb	%dl, %dl
	jne	.L37
.L4:
	leaq	4(%rbx), %rdi
	movswl	2(%rbx), %ebp
	movq	%rdi, %rax
	shrq	$3, %rax
	addl	%ecx, %ebp
	movzbl	2147450880(%rax), %edx
	movq	%rdi, %rax
	andl	$7, %eax
	addl	$3, %eax
	cmpb	%dl, %al
	jl	.L5
	testb	%dl, %dl
	jne	.L38
.L5:
	movq	%r12, %rax
	movq	%r12, %rdx
	addl	4(%rbx), %ebp
	shrq	$3, %rax
	andl	$7, %edx
	movzbl	2147450880(%rax), %eax
	cmpb	%dl, %al
	jg	.L6
	testb	%al, %al
	jne	.L39
.L6:
	movzbl	(%r12), %eax
	addl	$1, %r13d
	addq	$16, %rbx
	addq	$1, %r12
	movb	%r13b, -16(%rbx)
	addl	%ebp, %eax
	addl	%eax, %r14d
	movw	%r14w, -14(%rbx)
	cmpq	%rbx, %r15
	jne	.L7
.L1:
	addq	$24, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 56
	movl	%r14d, %eax
	popq	%rbx
	.cfi_def_cfa_offset 48
	popq	%rbp
	.cfi_def_cfa_offset 40
	popq	%r12
	.cfi_def_cfa_offset 32
	popq	%r13
	.cfi_def_cfa_offset 24
	popq	%r14
	.cfi_def_cfa_offset 16
	popq	%r15
	.cfi_def_cfa_offset 8
	ret
	.p2align 4,,10
	.p2align 3
.L8:
	.cfi_restore_state
	xorl	%r14d, %r14d
	jmp	.L1
.L36:
	movq	%rbx, %rdi
	call	__asan_report_load1_noabort@PLT
	jmp	.L3
.L39:
	movq	%r12, %rdi
	call	__asan_report_load1_noabort@PLT
	jmp	.L6
.L38:
	call	__asan_report_load4_noabort@PLT
	jmp	.L5
.L37:
	movl	%ecx, 12(%rsp)
	call	__asan_report_load2_noabort@PLT
	movl	12(%rsp), %ecx
	jmp	.L4
	.cfi_endproc
.LFE22:
	.size	f, .-f
	.section	.rodata.str1.1,"aMS",@progbits,1
.LC0:
	.string	"%d\n"
	.section	.text.startup,"ax",@progbits
	.p2align 4
	.globl	main
	.type	main, @function
main:
.LASANPC23:
.LFB23:
	.cfi_startproc
	pushq	%r12
	.cfi_def_cfa_offset 16
	.cfi_offset 12, -16
	leaq	8(%rsi), %rdi
	pushq	%rbp
	.cfi_def_cfa_offset 24
	.cfi_offset 6, -24
	movq	%rdi, %rax
	pushq	%rbx
	.cfi_def_cfa_offset 32
	.cfi_offset 3, -32
	shrq	$3, %rax
	subq	$16, %rsp
	.cfi_def_cfa_offset 48
	cmpb	$0, 2147450880(%rax)
	jne	.L43
.L41:
	movq	8(%rsi), %rdi
	movl	$10, %edx
	xorl	%esi, %esi
	call	strtol@PLT
	movl	$16, %esi
	movslq	%eax, %rbx
	movl	%eax, %r12d
	movq	%rbx, %rdi
	call	calloc@PLT
	movq	%rbx, %rdi
	movl	$1, %esi
	movq	%rax, %rbp
	call	calloc@PLT
	movl	%r12d, %esi
	movq	%rbp, %rdi
	movq	%rax, %rdx
	call	f
	leaq	.LC0(%rip), %rdi
	movl	%eax, %esi
	xorl	%eax, %eax
	call	printf@PLT
	addq	$16, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 32
	xorl	%eax, %eax
	popq	%rbx
	.cfi_def_cfa_offset 24
	popq	%rbp
	.cfi_def_cfa_offset 16
	popq	%r12
	.cfi_def_cfa_offset 8
	ret
.L43:
	.cfi_restore_state
	movq	%rsi, 8(%rsp)
	call	__asan_report_load8_noabort@PLT
	movq	8(%rsp), %rsi
	jmp	.L41
	.cfi_endproc
.LFE23:
	.size	main, .-main
	.ident	"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
