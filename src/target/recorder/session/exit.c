/* SPDX-License-Identifier: MIT
 * The program's end: lets the monitor look at its memory then. Runs in the target, in the thread
 * that ends the process, possibly in a signal handler.
 *
 * A process that is about to end asks the monitor to watch it and waits for the answer, two
 * seconds at most. The monitor looks later, when the kernel holds the process just before its
 * end: what runs after this, destructors of other libraries too, runs as ever. Processes that
 * end in another way (a signal, a bare system call) are not looked at. */
#include <stdlib.h>
#include <unistd.h>

#include "format/arch/fork.h"
#include "target/recorder/hooks/peek.h"
#include "target/recorder/session/session.h"
#include "target/recorder/state/access.h"
#include "target/recorder/state/objects.h"
#include "target/recorder/state/real.h"
#include "target/recorder/state/sys.h"

enum {
	OWN_MAPS_MAX = 16384, /* two per thread, and a few; more look like the program's */
	WAIT_NS = 50 * 1000 * 1000,
	SET_PTRACER = 0x59616d61, /* prctl: who else than an ancestor may look, where Yama asks */
};
static const u64 patience_ns = 2000000000, sorting_ns = 60000000000;

static struct hw_range own_maps[OWN_MAPS_MAX];
static u32 own_maps_count;
static u64 witness;
struct hw_fork_frame hwr_fork_frame HWR_OWN; /* the monitor and fork_arch.S */

static void tell_count(void)
{
	u32 count = load_relaxed(&own_maps_count);

	store_relaxed(&hwr_control->own_maps_count, count < OWN_MAPS_MAX ? count : OWN_MAPS_MAX);
}

void hwr_own_map(void *p, size_t bytes)
{
	u32 number = add_relaxed(&own_maps_count, 1);

	if (number < OWN_MAPS_MAX)
		own_maps[number] = (struct hw_range){(u64)p, bytes};
	if (load_relaxed(&hwr_token.alive))
		tell_count();
}

void hwr_tell_own_memory(void)
{
	hwr_own_variables(hwr_own_map);
	witness = hwr_control->start_ticks;
	hwr_control->witness = (u64)&witness;
	hwr_control->own_maps = (u64)own_maps;
	hwr_control->fork_code = (u64)hwr_fork;
	hwr_control->fork_frame = (u64)&hwr_fork_frame;
	tell_count();
}

static bool is_watchable(void)
{
	/* A vfork child shares the memory and the token; it is not the process that is recorded. */
	return load_relaxed(&hwr_token.alive) && load_relaxed(&hwr_phase) == HWR_ATTACHED &&
	       hwr_lobby && (hwr_control->flags & HW_RUN_LEAK_SCAN) && hwr_getpid() == hwr_pid;
}

/* Asks once per image, whatever ends it; a second thread that ends it waits, too. */
static void ask_to_be_watched(void)
{
	u32 *leaving = &hwr_control->leaving, not_yet = HW_LEAVING_NOT;
	u64 waited = 0, now = hwr_monotonic_ns();

	if (!hwr_session_watched())
		return;
	if (load_relaxed(leaving) == HW_LEAVING_NOT)
		hwr_ask3(SYS_prctl, SET_PTRACER, hwr_lobby->monitor_pid, 0);
	if (cas_acq_rel(leaving, &not_yet, HW_LEAVING_ASKED)) {
		add_acq_rel(&hwr_lobby->bell, 1);
		hwr_futex_wake(&hwr_lobby->bell);
	}
	/* Waits count as in wait_for_room of ring.c. */
	while (load_acquire(leaving) == HW_LEAVING_ASKED &&
	       (waited < patience_ns ||
		(waited < sorting_ns && load_relaxed(&hwr_control->sorting))) &&
	       hwr_session_watched()) {
		u64 before = now;

		hwr_futex_wait(leaving, HW_LEAVING_ASKED, WAIT_NS);
		now = hwr_monotonic_ns();
		waited += now - before < WAIT_NS ? now - before : WAIT_NS;
	}
}

/* The program ends itself: the functions that led to that are on the stack until the end. */
static bool stack_stays;

/* exit, a return from main, and the end of the last thread come here. */
static __attribute__((destructor)) void leave(void)
{
	hwr_access_leave();
	hwr_peek_leave();
	if (load_relaxed(&hwr_token.alive) && hwr_control &&
	    (hwr_getpid() == hwr_pid || hwr_getpid() == (u32)-1))
		store_relaxed(&hwr_control->left, 1);
	if (!is_watchable())
		return;
	if (!load_relaxed(&stack_stays))
		store_relaxed(&hwr_control->main_returned, 1);
	ask_to_be_watched();
}

HWR_EXPORT __attribute__((noreturn)) void _exit(int status)
{
	void (*real)(int) = hwr_real_symbol("_exit", NULL, NULL);

	store_relaxed(&stack_stays, true);
	leave();
	if (real)
		real(status);
	for (;;)
		hwr_syscall3(SYS_exit_group, status, 0, 0);
}

HWR_EXPORT __attribute__((noreturn)) void _Exit(int status) { _exit(status); }

#ifndef HWR_LINKED /* in a static program the C library's cannot be reached behind ours */
/* Runs no destructors. */
HWR_EXPORT __attribute__((noreturn)) void quick_exit(int status)
{
	void (*real)(int) = hwr_real_symbol("quick_exit", NULL, NULL);

	store_relaxed(&stack_stays, true);
	leave();
	if (real)
		real(status);
	_exit(status);
}

/* The program's own calls: when main returns the C library calls its own. */
HWR_EXPORT __attribute__((noreturn)) void exit(int status)
{
	void (*real)(int) = hwr_real_symbol("exit", NULL, NULL);

	store_relaxed(&stack_stays, true);
	if (real)
		real(status);
	_exit(status);
}
#endif
