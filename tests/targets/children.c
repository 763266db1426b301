/* SPDX-License-Identifier: MIT
 * Children of every kind that allocate while the parent does; only the parent's calls count.
 * Usage: children fork|_Fork|vfork|spawn|clone|threads COUNT
 *   threads: fork from one thread while others allocate.
 * Sizes are 5 above a multiple of 16, by which they are told from those of libc. */
#define _GNU_SOURCE
#include "expect.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
pid_t _Fork(void);

static uint64_t allocations, bytes, frees;

static void parent_touch(size_t size)
{
	void *volatile memory = malloc(size);

	free(memory);
	__atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&bytes, size, __ATOMIC_RELAXED);
	__atomic_fetch_add(&frees, 1, __ATOMIC_RELAXED);
}

static void child_work(void *inherited)
{
	free(inherited);
	for (int i = 0; i < 50; i++) {
		void *volatile memory = malloc(160 + 5);

		free(memory);
	}
}

static void wait_for(pid_t pid)
{
	int status = -1;

	expect_true(pid > 0, "no child");
	expect_true(waitpid(pid, &status, 0) == pid && status == 0, "the child failed");
}

/* A fork by the bare system call: no atfork handler runs. */
static pid_t clone_plain(void) { return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL); }

static void forked(pid_t (*fork_like)(void), void *inherited)
{
	pid_t pid = fork_like();

	if (pid == 0) {
		child_work(inherited);
		_exit(0);
	}
	parent_touch(48 + 5);
	wait_for(pid);
}

static void vforked(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	wait_for(pid);
}

/* The child of vfork shares the parent's memory until it ends: what it allocates is the parent's. */
static void vforked_allocating(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		parent_touch(64 + 5);
		_exit(0);
	}
	wait_for(pid);
}

static void spawned(void)
{
	char name[] = "true";
	char *const arguments[] = {name, NULL};
	pid_t pid = -1;

	expect_true(posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ) == 0,
		    "posix_spawn failed");
	wait_for(pid);
}

static int stop;

static void *busy(void *nothing)
{
	(void)nothing;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		parent_touch(80 + 5);
	return NULL;
}

static void forked_among_threads(unsigned long count)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, busy, NULL);
	for (unsigned long i = 0; i < count; i++)
		forked(fork, NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static void one_child(const char *kind, void *inherited)
{
	if (!strcmp(kind, "fork"))
		forked(fork, inherited);
	else if (!strcmp(kind, "_Fork"))
		forked(_Fork, inherited);
	else if (!strcmp(kind, "clone"))
		forked(clone_plain, inherited);
	else if (!strcmp(kind, "spawn"))
		spawned();
	else if (!strcmp(kind, "vfork"))
		vforked(), vforked_allocating();
	else
		expect_true(0, "unknown kind of child");
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "fork";
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 10;
	void *inherited;

	expect_begin();
	inherited = malloc(96 + 5);
	allocations++, bytes += 96 + 5, frees++;
	if (!strcmp(kind, "threads"))
		forked_among_threads(count);
	else
		for (unsigned long i = 0; i < count; i++)
			one_child(kind, inherited);
	free(inherited);
	expect_total("allocations", allocations);
	expect_total("bytes", bytes);
	expect_total("frees", frees);
	expect_end();
	return 0;
}
