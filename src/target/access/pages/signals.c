/* SPDX-License-Identifier: MIT
 * Functions that change what happens at a SIGSEGV. Runs in the target, in front of libc's. The
 * program sees what it has set; the kernel keeps our handler, and no mask that the program sets has
 * the signal in it: a fault that is blocked ends a process. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "target/access/pages/pages.h"
#include "target/access/pages/units.h"
#include "target/recorder/state/real.h"
#include "target/recorder/state/sys.h"
#include "target/recorder/state/thread.h"

typedef int (*sigaction_function)(int, const struct sigaction *, struct sigaction *);
typedef void (*handler)(int);

/* The program's action. Changed seldom, read by the handler: which of two is the present one. */
static struct sigaction actions[2];
static u32 present;
static bool taken; /* SIGSEGV is ours */
static __thread bool blocked __attribute__((tls_model("initial-exec")));

/* ---- the action ---- */

void hwr_signals_get(struct sigaction *action) { *action = actions[load_acquire(&present) & 1]; }
bool hwr_signals_blocked(void) { return blocked; }

static void set_action(const struct sigaction *action)
{
	u32 next = load_relaxed(&present) + 1;

	actions[next & 1] = *action;
	store_release(&present, next);
}

void hwr_signals_init(const struct sigaction *action)
{
	set_action(action);
	store_release(&taken, true);
}

void hwr_signals_reset(void)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};

	set_action(&plain);
}

static bool is_ours(int number) { return number == SIGSEGV && load_acquire(&taken); }

HWR_EXPORT int sigaction(int number, const struct sigaction *wanted, struct sigaction *old)
{
	static void *real;
	sigaction_function next = (sigaction_function)hwr_real_once(&real, "sigaction");
	struct sigaction before, now;

	if (is_ours(number)) {
		hwr_signals_get(&before);
		if (wanted)
			set_action(wanted);
		if (old)
			*old = before;
		return 0;
	}
	if (!wanted || !load_relaxed(&taken))
		return next(number, wanted, old);
	now = *wanted;
	hwr_mask_remove(&now.sa_mask);
	return next(number, &now, old);
}
static handler set_handler(handler wanted, int flags)
{
	struct sigaction before, now = {.sa_handler = wanted, .sa_flags = flags};

	hwr_signals_get(&before);
	set_action(&now);
	return before.sa_handler;
}

