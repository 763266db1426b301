/* SPDX-License-Identifier: MIT
 * __cyg_profile_func_enter and _exit, which instrumented code calls, and the stacks of routines that
 * make sense of them. Runs in the target; without a run that wants routines these do nothing, as the C
 * library's own do.
 *
 * A routine that an exception or a longjmp passes may end without a word. So each entry keeps where
 * its frame ends: when anything happens in a frame there or above, the entry's is gone, and it is
 * recorded as unwound. (The stack pointer alone would not do: the next frame there may be larger.)
 * Functions that were expanded inside others have the frame and the return address of those.
 *
 * A coroutine or a handler may run on another stack, where stack pointers say nothing of these. A
 * stack is known by where its outermost frame is, which is looked for when the stack pointer has moved
 * upwards or further down than a call does; each has a *lane* of its own. */
#include "recorder/routine/routine.h"

#include "recorder/note.h"
#include "recorder/sys.h"

enum {
	LANES = 16,
	DEPTH = 8192,
	CALL_BYTES = 4096, /* a call that moves the stack pointer further is looked at */
};

enum { /* entry.mode: whether it, and what it calls, is recorded */
	OPEN,   /* recorded; what it calls is sampled */
	INSIDE, /* recorded, and all that it calls */
	LEFT,   /* left out, and all that it calls */
};

struct entry {
	u64 routine, sp, site;
	u64 top; /* of its frame, the first byte of its caller's */
	u64 mode;
};

struct lane {
	u64 base;     /* of the stack: its outermost frame; + 1 of handlers on an alternate one */
	u32 depth;
	u32 too_deep; /* entries that found no room */
	struct entry entries[DEPTH];
};

struct hwr_routines {
	struct lane *lane; /* of the stack that the thread was last seen on */
	struct lane *lanes[LANES];
	u32 turn; /* which lane is given up next, if all are in use */
};

typedef void hook(void *routine, void *site);

static u32 on; /* 1 = the run wants routines */

void hwr_routines_attach(void)
{
	store_relaxed(&on, (hwr_control->flags & HW_RUN_ROUTINES) && hwr_wanted_attach());
}

void hwr_routines_reset(struct hwr_thread *t)
{
	struct hwr_routines *self = t->routines;

	for (u32 i = 0; self && i < LANES; i++)
		if (self->lanes[i])
			self->lanes[i]->depth = self->lanes[i]->too_deep = 0;
}

/* ---- lanes ---- */

/* Where the calling stack's outermost frame is; 0 if that is too far away to know. A walk goes on below
 * a handler, wherever that runs. */
static u64 stack_base(struct hwr_thread *t, const struct hwr_caller *caller)
{
	u64 base;

	hwr_walk_stack(t, caller, hwr_memo_set(t, caller));
	base = t->depth && t->depth < hwr_control->max_depth ? t->frames[0].cfa : 0;
	return base && hwr_on_alternate_stack() ? base | 1 : base & ~(u64)1;
}

static struct lane *lane_open(struct hwr_routines *self, u64 base)
{
	struct lane **spare = NULL;

	for (u32 i = 0; i < LANES; i++) {
		struct lane *lane = self->lanes[i];

		if (lane && lane->base == base)
			return lane;
		if (!spare && (!lane || (!lane->depth && lane != self->lane)))
			spare = &self->lanes[i];
	}
	if (!spare)
		spare = &self->lanes[self->turn++ % LANES];
	if (!*spare)
		*spare = hwr_map_private(sizeof **spare);
	if (*spare) {
		(*spare)->base = base;
		(*spare)->depth = (*spare)->too_deep = 0;
	}
	return *spare;
}

/* Where the calling routine's frame ends. */
static u64 frame_top(struct hwr_thread *t, const struct hwr_caller *caller, u64 site)
{
	struct hwr_step step;

	if (caller->pc == site)
		return caller->sp; /* its end is told by a jump: the frame is gone already */
	if (likely(hwr_rule_apply(hwr_rule_of(caller->pc, &t->scratch), caller->sp, caller->fp, &step)))
		return step.cfa;
	hwr_walk_stack(t, caller, hwr_memo_set(t, caller));
	return t->depth ? t->frames[t->depth - 1].cfa : caller->sp;
}

static void put(struct hwr_thread *t, const struct hwr_caller *caller, u32 kind, u32 aux,
		const struct entry *entry)
{
	hwr_note_put(t, hwr_stamp(t, hwr_stamp_site(caller)), kind, aux, entry->routine,
		     kind == HW_ENTER ? entry->site : 0, 0);
}

static void pop(struct hwr_thread *t, const struct hwr_caller *caller, struct lane *lane, u32 how)
{
	const struct entry *entry = &lane->entries[--lane->depth];

	if (entry->mode != LEFT)
		put(t, caller, HW_LEAVE, how, entry);
}

/* The lane of the calling stack; NULL without memory. */
static struct lane *lane_of(struct hwr_thread *t, const struct hwr_caller *caller)
{
	struct hwr_routines *self = t->routines;
	struct lane *lane;
	u64 base;

