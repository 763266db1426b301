/* SPDX-License-Identifier: MIT
 * Which calls are inside others. Runs in the target.
 *
 * The flag is trusted only below the stack address of the outer call, so an exception that leaves
 * operator new needs no clean-up; and only for calls from the outer function's own module, so that
 * what a signal handler or a new handler does meanwhile is recorded. */
#include "recorder/suppress.h"

#include "recorder/modules.h"
#include "recorder/operators.h"

bool hwr_suppressed(struct hwr_thread *t, const struct hwr_caller *caller)
{
	if (!(t->state & HWR_SUPPRESS))
		return false;
	if (caller->sp >= t->suppress_sp) {
		t->state &= ~(u32)HWR_SUPPRESS;
		return false;
	}
	/* From the recorder itself: operator new[] ends in a jump to operator new, so the inner hook
	 * returns straight to the outer one. */
	return caller->pc - hwr_operators_start < hwr_operators_end - hwr_operators_start ||
	       caller->pc - hwr_own_start < hwr_own_bytes;
}

void hwr_suppress_begin(struct hwr_call *call, u64 address)
{
	if (!call->t || call->suppressed)
		return;
	call->t->suppress_sp = call->caller.sp;
	call->t->inner_address = address;
	call->t->state |= HWR_SUPPRESS;
}

bool hwr_suppress_end(struct hwr_call *call, void *p)
{
	if (!call->t || call->suppressed)
		return true;
	call->t->state &= ~(u32)HWR_SUPPRESS;
	return !p || call->t->inner_address != (u64)p;
}
