/* SPDX-License-Identifier: GPL-2.0-or-later
 * How functions are called on this processor: a call leaves its return address in a register, and a
 * function that calls others saves it somewhere in its frame. */
#ifndef TARGET_VALGRIND_ARCH_AARCH64_CALL_ARCH_H
#define TARGET_VALGRIND_ARCH_AARCH64_CALL_ARCH_H

#include <libvex_guest_arm64.h>
#include <pub_tool_machine.h>
#include <pub_tool_tooliface.h>

enum {
	HWV_RETURN_BYTES = 0, /* that a call leaves on the stack */
	HWV_RESULT_AT = offsetof(VexGuestARM64State, guest_X0),
	HWV_LINK_AT = offsetof(VexGuestARM64State, guest_X30),
	HWV_FRAME_BYTES = 4096, /* a larger frame is taken to be there */
};

static const Int hwv_argument_at[] = {
	offsetof(VexGuestARM64State, guest_X0), offsetof(VexGuestARM64State, guest_X1),
	offsetof(VexGuestARM64State, guest_X2), offsetof(VexGuestARM64State, guest_X3),
	offsetof(VexGuestARM64State, guest_X4), offsetof(VexGuestARM64State, guest_X5),
};

/* Whether the block of code ends in a call: its last instruction sets the link register. VEX names
 * plain jumps (b, br) calls, too. */
static inline Bool hwv_ends_in_call(const IRSB *block)
{
	if (block->jumpkind != Ijk_Call)
		return False;
	for (Int i = block->stmts_used - 1; i >= 0 && block->stmts[i]->tag != Ist_IMark; i--)
		if (block->stmts[i]->tag == Ist_Put &&
		    block->stmts[i]->Ist.Put.offset == HWV_LINK_AT)
			return True;
	return False;
}

/* The return address of a function that just began, as an expression and as a value. */
static inline IRExpr *hwv_return_address(IRSB *out, IRExpr *sp)
{
	IRTemp value = newIRTemp(out->tyenv, Ity_I64);

	(void)sp;
	addStmtToIRSB(out, IRStmt_WrTmp(value, IRExpr_Get(HWV_LINK_AT, Ity_I64)));
	return IRExpr_RdTmp(value);
}

static inline Addr hwv_returns_to(ThreadId tid, Addr top)
{
	Addr link = 0;

	(void)top;
	VG_(get_shadow_regs_area)(tid, (UChar *)&link, 0, HWV_LINK_AT, sizeof link);
	return link;
}

/* Whether a call from below `top` can still return to `from`: not if an exception or a longjmp has
 * left it, and the address is neither in the register nor in its frame any more. */
static inline Bool hwv_call_is_there(ThreadId tid, Addr top, Addr from)
{
	Addr sp = VG_(get_SP)(tid);

	if (hwv_returns_to(tid, top) == from)
		return True;
	for (Addr at = top; at > sp; at -= sizeof from) {
		if (top - at >= HWV_FRAME_BYTES || *(const Addr *)(at - sizeof from) == from)
			return True;
	}
	return False;
}

#endif
