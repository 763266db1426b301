/* SPDX-License-Identifier: MIT
 * Thread slots. Runs in the target. Whether a slot's owner still lives is asked of the kernel, not
 * of thread-exit hooks: those run too early, too late or never. */
#include "target/recorder/state/threads.h"

#include "target/recorder/state/access.h"
#include "target/recorder/state/desk.h"
#include "target/recorder/state/ring.h"
#include "target/recorder/state/stamp.h"
#include "target/recorder/state/sys.h"

enum {
	SLOTS_LIMIT = 65536,
	LOOK_AT_ONCE = 8,
	RETRY_AFTER = 1000, /* calls that a thread without a slot lets pass before it asks again */
	BARE_HINTS = 1024,
};

__thread struct hwr_thread *hwr_self;
__thread u64 hwr_sample_left;
u32 hwr_threads_many;

static __thread struct hwr_routines *inherited __attribute__((tls_model("initial-exec")));

/* Memory of a slot's threads, kept when the slot is recycled. */
static struct hwr_thread *slot_memory[SLOTS_LIMIT];
static u32 sweep_from;

/* Of threads whose hwr_self is another's: their slot's number + 1, by the last bits of their tid. A
 * hint. */
static u32 bare_slots[BARE_HINTS];
static u32 bare_processes; /* 1 = some of them have another pid */

void hwr_threads_reset(void)
{
	inherited = hwr_routines_leave(hwr_self);
	hwr_self = NULL;
	hwr_sample_left = 0;
	for (u32 i = 0; i < SLOTS_LIMIT && slot_memory[i]; i++)
		slot_memory[i] = NULL; /* the parent's; the mapping is left to it */
}

static bool owner_lives(u32 tid)
{
	return hwr_thread_exists(hwr_pid, tid) ||
	       (load_relaxed(&bare_processes) && hwr_task_exists(tid));
}

static bool slot_take(u32 number, u32 old_tid, u32 tid)
{
	return cas_acq_rel(&hwr_slots[number].tid, &old_tid, tid);
}

/* A slot whose owner is gone. Looks at a few at a time, so that a new thread starts fast and yet
 * slots do not pile up. The same tid as ours is certainly a dead predecessor's. */
static i64 recycle_slot(u32 tid)
{
	u32 used = load_relaxed(&hwr_control->slots_used);
	u32 looks = used < LOOK_AT_ONCE ? used : LOOK_AT_ONCE;

	if (used >= hwr_control->slots_mapped)
		looks = used; /* none left: look at all */
	for (u32 i = 0; i < looks; i++) {
		u32 number = add_relaxed(&sweep_from, 1) % used;
		u32 owner = load_relaxed(&hwr_slots[number].tid);

		if (owner && owner != tid && owner_lives(owner))
			continue;
		if (slot_take(number, owner, tid))
			return number;
	}
	return -1;
}

static i64 fresh_slot(u32 tid)
{
	u32 number = load_relaxed(&hwr_control->slots_used);

	while (number < hwr_control->slots_mapped && number < SLOTS_LIMIT) {
		if (!cas_acq_rel(&hwr_control->slots_used, &number, number + 1))
			continue;
		if (slot_take(number, 0, tid))
			return number;
		number = load_relaxed(&hwr_control->slots_used);
	}
	return -1;
}

static i64 find_slot(u32 tid)
{
	i64 number = tid == (u32)-1 ? -1 : recycle_slot(tid);

	if (tid == (u32)-1)
		return -1; /* whose is a slot without the number of its thread? */
	return number >= 0 ? number : fresh_slot(tid);
}

static void forget_stacks(struct hwr_thread *t)
{
	t->depth = 0;
	for (u32 i = 0; i < HWR_MEMO_ENTRIES; i++)
		if (t->memo[i].pc)
			t->memo[i].pc = 0;
}

static void size_memo(struct hwr_thread *t, bool large)
{
	t->memo_shift = large ? 56 : 57;
	t->memo_mask = large ? HWR_MEMO_GROUPS - 1 : HWR_MEMO_GROUPS / 2 - 1;
	t->memo_push = HWR_TRAIL_LONG;
	t->memo_by_caller = 0;
	t->trail_kind = 0;
}
_Static_assert(HWR_MEMO_SETS == 1 << (64 - 56), "size_memo leaves 8 bits");

void hwr_thread_abandon(struct hwr_thread *t)
{
	forget_stacks(t);
	t->state &= ~(u32)HWR_BUSY;
}

static u32 run_flags(void)
{
	u32 flags = hwr_control->flags;

	return flags & HW_RUN_ROUTINE_STACKS
		       ? flags & ~(u32)(HW_RUN_ALLOC_STACKS | HW_RUN_FREE_STACKS)
		       : flags;
}

static u32 run_state(void)
{
	u32 state = hwr_control->sample_bytes ? HWR_SAMPLING : 0;

	if (hwr_control->stamp_shift || (hwr_control->flags & HW_RUN_TEST_PREEMPT))
		state |= HWR_TESTING;
	if (hwr_control->pools_count || hwr_pools_are_entries())
		state |= HWR_POOLS;
	if (hwr_control->flags & HW_RUN_LISP)
		state |= HWR_RUNTIME;
	return state;
}

static void know_stack(struct hwr_thread *t, u64 sp)
{
	u32 block = (u32)(sp >> HWR_STACK_SHIFT);

	t->stacks[block % HWR_STACKS] = block;
}

