/* SPDX-License-Identifier: MIT
 * The handler of SIGSEGV: opens the armed unit that was touched and records the hit; all other
 * faults are the program's. Runs in the target, on a stack of its own where the thread has one.
 * Never waits but for the ring. */
#include <errno.h>
#include <ucontext.h>

#include "target/access/arch/arch.h"
#include "target/access/pages/pages.h"
#include "target/access/pages/units.h"
#include "target/recorder/hooks/call.h"
#include "target/recorder/state/caller.h"
#include "target/recorder/state/real.h"
#include "target/recorder/state/state.h"
#include "target/recorder/state/sys.h"
#include "target/recorder/state/thread.h"

enum {
	PROBES = 16,
	TICKS_MOST = 8,       /* times what an empty fault takes */
	RETRIES_MAX = 100000, /* of one access to a unit that is open */
};

static u8 *probe;      /* a page to measure with */
static u64 ticks_most; /* that a hit can take: beyond that somebody else had the CPU */

bool hwr_pages_flooded(void)
{
	const struct hw_pages *pages = &hwr_control->pages;
	u64 most = load_relaxed(&pages->spend_most);

	return unlikely(most) &&
	       load_relaxed(&pages->hit_ticks) +
			       load_relaxed(&pages->hits) * load_relaxed(&pages->fault_ticks) >=
		       most;
}

/* Hits that come together cannot be foreseen; the stated overhead holds all the same. Once for each
 * limit: the helper arms nothing until the monitor has set another. */
static __attribute__((noinline)) void flood(void)
{
	static u64 done_for;
	struct hw_pages *pages = &hwr_control->pages;
	u64 most = load_relaxed(&pages->spend_most), before = load_relaxed(&done_for);

	if (before == most || !cas_acq_rel(&done_for, &before, most))
		return;
	hwr_units_open_all(false);
	add_relaxed(&pages->floods, 1);
	/* What is armed by now may look open to the monitor, never the other way round. */
	store_release(&pages->flood_ticks, hw_ticks());
}

void hwr_pages_spent(u64 since)
{
	u64 ticks = hw_ticks() - since;

	add_relaxed(&hwr_control->pages.hit_ticks, ticks < ticks_most ? ticks : ticks_most);
	if (unlikely(hwr_pages_flooded()))
		flood();
	else if (unlikely(!hwr_helper_monitor_lives())) /* the helper may sleep for long */
		hwr_units_open_all(false);
}

/* ---- the program's turn ---- */

/* A frame of its own: its masks are large, and who records a hit must not have room for them. */
static __attribute__((noinline)) void call_handler(const struct sigaction *action, int number,
						   siginfo_t *info, void *context)
{
	sigset_t mask = action->sa_mask, before;

	hwr_mask_remove(&mask);
	hwr_ask6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&mask, (long)&before, 8, 0, 0);
	if (action->sa_flags & SA_SIGINFO)
		action->sa_sigaction(number, info, context);
	else
		action->sa_handler(number);
	hwr_ask6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, 8, 0, 0);
}

/* As if nobody had a handler: the access is made again, or the signal sent again. */
static void die(const siginfo_t *info)
{
	struct {
		void (*handler)(int);
		u64 flags, restorer, mask;
	} plain = {.handler = SIG_DFL};

	hwr_syscall6(SYS_rt_sigaction, SIGSEGV, (long)&plain, 0, 8, 0, 0);
	if (info->si_code <= 0)
		hwr_syscall3(SYS_tgkill, hwr_getpid(), hwr_gettid(), SIGSEGV);
}

static void chain(int number, siginfo_t *info, void *context)
{
	struct sigaction action;

	hwr_signals_get(&action);
	if (action.sa_flags & SA_RESETHAND)
		hwr_signals_reset();
	/* A fault that is ignored or blocked ends a program all the same. */
	if (info->si_code <= 0 && !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN)
		return;
	if (!(action.sa_flags & SA_SIGINFO) &&
	    (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN))
		die(info);
	else if (info->si_code > 0 && hwr_signals_blocked())
		die(info);
	else
		call_handler(&action, number, info, context);
}

/* ---- hits ---- */

