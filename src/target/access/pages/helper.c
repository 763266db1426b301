/* SPDX-License-Identifier: MIT
 * The helper thread of page monitoring: does what the monitor asks for, command by command. Runs in
 * the target as a bare thread: libc does not know it, it uses no thread-local storage and takes no
 * signal, and it touches no memory of the program. When the monitor has died it opens everything
 * and ends. */
#include <linux/futex.h>
#include <sched.h>

#include "format/ticks.h"
#include "target/access/arch/arch.h"
#include "target/access/pages/pages.h"
#include "target/access/pages/units.h"
#include "target/recorder/state/state.h"
#include "target/recorder/state/sys.h"

enum {
	WAIT_NS = 1000 * 1000 * 1000,
	DEAF_NS = 10 * 1000 * 1000,
	/* a program that uses less of the time than one part in so many hardly runs */
	IDLE_PART = 64,
	COUNTED = 4, /* calls of the kernel after which the time is taken */
	THREAD = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
};

static const long WAIT_NS_MAX = 60l * 1000 * 1000 * 1000;

/* Whether the block that is meant is still there. */
static bool lives(const struct hw_command *command)
{
	const struct hwr_chunk *chunk;
	u64 offset;

	if (!hwr_heap_has(command->address))
		return false;
	chunk = hwr_heap_find(command->address, &offset);
	return !offset && load_acquire(&chunk->what) & HWR_CHUNK_LIVE &&
	       /* all that some monitors know */
	       (u32)load_relaxed(&chunk->last) == (u32)command->birth;
}

u32 hwr_helper_arms;
u8 *hwr_helper_stack;

static void disarm(struct hw_command *command)
{
	command->result = HW_COMMAND_GONE;
	if (hwr_heap_has(command->address)) {
		hwr_unit_open(command->address);
		command->result = HW_COMMAND_DONE;
	}
	command->ticks = hw_ticks();
}

/* Whether the command needs no run, or has joined it. */
static bool gather(struct hwr_run *run, struct hw_command *command)
{
	u32 result = HW_COMMAND_GONE;

	if (lives(command) && !hwr_run_add(run, command->address, &result))
		return false;
	command->result = (u16)result;
	return true;
}

/* Arming may take longer than anybody thought, unit by unit while the program runs on other
 * cores. */
static bool may_arm(void)
{
	static u32 calls;
	struct hw_pages *pages = &hwr_control->pages;
	u64 most = load_relaxed(&pages->arm_most_ns);

	if (++calls % COUNTED == 0)
		store_relaxed(&pages->arm_ns, hwr_cpu_ns(CLOCK_THREAD_CPUTIME_ID));
	return hwr_pages_on() && !hwr_pages_flooded() &&
	       (!most || load_relaxed(&pages->arm_ns) < most);
}

/* Of the commands from `tail` on, as many as can be done together; how many that were. */
static u64 arm(struct hw_command *commands, u64 tail, u64 head)
{
	struct hwr_run run = {0};
	u64 end = tail, ticks;
	u32 result = HW_COMMAND_BUSY;

	store_relaxed(&hwr_helper_arms, 1);
	fence_seq_cst(); /* pairs with hwr_access_leave's: it waits, or nothing is armed */
	if (may_arm()) {
		while (end != head && commands[end % HW_COMMANDS].verb == HW_COMMAND_ARM &&
		       gather(&run, &commands[end % HW_COMMANDS]))
			end++;
		result = hwr_run_arm(&run);
	} else {
		commands[end++ % HW_COMMANDS].result = HWR_RUN_MEMBER;
	}
	store_release(&hwr_helper_arms, 0);
	ticks = hw_ticks();
	for (; tail != end; tail++) {
		struct hw_command *command = &commands[tail % HW_COMMANDS];

		command->ticks = ticks;
		if (command->result == HWR_RUN_MEMBER)
			command->result = (u16)result;
	}
	return end;
}

bool hwr_helper_monitor_lives(void)
{
	return hwr_lobby && !(load_relaxed(&hwr_lobby->monitor_lock[0]) & FUTEX_OWNER_DIED) &&
	       load_relaxed(&hwr_control->stopped) != HW_RELEASED;
}

/* To wake costs microseconds. Of a program that hardly runs that would be more than what monitoring
 * may cost, so the waits double while it does: the monitor rings when it wants something, and if it
 * has died the next hit opens everything. */
static long next_wait(long wait, bool asked, u64 used_ns)
{
	if (asked || used_ns >= (u64)wait / IDLE_PART)
		return WAIT_NS;
	return wait < WAIT_NS_MAX / 2 ? 2 * wait : WAIT_NS_MAX;
}

static void help(void)
{
	struct hw_pages *pages = &hwr_control->pages;
	struct hw_command *commands =
		(struct hw_command *)((u8 *)hwr_control + hwr_control->commands_offset);

	long wait = WAIT_NS;

	for (;;) {
		/* Before the look whether it lives: who says that it is over rings after that. */
		u32 bell = load_acquire(&pages->bell);
		u64 tail = pages->tail, head, cpu = hwr_cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
		bool asked = tail != load_relaxed(&pages->head);

		if (!hwr_helper_monitor_lives())
			break;
		wait = next_wait(wait, asked, cpu - pages->cpu_ns);
		if (asked) /* what it took to wake is spent */
			store_relaxed(&pages->arm_ns, hwr_cpu_ns(CLOCK_THREAD_CPUTIME_ID));
		/* Pairs with the monitor's release of head: the commands are there. */
		while (tail != (head = load_acquire(&pages->head))) {
			if (commands[tail % HW_COMMANDS].verb == HW_COMMAND_DISARM)
				disarm(&commands[tail++ % HW_COMMANDS]);
			else
				tail = arm(commands, tail, head);
			store_release(&pages->tail, tail);
		}
		store_relaxed(&pages->arm_ns, hwr_cpu_ns(CLOCK_THREAD_CPUTIME_ID));
		store_relaxed(&pages->cpu_ns, cpu);
		if (hwr_is_refused(SYS_futex)) /* then it does not hear the bell */
			hwr_sleep_ns(DEAF_NS);
		else
			hwr_futex_wait(&pages->bell, bell, wait);
	}
	hwr_units_open_all(false);
	for (;;)
		hwr_syscall3(SYS_exit, 0, 0, 0);
}

bool hwr_helper_start(void)
{
	u64 all = ~0ull, before = 0;
	u8 *stack = hwr_map_private(HWR_HELPER_STACK);
	long tid;

	if (!stack || !hwr_lobby)
		return false;
	store_relaxed(&hwr_helper_stack, stack);
	hwr_syscall6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&before, 8, 0, 0);
	tid = hwr_helper_clone(THREAD, stack + HWR_HELPER_STACK, help, NULL);
	hwr_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, 8, 0, 0);
	hwr_control->pages.helper_tid = tid > 0 ? (u32)tid : 0;
	return tid > 0;
}
