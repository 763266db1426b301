/* SPDX-License-Identifier: MIT
 * The helper thread of adaptive recording: arms again what was disarmed, and gives units their turns; see
 * adaptive.h. Runs in the target.
 *
 * The helper is a bare thread: libc does not know it, it has no thread-local storage of its own and
 * uses none, and it takes no signals. It never touches the record of a small chunk: the program's thread would have
 * to fetch it back from the other CPU. */
#include <linux/membarrier.h>
#include <sched.h>

#include "recorder/access/clock.h"
#include "recorder/access/shadow/adaptive.h"
#include "recorder/access/shadow/shadow.h"
#include "recorder/heap/fill.h"
#include "recorder/sys.h"

enum {
	UNIT = HWR_ADAPTIVE_UNIT,
	TURN_NS = 200000,        /* and at least two in an epoch */
	CONTROL_COST_SHARE = 32, /* at most one part in so many of the time is for controls */
	CONTROL_LOOKS = 2,       /* after which that is known */
	STACK_BYTES = 65536,
	OLD_THREAD =
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
};

long hwr_helper_clone(long flags, void *stack_top, void (*run)(void));

static u64 turn_ns, epoch_ns;
static u64 epoch_first; /* number of the log's first entry of the present epoch */
static bool fences;     /* of other threads can be asked for */
static struct hwr_turns turns;
static u64 reports_cost; /* ticks of HWR_SHADOW_REPORTS of them */

/* ---- arming ---- */

/* What is hot becomes armed for a few accesses. The program may write the same bytes at this moment, and one of both
 * is lost: an armed byte becomes another armed byte, or a unit stays armed. Nothing becomes 0. */
static void rearm_line(u8 *shadow)
{
	enum { AGAIN = HWR_SHADOW_HOT - HWR_ADAPTIVE_AGAIN };

	for (u32 i = 0; i < HW_CACHE_LINE; i++)
		shadow[i] = shadow[i] == 0 || shadow[i] >= HWR_SHADOW_CONTROL ? AGAIN : shadow[i];
}

static void rearm_page(u64 page)
{
	u8 *shadow = hw_shadow_of(HW_HEAP_START + page * HWR_PAGE);
	u64 lines = hwr_page_take_lines(page);

	for (u32 line = 0; line < HWR_PAGE / HWR_LINE_BYTES; line++)
		if (lines >> line * 8 & 1)
			rearm_line(shadow + line * HW_CACHE_LINE);
}

/* A freed slot gave its memory back: its shadow is armed by the next chunk. */
static bool lives(u64 address)
{
	u64 offset;
	const struct hwr_chunk *chunk = hwr_heap_find(address, &offset);

	return load_relaxed(&chunk->what) & HWR_CHUNK_LIVE;
}

static void rearm(u64 entry)
{
	struct hwr_unit unit;

	if (entry & HWR_LOG_PAGE) {
		rearm_page(entry & ~HWR_LOG_PAGE);
		return;
	}
	unit = hwr_unit_at(entry);
	if (lives(entry))
		hwr_fill(hw_shadow_of(unit.address), HW_SHADOW_ARMED, unit.bytes / 8);
}

static void sample_page(u64 page, u32 set)
{
	u64 start = HW_HEAP_START + page * HWR_PAGE, lines = hwr_page_lines(page);

	for (u64 line = start; line < start + HWR_PAGE; line += UNIT) {
		u8 *shadow = hw_shadow_of(hwr_granule_at(line, set));

		if (lines >> (line - start) / HWR_LINE_BYTES * 8 & 1 && load_relaxed(shadow) == 0)
			store_relaxed(shadow, (u8)(HWR_SHADOW_SAMPLED + set));
	}
}

/* Lines with a control stay as they are. */
static void sample_large(u64 address, u32 set)
{
	struct hwr_unit unit = hwr_unit_at(address), part = hwr_unit_part(&unit, set);

	for (u64 line = part.address; line < part.address + part.bytes; line += UNIT) {
		u64 *shadow = (u64 *)hw_shadow_of(line);

		if (load_relaxed(shadow) == 0)
			store_relaxed(shadow, (HWR_SHADOW_SAMPLED + set) * 0x0101010101010101u);
	}
}

