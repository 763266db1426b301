/* SPDX-License-Identifier: MIT
 * The helper thread of adaptive recording: says when what was disarmed is armed again, and gives
 * units their turns; see adaptive.h. Runs in the target. What there is to write is mostly written
 * by others (arming.h).
 *
 * The helper is a bare thread: libc does not know it, it has no thread-local storage of its own and
 * uses none, and it takes no signals. It never touches the record of a small chunk: the program's
 * thread would have to fetch it back from the other CPU. */
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/prctl.h>

#include "target/access/arch/arch.h"
#include "target/access/heap/heap.h"
#include "target/access/shadow/arming.h"
#include "target/access/shadow/clock.h"
#include "target/access/shadow/shadow.h"
#include "target/recorder/state/sys.h"

enum {
	TURN_NS = 650000,    /* and at least two in an epoch */
	TURN_COST_NS = 4000, /* of the program's time, besides its reports */
	/* reports of a turn that are dearer than the others: branches are foreseen wrong at
	 * first */
	EARLY = 300,
	EARLY_NS = 20,
	TURN_SHARE = 24,         /* at most one part in so many of the time is for giving turns */
	LENDING_NS = 10000,      /* a sleep, while a thread of the program may do the work */
	LENDING_WAITS = 4,       /* before the helper does it */
	LENDING_MOST = 20000,    /* while somebody is at it: a third of a second */
	STOPPING_MOST = 100000,  /* until the helper is gone */
	PACE_TRIES = 16,         /* the quickest of them counts */
	SLACK_NS = 1000,         /* of its sleeps; else 50,000 */
	CONTROL_COST_SHARE = 32, /* at most one part in so many of the time is for controls */
	CONTROL_LOOKS = 2,       /* after which that is known */
	AWAY_TURNS = 16,         /* before the helper goes to another CPU once more */
	CPU_WORDS = 128,         /* 8,192 of them */
	STACK_BYTES = 65536,
	OLD_THREAD = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
		     CLONE_SYSVSEM | CLONE_CHILD_CLEARTID,
};

/* Times the cost in a loop; see recording_ns. */
static const double COST_RARE = 1.7, COST_FALL = 1.8, COST_LOOP = 0.75;

static u32 helper;    /* not 0: it is there; the kernel clears it */
static bool stopping; /* it shall end */
static u64 turn_ns, epoch_ns;
static u64 epoch_first; /* number of the log's first entry of the present epoch */
static bool fences;     /* of other threads can be asked for */
static struct hwr_turns turns;
static bool turn_is_new; /* nothing was added to it yet */
static u64 early_left;   /* of its reports */
static u64 reports_cost; /* ticks of HWR_SHADOW_REPORTS of them */
static u64 reports_pace; /* at the same time, as hwr_arming_pace tells it */

/* ---- arming ---- */

/* The helper's sleeps, in which a thread of the program may come by. */
static void wait_for_program(void) { hwr_sleep_ns(LENDING_NS); }

/* Who has begun is waited for; but a handler may have jumped away in the midst. Sleeps are counted,
 * not time: while the process is stopped nobody goes on. */
static void finish_arming(void)
{
	for (u32 i = 0; i < LENDING_WAITS && !hwr_arming_is_done(); i++)
		wait_for_program();
	for (u32 i = 0; i < LENDING_MOST && !hwr_arming_finish(); i++)
		wait_for_program();
}

/* ---- turns ---- */

/* False: there is no such clock any more. */
static bool read_cpu_ns(clockid_t clock, u64 *ns)
{
	struct timespec now = {0, 0};
	bool is_there = hwr_ask3(SYS_clock_gettime, clock, (long)&now, 0) == 0;

	*ns = (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
	return is_there;
}

/* The process's clock knows of a thread that runs on another CPU what was when the system's timer
 * last ticked there, up to 10 ms ago. A thread's own clock is right, and asking for it sets the
 * other one right. */
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
	u64 ticks, wall_ns, cpu_ns, hits, controls, lent;
};

