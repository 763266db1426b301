/* SPDX-License-Identifier: MIT
 * Disarming, and the helper thread that arms again; see adaptive.h. Runs in the target.
 *
 * The helper is a bare thread: libc does not know it, it has no thread-local storage of its own and
 * uses none, and it takes no signals. It sleeps for an epoch, arms what is in the log, and sleeps. */
#include "recorder/access/shadow/adaptive.h"

#include <sched.h>

#include "recorder/access/clock.h"
#include "recorder/access/shadow/shadow.h"
#include "recorder/heap/fill.h"
#include "recorder/sys.h"

enum {
	UNIT = HWR_ADAPTIVE_UNIT,
	UNIT_LARGE = 512,
	LARGE = HWR_ADAPTIVE_LARGE,
	PHASE_EPOCHS_MAX = 16,
	LOG_ENTRIES = 1 << 20,
	LOG_MARGIN = 4096, /* for threads that have looked and not yet written */
	WHOLE_SLOT = 1,    /* in the low bits of an entry */
	STACK_BYTES = 65536,
	OLD_THREAD =
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
};

long hwr_helper_clone(long flags, void *stack_top, void (*run)(void));

u32 hwr_adaptive_epoch;

static u64 *entries; /* address of what is disarmed, 0 = not written yet; a ring */
static u64 entries_head, entries_tail;
static u64 sleep_ns;
static u32 phase;        /* whose turn it is; begins anywhere */
static u64 reports_cost; /* ticks of HWR_SHADOW_REPORTS of them */

/* ---- disarming ---- */

static bool log_put(u64 entry)
{
	u64 number;

	if (load_relaxed(&entries_head) - load_relaxed(&entries_tail) > LOG_ENTRIES - LOG_MARGIN)
		return false;
	number = add_relaxed(&entries_head, 1);
	store_release(&entries[number % LOG_ENTRIES], entry);
	return true;
}

/* Whether it is the turn of a unit to stay armed. */
static bool is_sampled(u64 unit)
{
	u64 number = (unit / UNIT * 0x9e3779b97f4a7c15ull) >> 32;

	return (number + load_relaxed(&phase)) % HWR_ADAPTIVE_SHARE == 0;
}

/* Whether what is disarmed in the slot will be armed again. */
static bool will_rearm(u64 slot, struct hwr_chunk *chunk)
{
	if (load_relaxed(&chunk->what) & HWR_CHUNK_DISARMED)
		return true;
	/* The mark first: the helper takes it away when it has the entry, and a mark without an entry would
	 * keep the chunk disarmed for the rest of its life. */
	__atomic_fetch_or(&chunk->what, HWR_CHUNK_DISARMED | HWR_CHUNK_ESTIMATED, __ATOMIC_ACQ_REL);
	if (log_put(slot | WHOLE_SLOT))
		return true;
	__atomic_fetch_and(&chunk->what, ~HWR_CHUNK_DISARMED, __ATOMIC_RELAXED);
	return false;
}

/* The helper may have armed the slot while we disarmed a unit of it: then nobody would do it again. The fence
 * goes with that of rearm: either we see that the mark is gone, or the helper arms after us. */
static void undo_if_late(u8 *shadow, u64 bytes, const struct hwr_chunk *chunk)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!(load_relaxed(&chunk->what) & HWR_CHUNK_DISARMED))
		hwr_fill(shadow, HW_SHADOW_ARMED, bytes);
}

static void disarm_small(u64 slot, u64 unit, u64 bytes, struct hwr_chunk *chunk)
{
	if (!will_rearm(slot, chunk))
		return;
	hwr_fill(hw_shadow_of(unit), is_sampled(unit) ? HWR_SHADOW_SAMPLED : 0, bytes / 8);
	undo_if_late(hw_shadow_of(unit), bytes / 8, chunk);
}

/* Disarmed before it is logged: the helper must come after us. */
static void disarm_large(u64 unit, u64 bytes, struct hwr_chunk *chunk)
{
	__atomic_fetch_or(&chunk->what, HWR_CHUNK_ESTIMATED, __ATOMIC_RELAXED);
	hwr_fill(hw_shadow_of(unit), is_sampled(unit) ? HWR_SHADOW_SAMPLED : 0, bytes / 8);
	if (!log_put(unit))
		hwr_fill(hw_shadow_of(unit), HW_SHADOW_ARMED, bytes / 8);
}

u32 hwr_adaptive_hot(u64 address, u64 offset, struct hwr_chunk *chunk)
{
	u64 slot_bytes = hwr_classes[hwr_heap_class(address)].slot_bytes;
	u64 slot = address - offset, bytes = slot_bytes > LARGE ? UNIT_LARGE : UNIT;
	u64 unit = slot + offset / bytes * bytes;
	u8 state = load_relaxed(hw_shadow_of(address));

	if (state == HWR_SHADOW_SAMPLED)
		return HWR_ADAPTIVE_SHARE - 1;
	if (state == 0)
		return 0; /* it reaches over from a unit that is armed */
	if (bytes > slot + slot_bytes - unit)
		bytes = slot + slot_bytes - unit;
	if (slot_bytes > LARGE)
		disarm_large(unit, bytes, chunk);
	else
		disarm_small(slot, unit, bytes, chunk);
	return 0;
}

