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
	CONTROL_SHARE = 256,     /* one unit in so many is a control */
	CONTROL_COST_SHARE = 32, /* at most one part in so many of the time is for them */
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
static struct hwr_turns turns;
static u32 control;      /* which units are controls */
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

/* What becomes of a unit that is hot: disarmed, unless it is its turn, or it is a control. */
static u32 state_of_hot(u64 unit)
{
	u64 number = unit / UNIT * 0x9e3779b97f4a7c15ull;

	if ((number >> 32 ^ load_relaxed(&control)) % CONTROL_SHARE == 0)
		return HWR_SHADOW_CONTROL;
	return (number >> 48) % HWR_TURNS == load_relaxed(&turns.set) ? HWR_SHADOW_SAMPLED : 0;
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
	hwr_fill(hw_shadow_of(unit), state_of_hot(unit), bytes / 8);
	undo_if_late(hw_shadow_of(unit), bytes / 8, chunk);
}

/* Disarmed before it is logged: the helper must come after us. */
static void disarm_large(u64 unit, u64 bytes, struct hwr_chunk *chunk)
{
	__atomic_fetch_or(&chunk->what, HWR_CHUNK_ESTIMATED, __ATOMIC_RELAXED);
	hwr_fill(hw_shadow_of(unit), state_of_hot(unit), bytes / 8);
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
	if (state == HWR_SHADOW_CONTROL) {
		hwr_clock.controls++;
		return 0;
	}
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

static u64 cpu_ns(clockid_t clock)
{
	struct timespec now = {0, 0};

	hwr_syscall3(SYS_clock_gettime, clock, (long)&now, 0);
	return (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
}

/* All that has happened so far. */
struct so_far {
	u64 ticks, wall_ns, cpu_ns, hits, controls;
};

static struct so_far look(void)
{
	struct so_far now = {
		.ticks = hw_ticks(),
		.wall_ns = hwr_monotonic_ns(),
		.cpu_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns(CLOCK_THREAD_CPUTIME_ID),
	};

	for (u32 i = 0; i < HWR_CLOCK_SLOTS; i++) {
		now.hits += load_relaxed(&hwr_clock_served[i].hits);
		now.controls += load_relaxed(&hwr_clock_served[i].controls);
	}
	return now;
}

/* Time of so many reports. */
static u64 cost_ns(u64 hits, const struct so_far *start, const struct so_far *now)
{
	double ns_per_tick =
		(double)(now->wall_ns - start->wall_ns) / (double)(now->ticks - start->ticks + 1);

	return (u64)((double)(hits * reports_cost / HWR_SHADOW_REPORTS) * ns_per_tick);
}

static void end_epoch(const struct so_far *start, const struct so_far *before,
		      const struct so_far *now)
{
	struct hwr_epoch epoch = {
		/* Two clocks: together they may go back a little. */
		.cpu_ns = now->cpu_ns > before->cpu_ns ? now->cpu_ns - before->cpu_ns : 0,
		.recording_ns = cost_ns(now->hits - before->hits, start, now),
		.controls = now->controls - before->controls,
	};

	hwr_turns_next(&turns, &epoch);
	/* A control that is very hot would be dear. */
	if (cost_ns(epoch.controls, start, now) > epoch.cpu_ns / CONTROL_COST_SHARE) {
		store_relaxed(&control, control + 1);
		hwr_turns_forget(&turns);
	}
}

static void help(void)
{
	struct timespec pause = {(long)(sleep_ns / 1000000000), (long)(sleep_ns % 1000000000)};
	struct so_far start = look(), before = start;

	for (;;) {
		struct so_far now;
		u64 entry;

		hwr_syscall3(SYS_nanosleep, (long)&pause, 0, 0);
		now = look();
		end_epoch(&start, &before, &now);
		before = now;
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
	control = (u32)hw_ticks();
	turns = (struct hwr_turns){.set = control % HWR_TURNS};
	chunk = hwr_heap_malloc(UNIT);
	if (chunk) {
		reports_cost = hwr_shadow_reports_cost((u64)chunk);
		hwr_heap_free(chunk);
	}
	store_relaxed(&hwr_adaptive_epoch, load_relaxed(&hwr_adaptive_epoch) + 1);
	return start_helper();
}