static struct so_far look(void)
{
	struct so_far now = {
		.ticks = hw_ticks(),
		.wall_ns = hwr_monotonic_ns(),
		.cpu_ns = program_cpu_ns(),
		.lent = hwr_arming_lent(),
	};

	for (u32 i = 0; i < HWR_CLOCK_SLOTS; i++) {
		now.hits += load_relaxed(&hwr_clock_served[i].hits);
		now.controls += load_relaxed(&hwr_clock_served[i].controls);
	}
	return now;
}

static u64 ticks_ns(u64 ticks, const struct so_far *start, const struct so_far *now)
{
	double ns_per_tick =
		(double)(now->wall_ns - start->wall_ns) / (double)(now->ticks - start->ticks + 1);

	return (u64)((double)ticks * ns_per_tick);
}

/* Time of so many reports, one after the other, at the pace that the program has now. */
static u64 cost_ns(u64 hits, const struct so_far *start, const struct so_far *now)
{
	u64 ticks = hits * reports_cost / HWR_SHADOW_REPORTS, pace = hwr_arming_pace();

	return ticks_ns(pace && reports_pace ? ticks * pace / reports_pace : ticks, start, now);
}

/* In the midst of a program's code a report costs more than in a loop of reports: it comes
 * unforeseen, and finds the caches full of other things. But where most of the time goes into
 * reports they do come in a loop. (Less than once as much: the pace is measured between two pieces
 * of the program, the cost was not.) With one factor for both, 1.6, a loop that writes one place
 * all the time was told 4 to 6 times too high; now often twice. */
static u64 recording_ns(u64 loop_ns, u64 cpu_ns)
{
	double share = (double)loop_ns / (double)(cpu_ns + 1),
	       dearer = COST_RARE - COST_FALL * share;

	return (u64)((double)loop_ns * (dearer > COST_LOOP ? dearer : COST_LOOP));
}

/* Of the program's own work, without what its threads have done for us. */
static u64 own_cpu_ns(const struct so_far *start, const struct so_far *before,
		      const struct so_far *now)
{
	u64 lent = ticks_ns(now->lent - before->lent, start, now);

	/* Two clocks: together they may go back a little. */
	return now->cpu_ns > before->cpu_ns + lent ? now->cpu_ns - before->cpu_ns - lent : 0;
}

/* Controls that are very hot would be dear. */
static bool controls_are_dear(const struct so_far *start, const struct so_far *now)
{
	struct hwr_look since = hwr_turns_since(&turns);

	return turns.looks >= CONTROL_LOOKS &&
	       cost_ns(since.controls, start, now) > since.cpu_ns / CONTROL_COST_SHARE;
}

/* Of the program's time, besides what these reports of the present turn cost anywhere. */
static u64 turn_cost_ns(u64 hits)
{
	u64 early = hits < early_left ? hits : early_left;

	early_left -= early;
	return early * EARLY_NS + (turn_is_new ? TURN_COST_NS : 0);
}

static void add_to_turn(const struct so_far *start, struct so_far *before)
{
	struct so_far now = look();
	u64 cpu_ns = own_cpu_ns(start, before, &now);
	u64 cost = recording_ns(cost_ns(now.hits - before->hits, start, &now), cpu_ns);
	struct hwr_look look = {
		.cpu_ns = cpu_ns,
		.recording_ns = cost + turn_cost_ns(now.hits - before->hits),
		.controls = now.controls - before->controls,
	};

	hwr_turns_add(&turns, &look);
	turn_is_new = false;
	*before = now;
	if (controls_are_dear(start, &now)) {
		hwr_controls_change();
		hwr_turns_forget(&turns);
	}
}

/* Arms the units of the set that is next, which takes its time. They do not count before all are
 * armed. */
