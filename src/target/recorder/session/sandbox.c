/* SPDX-License-Identifier: MIT
 * seccomp; see sandbox.h. Runs in the target, in the calls by which a program installs a filter.
 * Keeps nothing of the filter: each call of ours is tried on it once, with the arguments that we
 * usually give, and those that would not simply be allowed are not made any more. Filters that are
 * installed by a bare system call are not seen. */
#include "target/recorder/session/sandbox.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "target/recorder/state/access.h"
#include "target/recorder/state/state.h"
#include "target/recorder/state/sys.h"

u64 hwr_refused[HWR_CALLS / 64];

enum { NEW_LISTENER = 8 /* SECCOMP_FILTER_FLAG_NEW_LISTENER, since 5.0 */ };
enum { STEPS_MAX = BPF_MAXINSNS, WORDS = sizeof(struct seccomp_data) / 4 };

/* All that sys.h and the rest of the recorder ask for. */
static const struct {
	u16 number;
	u32 third, fourth; /* arguments, where filters look at them */
} asked[] = {
	{SYS_mmap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS},
	{SYS_mprotect, PROT_READ | PROT_WRITE, 0},
	{SYS_munmap, 0, 0},
	{SYS_mremap, 0, 3 /* MREMAP_MAYMOVE, MREMAP_FIXED */},
	{SYS_madvise, MADV_DONTNEED, 0},
	{SYS_openat, 02000000, 0},
	{SYS_read, 0, 0},
	{SYS_write, 0, 0},
	{SYS_close, 0, 0},
	{SYS_lseek, 0, 0},
	{SYS_readlinkat, 0, 0},
	{SYS_getcwd, 0, 0},
	{SYS_getpid, 0, 0},
	{SYS_getppid, 0, 0},
	{SYS_gettid, 0, 0},
	{SYS_sched_yield, 0, 0},
	{SYS_tgkill, 0, 0},
	{SYS_tkill, 0, 0},
	{SYS_futex, 0, 0},
	{SYS_clock_gettime, 0, 0},
	{SYS_sigaltstack, 0, 0},
	{SYS_rt_sigprocmask, 0, 8},
	{SYS_rt_sigreturn, 0, 0},
	{SYS_prctl, 0, 0},
	{SYS_prlimit64, 0, 0},
	{SYS_membarrier, 0, 0},
	{SYS_nanosleep, 0, 0},
	{SYS_getcpu, 0, 0},
	{SYS_sched_getaffinity, 0, 0},
	{SYS_sched_setaffinity, 0, 0},
};

/* How many filters programs have begun to install, and have installed or failed to. */
static u64 begun, ended;

static void refuse(struct hwr_sandbox *self, long number)
{
	u64 *word = &hwr_refused[number / 64], bit = 1ull << (number % 64);

	self->added[number / 64] |= bit & ~load_relaxed(word);
	store_relaxed(word, load_relaxed(word) | bit);
}

/* ---- the filter's machine ---- */

struct machine {
	u32 a, x;
	u32 memory[BPF_MEMWORDS];
	const u32 *data;
};

static u32 calculate(const struct machine *m, const struct sock_filter *step)
{
	u32 operand = BPF_SRC(step->code) == BPF_X ? m->x : step->k;

	switch (BPF_OP(step->code)) {
	case BPF_ADD: return m->a + operand;
	case BPF_SUB: return m->a - operand;
	case BPF_MUL: return m->a * operand;
	case BPF_DIV: return operand ? m->a / operand : 0;
	case BPF_OR: return m->a | operand;
	case BPF_AND: return m->a & operand;
	case BPF_XOR: return m->a ^ operand;
	case BPF_LSH: return operand < 32 ? m->a << operand : 0;
	case BPF_RSH: return operand < 32 ? m->a >> operand : 0;
	default: return -m->a; /* BPF_NEG */
	}
}

