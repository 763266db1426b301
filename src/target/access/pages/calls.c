/* SPDX-License-Identifier: MIT
 * Functions of libc that hand memory of the program to the kernel. Runs in the target, in front of
 * the real ones, which do all the work. A program that touches armed memory gets a fault; a system
 * call that does gets EFAULT, and a datagram read into such memory is lost. So whatever argument
 * points into the heap is opened, and stays open until the call is over: a unit is all of the chunk
 * that it points into, so that nobody needs to know how much of it is used. A pin that is never
 * taken back, because a handler jumps out of the call or the thread is cancelled in it, leaves the
 * unit open for good: nothing is monitored wrongly. */
#include "target/access/pages/gates.h"
#include "target/access/pages/pins.h"
#include "target/access/pages/units.h"
#include "target/recorder/session/sandbox.h"
#include "target/recorder/state/access.h"
#include "target/recorder/state/real.h"
#include "target/recorder/state/sys.h"

extern char **environ;

enum { ARGUMENTS = 6 };
typedef long (*function)(long, long, long, long, long, long);

/* Of the registers beyond its arguments a function knows nothing: they may hold anything. */
static inline __attribute__((always_inline)) bool any_in_heap(const long *a, u32 count)
{
	for (u32 i = 0; i < count; i++)
		if (hwr_heap_has((u64)a[i]))
			return true;
	return false;
}

static __attribute__((noinline)) long call_pinned(function next, const long *a, u32 count)
{
	struct hwr_pins pins;
	long result;

	pins.count = 0;
	for (u32 i = 0; i < count; i++)
		hwr_pin(&pins, (u64)a[i]);
	result = next(a[0], a[1], a[2], a[3], a[4], a[5]);
	hwr_unpin(&pins);
	return result;
}

/* Integers and pointers are passed in the same registers whether a function takes six of them or
 * fewer, and whether it is variadic. */
