/* SPDX-License-Identifier: MIT
 * Inside or outside of custom allocators; see pool.h. Runs in the target. */
#include "target/recorder/pool/pool.h"

#include "target/recorder/pool/held.h"
#include "target/recorder/state/sys.h"

enum { FRAME_NEAR = 1 << 16 };

static bool overflowed; /* some of the pools' blocks are not in the set */

/* An exception or a longjmp may have left the call that pool_sp is of: then its frame is gone, and
 * what calls now, deeper than it was, has most likely written over one of its witnesses. One alone
 * could lie where later frames have a hole. */
static bool frame_is_there(const struct hwr_thread *t, const struct hwr_caller *caller)
{
	u64 first = (u64)t->pool_witness, last = (u64)(t->pool_witness + HWR_POOL_WITNESSES - 1);

	if (first - caller->sp > FRAME_NEAR && (!hwr_readable(first) || !hwr_readable(last)))
		return false;
	for (u32 i = 0; i < HWR_POOL_WITNESSES; i++)
		if (t->pool_witness[i] != (u64)&t->pool_witness[i])
			return false;
	return true;
}

bool hwr_pool_inside(struct hwr_thread *t, const struct hwr_caller *caller)
{
	if (!t->pool_sp)
		return false;
	if (caller->sp < t->pool_sp && frame_is_there(t, caller))
		return true;
	if (caller->sp < t->pool_sp || !hwr_on_alternate_stack())
		t->pool_sp = 0;
	return false;
}

bool hwr_pool_keeps(struct hwr_thread *t, const struct hwr_caller *caller, u32 kind, u64 address)
{
	bool inside = hwr_pool_inside(t, caller);

	if (!address)
		return inside;
	if (inside && hwr_held_add(address | HWR_HELD))
		return true;
	if (inside)
		hwr_fault(HW_FAULT_POOLS_FULL);
	if (kind == HW_POOL) {
		hwr_held_drop(address | HWR_HELD); /* what an inner pool gave is given on */
		if (!hwr_held_add(address))
			store_relaxed(&overflowed, true);
	}
	return false;
}

/* A free by the pool's own function. */
static bool pool_ends_own(struct hwr_thread *t, const struct hwr_caller *caller, u64 address)
{
	if (hwr_held_drop(address | HWR_HELD))
		return false;
	if (hwr_held_drop(address) || load_relaxed(&overflowed))
		return true;
	/* asked again, after the call: nobody else has ended it */
	if (t->pool_pending == address) {
		t->pool_pending = 0;
		return true;
	}
	/* Not one of a pool's: perhaps the function hands it to free. */
	if (!hwr_pool_inside(t, caller))
		t->pool_pending = address;
	return false;
}

bool hwr_pool_ends(struct hwr_thread *t, const struct hwr_caller *caller, u32 *kind, u64 *address)
{
	if (hwr_pool_inside(t, caller) && t->pool_ending == *address)
		return false; /* delete calls free, and is what was told */
	if (*kind == HW_POOL_FREE)
		return pool_ends_own(t, caller, *address);
	if (t->pool_pending == (*address | HW_POOL_ADDRESS))
		t->pool_pending = 0;
	if (!hwr_held_drop(*address | HWR_HELD))
		return true;
	/* A function that passes on what malloc gave, and a block of it that is freed without
	 * it. */
	*address |= HW_POOL_ADDRESS;
	*kind = HW_POOL_FREE;
	return hwr_held_drop(*address);
}

bool hwr_pool_realloc(struct hwr_thread *t, const struct hwr_caller *caller, u64 old, u64 p,
		      u64 *ended)
{
	bool inside = hwr_pool_inside(t, caller);
	bool held = old && hwr_held_drop(old | HWR_HELD);

	if (inside && old && t->pool_ending == old) {
		if (p && !hwr_held_add(p | HWR_HELD))
			hwr_fault(HW_FAULT_POOLS_FULL);
		return true;
	}
	if (held && hwr_held_drop(old | HW_POOL_ADDRESS))
		*ended = old | HW_POOL_ADDRESS;
	if (inside ? !held && old : !held || *ended)
		return false;
	if (p && !hwr_held_add(p | HWR_HELD))
		hwr_fault(HW_FAULT_POOLS_FULL);
	return true;
}
