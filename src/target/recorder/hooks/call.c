/* SPDX-License-Identifier: MIT
 * The careful path of the hooks. Runs in the target. */
#include "target/recorder/hooks/call.h"

#include "target/recorder/hooks/note.h"
#include "target/recorder/hooks/sample.h"
#include "target/recorder/pool/pool.h"
#include "target/recorder/state/objects.h"
#include "target/recorder/state/real.h"
#include "target/recorder/state/sys.h"
#include "target/recorder/state/threads.h"

u64 hwr_operators_start, hwr_operators_end;

/* ---- calls inside calls ---- */

/* The flag is trusted only below the stack address of the outer call, so an exception that leaves
 * operator new needs no clean-up; and only for calls from the outer function's own module, so that
 * what a signal handler or a new handler does meanwhile is recorded.
 *
 * Whether the hook called from `caller` is inside a call of t that is recorded as a whole. */
static bool is_suppressed(struct hwr_thread *t, const struct hwr_caller *caller)
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
	/* From the recorder itself: operator new[] ends in a jump to operator new, so the inner
	 * hook returns straight to the outer one. */
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

/* ---- beginnings ---- */

/* Whether t is really in use below us. A handler that leaves by siglongjmp leaves its mark behind;
 * a mark deeper in the stack than this call is such a one, unless this call runs on the alternate
 * stack of a handler. */
static bool in_use(struct hwr_thread *t, const struct hwr_caller *caller)
{
	if (!(t->state & HWR_BUSY))
		return false;
	if (caller->sp < t->busy_sp || hwr_on_alternate_stack())
		return true;
	hwr_thread_abandon(t);
	return false;
}

/* The object that this call may use, NULL to forward only. */
static struct hwr_thread *pick_thread(const struct hwr_caller *caller)
{
	struct hwr_thread *t = hwr_self;

	if (!t)
		return hwr_thread_enter();
	if (unlikely(!hwr_thread_is(t, caller->sp)) && !(t = hwr_thread_at(t, caller->sp)))
		return NULL;
	if (!in_use(t, caller))
		return t;
	t = hwr_thread_nested(t);
	if (!t || !in_use(t, caller))
		return t;
	hwr_fault(HW_FAULT_NESTED_FULL);
	return NULL;
}

void hwr_note_failed(struct hwr_thread *t, u32 kind, size_t size, const struct hwr_caller *caller)
{
	hwr_note_begin(t, caller);
	hwr_note_put(t, hwr_stamp_now(t), HW_FAILED, kind, 0, size,
		     hwr_note_context(t, HW_FAILED, caller));
	hwr_note_end(t);
}

void hwr_call_begin(struct hwr_call *call)
{
	call->t = NULL;
	call->begin_ticks = 0;
	call->suppressed = false;
	if (unlikely(!hwr_real.malloc))
		hwr_real_find();
	hwr_access_site(&call->caller);
	if (!load_relaxed(&hwr_token.on) && !hwr_session_join())
		return;
	hwr_session_obey();
	if (hwr_sample_left && hwr_self)
		hwr_sample_close(hwr_self);
	call->paused = hwr_token.paused;
	if (!call->paused && !load_relaxed(&hwr_token.on))
		return;
	call->t = pick_thread(&call->caller);
	if (!call->t)
		return;
	if (call->t->state & HWR_PEEK) {
		call->t->busy_sp = call->caller.sp;
		hwr_peek(call->t, call->ending);
	}
	call->suppressed = is_suppressed(call->t, &call->caller);
	if (call->t->state & HWR_TIME_CALL && !call->suppressed && !call->t->calls_to_timed--) {
		call->t->state &= ~(u32)HWR_TIME_CALL;
		call->t->calls_to_timed = 0;
		call->begin_ticks = hw_ticks();
	}
}

/* Test options: coarse stamps, and the CPU given away between stamp and publication. */
static u64 test_stamp(struct hwr_thread *t, u64 ticks)
{
	if (!(t->state & HWR_TESTING))
		return ticks;
	t->random = t->random * 6364136223846793005ull + 1442695040888963407ull;
	if ((hwr_control->flags & HW_RUN_TEST_PREEMPT) && t->random >> 58 == 0)
		hwr_yield();
	if ((hwr_control->flags & HW_RUN_TEST_PREEMPT) && t->random >> 52 == 1)
		hwr_futex_wait(&t->slot->tail_bell, load_relaxed(&t->slot->tail_bell),
			       5 * 1000 * 1000);
	return ticks >> hwr_control->stamp_shift << hwr_control->stamp_shift;
}

/* Records an event with its stack. Without ticks its time is read after the walk, so that modules
 * that the walk meets are known before the event. */
