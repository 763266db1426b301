/* SPDX-License-Identifier: MIT
 * Functions that allocate, with debug information written by hand: call sites have DW_AT_LLVM_alloc_type
 * (0x3e0e), which clang writes from LLVM 21 on and no compiler of this distribution does.
 *
 *	make_point	malloc(24)	space::Point
 *	make_cells	calloc(4, 16)	typedef cell_t of Cell: Cell, four of them
 *	make_links	malloc(80)	Point *: space::Point*
 *	make_plain	malloc(40)	a call site without a type
 *	make_closure	malloc(56)	a type without a name
 */
	.text
	.globl make_point, make_cells, make_links, make_plain, make_closure

#if defined(__x86_64__)
	.macro make name first second function
	.type \name, %function
\name:
	.cfi_startproc
	subq $8, %rsp
	.cfi_adjust_cfa_offset 8
	movl $\first, %edi
	movl $\second, %esi
	call \function@PLT
.Lafter_\name:
	addq $8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
.Lend_\name:
	.size \name, . - \name
	.endm
#elif defined(__aarch64__)
	.macro make name first second function
	.type \name, %function
\name:
	.cfi_startproc
	stp x29, x30, [sp, -16]!
	.cfi_adjust_cfa_offset 16
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	mov x29, sp
	mov x0, \first
	mov x1, \second
	bl \function
.Lafter_\name:
	ldp x29, x30, [sp], 16
	.cfi_restore x29
	.cfi_restore x30
	.cfi_adjust_cfa_offset -16
	ret
	.cfi_endproc
.Lend_\name:
	.size \name, . - \name
	.endm
#endif

.Ltext:
	make make_point 24 0 malloc
	make make_cells 4 16 calloc
	make make_links 80 0 malloc
	make make_plain 40 0 malloc
	make make_closure 56 0 malloc
.Letext:

	/* ---- abbreviations: number, tag, has children, (attribute, form)… ---- */
	.section .debug_abbrev, "", %progbits
.Labbrev:
	.uleb128 1, 0x11 /* compile unit */
	.byte 1
	.uleb128 0x03, 0x08, 0x13, 0x05, 0x11, 0x01, 0x12, 0x06, 0, 0 /* name, language, low pc, high pc */
	.uleb128 2, 0x2e /* subprogram */
	.byte 1
	.uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0
	.uleb128 3, 0x48 /* call site with a type */
	.byte 0
	.uleb128 0x7d, 0x01, 0x3e0e, 0x13, 0, 0 /* return pc, type */
	.uleb128 4, 0x48 /* call site */
	.byte 0
	.uleb128 0x7d, 0x01, 0, 0
	.uleb128 5, 0x39 /* namespace */
	.byte 1
	.uleb128 0x03, 0x08, 0, 0
	.uleb128 6, 0x13 /* structure */
	.byte 0
	.uleb128 0x03, 0x08, 0x0b, 0x0b, 0, 0 /* name, byte size */
	.uleb128 7, 0x16 /* typedef */
	.byte 0
	.uleb128 0x03, 0x08, 0x49, 0x13, 0, 0 /* name, type */
	.uleb128 8, 0x0f /* pointer */
	.byte 0
	.uleb128 0x0b, 0x0b, 0x49, 0x13, 0, 0
	.uleb128 9, 0x13 /* structure without a name */
	.byte 0
	.uleb128 0x0b, 0x0b, 0, 0
	.uleb128 10, 0x0b /* lexical block */
	.byte 1
	.uleb128 0, 0
	.byte 0

	.section .debug_info, "", %progbits
.Linfo:
	.4byte .Lunit_end - .Lunit
.Lunit:
	.2byte 5
	.byte 1, 8
	.4byte .Labbrev
	.uleb128 1
	.asciz "call_types.S"
	.2byte 0x21
	.8byte .Ltext
	.4byte .Letext - .Ltext

	.macro function name abbreviation type
	.uleb128 2
	.asciz "\name"
	.8byte \name
	.4byte .Lend_\name - \name
	.uleb128 10
	.uleb128 \abbreviation
	.8byte .Lafter_\name
	.ifnb \type
	.4byte \type - .Linfo
	.endif
	.byte 0, 0
	.endm

	function make_point 3 .Lpoint
	function make_cells 3 .Lcell_t
	function make_links 3 .Lpointer
	function make_plain 4
	function make_closure 3 .Lunnamed
	.uleb128 5
	.asciz "space"
.Lpoint:
	.uleb128 6
	.asciz "Point"
	.byte 24
	.byte 0
.Lcell:
	.uleb128 6
	.asciz "Cell"
	.byte 16
.Lcell_t:
	.uleb128 7
	.asciz "cell_t"
	.4byte .Lcell - .Linfo
.Lpointer:
	.uleb128 8
	.byte 8
	.4byte .Lpoint - .Linfo
.Lunnamed:
	.uleb128 9
	.byte 56
	.byte 0
.Lunit_end:

	.section .note.GNU-stack, "", %progbits
