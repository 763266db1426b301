	.file	"seed.c"
	.text
	.p2align 4
	.globl	f
	.type	f, @function
f:
.LASANPC0:
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	movq	%rdi, %rbx
	addq	$8, %rdi
	movq	%rdi, %rax
	shrq	$3, %rax
	subq	$24, %rsp
	cmpb	$0, 2147450880(%rax)
	jne	.L30
.L2:
	movq	8(%rbx), %r12
	cmpl	$3, %edx
	jle	.L3
	movslq	%edx, %rdx
	leaq	(%rdx,%rdx,2), %rax
	leaq	(%rbx,%rax,8), %r13
	movq	%r13, %rax
	shrq	$3, %rax
	cmpb	$0, 2147450880(%rax)
	jne	.L31
.L4:
	leaq	8(%rsi,%rdx,8), %r14
	movq	0(%r13), %r13
	movq	%r14, %rax
	shrq	$3, %rax
	cmpb	$0, 2147450880(%rax)
	jne	.L32
.L5:
	addq	(%r14), %r13
	addq	%r13, %r12
.L3:
	leaq	16(%rbx), %rdi
	movl	%r12d, %r13d
	movq	%rdi, %rax
	shrq	$3, %rax
	movzbl	2147450880(%rax), %eax
	testb	%al, %al
	je	.L6
	cmpb	$3, %al
	jle	.L33
.L6:
	leaq	20(%rbx), %rdi
	movl	%r13d, 16(%rbx)
	movq	%rdi, %rax
	movq	%rdi, %rdx
	shrq	$3, %rax
	andl	$7, %edx
	movzbl	2147450880(%rax), %eax
	cmpb	%dl, %al
	jg	.L7
	testb	%al, %al
	jne	.L34
.L7:
	leaq	16(%rsi), %rdi
	movb	$1, 20(%rbx)
	movq	%rdi, %rax
	shrq	$3, %rax
	cmpb	$0, 2147450880(%rax)
	jne	.L35
.L8:
	leaq	22(%rbx), %rdi
	movq	16(%rsi), %r13
	movq	%rdi, %rax
	shrq	$3, %rax
	movzbl	2147450880(%rax), %edx
	movq	%rdi, %rax
	andl	$7, %eax
	addl	$1, %eax
	cmpb	%dl, %al
	jl	.L9
	testb	%dl, %dl
	jne	.L36
.L9:
	movswq	22(%rbx), %rax
	addq	%r12, %rax
	addq	%r13, %rax
	movq	%rax, 16(%rsi)
	addq	$24, %rsp
	movq	%r12, %rax
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	ret
.L36:
	movq	%rsi, (%rsp)
	call	__asan_report_load2_noabort@PLT
	movq	(%rsp), %rsi
	jmp	.L9
.L34:
	movq	%rsi, (%rsp)
	call	__asan_report_store1_noabort@PLT
	movq	(%rsp), %rsi
	jmp	.L7
.L33:
	movq	%rsi, (%rsp)
	call	__asan_report_store4_noabort@PLT
	movq	(%rsp), %rsi
	jmp	.L6
.L32:
	movq	%r14, %rdi
	movq	%rsi, (%rsp)
	call	__asan_report_load8_noabort@PLT
	movq	(%rsp), %rsi
	jmp	.L5
.L31:
	movq	%r13, %rdi
	movq	%rsi, 8(%rsp)
	movq	%rdx, (%rsp)
	call	__asan_report_load8_noabort@PLT
	movq	8(%rsp), %rsi
	movq	(%rsp), %rdx
	jmp	.L4
.L35:
	movq	%rsi, (%rsp)
	call	__asan_report_load8_noabort@PLT
	movq	(%rsp), %rsi
	jmp	.L8
.L30:
	movl	%edx, 8(%rsp)
	movq	%rsi, (%rsp)
	call	__asan_report_load8_noabort@PLT
	movl	8(%rsp), %edx
	movq	(%rsp), %rsi
	jmp	.L2
	.size	f, .-f
	.ident	"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
