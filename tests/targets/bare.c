/* SPDX-License-Identifier: MIT
 * Threads made by a bare clone, without thread-local storage of their own: they share their parent's, and allocate while it
 * does. The allocator is libbump, which needs none.
 * Usage: bare thread|process THREADS ROUNDS [GENERATIONS]   process: it has a pid of its own and shares the memory.
 * Each frees what others have allocated; a generation ends before the next, which has its stacks. Sizes are 5 above a multiple of 16. */
#define _GNU_SOURCE
#include "expect.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TABLE = 512, MAX_THREADS = 64, STACK_BYTES = 65536 };

static void *table[TABLE];
static unsigned long rounds;
static uint64_t allocations, bytes, frees;
static pid_t alive[MAX_THREADS];

/* No errno here, nor anything else of the thread's storage: it is shared. */
static int exchange(void *seed)
{
	uint64_t random = (uintptr_t)seed * 0x9e3779b97f4a7c15u + 1;
	uint64_t my_bytes = 0, my_frees = 0;

	for (unsigned long i = 0; i < rounds; i++) {
		size_t size;
		void *mine, *theirs;

		random = random * 6364136223846793005u + 1442695040888963407u;
		size = 16 * (1 + (random >> 33) % 40) + 5;
		mine = malloc(size);
		if (!mine)
			_exit(1);
		my_bytes += size;
		theirs = __atomic_exchange_n(&table[(random >> 40) % TABLE], mine, __ATOMIC_ACQ_REL);
		my_frees += theirs != NULL;
		free(theirs);
	}
	__atomic_fetch_add(&allocations, rounds, __ATOMIC_RELAXED);
	__atomic_fetch_add(&bytes, my_bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&frees, my_frees, __ATOMIC_RELAXED);
	return 0;
}

/* The kernel clears the word when the thread is gone. */
static void wait_for(const pid_t *word)
{
	for (pid_t tid; (tid = __atomic_load_n(word, __ATOMIC_ACQUIRE));)
		syscall(SYS_futex, word, FUTEX_WAIT, tid, NULL, NULL, 0);
}

static void generation(uintptr_t count, int flags)
{
	char *stacks = mmap(NULL, count * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	expect_true(stacks != MAP_FAILED, "no stacks");
	for (uintptr_t i = 0; i < count; i++)
		expect_true(clone(exchange, stacks + (i + 1) * STACK_BYTES, flags, (void *)(i + 1), &alive[i], NULL,
				  &alive[i]) > 0,
			    "clone failed");
	expect_true(exchange((void *)(count + 1)) == 0, "exchange failed");
	for (uintptr_t i = 0; i < count; i++)
		wait_for(&alive[i]);
	while (!(flags & CLONE_THREAD) && waitpid(-1, NULL, __WALL) > 0)
		;
	munmap(stacks, count * STACK_BYTES);
}

int main(int argc, char **argv)
{
	int process = argc > 1 && strcmp(argv[1], "process") == 0;
	uintptr_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 4;
	unsigned long generations = argc > 4 ? strtoul(argv[4], NULL, 10) : 1;
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID |
		    (process ? 0 : CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM);

	rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 1000;
	expect_true(count < MAX_THREADS, "too many threads");
	expect_begin();
	for (unsigned long i = 0; i < generations; i++)
		generation(count, flags);
	expect_end();
	expect_total("allocations", allocations);
	expect_total("frees", frees);
	expect_total("bytes", bytes);
	return 0;
}
