/* SPDX-License-Identifier: MIT
 * All that the recorder asks of the operating system, on one page. Runs in the target.
 * Raw system calls: no errno, no cancellation point, nothing that a program can interpose.
 * Functions return the kernel's answer: -errno on failure. */
#ifndef TARGET_RECORDER_STATE_SYS_H
#define TARGET_RECORDER_STATE_SYS_H

#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "format/atomics.h"
#include "format/ticks.h"
#include "target/recorder/state/arch/arch.h"
#include "target/recorder/state/own.h"

#define HWR_PAGE 4096ul

static inline long hwr_syscall3(long number, long a, long b, long c)
{
	return hwr_syscall6(number, a, b, c, 0, 0, 0);
}

/* Calls that the program's sandbox would punish, one bit each: the program would pay for ours.
 * sandbox.c */
enum { HWR_CALLS = 512 };
#ifdef HWR_ALONE /* without the rest of the recorder */
static const u64 hwr_refused[HWR_CALLS / 64];
#else
extern u64 hwr_refused[HWR_CALLS / 64] HWR_OWN;
#endif

/* Tests: whether this call fails on purpose; inject.c. */
#ifdef HWR_INJECT
bool hwr_inject(long number);
#else
static inline bool hwr_inject(long number)
{
	(void)number;
	return false;
}
#endif

static inline bool hwr_is_refused(long number)
{
	return unlikely(load_relaxed(&hwr_refused[number / 64]) >> (number % 64) & 1);
}

/* What the recorder asks for itself, not for the program. */
static inline long hwr_ask6(long number, long a, long b, long c, long d, long e, long f)
{
	if (hwr_is_refused(number))
		return -1 /* EPERM */;
	if (hwr_inject(number))
		return -12 /* ENOMEM */;
	return hwr_syscall6(number, a, b, c, d, e, f);
}

static inline long hwr_ask3(long number, long a, long b, long c)
{
	return hwr_ask6(number, a, b, c, 0, 0, 0);
}

static inline bool hwr_sys_failed(const void *p) { return (u64)p > (u64)-4096; }

static inline void *hwr_mmap(size_t bytes, int protection, int flags, int fd)
{
	return (void *)hwr_ask6(SYS_mmap, 0, (long)bytes, protection, flags, fd, 0);
}

/* Remembers memory that is the recorder's own, for the monitor's look at the program's; exit.c. */
void hwr_own_map(void *p, size_t bytes);

/* Private zeroed memory, NULL if there is none. */
static inline void *hwr_map_private(size_t bytes)
{
	void *p = hwr_mmap(bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);

	if (hwr_sys_failed(p))
		return NULL;
	hwr_own_map(p, bytes);
	return p;
}

static inline void hwr_munmap(void *p, size_t bytes)
{
	hwr_ask3(SYS_munmap, (long)p, (long)bytes, 0);
}

static inline long hwr_madvise(void *p, size_t bytes, int advice)
{
	return hwr_ask3(SYS_madvise, (long)p, (long)bytes, advice);
}

static inline int hwr_open(const char *path, int flags)
{
	return (int)hwr_ask6(SYS_openat, -100 /* AT_FDCWD */, (long)path, flags, 0, 0, 0);
}

static inline long hwr_read(int fd, void *buffer, size_t bytes)
{
	return hwr_ask3(SYS_read, fd, (long)buffer, (long)bytes);
}

static inline long hwr_write(int fd, const void *buffer, size_t bytes)
{
	return hwr_ask3(SYS_write, fd, (long)buffer, (long)bytes);
}

static inline void hwr_close(int fd) { hwr_ask3(SYS_close, fd, 0, 0); }

/* What a small file has, at most `bytes` of it. */
static inline long hwr_read_file(const char *path, void *buffer, size_t bytes)
{
	int fd = hwr_open(path, 02000000 /* O_RDONLY | O_CLOEXEC */);
	long n = fd < 0 ? fd : hwr_read(fd, buffer, bytes);

	if (fd >= 0)
		hwr_close(fd);
	return n;
}

