	.file	"a.c"
	.text
.Ltext0:
	.globl	f
	.type	f, @function
f:
.LASANPC6:
.LVL0:
.LFB6:
	.loc 1 4 66 view -0
	.cfi_startproc
	.loc 1 4 67 view .LVU1
	.loc 1 4 76 view .LVU2
.LBB2:
	.loc 1 4 80 view .LVU3
	.loc 1 4 80 is_stmt 0 view .LVU4
.LBE2:
	.loc 1 4 66 view .LVU5
	pushq	%r15
	.cfi_def_cfa_offset 16
	.cfi_offset 15, -16
	movq	%rdi, %r15
	pushq	%r14
	.cfi_def_cfa_offset 24
	.cfi_offset 14, -24
	pushq	%r13
	.cfi_def_cfa_offset 32
	.cfi_offset 13, -32
	movq	%rdx, %r13
	pushq	%r12
	.cfi_def_cfa_offset 40
	.cfi_offset 12, -40
	.loc 1 4 71 view .LVU6
	xorl	%r12d, %r12d
	.loc 1 4 66 view .LVU7
	pushq	%rbp
	.cfi_def_cfa_offset 48
	.cfi_offset 6, -48
	pushq	%rbx
	.cfi_def_cfa_offset 56
	.cfi_offset 3, -56
.LBB3:
	.loc 1 4 76 view .LVU8
	xorl	%ebx, %ebx
.LBE3:
	.loc 1 4 66 view .LVU9
	subq	$24, %rsp
	.cfi_def_cfa_offset 80
	.loc 1 4 66 view .LVU10
	movl	%esi, 12(%rsp)
.LVL1:
.L2:
.LBB4:
	.loc 1 4 89 is_stmt 1 discriminator 1 view .LVU11
	cmpl	%ebx, 12(%rsp)
	jle	.L34
	.loc 1 4 97 discriminator 3 view .LVU12
	.loc 1 4 104 is_stmt 0 discriminator 3 view .LVU13
	movq	%r15, %rdx
	shrq	$3, %rdx
	movb	2147450880(%rdx), %dl
	testb	%dl, %dl
	je	.L3
	jg	.L3
	.loc 1 4 104 view .LVU14
	movq	%r15, %rdi
	call	__asan_report_load1_noabort@PLT
.LVL2:
.L3:
	.loc 1 4 111 discriminator 3 view .LVU15
	leaq	2(%r15), %rdi
	.loc 1 4 104 discriminator 3 view .LVU16
	movsbl	(%r15), %ebp
	.loc 1 4 111 discriminator 3 view .LVU17
	movq	%rdi, %rdx
	shrq	$3, %rdx
	.loc 1 4 104 discriminator 3 view .LVU18
	movl	%ebp, %r14d
	.loc 1 4 111 discriminator 3 view .LVU19
	movb	2147450880(%rdx), %cl
	movq	%rdi, %rdx
	andl	$7, %edx
	incl	%edx
	cmpb	%cl, %dl
	jl	.L4
	testb	%cl, %cl
	je	.L4
	.loc 1 4 111 view .LVU20
	call	__asan_report_load2_noabort@PLT
.LVL3:
.L4:
	.loc 1 4 111 discriminator 3 view .LVU21
	movswl	2(%r15), %edx
	.loc 1 4 118 discriminator 3 view .LVU22
	leaq	4(%r15), %rdi
	.loc 1 4 106 discriminator 3 view .LVU23
	addl	%edx, %ebp
	.loc 1 4 118 discriminator 3 view .LVU24
	movq	%rdi, %rdx
	shrq	$3, %rdx
	movb	2147450880(%rdx), %cl
	movq	%rdi, %rdx
	andl	$7, %edx
	addl	$3, %edx
	cmpb	%cl, %dl
	jl	.L5
	testb	%cl, %cl
	je	.L5
	.loc 1 4 118 view .LVU25
	call	__asan_report_load4_noabort@PLT
.LVL4:
.L5:
	.loc 1 4 122 discriminator 3 view .LVU26
	leaq	0(%r13,%rbx), %rdi
	.loc 1 4 113 discriminator 3 view .LVU27
	addl	4(%r15), %ebp
	.loc 1 4 122 discriminator 3 view .LVU28
	movq	%rdi, %rdx
	movq	%rdi, %rcx
	shrq	$3, %rdx
	andl	$7, %ecx
	movb	2147450880(%rdx), %dl
	cmpb	%cl, %dl
	jg	.L6
	testb	%dl, %dl
	je	.L6
	.loc 1 4 122 view .LVU29
	call	__asan_report_load1_noabort@PLT