static void put_event(struct hwr_call *call, const struct hw_record *event)
{
	struct hwr_thread *t = call->t;
	u32 kind = event->kind, context;
	bool paused_free = call->paused && hw_kind_frees(kind);
	u64 ticks;

	hwr_note_begin(t, &call->caller);
	context = paused_free ? 0 : hwr_note_context(t, kind, &call->caller);
	ticks = test_stamp(t, hwr_stamp_take(t, event->ticks ? event->ticks : hw_ticks()));
	if (hw_kind_is_pool(kind))
		; /* accesses are known of the blocks that pools are cut from */
	else if (hw_kind_frees(kind))
		hwr_access_end(t, event->address, ticks);
	else if (hw_kind_allocates(kind))
		hwr_access_begin(event->address, ticks, &call->caller);
	hwr_ring_put(t, &(struct hw_record){
				.ticks = ticks,
				.address = event->address,
				.size = event->size,
				.context = context,
				.kind = event->kind,
				.flags = t->is_nested ? HW_RECORD_NESTED : 0,
				.aux = event->aux,
			});
	if (kind == HW_NEW || kind == HW_NEW_ARRAY)
		hwr_peek_consider(t, &(struct hwr_peek){event->address, event->size, (u32)ticks,
							context, kind == HW_NEW_ARRAY, 0, 0});
	hwr_note_end(t);
}
#define put(call, ...) put_event(call, &(struct hw_record){__VA_ARGS__})

static void put_duration(struct hwr_call *call, u32 kind, u64 end_ticks)
{
	struct hwr_thread *t = call->t;
	u64 taken = end_ticks - call->begin_ticks;

	if (!call->begin_ticks)
		return;
	hwr_note_begin(t, &call->caller);
	hwr_ring_put(t, &(struct hw_record){
				.ticks = end_ticks,
				.address = t->timed_for,
				.size = taken > hwr_stamp_cost ? taken - hwr_stamp_cost : 0,
				.kind = HW_DURATION,
				.aux = (u16)kind,
			});
	hwr_note_end(t);
	call->begin_ticks = 0;
}

/* The counter is not read where nothing is recorded: a program may forbid itself even that
 * (PR_SET_TSC). */
static u64 ticks_of(const struct hwr_call *call) { return call->t ? hw_ticks() : 0; }

void hwr_call_alloc(struct hwr_call *call, u32 kind, void *p, size_t size)
{
	u64 ticks = ticks_of(call);

	if (!call->t || call->paused || call->t->state & HWR_RUNTIME)
		return;
	if (call->suppressed) {
		if (!p)
			call->t->suppress_pc = call->caller.pc;
		return;
	}
	if (call->t->state & HWR_POOLS && hwr_pool_keeps(call->t, &call->caller, kind, (u64)p))
		return;
	put_duration(call, kind, ticks);
	if (!p) {
		put(call, .ticks = ticks, .kind = HW_FAILED, .aux = (u16)kind, .size = size);
		return;
	}
	if (call->t->state & HWR_SUPPRESS)
		call->t->inner_address = (u64)p;
	if (!(call->t->state & HWR_SAMPLING) || hwr_sample_take(call->t, (u64)p, size))
		put(call, .ticks = ticks, .kind = (u8)kind, .address = (u64)p, .size = size);
}

void hwr_call_free(struct hwr_call *call, u32 kind, void *p) { hwr_call_free_as(call, kind, 0, p); }

void hwr_call_free_as(struct hwr_call *call, u32 kind, u16 aux, void *p)
{
	struct hwr_thread *t = call->t;
	u64 address = (u64)p;

	if (!t || t->state & HWR_RUNTIME ||
	    (t->state & HWR_SUPPRESS && t->ending_address == (u64)p))
		return;
	if (t->inner_address == (u64)p)
		t->inner_address = 0;
	if (t->state & HWR_POOLS && !hwr_pool_ends(call->t, &call->caller, &kind, &address))
		return;
	if (!(t->state & HWR_SAMPLING) || hwr_sample_drop(t, address))
		put(call, .kind = (u8)kind, .aux = kind == HW_FREE ? aux : 0, .address = address);
	if (call->begin_ticks)
		call->begin_ticks = hw_ticks();
}

void hwr_call_end(struct hwr_call *call, u32 kind)
{
	if (call->t && call->begin_ticks)
		put_duration(call, kind, hw_ticks());
}

/* True: nothing is left to record. */
static bool realloc_in_pools(struct hwr_call *call, u64 ticks, void *old, void *p, size_t size)
{
	u64 ended;
	bool done;

	if (!p && (size || !old))
		return hwr_pool_inside(call->t, &call->caller);
	ended = 0;
	done = hwr_pool_realloc(call->t, &call->caller, (u64)old, (u64)p, &ended);
	if (ended)
		put(call, .ticks = ticks, .kind = HW_POOL_FREE, .address = ended);
	if (ended && !done && p && !call->paused)
		put(call, .ticks = hw_ticks(), .kind = HW_REALLOC, .address = (u64)p, .size = size);
	return done || ended;
}