static void forget_owner(struct hwr_thread *t, u32 tid, bool is_bare)
{
	t->tid = tid;
	t->is_bare = is_bare;
	for (u32 i = 0; i < HWR_STACKS; i++)
		if (t->stacks[i])
			t->stacks[i] = 0;
}

static struct hwr_thread *open_slot(u32 number, bool is_bare)
{
	struct hwr_thread *t = slot_memory[number];

	if (!t)
		t = hwr_desk_take(sizeof *t);
	if (!t) {
		hwr_fault(HW_FAULT_NO_MEMORY);
		store_release(&hwr_slots[number].tid, 0);
		return NULL;
	}
	forget_owner(t, hwr_slots[number].tid, is_bare);
	slot_memory[number] = t;
	forget_stacks(t);
	size_memo(t, number < HWR_MEMO_LARGE);
	t->state = HWR_BUSY;
	t->suppress_sp = 0;
	t->pool_sp = t->pool_pending = t->pool_ending = 0;
	hwr_routines_reset(t);
	if (inherited) {
		t->routines = inherited;
		inherited = NULL;
	}
	t->lost = 0;
	t->peek_count = t->peek_left = 0;
	t->random = hw_ticks() ^ (u64)t ^ (u64)hwr_slots[number].tid << 32;
	t->sample_left = -1; /* drawn at the first allocation */
	t->run_flags = run_flags();
	t->mark_word = hwr_stamp_mark_word();
	if (number > 0) { /* order between threads deserves exact stamps */
		store_relaxed(&hwr_stamps_estimated, 0);
		store_relaxed(&hwr_threads_many, 1);
	}
	store_relaxed(&hwr_slots[number].thread_pointer, is_bare ? 0 : (u64)hwr_thread_pointer());
	hwr_ring_open(t, &hwr_slots[number], number, false);
	hwr_ring_put(t, &(struct hw_record){
				.ticks = hw_ticks(),
				.address = hwr_slots[number].tid,
				.kind = HW_THREAD,
			});
	t->state = run_state();
	hwr_access_thread(t);
	return t;
}

static __thread u32 rest __attribute__((tls_model("initial-exec")));

/* There was no room a moment ago. */
static bool rests(void)
{
	if (likely(!rest))
		return false;
	rest--;
	hwr_fault(HW_FAULT_NO_SLOT);
	return true;
}

static struct hwr_thread *enter(u32 tid, bool is_bare)
{
	/* its tid: others may share the word */
	static __thread u32 entering __attribute__((tls_model("initial-exec")));
	struct hwr_thread *t = NULL;
	i64 number;

	if (entering == tid) { /* a signal handler interrupted just this */
		hwr_fault(HW_FAULT_NESTED_FULL);
		return NULL;
	}
	entering = tid;
	number = find_slot(tid);
	if (number < 0)
		hwr_fault(HW_FAULT_NO_SLOT);
	else
		t = open_slot((u32)number, is_bare);
	if (t && !is_bare)
		hwr_self = t;
	entering = 0;
	rest = t ? 0 : RETRY_AFTER;
	return t;
}

static bool is_bare_slot(u32 number, u32 tid)
{
	const struct hwr_thread *t = slot_memory[number];

	return t && t->is_bare && t->tid == tid && load_relaxed(&hwr_slots[number].tid) == tid;
}

static struct hwr_thread *find_bare(u32 tid)
{
	u32 used = load_relaxed(&hwr_control->slots_used);
	u32 *hint = &bare_slots[tid % BARE_HINTS], number = load_relaxed(hint) - 1;

	if (number < used && is_bare_slot(number, tid))
		return slot_memory[number];
	for (number = 0; number < used; number++)
		if (is_bare_slot(number, tid)) {
			store_relaxed(hint, number + 1);
			return slot_memory[number];
		}
	return NULL;
}

/* The object of a thread that hwr_self does not lead to. */
static struct hwr_thread *enter_bare(u32 tid)
{
	struct hwr_thread *t = find_bare(tid);

	if (t || rests())
		return t;
	/* Before it has a slot, which would look dead. */
	if (hwr_getpid() != hwr_pid)
		store_relaxed(&bare_processes, 1);
	return enter(tid, true);
}

struct hwr_thread *hwr_thread_enter(void)
{
	if (rests())
		return NULL;
	/* A vfork child is gone when its parent, whose storage it uses, goes on. */
	return hwr_getpid() == hwr_pid ? enter(hwr_gettid(), false) : enter_bare(hwr_gettid());
}

struct hwr_thread *hwr_thread_at(struct hwr_thread *t, u64 sp)
{
	u32 tid = hwr_gettid();

	if (tid != t->tid && tid != (u32)-1)
		return enter_bare(tid);
	know_stack(t, sp);
	return t;
}

struct hwr_thread *hwr_thread_nested(struct hwr_thread *t)
{
	struct hwr_thread *n = t->nested;

	if (!n) {
		n = hwr_map_private(sizeof *n);
		if (!n) {
			hwr_fault(HW_FAULT_NO_MEMORY);
			return NULL;
		}
		n->state = HWR_BUSY;
		size_memo(n, false);
		n->run_flags = t->run_flags;
		n->mark_word = t->mark_word;
		hwr_ring_open(n, t->slot, t->slot_number, true);
		n->sample_left = -1;
		n->random = t->random ^ (u64)n;
		n->state = run_state();
		__asm__ volatile("" : : : "memory");
		t->nested = n; /* complete only now: a handler may interrupt at any moment */
	}
	return n;
}
