/* SPDX-License-Identifier: MIT
 * Which stack a thread is on, and where its frames end; see lanes.h. Runs in the target. */
#include "target/recorder/routine/lanes.h"

#include "target/recorder/state/event.h"
#include "target/recorder/state/stamp.h"
#include "target/recorder/state/sys.h"
#include "target/recorder/state/threads.h"
#include "target/recorder/unwind/rules.h"
#include "target/recorder/unwind/walk.h"

enum {
	CALLERS_TRIED =
		16, /* entries that a frame without unwind information may have been called by */
	WORDS_TRIED = 512, /* of such a frame */
};

/* ---- stacks ---- */

/* Where the calling stack's outermost frame is; 0 if it cannot be walked to its end. A walk goes on
 * below a handler, wherever that runs. */
static u64 stack_base(struct hwr_thread *t, const struct hwr_caller *caller)
{
	const struct hwr_frame *outermost = &t->frames[0];
	u64 base = 0;

	hwr_walk_stack(t, caller, hwr_memo_set(t, caller));
	/* One that the unwind tables say to be the last has no caller, and no CFA. */
	if (t->depth && t->depth < hwr_control->max_depth)
		base = outermost->cfa ? outermost->cfa : outermost->sp;
	return hwr_on_alternate_stack() ? base | 1 : base & ~(u64)1;
}

static struct hwr_lane *lane_open(struct hwr_routines *self, u64 base)
{
	struct hwr_lane **spare = NULL;

	for (u32 i = 0; i < HWR_LANES; i++) {
		struct hwr_lane *lane = self->lanes[i];

		if (lane && lane->base == base)
			return lane;
		if (!spare && (!lane || (!lane->depth && lane != self->lane)))
			spare = &self->lanes[i];
	}
	if (!spare)
		spare = &self->lanes[self->turn++ % HWR_LANES];
	if (!*spare)
		*spare = hwr_map_private(sizeof **spare);
	if (*spare) {
		(*spare)->base = base;
		(*spare)->depth = (*spare)->too_deep = 0;
		(*spare)->below = NULL;
	}
	return *spare;
}

/* Another stack than the one of self->lane, which may be NULL. */
static struct hwr_lane *lane_change(struct hwr_thread *t, const struct hwr_caller *caller, u64 base)
{
	struct hwr_routines *self = t->routines;
	struct hwr_lane *old = self->lane, *lane;

	/* A handler that runs on a stack of its own never waits for others: it has been left. */
	while (old && old->base & 1 && old->depth)
		hwr_lane_pop(t, caller, old, HW_LEAVE_UNWOUND);
	if (!base && old && old->below && old->below->base == old->below_base)
		lane = old->below;
	else
		lane = lane_open(self, base);
	if (lane && base & 1 && old && !(old->base & 1)) {
		lane->below = old;
		lane->below_base = old->base;
	}
	return lane;
}

struct hwr_lane *hwr_lane_of(struct hwr_thread *t, const struct hwr_caller *caller)
{
	struct hwr_routines *self = t->routines;
	struct hwr_lane *lane;
	u64 base;

	if (!self)
		self = t->routines = hwr_map_private(sizeof *self);
	if (!self)
		return NULL;
	lane = self->lane;
	if (likely(lane && lane->depth)) {
		const struct hwr_entry *last = hwr_lane_last(lane);

		if (likely(last->sp - caller->sp < HWR_CALL_BYTES || last->top == caller->sp))
			return lane;
	}
	base = stack_base(t, caller);
	/* Where the base is unknown it is still known whether a handler has left its own stack. */
	if (!lane || (lane->base != base && (base || lane->base & 1))) {
		lane = lane_change(t, caller, base);
		if (lane)
			self->lane = lane;
	}
	return lane;
}

/* ---- frames ---- */

/* Entries may be of a stack that is gone, if stacks cannot be told apart: nothing is read unasked
 * but the page that the thread is on. */
bool hwr_lane_reads(const struct hwr_caller *caller, u64 slot, u64 *value)
{
	if (slot < caller->sp || slot & 7)
		return false;
	if (unlikely((slot ^ caller->sp) & -HWR_PAGE) && !hwr_readable(slot))
		return false;
	*value = hwr_strip(*(const u64 *)slot);
	return true;
}

/* Where a frame without unwind information has its return address: just below the frame that called
 * it, if that is known, else the first word that looks like it. On CPUs that keep it elsewhere in
 * the frame what is found is below the frame's end, which is on the safe side. */
static u64 find_slot(const struct hwr_caller *caller, u64 site, const struct hwr_lane *lane)
{
	u64 value;

	for (u32 i = 0; i < CALLERS_TRIED && i < lane->depth; i++) {
		u64 slot = lane->entries[lane->depth - 1 - i].sp - 8;

		if (hwr_lane_reads(caller, slot, &value) && value == site)
			return slot;
	}
	for (u64 slot = caller->sp; slot < caller->sp + 8 * WORDS_TRIED; slot += 8) {
		if ((slot & (HWR_PAGE - 1)) == 0 && !hwr_readable(slot))
			return 0;
		if (hwr_strip(*(const u64 *)slot) == site)
			return slot;
	}
	return 0;
}

u64 hwr_frame_top(struct hwr_thread *t, const struct hwr_caller *caller, u64 site,
		  const struct hwr_lane *lane, u64 *slot)
{
	struct hwr_step step;
	u32 rule;

	*slot = 0;
	if (caller->pc == site)
		return caller->sp; /* its end is told by a jump: the frame is gone already */
	rule = hwr_rule_of(caller->pc, &t->scratch);
	if (likely(rule != HWR_RULE_NO_CFI &&
		   hwr_rule_apply(rule, caller->sp, caller->fp, &step))) {
		*slot = (u64)step.ra_slot;
		return step.cfa;
	}
	*slot = find_slot(caller, site, lane);
	return *slot ? *slot + 8 : caller->sp;
}

/* ---- ends ---- */

void hwr_lane_pop(struct hwr_thread *t, const struct hwr_caller *caller, struct hwr_lane *lane,
		  u32 how)
{
	const struct hwr_entry *entry = &lane->entries[--lane->depth];

	if (entry->told)
		hwr_note_put(t, hwr_stamp(t, hwr_stamp_site(caller)), HW_LEAVE, how, entry->routine,
			     0, 0);
}

void hwr_routines_reset(struct hwr_thread *t)
{
	for (; t; t = t->nested)
		for (u32 i = 0; t->routines && i < HWR_LANES; i++)
			if (t->routines->lanes[i])
				t->routines->lanes[i]->depth = t->routines->lanes[i]->too_deep = 0;
}

struct hwr_routines *hwr_routines_leave(struct hwr_thread *t)
{
	struct hwr_routines *self = t ? t->routines : NULL;

	for (u32 i = 0; self && i < HWR_LANES; i++)
		for (u32 k = 0; self->lanes[i] && k < self->lanes[i]->depth; k++)
			self->lanes[i]->entries[k].told = 0;
	return self;
}