void hwr_call_realloc(struct hwr_call *call, u64 ticks, void *old, void *p, size_t size)
{
	u64 end_ticks = ticks_of(call);
	bool sampling;

	if (!call->t || call->suppressed || call->t->state & HWR_RUNTIME)
		return;
	if (call->t->state & HWR_POOLS && realloc_in_pools(call, ticks, old, p, size))
		return;
	put_duration(call, HW_REALLOC, end_ticks);
	if (!p && (size || !old)) {
		if (!call->paused)
			put(call, .ticks = end_ticks, .kind = HW_FAILED, .aux = HW_REALLOC,
			    .size = size);
		return;
	}
	sampling = call->t->state & HWR_SAMPLING;
	if (old && (!sampling || hwr_sample_drop(call->t, (u64)old)))
		put(call, .ticks = ticks, .kind = HW_REALLOC_FREE, .aux = p && !call->paused,
		    .address = (u64)old);
	if (p && !call->paused && (!sampling || hwr_sample_take(call->t, (u64)p, size)))
		put(call, .ticks = end_ticks, .kind = HW_REALLOC, .address = (u64)p, .size = size);
}

void hwr_call_other(struct hwr_call *call, u32 kind, u64 address, u64 size)
{
	if (call->t && !call->paused && !call->suppressed)
		put(call, .ticks = hw_ticks(), .kind = (u8)kind, .address = address, .size = size);
}

void hwr_call_mark(struct hwr_call *call, u32 mark, u64 address, u64 number)
{
	if (call->t && !call->suppressed)
		put(call, .ticks = hw_ticks(), .kind = HW_MARK, .aux = (u16)mark,
		    .address = address, .size = number);
}

bool hwr_call_object(struct hwr_call *call, u32 kind, u64 address, u64 size,
		     u32 (*context)(struct hwr_thread *, const void *), const void *self)
{
	struct hwr_thread *t = call->t;
	struct hw_record record = {.address = address, .size = size, .kind = (u8)kind};
	bool ends = hw_kind_frees(kind);

	if (!t || (call->paused && !ends))
		return false;
	if (t->state & HWR_SAMPLING &&
	    !(ends ? hwr_sample_drop(t, address) : hwr_sample_take(t, address, size)))
		return false;
	hwr_note_begin(t, &call->caller);
	if (!context)
		record.context = call->paused ? 0 : hwr_note_context(t, kind, &call->caller);
	else if (t->run_flags & (ends ? HW_RUN_FREE_STACKS : HW_RUN_ALLOC_STACKS))
		record.context = context(t, self);
	record.ticks = test_stamp(t, hwr_stamp_now(t));
	record.flags = t->is_nested ? HW_RECORD_NESTED : 0;
	hwr_ring_put(t, &record);
	hwr_note_end(t);
	return true;
}

/* Who made the access. A handler's caller is the trampoline that it returns to, which is nobody's
 * call. */
static u32 hit_context(struct hwr_thread *t, u32 aux, const struct hwr_caller *caller)
{
	u32 context = hwr_note_context(t, HW_HIT, caller);

	return context && !(aux & HW_HIT_KERNEL) ? hwr_nodes[context].parent : context;
}

/* Whatever call it is in, and paused or not: the memory is no longer armed. */
void hwr_call_hit(struct hwr_call *call, u32 aux, u64 address)
{
	struct hwr_thread *t = call->t;
	struct hw_record record = {
		.address = address,
		.kind = HW_HIT,
		.aux = (u16)aux,
	};

	if (!t)
		return;
	hwr_note_begin(t, &call->caller);
	if (t->run_flags & HW_RUN_HIT_STACKS && !(aux & HW_HIT_AROUND))
		record.context = hit_context(t, aux, &call->caller);
	record.ticks = hwr_stamp_now(t);
	record.flags = t->is_nested ? HW_RECORD_NESTED : 0;
	hwr_ring_put(t, &record);
	hwr_note_end(t);
}

/* Both parts stand in one ring: nothing can come between them while the thread is busy. */
void hwr_call_type(struct hwr_call *call, u64 address, u64 identity, u64 count)
{
	struct hwr_thread *t = call->t;
	struct hw_record record = {
		.address = address,
		.size = identity,
		.kind = HW_TYPE,
		.aux = count > 1 ? HW_TYPE_FIRST
		       : count   ? HW_TYPE_ONE
				 : HW_TYPE_BARE,
	};

	if (!t || call->paused || call->suppressed)
		return;
	hwr_note_begin(t, &call->caller);
	record.ticks = test_stamp(t, hwr_stamp_now(t));
	record.flags = t->is_nested ? HW_RECORD_NESTED : 0;
	hwr_ring_put(t, &record);
	if (count > 1) {
		record.aux = HW_TYPE_COUNT;
		record.size = count;
		hwr_ring_put(t, &record);
	}
	hwr_note_end(t);
}
