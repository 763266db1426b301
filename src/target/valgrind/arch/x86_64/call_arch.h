/* SPDX-License-Identifier: GPL-2.0-or-later
 * How functions are called on this processor: a call pushes its return address. */
#ifndef TARGET_VALGRIND_ARCH_X86_64_CALL_ARCH_H
#define TARGET_VALGRIND_ARCH_X86_64_CALL_ARCH_H

#include <libvex_guest_amd64.h>
#include <pub_tool_tooliface.h>

enum {
	HWV_RETURN_BYTES = 8, /* that a call leaves on the stack */
	HWV_RESULT_AT = offsetof(VexGuestAMD64State, guest_RAX),
};

static const Int hwv_argument_at[] = {
	offsetof(VexGuestAMD64State, guest_RDI), offsetof(VexGuestAMD64State, guest_RSI),
	offsetof(VexGuestAMD64State, guest_RDX), offsetof(VexGuestAMD64State, guest_RCX),
	offsetof(VexGuestAMD64State, guest_R8),  offsetof(VexGuestAMD64State, guest_R9),
};

/* Whether the block of code ends in a call. */
static inline Bool hwv_ends_in_call(const IRSB *block) { return block->jumpkind == Ijk_Call; }

/* The return address of a function that just began, as an expression and as a value. */
static inline IRExpr *hwv_return_address(IRSB *out, IRExpr *sp)
{
	IRTemp value = newIRTemp(out->tyenv, Ity_I64);

	addStmtToIRSB(out, IRStmt_WrTmp(value, IRExpr_Load(Iend_LE, Ity_I64, sp)));
	return IRExpr_RdTmp(value);
}

static inline Addr hwv_returns_to(ThreadId tid, Addr top)
{
	(void)tid;
	return *(const Addr *)(top - HWV_RETURN_BYTES);
}

/* Whether a call from below `top` can still return to `from`: not if an exception or a longjmp has
 * left it, and another call is in its place. */
static inline Bool hwv_call_is_there(ThreadId tid, Addr top, Addr from)
{
	return hwv_returns_to(tid, top) == from;
}

#endif
