	.file	"seed.c"
	.text
	.globl	f
	.type	f, @function
f:
.LASANPC0:
	pushq	%r14
	pushq	%r13
	pushq	%r12
	movq	%rsi, %r12
	pushq	%rbp
	movslq	%edx, %rbp
	pushq	%rbx
	movq	%rdi, %rbx
	addq	$8, %rdi
	movq	%rdi, %rax
	shrq	$3, %rax
	cmpb	$0, 2147450880(%rax)
	je	.L2
	call	__asan_report_load8_noabort@PLT
.L2:
	movq	8(%rbx), %r13
	cmpl	$3, %ebp
	jle	.L3
	imulq	$24, %rbp, %r14
	addq	%rbx, %r14
	movq	%r14, %rax
	shrq	$3, %rax
	cmpb	$0, 2147450880(%rax)
	je	.L4
	movq	%r14, %rdi
	call	__asan_report_load8_noabort@PLT
.L4:
	leaq	8(%r12,%rbp,8), %rbp
	movq	(%r14), %r14
	movq	%rbp, %rax
	shrq	$3, %rax
	cmpb	$0, 2147450880(%rax)
	je	.L5
	movq	%rbp, %rdi
	call	__asan_report_load8_noabort@PLT
.L5:
	addq	0(%rbp), %r14
	addq	%r14, %r13
.L3:
	leaq	16(%rbx), %rdi
	movl	%r13d, %ebp
	movq	%rdi, %rax
	shrq	$3, %rax
	movb	2147450880(%rax), %al
	testb	%al, %al
	je	.L6
	cmpb	$3, %al
	jg	.L6
	call	__asan_report_store4_noabort@PLT
.L6:
	leaq	20(%rbx), %rdi
	movl	%ebp, 16(%rbx)
	movq	%rdi, %rax
	movq	%rdi, %rdx
	shrq	$3, %rax
	andl	$7, %edx
	movb	2147450880(%rax), %al
	cmpb	%dl, %al
	jg	.L7
	testb	%al, %al
	je	.L7
	call	__asan_report_store1_noabort@PLT
.L7:
	leaq	16(%r12), %rdi
	movb	$1, 20(%rbx)
	movq	%rdi, %rax
	shrq	$3, %rax
	cmpb	$0, 2147450880(%rax)
	je	.L8
	call	__asan_report_load8_noabort@PLT
.L8:
	leaq	22(%rbx), %rdi
	movq	16(%r12), %rbp
	movq	%rdi, %rax
	shrq	$3, %rax
	movb	2147450880(%rax), %dl
	movq	%rdi, %rax
	andl	$7, %eax
	incl	%eax
	cmpb	%dl, %al
	jl	.L9
	testb	%dl, %dl
	je	.L9
	call	__asan_report_load2_noabort@PLT
.L9:
	movswq	22(%rbx), %rax
	addq	%r13, %rax
	addq	%rbp, %rax
	movq	%rax, 16(%r12)
	movq	%r13, %rax
	popq	%rbx
	popq	%rbp
	popq	%r12
	popq	%r13
	popq	%r14
	ret
	.size	f, .-f
	.ident	"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
