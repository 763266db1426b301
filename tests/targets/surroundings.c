/* SPDX-License-Identifier: MIT
 * Programs that would notice a careless profiler. Usage: surroundings CASE
 *   stack    allocate on the smallest thread stacks that the system allows
 *   masked   all signals blocked, and none left pending or unblocked by us
 *   closed   every descriptor closed, then allocate
 *   fds      descriptors are given out from the lowest number as if we were not there
 *   eintr    no system call is interrupted while threads fill the rings
 *   maps     signal dispositions, the mask and the alternate stack are as they were at start
 * Sizes are 5 above a multiple of 16. */
#define _GNU_SOURCE
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t allocations, bytes;

static void touch(size_t size)
{
	void *volatile memory = malloc(size);

	expect_true(memory != NULL, "malloc failed");
	free(memory);
	__atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&bytes, size, __ATOMIC_RELAXED);
}

static void *touch_many(void *count)
{
	for (uintptr_t i = 0; i < (uintptr_t)count; i++)
		touch(16 * (1 + i % 20) + 5);
	return NULL;
}

static void case_stack(void)
{
	pthread_attr_t smallest;
	pthread_t thread;

	pthread_attr_init(&smallest);
	expect_true(pthread_attr_setstacksize(&smallest, (size_t)sysconf(_SC_THREAD_STACK_MIN)) == 0,
		    "PTHREAD_STACK_MIN is not accepted");
	for (int i = 0; i < 50; i++) {
		expect_true(pthread_create(&thread, &smallest, touch_many, (void *)200) == 0,
			    "pthread_create failed");
		pthread_join(thread, NULL);
	}
}

static void case_masked(void)
{
	sigset_t all, now;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	touch_many((void *)20000);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	for (int signal = 1; signal < 32; signal++)
		if (signal != SIGKILL && signal != SIGSTOP)
			expect_true(sigismember(&now, signal), "a signal was unblocked");
	sigpending(&now);
	expect_true(sigisemptyset(&now), "a signal is pending");
}

static void case_closed(void)
{
	touch(16 + 5);
	for (int fd = 0; fd < 4096; fd++)
		close(fd);
	touch_many((void *)50000);
	expect_true(open("/dev/null", O_RDWR) == 0, "descriptor 0 is in use after all were closed");
}

static void case_fds(void)
{
	int a, b;

	touch(16 + 5);
	a = open("/dev/null", O_RDONLY);
	touch_many((void *)1000);
	b = open("/dev/null", O_RDONLY);
	/* The harness starts this case with 0, 1 and 2 open only. */
	expect_true(a == 3 && b == 4, "a descriptor number has shifted");
}

static sem_t never;
static int finished;

/* Treats EINTR as fatal, as much code does. */
static void *wait_uninterrupted(void *pipe_end)
{
	struct pollfd poll_pipe = {.fd = (int)(intptr_t)pipe_end, .events = POLLIN};
	struct timespec until;
	char byte;

	while (!__atomic_load_n(&finished, __ATOMIC_ACQUIRE)) {
		expect_true(poll(&poll_pipe, 1, 2) == 0, "poll was interrupted");
		expect_true(nanosleep(&(struct timespec){0, 500000}, NULL) == 0,
			    "nanosleep was interrupted");
		clock_gettime(CLOCK_REALTIME, &until);
		expect_true(sem_timedwait(&never, &until) < 0 && errno == ETIMEDOUT,
			    "sem_timedwait was interrupted");
		touch(32 + 5);
	}
	expect_true(read(poll_pipe.fd, &byte, 1) == 1, "read was interrupted");
	return NULL;
}

static void case_eintr(void)
{
	pthread_t waiter, workers[3];
	int ends[2];

	expect_true(pipe(ends) == 0, "pipe failed");
	sem_init(&never, 0, 0);
	pthread_create(&waiter, NULL, wait_uninterrupted, (void *)(intptr_t)ends[0]);
	for (int i = 0; i < 3; i++)
		pthread_create(&workers[i], NULL, touch_many, (void *)60000);
	for (int i = 0; i < 3; i++)
		pthread_join(workers[i], NULL);
	__atomic_store_n(&finished, 1, __ATOMIC_RELEASE);
	nanosleep(&(struct timespec){0, 30000000}, NULL);
	expect_true(write(ends[1], "x", 1) == 1, "write failed");
	pthread_join(waiter, NULL);
}

static void case_maps(void)
{
	struct sigaction action;
	sigset_t mask;
	stack_t stack;

	touch_many((void *)1000);
	for (int signal = 1; signal < 32; signal++) {
		if (sigaction(signal, NULL, &action) < 0)
			continue;
		expect_true(action.sa_handler == SIG_DFL, "a signal has a handler or is ignored");
	}
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	expect_true(sigisemptyset(&mask), "a signal is blocked");
	sigaltstack(NULL, &stack);
	expect_true(stack.ss_flags == SS_DISABLE, "there is an alternate stack");
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"stack", case_stack}, {"masked", case_masked}, {"closed", case_closed},
	{"fds", case_fds},     {"eintr", case_eintr},   {"maps", case_maps},
};

int main(int argc, char **argv)
{
	expect_begin();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (argc > 1 && !strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			expect_total("allocations", allocations);
			expect_total("frees", allocations);
			expect_total("bytes", bytes);
			expect_end();
			return 0;
		}
	return 2;
}
