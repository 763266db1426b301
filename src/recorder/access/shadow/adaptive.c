/* SPDX-License-Identifier: MIT
 * Disarming, and the helper thread that arms again; see adaptive.h. Runs in the target.
 *
 * The helper is a bare thread: libc does not know it, it has no thread-local storage of its own and
 * uses none, and it takes no signals. It sleeps for an epoch, arms what is in the log, and sleeps. */
#include "recorder/access/shadow/adaptive.h"

#include <sched.h>

#include "recorder/access/clock.h"
#include "recorder/heap/fill.h"
#include "recorder/sys.h"

enum {
	UNIT = 64,
	UNIT_LARGE = 512,
	LARGE = 4096, /* slots above have large units, which are armed again one by one */
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

static u32 random_below(u32 limit)
{
	static __thread u64 state __attribute__((tls_model("initial-exec")));

	if (!state)
		state = hw_ticks() ^ (u64)&state;
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)((state >> 32) * limit >> 32);
}

/* Whether what is disarmed here will be armed again. */
static bool will_rearm(u64 slot, u64 unit, u64 slot_bytes, struct hwr_chunk *chunk)
{
	if (slot_bytes > LARGE)
		return log_put(unit);
	if (load_relaxed(&chunk->what) & HWR_CHUNK_DISARMED)
		return true;
	if (!log_put(slot | WHOLE_SLOT))
		return false;
	__atomic_fetch_or(&chunk->what, HWR_CHUNK_DISARMED | HWR_CHUNK_ESTIMATED, __ATOMIC_RELAXED);
	return true;
}

u32 hwr_adaptive_hot(u64 address, u64 offset, struct hwr_chunk *chunk)
{
	u64 slot_bytes = hwr_classes[hwr_heap_class(address)].slot_bytes;
	u64 slot = address - offset, unit_bytes = slot_bytes > LARGE ? UNIT_LARGE : UNIT;
	u64 unit = slot + offset / unit_bytes * unit_bytes, end = unit + unit_bytes;
	u8 *shadow = hw_shadow_of(address);

	if (*shadow == HWR_SHADOW_SAMPLED)
		return HWR_ADAPTIVE_SHARE - 1;
	if (*shadow == 0 || !will_rearm(slot, unit, slot_bytes, chunk))
		return 0; /* it reaches over from a disarmed unit; or there is no room in the log */
	if (end > slot + slot_bytes)
		end = slot + slot_bytes;
	if (slot_bytes > LARGE)
		__atomic_fetch_or(&chunk->what, HWR_CHUNK_ESTIMATED, __ATOMIC_RELAXED);
	hwr_fill(hw_shadow_of(unit), random_below(HWR_ADAPTIVE_SHARE) ? 0 : HWR_SHADOW_SAMPLED,
		 (end - unit) / 8);
	return 0;
}

void hwr_adaptive_begin(u64 address, struct hwr_chunk *chunk, u64 before)
{
	if (!load_relaxed(&hwr_adaptive_epoch))
		return;
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
		__atomic_fetch_and(&chunk->what, ~HWR_CHUNK_DISARMED, __ATOMIC_RELAXED);
	/* A freed slot gave its memory back: its shadow is armed by the next chunk. */
	if (slot_bytes <= LARGE || load_relaxed(&chunk->what) & HWR_CHUNK_LIVE)
		hwr_fill(hw_shadow_of(address), HW_SHADOW_ARMED, bytes / 8);
}

static void help(void)
{
	for (;;) {
		struct timespec pause = {(long)(sleep_ns / 1000000000),
					 (long)(sleep_ns % 1000000000)};
		u64 entry;

		hwr_syscall3(SYS_nanosleep, (long)&pause, 0, 0);
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
	if (!entries)
		entries = hwr_map_private(LOG_ENTRIES * sizeof(*entries));
	if (!entries)
		return false;
	sleep_ns = epoch_ns;
	store_relaxed(&hwr_adaptive_epoch, load_relaxed(&hwr_adaptive_epoch) + 1);
	return start_helper();
}
