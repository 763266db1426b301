/* SPDX-License-Identifier: MIT
 * __cyg_profile_func_enter and _exit, which instrumented code calls, and the stacks of routines
 * that make sense of them. Runs in the target; without a run that wants routines these do nothing,
 * as the C library's own do.
 *
 * A routine that an exception or a longjmp passes may end without a word. So each entry keeps where
 * its frame ends: when anything happens in a frame there or above, the entry's is gone, and it is
 * recorded as unwound. (The stack pointer alone would not do: the next frame there may be larger.)
 * Functions that were expanded inside others have the frame and the return address of those.
 * Stacks of coroutines and handlers are told apart, see lanes.h. */
#include "target/recorder/hooks/routines.h"

#include "target/recorder/hooks/call.h"
#include "target/recorder/routine/lanes.h"
#include "target/recorder/routine/wanted.h"
#include "target/recorder/state/event.h"
#include "target/recorder/state/real.h"
#include "target/recorder/state/stamp.h"

enum {
	/* hwr_entry.mode: whether it, and what it calls, is recorded */
	OPEN,   /* recorded; what it calls is sampled */
	INSIDE, /* recorded, and all that it calls */
	LEFT,   /* left out, and all that it calls */
};

typedef void hook(void *routine, void *site);

static u32 on; /* 1 = the run wants routines, or stacks that are made of them */

void hwr_routines_attach(void)
{
	store_relaxed(&on, (hwr_control->flags & (HW_RUN_ROUTINES | HW_RUN_ROUTINE_STACKS)) &&
				   hwr_wanted_attach());
}

/* ---- beginnings and ends ---- */

/* Frames are gone that end further down, or whose stack pointer is where another frame has its
 * return address: what they call is below it. Of a frame without unwind information the end is
 * known only as above that address. */
static bool is_gone(const struct hwr_entry *entry, u64 top, u64 slot)
{
	return entry->top < top || (entry->top != top && slot && entry->sp <= slot);
}

static void unwind(struct hwr_thread *t, const struct hwr_caller *caller, struct hwr_lane *lane,
		   u64 top, u64 slot)
{
	while (lane->depth && is_gone(hwr_lane_last(lane), top, slot)) {
		lane->too_deep = 0;
		hwr_lane_pop(t, caller, lane, HW_LEAVE_UNWOUND);
	}
}

static u64 mode_of(const struct hwr_lane *lane, u64 calls)
{
	u64 outer = lane->depth ? lane->entries[lane->depth - 1].mode : OPEN;
	u64 every = hwr_control->routine_sample;

	if (outer != OPEN || every < 2 || calls < HWR_ROUTINE_CALLS_FIRST)
		return outer;
	return calls % every == 0 ? INSIDE : LEFT;
}

/* Whether beginnings and ends are recorded; stacks need to be known while recording is paused,
 * too. */
static bool is_told(void)
{
	return hwr_control->flags & HW_RUN_ROUTINES && load_relaxed(&hwr_token.on);
}

static void tell_begin(struct hwr_thread *t, const struct hwr_caller *caller,
		       struct hwr_entry *entry)
{
	entry->told = entry->mode != LEFT && is_told();
	if (entry->mode == LEFT)
		add_relaxed(&hwr_control->routines_left_out, 1);
	else if (entry->told)
		hwr_note_put(t, hwr_stamp(t, hwr_stamp_site(caller)), HW_ENTER, 0, entry->routine,
			     entry->site, 0);
}

static void begin(struct hwr_thread *t, const struct hwr_caller *caller, u64 routine, u64 site)
{
	struct hwr_entry *last,
		entry = {.routine = routine, .pc = caller->pc, .sp = caller->sp, .site = site};
	struct hwr_lane *lane;
	u64 calls;

	if (!hwr_wanted(routine, &calls)) {
		add_relaxed(&hwr_control->routines_left_out, 1);
		return;
	}
	lane = hwr_lane_of(t, caller);
	if (!lane)
		return;
	entry.top = hwr_frame_top(t, caller, site, lane, &entry.slot);
	unwind(t, caller, lane, entry.top, entry.slot);
	/* The frame of one that is gone, or the frame that this one was expanded in. */
	last = hwr_lane_last(lane);
	if (last && last->top == entry.top && (last->site != site || last->routine == routine))
		hwr_lane_pop(t, caller, lane, HW_LEAVE_UNWOUND);
	entry.mode = (u8)mode_of(lane, calls);
	tell_begin(t, caller, &entry);
	if (lane->depth == HWR_LANE_DEPTH) {
		lane->too_deep++;
		return;
	}
	lane->entries[lane->depth] = entry;
	/* a handler that interrupts us sees whole entries only */
	__asm__ volatile("" : : : "memory");
	lane->depth++;
}

