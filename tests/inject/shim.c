/* SPDX-License-Identifier: MIT
 * Is preloaded into heapwise itself, not into the program that it records, and makes the system fail it.
 *
 *   HEAPWISE_SHIM=clock         the time of day jumps with every look at it
 *   HEAPWISE_SHIM=count:FILE    counts calls that can fail, and leaves the number in FILE
 *   HEAPWISE_SHIM=fail:N:FILE   the Nth of them fails; FILE gets its name
 *
 * Counted are calls of heapwise's own code and of the libraries that it calls: memory, files, shared memory, threads,
 * processes. The child between fork and exec is not meant: the shim is silent there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long calls, chosen;
static int counting, jumping;
static pid_t owner;
static char report_path[512];
static __thread int inside;

static void report(const char *name, long number)
{
	char line[128];
	int n = snprintf(line, sizeof line, "%ld %s\n", number, name);
	int fd = (int)syscall(SYS_openat, AT_FDCWD, report_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0)
		return;
	if (syscall(SYS_write, fd, line, (size_t)n) < 0)
		_exit(98);
	close(fd);
}

/* Whether this call is the one to fail. */
static int fails(const char *name)
{
	long number;

	if ((!counting && !chosen) || inside || getpid() != owner)
		return 0;
	number = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	if (number != chosen)
		return 0;
	inside++;
	report(name, number);
	inside--;
	return 1;
}

static __attribute__((constructor)) void begin(void)
{
	const char *wish = getenv("HEAPWISE_SHIM");
	const char *colon = wish ? strrchr(wish, ':') : NULL;

	owner = getpid();
	unsetenv("LD_PRELOAD"); /* the program's is a world without us */
	if (!wish)
		return;
	if (colon)
		snprintf(report_path, sizeof report_path, "%s", colon + 1);
	jumping = strcmp(wish, "clock") == 0;
	counting = strncmp(wish, "count:", 6) == 0;
	chosen = strncmp(wish, "fail:", 5) == 0 ? atol(wish + 5) : 0;
	unsetenv("HEAPWISE_SHIM");
}

static __attribute__((destructor)) void end(void)
{
	if (counting && getpid() == owner) {
		counting = 0;
		report("calls", calls);
	}
}

/* ---- calls that fail ---- */

#define REAL(name) \
	static __typeof__(name) *real; \
	if (!real) { \
		inside++; \
		real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); \
		inside--; \
	}
#define FAIL(name, code, result) \
	if (fails(#name)) { \
		errno = code; \
		return result; \
	}

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

void *malloc(size_t bytes)
{
	FAIL(malloc, ENOMEM, NULL)
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	FAIL(calloc, ENOMEM, NULL)
	return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
	FAIL(realloc, ENOMEM, NULL)
	return __libc_realloc(old, bytes);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	REAL(mmap)
	FAIL(mmap, ENOMEM, MAP_FAILED)
	return real(at, bytes, protection, flags, fd, offset);
}

int memfd_create(const char *name, unsigned flags)
{
	REAL(memfd_create)
	FAIL(memfd_create, EMFILE, -1)
	return real(name, flags);
}

int ftruncate(int fd, off_t bytes)
{
	REAL(ftruncate)
	FAIL(ftruncate, ENOSPC, -1)
	return real(fd, bytes);
}

int open(const char *path, int flags, ...)
{
	REAL(open)
	va_list rest;
	int mode;

	va_start(rest, flags);
	mode = va_arg(rest, int);
	va_end(rest);
	FAIL(open, EMFILE, -1)
	return real(path, flags, mode);
}

ssize_t read(int fd, void *to, size_t bytes)
{
	REAL(read)
	FAIL(read, EIO, -1)
	return real(fd, to, bytes);
}

ssize_t pread(int fd, void *to, size_t bytes, off_t offset)
{
	REAL(pread)
	FAIL(pread, EIO, -1)
	return real(fd, to, bytes, offset);
}

ssize_t write(int fd, const void *from, size_t bytes)
{
	REAL(write)
	FAIL(write, ENOSPC, -1)
	return real(fd, from, bytes);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t offset)
{
	REAL(pwrite)
	FAIL(pwrite, ENOSPC, -1)
	return real(fd, from, bytes, offset);
}

int pipe2(int ends[2], int flags)
{
	REAL(pipe2)
	FAIL(pipe2, EMFILE, -1)
	return real(ends, flags);
}

pid_t fork(void)
{
	REAL(fork)
	FAIL(fork, EAGAIN, -1)
	return real();
}

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *argument)
{
	REAL(pthread_create)
	if (fails("pthread_create"))
		return EAGAIN;
	return real(thread, how, run, argument);
}

int socket(int domain, int type, int protocol)
{
	static int (*real)(int, int, int);

	if (!real)
		real = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
	FAIL(socket, EMFILE, -1)
	return real(domain, type, protocol);
}

/* ---- clocks ---- */

static time_t jump(void)
{
	static unsigned look;

	return jumping ? (time_t)(__atomic_add_fetch(&look, 1, __ATOMIC_RELAXED) * 2654435761u % 200000000) - 100000000 : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	REAL(clock_gettime)
	int status = real(clock, now);

	if (clock == CLOCK_REALTIME)
		now->tv_sec += jump();
	return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec precise;
	int status = clock_gettime(CLOCK_REALTIME, &precise);

	(void)zone;
	now->tv_sec = precise.tv_sec;
	now->tv_usec = precise.tv_nsec / 1000;
	return status;
}

time_t time(time_t *now)
{
	struct timespec precise;

	clock_gettime(CLOCK_REALTIME, &precise);
	if (now)
		*now = precise.tv_sec;
	return precise.tv_sec;
}