static u32 prepare_turn(void)
{
	u32 next = hwr_turns_next(&turns);

	store_relaxed(&hwr_adaptive_next, (u8)(HWR_SHADOW_SAMPLED + next));
	hwr_arming_post_sample(epoch_first, next);
	finish_arming();
	return next;
}

static void clear_bit(u64 *words, u32 bit) { words[bit / 64] &= ~(1ull << bit % 64); }

/* Whoever wakes up is left on the CPU where it slept as long as the system believes the others to
 * be busy, and it often does. Each time that the helper wakes up there the program stops. So it
 * goes elsewhere; from then on the system does with it as it likes. */
static void leave_cpu(u32 cpu)
{
	static u64 allowed[CPU_WORDS], others[CPU_WORDS]; /* its stack is small */
	long bytes = hwr_ask3(SYS_sched_getaffinity, 0, sizeof(allowed), (long)allowed);

	if (bytes <= 0 || cpu >= CPU_WORDS * 64)
		return;
	for (u32 i = 0; i < CPU_WORDS; i++)
		others[i] = allowed[i];
	clear_bit(others, cpu);
	if (hwr_ask3(SYS_sched_setaffinity, 0, bytes, (long)others) == 0)
		hwr_ask3(SYS_sched_setaffinity, 0, bytes, (long)allowed);
}

/* Not each turn: where all CPUs are busy with the program there is no better one. */
static void keep_away(void)
{
	static u32 turns_left;
	u32 cpu;

	if (turns_left) {
		turns_left--;
	} else if (hwr_ask3(SYS_getcpu, (long)&cpu, 0, 0) == 0 && (int)cpu == hwr_arming_cpu()) {
		leave_cpu(cpu);
		turns_left = AWAY_TURNS;
	}
}

static void begin_turn(u32 set)
{
	store_relaxed(&hwr_adaptive_turn, (u8)(HWR_SHADOW_SAMPLED + set));
	store_relaxed(&hwr_adaptive_beat, hwr_adaptive_beat + 1);
	hwr_turns_begin(&turns, set);
	turn_is_new = true;
	early_left = EARLY;
}

/* Arms what was disarmed in the epoch that ends. What is logged from now on may be of the new
 * epoch, and will not be logged again in it; but who does not know of it yet has disarmed, and logs
 * no more, for the old one: all have, after a fence on each thread. Where there are none, what was
 * disarmed before is armed once more an epoch later. */