/* Number from 1 of the routine's entry, 0 if there is none. */
static u32 find_entry(const struct hwr_lane *lane, u64 routine, u64 top)
{
	for (u32 i = lane->depth; i > 0 && lane->entries[i - 1].top <= top; i--)
		if (lane->entries[i - 1].routine == routine)
			return i;
	return 0;
}

static void end(struct hwr_thread *t, const struct hwr_caller *caller, u64 routine, u64 site)
{
	struct hwr_lane *lane;
	u32 found;
	u64 top, slot;

	if (!hwr_wanted(routine, NULL))
		return;
	lane = hwr_lane_of(t, caller);
	if (!lane)
		return;
	top = hwr_frame_top(t, caller, site, lane, &slot);
	if (lane->too_deep && lane->entries[HWR_LANE_DEPTH - 1].top > top) {
		lane->too_deep--;
		if (is_told())
			hwr_note_put(t, hwr_stamp(t, hwr_stamp_site(caller)), HW_LEAVE,
				     HW_LEAVE_RETURN, routine, 0, 0);
		return;
	}
	unwind(t, caller, lane, top, slot);
	found = find_entry(lane, routine, top);
	if (!found)
		return; /* it was left out, or began before the recording did */
	while (lane->depth > found)
		hwr_lane_pop(t, caller, lane, HW_LEAVE_UNWOUND);
	hwr_lane_pop(t, caller, lane, HW_LEAVE_RETURN);
}

/* ---- hooks ---- */

/* The thread that may record, NULL for none. */
static struct hwr_thread *thread_for(const struct hwr_caller *caller)
{
	struct hwr_call call = {.caller = *caller};

	hwr_call_begin(&call);
	if (!load_relaxed(&on) || (call.paused && !(hwr_control->flags & HW_RUN_ROUTINE_STACKS)))
		return NULL;
	return call.t;
}

/* Until the image has joined nobody knows whether routines are wanted. */
static bool is_wanted(void) { return load_relaxed(&on) || load_relaxed(&hwr_phase) == HWR_UNBORN; }

static inline void note(struct hwr_caller caller, void *routine, void *site, bool enters)
{
	struct hwr_thread *t = hwr_self;

	if (unlikely(!load_relaxed(&hwr_token.on) || !t || t->state & HWR_BUSY ||
		     !load_relaxed(&on) || !hwr_thread_is(t, caller.sp)))
		t = thread_for(&caller);
	if (!t)
		return;
	hwr_note_begin(t, &caller);
	if (enters)
		begin(t, &caller, (u64)routine, hwr_strip((u64)site));
	else
		end(t, &caller, (u64)routine, hwr_strip((u64)site));
	hwr_note_end(t);
}

HWR_EXPORT void __cyg_profile_func_enter(void *routine, void *site);
HWR_EXPORT void __cyg_profile_func_exit(void *routine, void *site);

HWR_EXPORT void __cyg_profile_func_enter(void *routine, void *site)
{
	static void *kept;
	hook *real = (hook *)hwr_real_once(&kept, "__cyg_profile_func_enter");

	if (is_wanted())
		note(HWR_CALLER(), routine, site, true);
	if (real)
		real(routine, site);
}

HWR_EXPORT void __cyg_profile_func_exit(void *routine, void *site)
{
	static void *kept;
	hook *real = (hook *)hwr_real_once(&kept, "__cyg_profile_func_exit");

	if (is_wanted())
		note(HWR_CALLER(), routine, site, false);
	if (real)
		real(routine, site);
}