static inline long hwr_readlink(const char *path, void *buffer, size_t bytes)
{
	return hwr_ask6(SYS_readlinkat, -100 /* AT_FDCWD */, (long)path, (long)buffer, (long)bytes,
			0, 0);
}

/* Bytes of the path, terminator included. */
static inline long hwr_getcwd(char *buffer, size_t bytes)
{
	return hwr_ask3(SYS_getcwd, (long)buffer, (long)bytes, 0);
}

static inline u32 hwr_getpid(void) { return (u32)hwr_ask3(SYS_getpid, 0, 0, 0); }
static inline u32 hwr_getppid(void) { return (u32)hwr_ask3(SYS_getppid, 0, 0, 0); }
/* (u32)-1 if it may not be asked: no thread has that number. */
static inline u32 hwr_gettid(void) { return (u32)hwr_ask3(SYS_gettid, 0, 0, 0); }
static inline void hwr_yield(void) { hwr_ask3(SYS_sched_yield, 0, 0, 0); }

/* Whether thread tid of process pid still exists. Signal 0 tests without sending. */
static inline bool hwr_thread_exists(u32 pid, u32 tid)
{
	return hwr_ask3(SYS_tgkill, pid, tid, 0) != -3 /* ESRCH */;
}

/* The same of any process. */
static inline bool hwr_task_exists(u32 tid)
{
	return hwr_ask3(SYS_tkill, tid, 0, 0) != -3 /* ESRCH */;
}

/* Waits until *word differs from seen, a wake-up, or the timeout. */
static inline void hwr_futex_wait(const u32 *word, u32 seen, long timeout_ns)
{
	struct timespec timeout = {.tv_sec = timeout_ns / 1000000000,
				   .tv_nsec = timeout_ns % 1000000000};

	hwr_ask6(SYS_futex, (long)word, FUTEX_WAIT, seen, (long)&timeout, 0, 0);
}

static inline void hwr_futex_wake(u32 *word)
{
	hwr_ask3(SYS_futex, (long)word, FUTEX_WAKE, 1 << 30);
}

static inline void hwr_sleep_ns(u64 ns)
{
	struct timespec pause = {.tv_sec = (long)(ns / 1000000000),
				 .tv_nsec = (long)(ns % 1000000000)};

	hwr_ask3(SYS_nanosleep, (long)&pause, 0, 0);
}

static inline u64 hwr_monotonic_ns(void)
{
	struct timespec now = {0, 0};

	/* Without a clock waiting must end all the same: ticks are of the same order. */
	if (hwr_ask3(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0) != 0)
		return hw_ticks();
	return (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
}

/* CPU time: CLOCK_THREAD_CPUTIME_ID or CLOCK_PROCESS_CPUTIME_ID. */
static inline u64 hwr_cpu_ns(clockid_t clock)
{
	struct timespec now = {0, 0};

	hwr_ask3(SYS_clock_gettime, clock, (long)&now, 0);
	return (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
}

/* Bytes that the process may map in all, ~0 if there is no limit. */
static inline u64 hwr_address_space(void)
{
	u64 limit[2] = {~0ull, ~0ull};

	hwr_ask6(SYS_prlimit64, 0, 9 /* RLIMIT_AS */, 0, (long)limit, 0, 0);
	return limit[0];
}

/* Whether the calling code runs on its thread's alternate signal stack. */
static inline bool hwr_on_alternate_stack(void)
{
	stack_t stack = {.ss_flags = 0};

	hwr_ask3(SYS_sigaltstack, 0, (long)&stack, 0);
	return stack.ss_flags & SS_ONSTACK;
}

/* Whether 8 bytes at address can be read. The kernel copies the new mask in before it looks at
 * `how`, so an impossible `how` changes nothing and tells EFAULT from EINVAL. */
static inline bool hwr_readable(u64 address)
{
	return hwr_ask6(SYS_rt_sigprocmask, -1, (long)address, 0, 8, 0, 0) == -22 /* EINVAL */;
}

#endif