static void record(u64 address, void *context, const struct hwr_caller *caller)
{
	struct hwr_call call = {.caller = *caller};

	add_relaxed(&hwr_control->pages.hits, 1);
	hwr_call_begin(&call);
	hwr_call_hit(&call, hwr_fault_is_write(context) ? HW_HIT_WRITE : 0, address);
	if (load_relaxed(&hwr_control->pages.around_most))
		hwr_pages_around(&call, address);
}

/* Another thread was faster, and the access is to be made again; unless that never helps. */
static bool may_retry(u64 address)
{
	static __thread u64 last __attribute__((tls_model("initial-exec")));
	static __thread u32 count __attribute__((tls_model("initial-exec")));
	u64 bytes;

	if (load_acquire(&hwr_unit_at(hwr_unit_start(address, &bytes))->word) & HWR_UNIT_KEPT)
		return false; /* the program has protected it by itself */
	count = last == address ? count + 1 : 0;
	last = address;
	return count < RETRIES_MAX;
}

/* True if the access may be made again. */
static bool serve(u64 address, void *context, const struct hwr_caller *caller)
{
	u64 start = hw_ticks();

	if (probe && address - (u64)probe < HWR_PAGE)
		return hwr_syscall3(SYS_mprotect, (long)probe, HWR_PAGE, PROT_READ | PROT_WRITE) ==
		       0;
	if (!hwr_heap_has(address))
		return false;
	if (!load_relaxed(&hwr_token.alive)) /* a forked child: nobody arms anything there */
		return hwr_unit_free_child(address);
	if (!hwr_unit_open(address))
		return may_retry(address);
	record(address, context, caller);
	hwr_pages_spent(start);
	return true;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	struct hwr_caller caller = HWR_CALLER();
	int saved = errno;

	if (info->si_code == SEGV_ACCERR && serve((u64)info->si_addr, context, &caller)) {
		errno = saved;
		return;
	}
	errno = saved;
	chain(number, info, context);
}

/* ---- setting up ---- */

/* What a fault costs when nothing is recorded: the least of several. */
static u64 measure(void)
{
	u64 least = UINT64_MAX;

	for (u32 i = 0; i < PROBES; i++) {
		u64 start, ticks, ns;

		hwr_syscall3(SYS_mprotect, (long)probe, HWR_PAGE, PROT_NONE);
		ticks = hw_ticks();
		start = hwr_monotonic_ns();
		store_relaxed(probe, 1);
		ns = hwr_monotonic_ns() - start;
		ticks = hw_ticks() - ticks;
		ticks_most = ns < least ? TICKS_MOST * ticks : ticks_most;
		least = ns < least ? ns : least;
	}
	return least;
}

static int install(struct sigaction *before)
{
	static void *real;
	int (*next)(int, const struct sigaction *, struct sigaction *) =
		(int (*)(int, const struct sigaction *,
			 struct sigaction *))hwr_real_once(&real, "sigaction");
	/* SA_NODEFER: what the handler calls may touch armed memory. */
	struct sigaction action = {
		.sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART,
	};

	return next ? next(SIGSEGV, &action, before) : -1;
}

bool hwr_fault_attach(void)
{
	u64 mask = 1ull << (SIGSEGV - 1);
	struct sigaction before;

	if (!probe) {
		probe = hwr_map_private(HWR_PAGE);
		if (!probe)
			return false;
		if (install(&before) != 0)
			return false;
		hwr_signals_init(&before);
	}
	hwr_syscall6(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&mask, 0, 8, 0, 0);
	hwr_control->pages.fault_ns = measure();
	return true;
}

void hwr_fault_thread(struct hwr_thread *t)
{
	stack_t stack = {.ss_flags = 0}, old = {.ss_flags = 0};

	hwr_ask3(SYS_sigaltstack, 0, (long)&old, 0);
	if (!(old.ss_flags & SS_DISABLE))
		return;
	/* Changes nothing: it is refused, or what the thread has. */
	t->takes_no_stack = hwr_ask3(SYS_sigaltstack, (long)&stack, 0, 0) == 0;
	stack.ss_sp = t->fault_stack;
	stack.ss_size = HWR_FAULT_STACK;
	hwr_ask3(SYS_sigaltstack, (long)&stack, 0, 0);
}
