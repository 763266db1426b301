/* SPDX-License-Identifier: MIT
 * Which calls are inside others. Runs in the target.
 *
 * The flag is trusted only below the stack address of the outer call, so an exception that leaves
 * operator new needs no clean-up; and only for calls from the outer function's own module, so that
 * what a signal handler or a new handler does meanwhile is recorded. */
#include "target/recorder/hooks/suppress.h"

#include "target/recorder/unwind/modules.h"
#include "target/recorder/hooks/operators.h"

u64 hwr_operators_start, hwr_operators_end;

bool hwr_suppressed(struct hwr_thread *t, const struct hwr_caller *caller)
{
	if (!(t->state & HWR_SUPPRESS))
		return false;
	if (caller->sp >= t->suppress_sp) {
		t->state &= ~(u32)HWR_SUPPRESS;
		return false;
	}
	/* A call inside has failed: the operator may try it again, but new handlers and exceptions
	 * allocate for themselves. */
	if (t->suppress_pc && t->suppress_pc != caller->pc)
		return false;
	/* From the recorder itself: operator new[] ends in a jump to operator new, so the inner hook
	 * returns straight to the outer one. */
	return caller->pc - hwr_operators_start < hwr_operators_end - hwr_operators_start ||
	       caller->pc - hwr_own_start < hwr_own_bytes;
}

void hwr_suppress_begin(struct hwr_call *call, u64 ending_address)
{
	if (!call->t || call->suppressed)
		return;
	call->outer = call->t->state & HWR_SUPPRESS;
	call->outer_sp = call->t->suppress_sp;
	call->outer_ending = call->t->ending_address;
	call->outer_pc = call->t->suppress_pc;
	call->t->suppress_sp = call->caller.sp;
	call->t->suppress_pc = 0;
	call->t->ending_address = ending_address;
	call->t->inner_address = 0;
	call->t->state |= HWR_SUPPRESS;
}

bool hwr_suppress_end(struct hwr_call *call, void *p)
{
	bool fresh;

	if (!call->t || call->suppressed)
		return true;
	fresh = !p || call->t->inner_address != (u64)p;
	call->t->suppress_sp = call->outer_sp;
	call->t->ending_address = call->outer_ending;
	call->t->suppress_pc = call->outer_pc;
	if (!call->outer)
		call->t->state &= ~(u32)HWR_SUPPRESS;
	return fresh;
}