static u32 jump(const struct machine *m, const struct sock_filter *step)
{
	u32 operand = BPF_SRC(step->code) == BPF_X ? m->x : step->k;
	bool holds;

	switch (BPF_OP(step->code)) {
	case BPF_JA: return step->k;
	case BPF_JEQ: holds = m->a == operand; break;
	case BPF_JGT: holds = m->a > operand; break;
	case BPF_JGE: holds = m->a >= operand; break;
	default: holds = m->a & operand; break; /* BPF_JSET */
	}
	return holds ? step->jt : step->jf;
}

static u32 loaded(const struct machine *m, const struct sock_filter *step)
{
	switch (BPF_MODE(step->code)) {
	case BPF_ABS: return step->k / 4 < WORDS ? m->data[step->k / 4] : 0;
	case BPF_IMM: return step->k;
	case BPF_LEN: return sizeof(struct seccomp_data);
	default: return m->memory[step->k % BPF_MEMWORDS]; /* BPF_MEM */
	}
}

/* What the filter would answer. A filter jumps forwards only, so that it ends. */
static u32 filter_run(const struct sock_fprog *filter, const struct seccomp_data *data)
{
	struct machine m = {.data = (const u32 *)data};

	for (u32 at = 0; at < filter->len && at < STEPS_MAX; at++) {
		const struct sock_filter *step = &filter->filter[at];

		switch (BPF_CLASS(step->code)) {
		case BPF_LD: m.a = loaded(&m, step); break;
		case BPF_LDX: m.x = loaded(&m, step); break;
		case BPF_ST: m.memory[step->k % BPF_MEMWORDS] = m.a; break;
		case BPF_STX: m.memory[step->k % BPF_MEMWORDS] = m.x; break;
		case BPF_ALU: m.a = calculate(&m, step); break;
		case BPF_JMP: at += jump(&m, step); break;
		case BPF_RET: return BPF_RVAL(step->code) == BPF_A ? m.a : step->k;
		default: /* BPF_MISC */
			if (BPF_MISCOP(step->code) == BPF_TAX)
				m.x = m.a;
			else
				m.a = m.x;
			break;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

static bool is_allowed(const struct sock_fprog *filter, u32 i)
{
	const struct seccomp_data data = {
		.nr = asked[i].number,
		.arch = (u32)HWR_AUDIT_ARCH,
		.instruction_pointer = (u64)&hwr_refused,
		.args = {0, 0, asked[i].third, asked[i].fourth, 0, 0},
	};
	u32 action = filter_run(filter, &data) & SECCOMP_RET_ACTION_FULL;

	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

/* ---- what programs call ---- */

/* Before the filter holds, all is open. */
static void faults_stop(const struct sock_fprog *filter)
{
	for (u32 i = 0; i < sizeof asked / sizeof *asked; i++)
		if (hwr_access_faults_need(asked[i].number) &&
		    (!filter || !is_allowed(filter, i))) {
			hwr_access_faults_stop();
			return;
		}
}

/* A mistake of the program's is for the kernel to tell. Where a filter before this one forbids to
 * ask, it made none. */
static bool can_be_read(const void *pointer)
{
	hwr_access_open(pointer); /* the kernel calls armed memory unreadable */
	return pointer && (hwr_is_refused(SYS_rt_sigprocmask) || hwr_readable((u64)pointer));
}

/* A filter may be for all threads. */
static void helper_stop(const struct sock_fprog *filter)
{
	for (u32 i = 0; i < sizeof asked / sizeof *asked; i++)
		if (hwr_access_helper_needs(asked[i].number) && !is_allowed(filter, i)) {
			hwr_access_helper_stop();
			return;
		}
}

static void sandbox_filter(struct hwr_sandbox *self, const void *pointer)
{
	const struct sock_fprog *filter = pointer;

	self->filters = true;
	self->number = add_acq_rel(&begun, 1);
	self->alone = load_acquire(&ended) == self->number;
	if (!can_be_read(filter) || !can_be_read(filter->filter))
		return;
	faults_stop(filter);
	if (load_relaxed(&hwr_token.alive)) /* in a forked child there is no helper */
		helper_stop(filter);
	for (u32 i = 0; i < sizeof asked / sizeof *asked; i++)
		if (!is_allowed(filter, i))
			refuse(self, asked[i].number);
}

void hwr_sandbox_end(const struct hwr_sandbox *self, long result)
{
	bool failed = result < 0 || (result > 0 && !self->gives_descriptor);

	if (!self->filters)
		return;
	/* Another thread's filter may refuse the same: then calls stay away that are allowed. */
	if (failed && self->alone && load_acquire(&begun) == self->number + 1)
		for (u32 i = 0; i < HWR_CALLS / 64; i++)
			store_relaxed(&hwr_refused[i],
				      load_relaxed(&hwr_refused[i]) & ~self->added[i]);
	add_acq_rel(&ended, 1);
}

static void sandbox_strict(struct hwr_sandbox *self)
{
	if (load_relaxed(&hwr_token.alive))
		hwr_fault(HW_FAULT_SANDBOX);
	faults_stop(NULL);
	hwr_session_leave();
	for (u32 i = 0; i < sizeof asked / sizeof *asked; i++)
		refuse(self, asked[i].number);
}

static int answer(long result)
{
	if (!hwr_sys_failed((void *)result))
		return (int)result;
	errno = (int)-result;
	return -1;
}

HWR_EXPORT int mlockall(int flags)
{
	enum { ON_FAULT = 4 }; /* MCL_ONFAULT, since 4.4 */
	long result = -22 /* EINVAL */;

	/* The berth has room for thousands of threads, which is nowhere until it is used: pages are
	 * locked when they come, ours and the program's. */
	if (load_relaxed(&hwr_mapped_bytes))
		result = hwr_syscall3(SYS_mlockall, flags | ON_FAULT, 0, 0);
	if (result == -22 /* EINVAL */)
		result = hwr_syscall3(SYS_mlockall, flags, 0, 0);
	return answer(result);
}

#ifndef HWR_PAGES /* where access/pages/calls.c stands in these places */
HWR_EXPORT int prctl(int what, ...)
{
	struct hwr_sandbox sandbox = {0};
	unsigned long arguments[4];
	va_list rest;
	long result;

	va_start(rest, what);
	for (u32 i = 0; i < 4; i++)
		arguments[i] = va_arg(rest, unsigned long);
	va_end(rest);
	hwr_sandbox_prctl(&sandbox, what, arguments[0], arguments[1]);
	result = hwr_syscall6(SYS_prctl, what, (long)arguments[0], (long)arguments[1],
			      (long)arguments[2], (long)arguments[3], 0);
	hwr_sandbox_end(&sandbox, result);
	return answer(result);
}
#endif

void hwr_sandbox_prctl(struct hwr_sandbox *self, int what, unsigned long mode, unsigned long filter)
{
	if (what == PR_SET_SECCOMP && mode == SECCOMP_MODE_FILTER)
		sandbox_filter(self, (const void *)filter);
	else if ((what == PR_SET_SECCOMP && mode == SECCOMP_MODE_STRICT) ||
		 (what == PR_SET_TSC && mode == PR_TSC_SIGSEGV))
		sandbox_strict(self);
}

/* Strict mode has no flags and no filter: libseccomp asks for it with one to be refused, and so
 * learns that there is the call. */
void hwr_sandbox_seccomp(struct hwr_sandbox *self, unsigned long mode, unsigned long flags,
			 unsigned long filter)
{
	self->gives_descriptor = flags & NEW_LISTENER;
	if (mode == SECCOMP_SET_MODE_FILTER)
		sandbox_filter(self, (const void *)filter);
	else if (mode == SECCOMP_SET_MODE_STRICT && !(u32)flags && !filter)
		sandbox_strict(self);
}

/* The target of syscall_arch.S, for seccomp and for failures. */
long hwr_syscall_seccomp(long number, long mode, long flags, long filter)
{
	struct hwr_sandbox sandbox = {0};
	long result;

	hwr_sandbox_seccomp(&sandbox, (unsigned long)mode, (unsigned long)flags,
			    (unsigned long)filter);
	result = hwr_syscall3(number, mode, flags, filter);
	hwr_sandbox_end(&sandbox, result);
	return answer(result);
}

long hwr_syscall_failed(long result) { return answer(result); }