#define SIGNAL_FUNCTION(name, flags)                                                               \
	handler name(int number, handler wanted);                                                  \
	HWR_EXPORT handler name(int number, handler wanted)                                        \
	{                                                                                          \
		static void *real;                                                                 \
                                                                                                   \
		if (is_ours(number))                                                               \
			return set_handler(wanted, flags);                                         \
		return ((handler(*)(int, handler))hwr_real_once(&real, #name))(number, wanted);    \
	}

SIGNAL_FUNCTION(signal, SA_RESTART)
SIGNAL_FUNCTION(bsd_signal, SA_RESTART)
SIGNAL_FUNCTION(ssignal, SA_RESTART)
SIGNAL_FUNCTION(sysv_signal, (int)(SA_RESETHAND | SA_NODEFER))
SIGNAL_FUNCTION(__sysv_signal, (int)(SA_RESETHAND | SA_NODEFER))

/* ---- masks ---- */

/* What goes to the kernel instead of `set`. */
static const sigset_t *without(const sigset_t *set, sigset_t *copy)
{
	if (!set || !load_relaxed(&taken))
		return set;
	*copy = *set;
	hwr_mask_remove(copy);
	return copy;
}

/* The program is told of the mask that it has set. */
static void follow_mask(int how, const sigset_t *set, sigset_t *old)
{
	bool was = blocked;

	if (set && (how == SIG_SETMASK || hwr_mask_has(set)))
		blocked = how != SIG_UNBLOCK && hwr_mask_has(set);
	if (old && was)
		hwr_mask_add(old);
}

#define MASK_FUNCTION(name)                                                                        \
	HWR_EXPORT int name(int how, const sigset_t *set, sigset_t *old)                           \
	{                                                                                          \
		static void *real;                                                                 \
		sigset_t copy, given;                                                              \
		int status;                                                                        \
                                                                                                   \
		if (set)                                                                           \
			given = *set; /* may be the same as *old */                                \
		status = ((int (*)(int, const sigset_t *, sigset_t *))                             \
				  hwr_real_once(&real, #name))(how, without(set, &copy), old);     \
		if (status == 0 && load_relaxed(&taken))                                           \
			follow_mask(how, set ? &given : NULL, old);                                \
		return status;                                                                     \
	}

MASK_FUNCTION(sigprocmask)
MASK_FUNCTION(pthread_sigmask)

HWR_EXPORT int sigsuspend(const sigset_t *set)
{
	static void *real;
	sigset_t copy;

	return ((int (*)(const sigset_t *))hwr_real_once(&real, "sigsuspend"))(without(set, &copy));
}

/* What these are given is open until they return, as in calls.c. */
HWR_EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		     const sigset_t *set)
{
	static void *real;
	sigset_t copy;
	int result;

	hwr_pages_hold(fds);
	hwr_pages_hold(timeout);
	result = ((int (*)(struct pollfd *, nfds_t, const struct timespec *,
			   const sigset_t *))hwr_real_once(&real, "ppoll"))(fds, count, timeout,
									    without(set, &copy));
	hwr_pages_let_go(fds);
	hwr_pages_let_go(timeout);
	return result;
}

HWR_EXPORT int pselect(int count, fd_set *r, fd_set *w, fd_set *e, const struct timespec *timeout,
		       const sigset_t *set)
{
	static void *real;
	sigset_t copy;
	int result;

	hwr_pages_hold(r);
	hwr_pages_hold(w);
	hwr_pages_hold(e);
	hwr_pages_hold(timeout);
	result = ((int (*)(int, fd_set *, fd_set *, fd_set *, const struct timespec *,
			   const sigset_t *))hwr_real_once(&real, "pselect"))(count, r, w, e,
									      timeout,
									      without(set, &copy));
	hwr_pages_let_go(r);
	hwr_pages_let_go(w);
	hwr_pages_let_go(e);
	hwr_pages_let_go(timeout);
	return result;
}

HWR_EXPORT int epoll_pwait(int fd, struct epoll_event *events, int count, int timeout,
			   const sigset_t *set)
{
	static void *real;
	sigset_t copy;
	int result;

	hwr_pages_hold(events);
	result = ((int (*)(int, struct epoll_event *, int, int, const sigset_t *))hwr_real_once(
		&real, "epoll_pwait"))(fd, events, count, timeout, without(set, &copy));
	hwr_pages_let_go(events);
	return result;
}

/* ---- the alternate stack ---- */

static bool is_fault_stack(const stack_t *stack)
{
	return hwr_self && stack->ss_sp == hwr_self->fault_stack;
}

/* A thread that never had a stack may ask for none of them in this way, and gets it. */
static bool is_nothing(const stack_t *stack)
{
	return !stack->ss_sp && !stack->ss_size && !stack->ss_flags;
}

/* The stack that we have given the thread is nothing to the program. A stack that it has in the
 * heap must never be armed: the kernel could not deliver the fault. */
HWR_EXPORT int sigaltstack(const stack_t *wanted, stack_t *old)
{
	stack_t before = {.ss_flags = 0};
	long status;

	if (wanted && !(wanted->ss_flags & SS_DISABLE) && hwr_heap_has((u64)wanted->ss_sp))
		hwr_unit_keep((u64)wanted->ss_sp);
	status = hwr_syscall3(SYS_sigaltstack, 0, (long)&before, 0);
	if (status == 0 && wanted) {
		stack_t copy = *wanted;

		if (!is_nothing(&copy) || !is_fault_stack(&before) || !hwr_self->takes_no_stack)
			status = hwr_syscall3(SYS_sigaltstack, (long)&copy, 0, 0);
	}
	if (status < 0) {
		errno = (int)-status;
		return -1;
	}
	if (wanted && wanted->ss_flags & SS_DISABLE && hwr_self && hwr_self->fault_stack)
		hwr_fault_thread(hwr_self);
	if (old)
		*old = is_fault_stack(&before) ? (stack_t){.ss_flags = SS_DISABLE} : before;
	return 0;
}

/* An older form, in which the address is the size, too. The library's own asks the kernel at once.
 */
int sigstack(struct sigstack *wanted, struct sigstack *old);

HWR_EXPORT int sigstack(struct sigstack *wanted, struct sigstack *old)
{
	stack_t next, before;
	int status;

	if (wanted)
		next = (stack_t){.ss_sp = wanted->ss_sp,
				 .ss_size = (size_t)wanted->ss_sp,
				 .ss_flags = wanted->ss_onstack != 0};
	status = sigaltstack(wanted ? &next : NULL, old ? &before : NULL);
	if (status == 0 && old)
		*old = (struct sigstack){before.ss_sp, before.ss_flags & SS_ONSTACK};
	return status;
}