	if (!self)
		self = t->routines = hwr_map_private(sizeof *self);
	if (!self)
		return NULL;
	lane = self->lane;
	if (likely(lane && lane->depth)) {
		const struct entry *last = &lane->entries[lane->depth - 1];

		if (likely(last->sp - caller->sp < CALL_BYTES || last->top == caller->sp))
			return lane;
	}
	base = stack_base(t, caller);
	if (!lane || (base && lane->base != base)) {
		/* A handler that runs on a stack of its own never waits for others: it has been left. */
		while (lane && lane->base & 1 && lane->depth)
			pop(t, caller, lane, HW_LEAVE_UNWOUND);
		lane = lane_open(self, base);
		if (lane)
			self->lane = lane;
	}
	return lane;
}

/* ---- beginnings and ends ---- */

/* Frames that end further down are gone. */
static void unwind(struct hwr_thread *t, const struct hwr_caller *caller, struct lane *lane, u64 top)
{
	while (lane->depth && lane->entries[lane->depth - 1].top < top) {
		lane->too_deep = 0;
		pop(t, caller, lane, HW_LEAVE_UNWOUND);
	}
}

static u64 mode_of(const struct lane *lane, u64 calls)
{
	u64 outer = lane->depth ? lane->entries[lane->depth - 1].mode : OPEN;
	u64 every = hwr_control->routine_sample;

	if (outer != OPEN || every < 2 || calls < HWR_ROUTINE_CALLS_FIRST)
		return outer;
	return calls % every == 0 ? INSIDE : LEFT;
}

static void begin(struct hwr_thread *t, const struct hwr_caller *caller, u64 routine, u64 site)
{
	struct entry *last, entry = { .routine = routine, .sp = caller->sp, .site = site };
	struct lane *lane;
	u64 calls;

	if (!hwr_wanted(routine, &calls)) {
		add_relaxed(&hwr_control->routines_left_out, 1);
		return;
	}
	lane = lane_of(t, caller);
	if (!lane)
		return;
	entry.top = frame_top(t, caller, 0);
	unwind(t, caller, lane, entry.top);
	/* The frame of one that is gone, or the frame that this one was expanded in. */
	last = lane->depth ? &lane->entries[lane->depth - 1] : NULL;
	if (last && last->top == entry.top && (last->site != site || last->routine == routine))
		pop(t, caller, lane, HW_LEAVE_UNWOUND);
	entry.mode = mode_of(lane, calls);
	if (entry.mode == LEFT)
		add_relaxed(&hwr_control->routines_left_out, 1);
	else
		put(t, caller, HW_ENTER, 0, &entry);
	if (lane->depth < DEPTH)
		lane->entries[lane->depth++] = entry;
	else
		lane->too_deep++;
}

/* Number from 1 of the routine's entry, 0 if there is none. */
static u32 find_entry(const struct lane *lane, u64 routine, u64 top)
{
	for (u32 i = lane->depth; i > 0 && lane->entries[i - 1].top <= top; i--)
		if (lane->entries[i - 1].routine == routine)
			return i;
	return 0;
}

static void end(struct hwr_thread *t, const struct hwr_caller *caller, u64 routine, u64 site)
{
	struct entry gone = { .routine = routine };
	struct lane *lane;
	u32 found;
	u64 top;

	if (!hwr_wanted(routine, NULL))
		return;
	lane = lane_of(t, caller);
	if (!lane)
		return;
	top = frame_top(t, caller, site);
	if (lane->too_deep && lane->entries[DEPTH - 1].top > top) {
		lane->too_deep--;
		put(t, caller, HW_LEAVE, HW_LEAVE_RETURN, &gone);
		return;
	}
	unwind(t, caller, lane, top);
	found = find_entry(lane, routine, top);
	if (!found)
		return; /* it was left out, or began before the recording did */
	while (lane->depth > found)
		pop(t, caller, lane, HW_LEAVE_UNWOUND);
	pop(t, caller, lane, HW_LEAVE_RETURN);
}

/* ---- hooks ---- */

static hook *find_real(hook **real, const char *name)
{
	hook *found = load_relaxed(real);

	if (!found)
		found = (hook *)hwr_real_symbol(name, NULL, NULL);
	store_relaxed(real, found); /* every thread finds the same */
	return found;
}

/* The thread that may record, NULL for none. */
static struct hwr_thread *thread_for(const struct hwr_caller *caller)
{
	struct hwr_call call = { .caller = *caller };

	hwr_call_begin(&call);
	return load_relaxed(&on) && call.t && !call.paused ? call.t : NULL;
}

/* Until the image has joined nobody knows whether routines are wanted. */
static bool is_wanted(void)
{
	return load_relaxed(&on) || load_relaxed(&hwr_phase) == HWR_UNBORN;
}

static inline void note(struct hwr_caller caller, void *routine, void *site, bool enters)
{
	struct hwr_thread *t = hwr_self;

	if (unlikely(!load_relaxed(&hwr_token.on) || !t || t->state & HWR_BUSY || !load_relaxed(&on)))
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
	static hook *real;

	if (is_wanted())
		note(HWR_CALLER(), routine, site, true);
	if (find_real(&real, "__cyg_profile_func_enter"))
		real(routine, site);
}

HWR_EXPORT void __cyg_profile_func_exit(void *routine, void *site)
{
	static hook *real;

	if (is_wanted())
		note(HWR_CALLER(), routine, site, false);
	if (find_real(&real, "__cyg_profile_func_exit"))
		real(routine, site);
}
