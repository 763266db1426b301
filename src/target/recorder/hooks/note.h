/* SPDX-License-Identifier: MIT
 * From a hooked call to an event record. Runs in the target.
 *
 * A hook first tries the fast path (hwr_ready, then hwr_note_*): nothing special is going on. All
 * else, from the first call of the image to calls inside calls, sampling, timing and tests, takes
 * the careful path (hwr_call_begin, then hwr_call_*). */
#ifndef TARGET_RECORDER_HOOKS_NOTE_H
#define TARGET_RECORDER_HOOKS_NOTE_H

#include "target/recorder/state/access.h"
#include "target/recorder/unwind/modules.h"
#include "target/recorder/hooks/peek.h"
#include "target/recorder/state/real.h"
#include "target/recorder/state/ring.h"
#include "target/recorder/hooks/routines.h"
#include "target/recorder/state/self.h"
#include "target/recorder/state/stamp.h"
#include "target/recorder/unwind/walk.h"

#define HWR_EXPORT __attribute__((visibility("default")))

/* The calling thread if its hook may take the fast path, else NULL. */
static inline struct hwr_thread *hwr_ready(const struct hwr_caller *caller)
{
	struct hwr_thread *t = hwr_self;

	return likely(load_relaxed(&hwr_token.on) == HWR_RECORDS && t && t->state == 0 && hwr_thread_is(t, caller->sp))
		       ? t
		       : NULL;
}

/* Records a call that gave nothing. */
void hwr_note_failed(struct hwr_thread *t, u32 kind, size_t size, const struct hwr_caller *caller);

/* The calling context, if this run wants stacks of such events. */
static inline __attribute__((always_inline)) u32
hwr_note_context(struct hwr_thread *t, u32 kind, const struct hwr_caller *caller)
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

/* The thread is busy while it writes a record: a signal handler's hooks will not touch what is in
 * use here. */
static inline void hwr_note_begin(struct hwr_thread *t, const struct hwr_caller *caller)
{
	t->busy_sp = caller->sp;
	t->state |= HWR_BUSY;
	__asm__ volatile("" : : : "memory");
}

static inline void hwr_note_end(struct hwr_thread *t)
{
	__asm__ volatile("" : : : "memory");
	t->state &= ~(u32)HWR_BUSY;
}

static inline void hwr_note_put(struct hwr_thread *t, u64 ticks, u32 kind, u32 aux, u64 address,
				u64 size, u32 context)
{
	struct hw_record *record = hwr_ring_next(t);

	if (unlikely(!record))
		return;
	record->ticks = ticks;
	record->address = address;
	record->size = size;
	record->context = context;
	record->kind = (u8)kind;
	record->flags = 0;
	record->aux = (u16)aux;
	if (hw_kind_allocates(kind))
		hwr_access_birth(t, kind, address);
	hwr_ring_publish(t);
}

/* Fast path: an allocation after the real call, a free before it. The stack is found first, because
 * it tells the stamp which event this is. */
static inline __attribute__((always_inline)) void hwr_note(struct hwr_thread *t, u32 kind, u64 address,
							   u64 size, const struct hwr_caller *caller)
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
		hwr_peek_consider(t, &(struct hwr_peek){ address, size, (u32)ticks, context,
							 kind == HW_NEW_ARRAY, 0, 0 });
	hwr_note_end(t);
}

/* Fast path, after a real call that gave p. */
static inline __attribute__((always_inline)) void hwr_note_alloc(struct hwr_thread *t, u32 kind, void *p,
								 size_t size,
								 const struct hwr_caller *caller)
{
	if (unlikely(!p))
		hwr_note_failed(t, kind, size, caller);
	else
		hwr_note(t, kind, (u64)p, size, caller);
}

/* Fast path, after a realloc of old that was entered at `ticks`; p may be NULL if it freed. */
static inline void hwr_note_realloc(struct hwr_thread *t, u64 ticks, void *old, void *p, size_t size,
				    const struct hwr_caller *caller)
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

/* One call on the careful path. */
struct hwr_call {
	struct hwr_caller caller;
	u64 ending;           /* set by the hook: block that the call may end, 0 = none */
	struct hwr_thread *t; /* NULL: forward only */
	u64 begin_ticks;      /* 0: this call is not timed */
	u64 outer_sp, outer_pc, outer_ending; /* the suppression that this call is inside of */
	bool outer;
	bool suppressed;      /* inside a call that is recorded as a whole */
	bool paused;
};

void hwr_call_begin(struct hwr_call *call);
void hwr_call_alloc(struct hwr_call *call, u32 kind, void *p, size_t size);
/* Records the end of block p. Before the real call. */
void hwr_call_free(struct hwr_call *call, u32 kind, void *p);
/* The same with another aux. */
void hwr_call_free_as(struct hwr_call *call, u32 kind, u16 aux, void *p);
/* After the real call, if it was one that allocates nothing. */
void hwr_call_end(struct hwr_call *call, u32 kind);
/* A realloc that gave p (NULL: freed, or failed if size is not 0) for old, entered at `ticks`. */
void hwr_call_realloc(struct hwr_call *call, u64 ticks, void *old, void *p, size_t size);
/* An event that is no allocation: a mapping. */
void hwr_call_other(struct hwr_call *call, u32 kind, u64 address, u64 size);
/* A mark (enum hw_mark); it is the program's word and recorded while paused, too. */
void hwr_call_mark(struct hwr_call *call, u32 mark, u64 address, u64 number);
/* An object that the program or a runtime tells of, beside all blocks: HW_POOL or HW_POOL_FREE, at an address with
 * HW_POOL_ADDRESS. context(t, self) finds its stack; NULL = the caller's. False: it is not recorded. */
bool hwr_call_object(struct hwr_call *call, u32 kind, u64 address, u64 size,
		     u32 (*context)(struct hwr_thread *, const void *), const void *self);
/* Monitored memory was touched at the address; aux = HW_HIT_*. */
void hwr_call_hit(struct hwr_call *call, u32 aux, u64 address);
/* The type of the block that the address lies in; count 0 = unknown. */
void hwr_call_type(struct hwr_call *call, u64 address, u64 identity, u64 count);

/* Around a real function that itself calls hooked functions (operator new calls malloc): what it
 * does inside is not recorded a second time. */
void hwr_suppress_begin(struct hwr_call *call, u64 ending_address);
/* True if the block must still be recorded, false if a call inside has recorded it. */
bool hwr_suppress_end(struct hwr_call *call, void *p);

#endif