#define DEFINE_CALL(name, count)                                                                   \
	HWR_EXPORT long hwr_call_##name(long a, long b, long c, long d, long e,                    \
					long f) __asm__(#name);                                    \
	long hwr_call_##name(long a, long b, long c, long d, long e, long f)                       \
	{                                                                                          \
		static void *real;                                                                 \
		const long arguments[ARGUMENTS] = {a, b, c, d, e, f};                              \
		function next = (function)hwr_real_once(&real, #name);                             \
                                                                                                   \
		if (likely(!any_in_heap(arguments, count)))                                        \
			return next(a, b, c, d, e, f);                                             \
		return call_pinned(next, arguments, count);                                        \
	}

/* clang-format off */
/* row(name, number of arguments) */
#define CALLS(F)                                                                           \
	F(rmdir, 1) F(unlink, 1) F(remove, 1) F(chroot, 1) F(chdir, 1) F(opendir, 1)       \
	F(pipe, 1) F(wait, 1) F(uname, 1) F(sysinfo, 1) F(times, 1) F(puts, 1)             \
	F(sigpending, 1) F(mkstemp, 1) F(mkstemp64, 1) F(mkdtemp, 1) F(shm_unlink, 1)      \
	F(umount, 1)                                                                       \
	F(access, 2) F(euidaccess, 2) F(eaccess, 2) F(stat, 2) F(stat64, 2) F(lstat, 2)    \
	F(lstat64, 2) F(fstat, 2) F(fstat64, 2) F(statfs, 2) F(statfs64, 2) F(fstatfs, 2)  \
	F(fstatfs64, 2) F(statvfs, 2) F(statvfs64, 2) F(fstatvfs, 2) F(fstatvfs64, 2)      \
	F(getcwd, 2) F(mkdir, 2) F(rename, 2) F(link, 2) F(symlink, 2) F(chmod, 2)         \
	F(truncate, 2) F(truncate64, 2) F(utime, 2) F(utimes, 2) F(futimes, 2)             \
	F(futimens, 2) F(mkfifo, 2) F(mkostemp, 2) F(mkostemp64, 2) F(creat, 2)            \
	F(creat64, 2) F(__open_2, 2) F(__open64_2, 2) F(fopen, 2) F(fopen64, 2)            \
	F(realpath, 2) F(nanosleep, 2) F(clock_gettime, 2) F(clock_getres, 2)              \
	F(gettimeofday, 2) F(getrusage, 2) F(gethostname, 2) F(sethostname, 2)          \
	F(getgroups, 2)                                                                    \
	F(setgroups, 2) F(sched_getparam, 2) F(sched_setparam, 2) F(sigwaitinfo, 2)        \
	F(sigwait, 2) F(timer_gettime, 2) F(timerfd_gettime, 2) F(getitimer, 2)            \
	F(getentropy, 2) F(memfd_create, 2) F(removexattr, 2) F(umount2, 2)   \
	F(fputs, 2) F(fputs_unlocked, 2) F(tcgetattr, 2) F(pipe2, 2)                       \
	F(read, 3) F(__read, 3) F(write, 3) F(__write, 3) F(open, 1) F(open64, 1)          \
	F(__openat_2, 3) F(__openat64_2, 3) F(unlinkat, 3) F(mkdirat, 3) F(readlink, 3)    \
	F(symlinkat, 3) F(chown, 3) F(lchown, 3) F(mknod, 3) F(mkfifoat, 3) F(freopen, 3)  \
	F(freopen64, 3) F(getdents64, 3) F(ioctl, 3) F(fcntl, 3) F(fcntl64, 3) F(poll, 3)  \
	F(accept, 3) F(bind, 3) F(connect, 3) F(getsockname, 3) F(getpeername, 3)          \
	F(waitpid, 3) F(wait3, 3) F(getresuid, 3) F(getresgid, 3) F(sched_getaffinity, 3)  \
	F(sched_setaffinity, 3) F(sched_setscheduler, 3) F(sigtimedwait, 3) F(signalfd, 3) \
	F(timer_create, 3) F(getrandom, 3) F(listxattr, 3) F(llistxattr, 3) F(flistxattr, 3)\
	F(inotify_add_watch, 3) F(shm_open, 3) F(semop, 3) F(mincore, 3) F(tcsetattr, 3)   \
	F(ttyname_r, 3) F(ptsname_r, 3) F(setitimer, 3) F(__getcwd_chk, 3)                 \
	F(__realpath_chk, 3) F(__xstat, 3) F(__xstat64, 3) F(__lxstat, 3) F(__lxstat64, 3) \
	F(__fxstat, 3) F(__fxstat64, 3) F(sigqueue, 3)                                     \
	F(pread, 4) F(pread64, 4) F(pwrite, 4) F(pwrite64, 4) F(recv, 4) F(send, 4)        \
	F(__read_chk, 4) F(fread, 4) F(fread_unlocked, 4) F(fwrite, 4) F(fwrite_unlocked, 4)\
	F(openat, 2) F(openat64, 2) F(faccessat, 4) F(fstatat, 4) F(fstatat64, 4)          \
	F(readlinkat, 4) F(__readlink_chk, 4) F(renameat, 4) F(fchmodat, 4) F(mknodat, 4)  \
	F(utimensat, 4) F(scandir, 4) F(__poll_chk, 4) F(epoll_wait, 4) F(epoll_ctl, 4)    \
	F(accept4, 4) F(socketpair, 4) F(wait4, 4) F(clock_nanosleep, 4)                   \
	F(sendfile, 4) F(sendfile64, 4) F(timer_settime, 4)                                \
	F(timerfd_settime, 4) F(getxattr, 4) F(lgetxattr, 4) F(fgetxattr, 4) F(mq_open, 1) \
	F(mq_send, 4) F(mq_receive, 4) F(msgsnd, 4) F(getaddrinfo, 4) F(set_mempolicy, 4)  \
	F(__pread_chk, 5) F(__pread64_chk, 5) F(__recv_chk, 5) F(fchownat, 5) F(linkat, 5) \
	F(renameat2, 5) F(select, 5) F(getsockopt, 5) F(setsockopt, 5) F(statx, 5)         \
	F(__fxstatat, 5) F(__fxstatat64, 5) F(__readlinkat_chk, 5) F(__fread_chk, 5)       \
	F(__fread_unlocked_chk, 5) F(setxattr, 5) F(lsetxattr, 5) F(fsetxattr, 5)          \
	F(msgrcv, 5) F(mount, 5) F(get_mempolicy, 5) F(waitid, 5)                          \
	F(recvfrom, 6) F(sendto, 6) F(splice, 6) F(copy_file_range, 6) F(mbind, 6)
/* clang-format on */

CALLS(DEFINE_CALL)

/* ---- memory that is kept ---- */

void hwr_access_keep(const void *p)
{
	if (unlikely(hwr_heap_has((u64)p)))
		hwr_unit_keep((u64)p);
}

/* Locks, buffers of files, and stacks are used by the kernel, or by libc for it, at any time. These
 * end in a jump and leave no frame of their own. */
#define DEFINE_KEEP(name, count)                                                                   \
	HWR_EXPORT long hwr_call_##name(long a, long b, long c, long d, long e,                    \
					long f) __asm__(#name);                                    \
	long hwr_call_##name(long a, long b, long c, long d, long e, long f)                       \
	{                                                                                          \
		static void *real;                                                                 \
		const long arguments[ARGUMENTS] = {a, b, c, d, e, f};                              \
		function next = (function)hwr_real_once(&real, #name);                             \
                                                                                                   \
		for (u32 i = 0; i < count; i++)                                                    \
			if (unlikely(hwr_heap_has((u64)arguments[i])))                             \
				hwr_unit_keep((u64)arguments[i]);                                  \
		return next(a, b, c, d, e, f);                                                     \
	}

/* clang-format off */
/* row(name, number of arguments that are looked at) */
#define KEEPS(F)                                                                           \
	F(pthread_mutex_init, 1) F(pthread_mutex_lock, 1) F(pthread_mutex_trylock, 1)      \
	F(pthread_mutex_timedlock, 1) F(pthread_mutex_clocklock, 1) F(pthread_cond_init, 1)\
	F(pthread_cond_signal, 1) F(pthread_cond_broadcast, 1) F(pthread_rwlock_init, 1)   \
	F(pthread_rwlock_rdlock, 1) F(pthread_rwlock_wrlock, 1)                            \
	F(pthread_rwlock_tryrdlock, 1) F(pthread_rwlock_trywrlock, 1)                      \
	F(pthread_barrier_init, 1) F(pthread_barrier_wait, 1) F(pthread_once, 1)           \
	F(sem_init, 1) F(sem_wait, 1) F(sem_trywait, 1) F(sem_timedwait, 1)                \
	F(sem_clockwait, 1) F(sem_post, 1) F(aio_read, 1) F(aio_write, 1) F(aio_read64, 1) \
	F(aio_write64, 1) F(mlock, 1) F(mlock2, 1) F(mprotect, 1) F(pkey_mprotect, 1)      \
	F(putenv, 1) F(fmemopen, 1)                                                        \
	F(pthread_cond_wait, 2) F(pthread_cond_timedwait, 2) F(pthread_cond_clockwait, 2)  \
	F(setvbuf, 2) F(setbuffer, 2) F(setbuf, 2) F(pthread_attr_setstack, 2)
/* clang-format on */

KEEPS(DEFINE_KEEP)

/* ---- scattered memory ---- */

/* row(name, what of the arguments a to f is opened) */
#define SCATTERED(F)                                                                               \
	F(readv, hwr_pin_vectors(&pins, (void *)b, (u32)c))                                        \
	F(preadv, hwr_pin_vectors(&pins, (void *)b, (u32)c))                                       \
	F(preadv64, hwr_pin_vectors(&pins, (void *)b, (u32)c))                                     \
	F(preadv2, hwr_pin_vectors(&pins, (void *)b, (u32)c))                                      \
	F(preadv64v2, hwr_pin_vectors(&pins, (void *)b, (u32)c))                                   \
	F(writev, hwr_pin_vectors(&pins, (void *)b, (u32)c))                                       \
	F(pwritev, hwr_pin_vectors(&pins, (void *)b, (u32)c))                                      \
	F(pwritev64, hwr_pin_vectors(&pins, (void *)b, (u32)c))                                    \
	F(pwritev2, hwr_pin_vectors(&pins, (void *)b, (u32)c))                                     \
	F(pwritev64v2, hwr_pin_vectors(&pins, (void *)b, (u32)c))                                  \
	F(vmsplice, hwr_pin_vectors(&pins, (void *)b, (u64)c))                                     \
	F(recvmsg, hwr_pin_message(&pins, (void *)b))                                              \
	F(sendmsg, hwr_pin_message(&pins, (void *)b))                                              \
	F(recvmmsg, (hwr_pin_messages(&pins, (void *)b, (u32)c), hwr_pin(&pins, (u64)e)))          \
	F(sendmmsg, hwr_pin_messages(&pins, (void *)b, (u32)c))                                    \
	F(process_vm_readv, hwr_pin_vectors(&pins, (void *)b, (u64)c))                             \
	F(process_vm_writev, hwr_pin_vectors(&pins, (void *)b, (u64)c))                            \
	F(execve, (hwr_pin(&pins, (u64)a), hwr_pin_texts(&pins, (void *)b),                        \
		   hwr_pin_texts(&pins, (void *)c)))                                               \
	F(execv, (hwr_pin(&pins, (u64)a), hwr_pin_texts(&pins, (void *)b),                         \
		  hwr_pin_texts(&pins, environ)))                                                  \
	F(execvp, (hwr_pin(&pins, (u64)a), hwr_pin_texts(&pins, (void *)b),                        \
		   hwr_pin_texts(&pins, environ)))                                                 \
	F(execvpe, (hwr_pin(&pins, (u64)a), hwr_pin_texts(&pins, (void *)b),                       \
		    hwr_pin_texts(&pins, (void *)c)))                                              \
	F(fexecve, (hwr_pin_texts(&pins, (void *)b), hwr_pin_texts(&pins, (void *)c)))             \
	F(posix_spawn, hwr_gate_pin_spawn(&pins, (const long[]){a, b, c, d, e, f}))                \
	F(posix_spawnp, hwr_gate_pin_spawn(&pins, (const long[]){a, b, c, d, e, f}))               \
	F(prctl, (hwr_pin(&pins, (u64)b), hwr_pin(&pins, (u64)c), hwr_pin(&pins, (u64)d),          \
		  hwr_pin(&pins, (u64)e), hwr_sandbox_prctl(&sandbox, (int)a, (u64)b, (u64)c)))    \
	F(system, (hwr_pin(&pins, (u64)a), hwr_pin_texts(&pins, environ)))                         \
	F(popen, (hwr_pin(&pins, (u64)a), hwr_pin_texts(&pins, environ)))

#define DEFINE_SCATTERED(name, pinning)                                                            \
	HWR_EXPORT long hwr_call_##name(long a, long b, long c, long d, long e,                    \
					long f) __asm__(#name);                                    \
	long hwr_call_##name(long a, long b, long c, long d, long e, long f)                       \
	{                                                                                          \
		static void *real;                                                                 \
		function next = (function)hwr_real_once(&real, #name);                             \
		struct hwr_sandbox sandbox = {0};                                                  \
		struct hwr_pins pins;                                                              \
		long result;                                                                       \
                                                                                                   \
		pins.count = 0;                                                                    \
		pinning;                                                                           \
		result = next(a, b, c, d, e, f);                                                   \
		hwr_sandbox_end(&sandbox, result);                                                 \
		hwr_unpin(&pins);                                                                  \
		return result;                                                                     \
	}

SCATTERED(DEFINE_SCATTERED)

/* ---- others ---- */

/* Any system call by number, with up to six arguments. */
HWR_EXPORT long hwr_call_syscall(long number, long a, long b, long c, long d, long e,
				 long f) __asm__("syscall");
long hwr_call_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	static void *real;
	long (*next)(long, ...) = (long (*)(long, ...))hwr_real_once(&real, "syscall");
	const long arguments[ARGUMENTS] = {a, b, c, d, e, f};
	struct hwr_sandbox sandbox = {0};
	struct hwr_pins pins;
	long result;

	pins.count = 0;
	if (number == SYS_seccomp)
		hwr_sandbox_seccomp(&sandbox, (unsigned long)a, (unsigned long)b, (unsigned long)c);
	else if (number == SYS_prctl)
		hwr_sandbox_prctl(&sandbox, (int)a, (unsigned long)b, (unsigned long)c);
	hwr_gate_pin(&pins, number, arguments);
	result = next(number, a, b, c, d, e, f);
	hwr_sandbox_end(&sandbox, result);
	hwr_unpin(&pins);
	return result;
}

/* With seven arguments. */
#define DEFINE_SEVEN(name)                                                                         \
	HWR_EXPORT long hwr_call_##name(long a, long b, long c, long d, long e, long f,            \
					long g) __asm__(#name);                                    \
	long hwr_call_##name(long a, long b, long c, long d, long e, long f, long g)               \
	{                                                                                          \
		static void *real;                                                                 \
		const long arguments[ARGUMENTS] = {a, b, c, d, e, f};                              \
		struct hwr_pins pins;                                                              \
		long result;                                                                       \
                                                                                                   \
		pins.count = 0;                                                                    \
		for (u32 i = 0; i < ARGUMENTS; i++)                                                \
			hwr_pin(&pins, (u64)arguments[i]);                                         \
		hwr_pin(&pins, (u64)g);                                                            \
		result = ((long (*)(long, long, long, long, long, long,                            \
				    long))hwr_real_once(&real, #name))(a, b, c, d, e, f, g);       \
		hwr_unpin(&pins);                                                                  \
		return result;                                                                     \
	}
DEFINE_SEVEN(__recvfrom_chk)

/* A stack that is armed could not take the fault of who runs on it. */
struct stack_of { /* the beginning of ucontext_t */
	u64 flags, link, stack_address, stack_flags, stack_bytes;
};

HWR_EXPORT int hwr_call_swapcontext(struct stack_of *from,
				    struct stack_of *to) __asm__("swapcontext");
int hwr_call_swapcontext(struct stack_of *from, struct stack_of *to)
{
	static void *real;
	int (*next)(void *, void *) = (int (*)(void *, void *))hwr_real_once(&real, "swapcontext");

	if (hwr_heap_has((u64)from))
		hwr_unit_keep((u64)from);
	if (hwr_heap_has((u64)to))
		hwr_unit_keep((u64)to);
	if (to && hwr_heap_has(to->stack_address))
		hwr_unit_keep(to->stack_address);
	return next(from, to);
}