static void begin_epoch(void)
{
	u64 end = hwr_log_head(), reached;

	store_release(&hwr_adaptive_epoch, hwr_adaptive_epoch + 1);
	store_relaxed(&hwr_adaptive_beat, hwr_adaptive_beat + 1);
	if (!fences) {
		hwr_arming_post_rearm(0, end);
		finish_arming();
		hwr_log_drop(epoch_first);
		epoch_first = end;
		return;
	}
	hwr_ask3(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	hwr_arming_post_rearm(epoch_first, hwr_log_head());
	finish_arming();
	reached = hwr_arming_reached();
	epoch_first = reached < end ? reached : end;
	hwr_log_drop(epoch_first);
}

static void change_turn(const struct so_far *start, struct so_far *before)
{
	if (hwr_turns_is_over(&turns)) {
		u32 next = prepare_turn();

		add_to_turn(start, before);
		begin_turn(next);
		keep_away();
	}
}

/* What is hot is seen when it is armed again, and then not until the end of the next time that this
 * is done: all of that must fit an epoch. The longest so far counts for less and less. */
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
	u64 pause_ns = turn_ns, wanted, woke, took, left, spent;

	hwr_ask3(SYS_prctl, PR_SET_TIMERSLACK, SLACK_NS, 0);
	for (;;) {
		hwr_sleep_ns(pause_ns);
		if (load_relaxed(&stopping))
			hwr_syscall3(SYS_exit, 0, 0, 0);
		add_to_turn(&start, &before);
		woke = before.wall_ns;
		if (time_left(&schedule, woke) <= turn_ns / 2 + schedule.turning_ns) {
			schedule.began_ns = woke;
			begin_epoch();
			hwr_adaptive_armed(hw_ticks());
			woke = hwr_monotonic_ns();
			schedule.arming_ns = longest(schedule.arming_ns, woke - schedule.began_ns);
		}
		spent = hwr_arming_spent();
		change_turn(&start, &before);
		took = before.wall_ns > woke ? before.wall_ns - woke : 0;
		schedule.turning_ns = longest(schedule.turning_ns, took);
		/* Much memory takes long. Then there are fewer turns; and more units that even
		 * things out. */
		pause_ns = TURN_SHARE * ticks_ns(hwr_arming_spent() - spent, &start, &before);
		pause_ns = pause_ns < epoch_ns / 2 ? pause_ns : epoch_ns / 2;
		wanted = hwr_turns_quota(&turns, turns.set) * 4 / 3;
		pause_ns = pause_ns > wanted ? pause_ns : wanted;
		left = time_left(&schedule, before.wall_ns);
		left = left > turn_ns / 4 ? left : turn_ns / 4;
		pause_ns = left < pause_ns ? left : pause_ns;
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
	store_relaxed(&helper, 1);
	hwr_ask6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&before, 8, 0, 0);
	tid = hwr_helper_clone(OLD_THREAD, stack + STACK_BYTES, help, &helper);
	hwr_ask6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, 8, 0, 0);
	if (tid <= 0)
		store_relaxed(&helper, 0);
	return tid > 0;
}

static u64 quickest_pace(void)
{
	u64 least = UINT64_MAX;

	for (u32 i = 0; i < PACE_TRIES; i++) {
		u64 pace = hwr_shadow_pace();

		least = pace < least ? pace : least;
	}
	return least * HWR_ARMING_PACE;
}

/* ---- stopping ---- */

static const u32 needed[] = {SYS_nanosleep, SYS_clock_gettime, SYS_membarrier};

bool hwr_adaptive_needs(u32 number)
{
	for (u32 i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (number == needed[i])
			return true;
	return false;
}

bool hwr_adaptive_stop(void)
{
	if (!load_relaxed(&helper))
		return false;
	store_relaxed(&stopping, true);
	for (u32 i = 0; i < STOPPING_MOST && load_acquire(&helper); i++)
		wait_for_program();
	return true;
}

void hwr_adaptive_arm_all(void)
{
	hwr_arming_post_rearm(0, hwr_log_head());
	finish_arming();
}

/* ---- starting ---- */

bool hwr_adaptive_start(u64 wanted_ns)
{
	u32 first = (u32)hw_ticks() % HWR_TURNS;
	void *chunk;

	store_relaxed(&helper, 0); /* that of who has forked this one is not here */
	store_relaxed(&stopping, false);
	for (u32 i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (hwr_is_refused(needed[i]))
			return false;
	if (!hwr_log_open())
		return false;
	hwr_arming_reset();
	epoch_ns = wanted_ns - wanted_ns / 5; /* the helper may wake up late */
	turn_ns = epoch_ns / 2 < TURN_NS ? epoch_ns / 2 : TURN_NS;
	fences = hwr_ask3(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
	turns = (struct hwr_turns){.set = first, .quota = turn_ns / 3};
	hwr_adaptive_turn = hwr_adaptive_next = (u8)(HWR_SHADOW_SAMPLED + first);
	chunk = hwr_heap_malloc(HWR_ADAPTIVE_UNIT);
	if (chunk) {
		reports_cost = hwr_shadow_reports_cost((u64)chunk);
		hwr_heap_free(chunk);
		hwr_adaptive_moment = 2 * reports_cost;
		reports_pace = quickest_pace();
	}
	store_relaxed(&hwr_adaptive_epoch, load_relaxed(&hwr_adaptive_epoch) + 1);
	return start_helper();
}
