/* SPDX-License-Identifier: MIT
 * From a hooked call to an event record: the fast path. Runs in the target.
 *
 * A hook first tries this (hwr_ready, then hwr_note_*): nothing special is going on. All else takes
 * the careful path of call.h. */
#ifndef TARGET_RECORDER_HOOKS_NOTE_H
#define TARGET_RECORDER_HOOKS_NOTE_H

#include "target/recorder/hooks/peek.h"
#include "target/recorder/routine/stack.h"
#include "target/recorder/state/event.h"
#include "target/recorder/state/self.h"
#include "target/recorder/state/stamp.h"
#include "target/recorder/unwind/modules.h"
#include "target/recorder/unwind/walk.h"

/* The calling thread if its hook may take the fast path, else NULL. */
static inline struct hwr_thread *hwr_ready(const struct hwr_caller *caller)
{
	struct hwr_thread *t = hwr_self;

	return likely(load_relaxed(&hwr_token.on) == HWR_RECORDS && t && t->state == 0 &&
		      hwr_thread_is(t, caller->sp))
		       ? t
		       : NULL;
}

/* Records a call that gave nothing. */
void hwr_note_failed(struct hwr_thread *t, u32 kind, size_t size, const struct hwr_caller *caller);

/* The calling context, if this run wants stacks of such events. */
static inline __attribute__((always_inline)) u32 hwr_note_context(struct hwr_thread *t, u32 kind,
								  const struct hwr_caller *caller)
{
	u32 flag = hw_kind_frees(kind) ? HW_RUN_FREE_STACKS : HW_RUN_ALLOC_STACKS;
	u32 node;

	if (!(t->run_flags & flag)) {
		/* A walk looks for itself. */
		if (unlikely(caller->pc - hwr_loader_start < hwr_loader_bytes))
			hwr_modules_check();
		/* Kept out of the way of runs that unwind: see run_flags in thread.h. */
		if (unlikely(t->run_flags & HW_RUN_ROUTINE_STACKS && hwr_control->flags & flag))
			return hwr_routine_context(t, caller);
		return 0;
	}
	node = hwr_walk(t, caller);
	hwr_self_check(node, caller);
	return node;
}

/* Fast path: an allocation after the real call, a free before it. The stack is found first, because
 * it tells the stamp which event this is. */
static inline __attribute__((always_inline)) void
hwr_note(struct hwr_thread *t, u32 kind, u64 address, u64 size, const struct hwr_caller *caller)
{
	u32 flag = hw_kind_frees(kind) ? HW_RUN_FREE_STACKS : HW_RUN_ALLOC_STACKS;
	u32 context;
	u64 ticks;

	hwr_note_begin(t, caller);
	context = hwr_note_context(t, kind, caller);
	ticks = hwr_stamp(t, t->run_flags & flag ? t->memo_site : hwr_stamp_site(caller));
	if (hw_kind_frees(kind))
		hwr_access_end(t, address, ticks);
	else
		hwr_access_begin(address, ticks, caller);
	hwr_note_put(t, ticks, kind, 0, address, size, context);
	if (kind == HW_NEW || kind == HW_NEW_ARRAY)
		hwr_peek_consider(t, &(struct hwr_peek){address, size, (u32)ticks, context,
							kind == HW_NEW_ARRAY, 0, 0});
	hwr_note_end(t);
}

/* Fast path, after a real call that gave p. */
static inline __attribute__((always_inline)) void hwr_note_alloc(struct hwr_thread *t, u32 kind,
								 void *p, size_t size,
								 const struct hwr_caller *caller)
{
	if (unlikely(!p))
		hwr_note_failed(t, kind, size, caller);
	else
		hwr_note(t, kind, (u64)p, size, caller);
}

/* Fast path, after a realloc of old that was entered at `ticks`; p may be NULL if it freed. */
static inline void hwr_note_realloc(struct hwr_thread *t, u64 ticks, void *old, void *p,
				    size_t size, const struct hwr_caller *caller)
{
	if (old) {
		u32 context;

		hwr_note_begin(t, caller);
		context = hwr_note_context(t, HW_REALLOC_FREE, caller);
		hwr_access_end(t, (u64)old, ticks);
		hwr_note_put(t, ticks, HW_REALLOC_FREE, p != NULL, (u64)old, 0, context);
		hwr_note_end(t);
	}
	if (p)
		hwr_note(t, HW_REALLOC, (u64)p, size, caller);
}

#endif