static void sample(u64 entry, u32 set)
{
	u64 page = entry & ~HWR_LOG_PAGE;

	if (entry & HWR_LOG_PAGE) {
		if (hwr_page_has(HW_HEAP_START + page * HWR_PAGE, set))
			sample_page(page, set);
	} else if (hwr_page_has(entry, set) && lives(entry)) {
		sample_large(entry, set);
	}
}

/* ---- turns ---- */

/* False: there is no such clock any more. */
static bool read_cpu_ns(clockid_t clock, u64 *ns)
{
	struct timespec now = {0, 0};
	bool is_there = hwr_syscall3(SYS_clock_gettime, clock, (long)&now, 0) == 0;

	*ns = (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
	return is_there;
}

/* The process's clock knows of a thread that runs on another CPU what was when the system's timer last ticked there, up
 * to 10 ms ago. A thread's own clock is right, and asking for it sets the other one right. */
static void update_process_clock(void)
{
	enum { THREAD_CLOCK = 6 };
	u64 ignored;

	for (u32 i = 0; i < HWR_CLOCK_SLOTS; i++) {
		u32 tid = load_relaxed(&hwr_clock_served[i].tid);

		if (tid && !read_cpu_ns((clockid_t)(~tid << 3 | THREAD_CLOCK), &ignored))
			store_relaxed(&hwr_clock_served[i].tid, 0);
	}
}

/* Of the program's threads. */
static u64 program_cpu_ns(void)
{
	u64 all, own;

	update_process_clock();
	read_cpu_ns(CLOCK_PROCESS_CPUTIME_ID, &all);
	read_cpu_ns(CLOCK_THREAD_CPUTIME_ID, &own);
	return all - own;
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
		.cpu_ns = program_cpu_ns(),
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

/* Controls that are very hot would be dear. */
static bool controls_are_dear(const struct so_far *start, const struct so_far *now)
{
	struct hwr_look since = hwr_turns_since(&turns);

	return turns.looks >= CONTROL_LOOKS &&
	       cost_ns(since.controls, start, now) > since.cpu_ns / CONTROL_COST_SHARE;
}

static void add_to_turn(const struct so_far *start, struct so_far *before)
{
	struct so_far now = look();
	struct hwr_look look = {
		/* Two clocks: together they may go back a little. */
		.cpu_ns = now.cpu_ns > before->cpu_ns ? now.cpu_ns - before->cpu_ns : 0,
		.recording_ns = cost_ns(now.hits - before->hits, start, &now),
		.controls = now.controls - before->controls,
	};

	hwr_turns_add(&turns, &look);
	*before = now;
	if (controls_are_dear(start, &now)) {
		hwr_controls_change();
		hwr_turns_forget(&turns);
	}
}

/* Arms the units of the set that is next, which takes its time. They do not count before all are armed. */
static u32 prepare_turn(void)
{
	u32 next = hwr_turns_next(&turns);
	u64 number = epoch_first, entry;

	store_relaxed(&hwr_adaptive_next, (u8)(HWR_SHADOW_SAMPLED + next));
	while ((entry = hwr_log_peek(&number)) != 0)
		sample(entry, next);
	return next;
}

static void begin_turn(u32 set)
{
	store_relaxed(&hwr_adaptive_turn, (u8)(HWR_SHADOW_SAMPLED + set));
	hwr_turns_begin(&turns, set);
}

/* Up to this number, or to an entry that is not written yet, whose number is returned. */
static u64 rearm_logged(u64 number, u64 end)
{
	while (number < end) {
		u64 entry = hwr_log_peek(&number);

		if (!entry)
			return number - 1;
		rearm(entry);
	}
	return number;
}

/* Arms what was disarmed in the epoch that ends. What is logged from now on may be of the new epoch, and will not
 * be logged again in it; but who does not know of it yet has disarmed, and logs no more, for the old one: all have,
 * after a fence on each thread. Where there are none, what was disarmed before is armed once more an epoch later. */
static void begin_epoch(void)
{
	u64 end = hwr_log_head(), reached;

	store_release(&hwr_adaptive_epoch, hwr_adaptive_epoch + 1);
	if (!fences) {
		rearm_logged(0, end);
		hwr_log_drop(epoch_first);
		epoch_first = end;
		return;
	}
	hwr_syscall3(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	reached = rearm_logged(epoch_first, hwr_log_head());
	epoch_first = reached < end ? reached : end;
	hwr_log_drop(epoch_first);
}

static void change_turn(const struct so_far *start, struct so_far *before)
{
	if (hwr_turns_is_over(&turns)) {
		u32 next = prepare_turn();

		add_to_turn(start, before);
		begin_turn(next);
	}
}

/* What is hot is seen when it is armed again, and then not until the end of the next time that this is done: all of
 * that must fit an epoch. The longest so far counts for less and less. */
struct schedule {
	u64 began_ns, arming_ns, turning_ns;
};

static u64 time_left(const struct schedule *self, u64 now_ns)
{
	u64 took = now_ns - self->began_ns + self->arming_ns;

	return took < epoch_ns ? epoch_ns - took : 0;
}

static u64 longest(u64 before_ns, u64 ns)
{
	u64 less = before_ns - before_ns / 8;

	return ns > less ? ns : less;
}

static void help(void)
{
	struct so_far start = look(), before = start;
	struct schedule schedule = {start.wall_ns, 0, 0};
	u64 pause_ns = turn_ns, woke, took, left;

	for (;;) {
		struct timespec pause = {(long)(pause_ns / 1000000000),
					 (long)(pause_ns % 1000000000)};

		hwr_syscall3(SYS_nanosleep, (long)&pause, 0, 0);
		add_to_turn(&start, &before);
		woke = before.wall_ns;
		if (time_left(&schedule, woke) <= turn_ns / 2 + schedule.turning_ns) {
			schedule.began_ns = woke;
			begin_epoch();
			woke = hwr_monotonic_ns();
			schedule.arming_ns = longest(schedule.arming_ns, woke - schedule.began_ns);
		}
		change_turn(&start, &before);
		took = before.wall_ns > woke ? before.wall_ns - woke : 0;
		schedule.turning_ns = longest(schedule.turning_ns, took);
		/* Much memory takes long, and the program waits for what was taken from its caches. Then there are
		 * fewer turns; and more units that even things out. */
		pause_ns = 16 * took;
		pause_ns = pause_ns < epoch_ns / 2 ? pause_ns : epoch_ns / 2;
		pause_ns = pause_ns > turn_ns ? pause_ns : turn_ns;
		left = time_left(&schedule, before.wall_ns);
		pause_ns = left < pause_ns && left > turn_ns / 4 ? left : pause_ns;
	}
}

/* ---- starting ---- */

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

bool hwr_adaptive_start(u64 wanted_ns)
{
	u32 first = (u32)hw_ticks() % HWR_TURNS;
	void *chunk;

	if (!hwr_log_open())
		return false;
	epoch_ns = wanted_ns - wanted_ns / 12; /* the helper may wake up late */
	turn_ns = epoch_ns / 2 < TURN_NS ? epoch_ns / 2 : TURN_NS;
	fences = hwr_syscall3(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
	turns = (struct hwr_turns){.set = first, .quota = turn_ns - turn_ns / 4};
	hwr_adaptive_turn = hwr_adaptive_next = (u8)(HWR_SHADOW_SAMPLED + first);
	chunk = hwr_heap_malloc(UNIT);
	if (chunk) {
		reports_cost = hwr_shadow_reports_cost((u64)chunk);
		hwr_heap_free(chunk);
	}
	store_relaxed(&hwr_adaptive_epoch, load_relaxed(&hwr_adaptive_epoch) + 1);
	return start_helper();
}
