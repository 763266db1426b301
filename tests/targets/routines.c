/* SPDX-License-Identifier: MIT
 * Calls that the program counts itself: prints "NAME CALLS" of each routine of interest, and
 * "CALLER>CALLEE CALLS" of some pairs. Built by `heapwise cc --routines`, and plain for Valgrind. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

enum { LEAF, MIDDLE, RECURSES, JUMPS, TRIES, HANDLES, SWITCHES, WORKS, DEEP, KINDS };
static const char *const names[KINDS] = { "leaf",    "middle",  "recurses", "jumps", "tries",
					  "handles", "switches", "works",    "deep" };
static unsigned long counts[KINDS], leaf_below[KINDS];

static void count(unsigned long *counter) { __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED); }

NOINLINE int leaf(int n, int caller);
NOINLINE int middle(int n);
NOINLINE int recurses(int n);
NOINLINE void jumps(int n);
NOINLINE void tries(void);
NOINLINE void handles(int signal_number);
NOINLINE void switches(void);
NOINLINE void *works(void *unused);
NOINLINE int deep(int n);

NOINLINE int leaf(int n, int caller)
{
	count(&counts[LEAF]);
	count(&leaf_below[caller]);
	__asm__ volatile("" : : : "memory");
	return n + 1;
}

NOINLINE int middle(int n)
{
	int sum = 0;

	count(&counts[MIDDLE]);
	for (int i = 0; i < n; i++)
		sum += leaf(i, MIDDLE);
	__asm__ volatile("" : : : "memory");
	return sum;
}

NOINLINE int recurses(int n)
{
	int below;

	count(&counts[RECURSES]);
	below = n ? recurses(n - 1) : leaf(0, RECURSES);
	__asm__ volatile("" : : : "memory");
	return below + 1;
}

static sigjmp_buf out;

NOINLINE void jumps(int n)
{
	volatile int here = n;

	count(&counts[JUMPS]);
	if (n == 0)
		siglongjmp(out, 1);
	jumps(n - 1);
	here++;
}

NOINLINE void tries(void)
{
	count(&counts[TRIES]);
	for (volatile int i = 0; i < 20; i++) {
		if (!sigsetjmp(out, 1))
			jumps(3);
		leaf(i, TRIES);
	}
}

NOINLINE void handles(int signal_number)
{
	count(&counts[HANDLES]);
	leaf(signal_number, HANDLES);
	if (signal_number == SIGUSR2)
		siglongjmp(out, 1);
}

static void signals(void)
{
	static char stack_memory[64 << 10];
	stack_t stack = { .ss_sp = stack_memory, .ss_size = sizeof stack_memory };
	struct sigaction action = { .sa_handler = handles };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &action, NULL);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGALRM, &action, NULL);
	for (volatile int i = 0; i < 10; i++) {
		raise(SIGUSR1);
		raise(SIGALRM);
		if (!sigsetjmp(out, 1))
			raise(SIGUSR2);
		middle(2);
	}
}

static ucontext_t main_context, contexts[2];

NOINLINE void switches(void)
{
	count(&counts[SWITCHES]);
	for (int i = 0; i < 5; i++) {
		leaf(i, SWITCHES);
		swapcontext(&contexts[0], &contexts[1]);
		leaf(i, SWITCHES);
	}
}

static void other(void)
{
	for (int i = 0; i < 5; i++) {
		middle(1);
		swapcontext(&contexts[1], &contexts[0]);
	}
}

static void coroutines(void)
{
	enum { BYTES = 64 << 10 };
	char *stacks = malloc(2 * BYTES); /* next to each other: nothing but the frames tells them apart */

	for (int i = 0; i < 2; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks + i * BYTES;
		contexts[i].uc_stack.ss_size = BYTES;
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], i ? other : switches, 0);
	}
	swapcontext(&main_context, &contexts[0]);
	middle(1);
	free(stacks);
}

NOINLINE void *works(void *unused)
{
	count(&counts[WORKS]);
	for (int i = 0; i < 500; i++)
		middle(3);
	return unused;
}

static void threads(void)
{
	pthread_t all[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&all[i], NULL, works, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(all[i], NULL);
}

NOINLINE int deep(int n)
{
	int below = 0;

	count(&counts[DEEP]);
	if (n)
		below = deep(n - 1);
	__asm__ volatile("" : : : "memory");
	return below + 1;
}

static void very_deep(void)
{
	for (int i = 0; i < 3; i++)
		deep(50000);
	middle(5);
}

static void plain(void)
{
	for (int i = 0; i < 200; i++)
		middle(i % 4);
	for (int i = 0; i < 20; i++)
		recurses(i);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = { { "plain", plain },     { "jumps", tries },         { "signals", signals },
		      { "threads", threads }, { "coroutines", coroutines }, { "deep", very_deep } };

	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	for (int i = 0; i < KINDS; i++)
		if (counts[i])
			printf("%s %lu\n", names[i], counts[i]);
	for (int i = 0; i < KINDS; i++)
		if (leaf_below[i])
			printf("%s>leaf %lu\n", names[i], leaf_below[i]);
	return 0;
}