void hwr_adaptive_begin(u64 address, struct hwr_chunk *chunk, u64 before)
{
	if (!load_relaxed(&hwr_adaptive_epoch))
		return;
	if (address >= HWR_ADAPTIVE_SMALL_END)
		*hwr_chunk_adaptive(chunk) = (struct hwr_adaptive){0, 0};
	if (before & HWR_CHUNK_DISARMED)
		hwr_fill(hw_shadow_of(address), HW_SHADOW_ARMED,
			 hwr_classes[hwr_heap_class(address)].slot_bytes / 8);
}

/* ---- arming again ---- */

static void rearm(u64 entry)
{
	u64 address = entry & ~(u64)WHOLE_SLOT, offset;
	struct hwr_chunk *chunk = hwr_heap_find(address, &offset);
	u64 slot_bytes = hwr_classes[hwr_heap_class(address)].slot_bytes;
	u64 bytes = entry & WHOLE_SLOT ? slot_bytes : UNIT_LARGE;

	if (bytes > slot_bytes - offset)
		bytes = slot_bytes - offset;
	if (entry & WHOLE_SLOT)
		__atomic_fetch_and(&chunk->what, ~HWR_CHUNK_DISARMED, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	/* A freed slot gave its memory back: its shadow is armed by the next chunk. */
	if (slot_bytes <= LARGE || load_relaxed(&chunk->what) & HWR_CHUNK_LIVE)
		hwr_fill(hw_shadow_of(address), HW_SHADOW_ARMED, bytes / 8);
}

/* The accesses that the busiest thread has recorded; all run at the same time. */
static u64 hits_of_epoch(void)
{
	static u64 before[HWR_CLOCK_SLOTS];
	u64 most = 0;

	for (u32 i = 0; i < HWR_CLOCK_SLOTS; i++) {
		u64 hits = load_relaxed(&hwr_clock_served[i].hits);

		if (hits - before[i] > most)
			most = hits - before[i];
		before[i] = hits;
	}
	return most;
}

/* Time has passed. The phase is over when the program has had an epoch for itself; else returns for how long it
 * goes on, if the program keeps its speed. */
static u64 advance_phase(u64 took, u64 hits)
{
	static u64 progress, epoch, more;
	u64 recording = hits * reports_cost / HWR_SHADOW_REPORTS;
	u64 own = recording < took - took / PHASE_EPOCHS_MAX ? took - recording
							     : took / PHASE_EPOCHS_MAX;
	u64 rest;

	if (!epoch || (took < epoch && !more))
		epoch = took; /* in ticks: the shortest, others began late */
	progress += own;
	if (progress >= epoch - epoch / 32 || ++more >= PHASE_EPOCHS_MAX) {
		progress = more = 0;
		store_relaxed(&phase, phase + 1);
		return sleep_ns;
	}
	rest = (u64)((unsigned __int128)(epoch - progress) * took / own);
	return rest < epoch ? (u64)((unsigned __int128)rest * sleep_ns / epoch) : sleep_ns;
}

static void help(void)
{
	u64 began = hw_ticks(), wait_ns = sleep_ns;

	hits_of_epoch();
	for (;;) {
		struct timespec pause = {(long)(wait_ns / 1000000000),
					 (long)(wait_ns % 1000000000)};
		u64 entry, now;

		hwr_syscall3(SYS_nanosleep, (long)&pause, 0, 0);
		now = hw_ticks();
		wait_ns = advance_phase(now - began, hits_of_epoch());
		began = now;
		add_relaxed(&hwr_adaptive_epoch, 1);
		while ((entry = load_acquire(&entries[entries_tail % LOG_ENTRIES])) != 0) {
			store_relaxed(&entries[entries_tail % LOG_ENTRIES], 0);
			store_relaxed(&entries_tail, entries_tail + 1);
			rearm(entry);
		}
	}
}

/* The helper inherits a mask that lets no signal through. */
static bool start_helper(void)
{
	u64 all = ~0ull, before = 0;
	u8 *stack = hwr_map_private(STACK_BYTES);
	long tid;

	if (!stack)
		return false;
	hwr_syscall6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&before, 8, 0, 0);
	tid = hwr_helper_clone(OLD_THREAD, stack + STACK_BYTES, help);
	hwr_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, 8, 0, 0);
	return tid > 0;
}

bool hwr_adaptive_start(u64 epoch_ns)
{
	void *chunk;

	if (!entries)
		entries = hwr_map_private(LOG_ENTRIES * sizeof(*entries));
	if (!entries)
		return false;
	sleep_ns = epoch_ns;
	phase = (u32)hw_ticks();
	chunk = hwr_heap_malloc(UNIT);
	if (chunk) {
		reports_cost = hwr_shadow_reports_cost((u64)chunk);
		hwr_heap_free(chunk);
	}
	store_relaxed(&hwr_adaptive_epoch, load_relaxed(&hwr_adaptive_epoch) + 1);
	return start_helper();
}
