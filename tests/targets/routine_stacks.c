/* SPDX-License-Identifier: MIT
 * Allocations below calls of every kind; `routine_stacks CASE`. Built by `heapwise cc --routines`, with and without unwind
 * tables. The functions that count are main and those named in_*; each case does the same in every run. */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define PLAIN __attribute__((noinline, no_instrument_function))
#define BARRIER() __asm__ volatile("" : : : "memory")

static __thread void *volatile kept;
static volatile int zero;

/* One allocation and one free, told apart by the size. */
static inline __attribute__((always_inline)) void touch(size_t size)
{
	kept = malloc(size);
	free(kept);
	BARRIER();
}

/* ---- plain calls ---- */

NOINLINE void in_leaf(size_t size)
{
	touch(size);
	BARRIER();
}

NOINLINE void in_middle(size_t size)
{
	in_leaf(size);
	touch(size + 1);
	in_leaf(size + 2);
	BARRIER();
}

NOINLINE int in_recurses(int n)
{
	int below = 0;

	if (n % 3 == 0)
		touch(100 + (size_t)n);
	if (n)
		below = in_recurses(n - 1);
	BARRIER();
	return below + 1;
}

static int in_small(int n)
{
	touch(300 + (size_t)n);
	return n + zero;
}

NOINLINE int in_expands(int n)
{
	int sum = in_small(n);

	in_leaf(320);
	sum += in_small(n + 1);
	BARRIER();
	return sum;
}

/* Arguments on the stack move the stack pointer before the call. */
NOINLINE int in_many(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{
	touch(340 + (size_t)a);
	BARRIER();
	return a + b + c + d + e + f + g + h + i;
}

NOINLINE int in_passes_many(int n)
{
	int sum = in_many(n, 2, 3, 4, 5, 6, 7, 8, 9);

	touch(350);
	BARRIER();
	return sum;
}

NOINLINE void in_grows_frame(int n)
{
	char *bytes = alloca((size_t)n * 100 + 1);

	memset(bytes, n, (size_t)n * 100 + 1);
	kept = bytes;
	in_leaf(360 + (size_t)n);
	touch(370 + (size_t)n);
	BARRIER();
}

NOINLINE void in_large_frame(int n)
{
	volatile char bytes[20000];

	bytes[n] = (char)n;
	in_middle(400);
	bytes[n + 1] = 0;
	BARRIER();
}

/* Code that is not instrumented, below and between. */
NOINLINE int in_compares(const void *a, const void *b)
{
	touch(420);
	BARRIER();
	return *(const int *)a - *(const int *)b;
}

PLAIN void plain_calls(size_t size)
{
	in_leaf(size);
	touch(size + 5);
	BARRIER();
}

NOINLINE void in_through_others(void)
{
	int numbers[] = { 3, 1, 2 };

	qsort(numbers, 3, sizeof *numbers, in_compares);
	plain_calls(430);
	kept = strdup("a text of some length");
	free(kept);
	kept = realloc(NULL, 440);
	kept = realloc(kept, 4400);
	free(kept);
	BARRIER();
}

static void case_plain(void)
{
	for (int i = 0; i < 5; i++)
		in_middle(10);
	in_recurses(30);
	in_expands(zero);
	in_passes_many(zero);
	for (int i = 0; i < 4; i++)
		in_grows_frame(i);
	in_large_frame(zero);
	in_through_others();
}

/* ---- jumps ---- */

static sigjmp_buf out;

NOINLINE void in_jumps(int n)
{
	volatile int here = n;

	touch(500 + (size_t)n);
	if (n == 0)
		siglongjmp(out, 1);
	in_jumps(n - 1);
	here++;
}

PLAIN void plain_large(size_t size)
{
	volatile char bytes[400];

	bytes[0] = 1;
	touch(size);
	bytes[1] = 2;
}

NOINLINE void in_tries(void)
{
	for (volatile int i = 0; i < 6; i++) {
		if (!sigsetjmp(out, 1))
			in_jumps(3);
		touch(520);
		if (i % 2)
			in_large_frame(zero);
		in_leaf(530);
		plain_large(540);
	}
}

static void case_jumps(void)
{
	in_tries();
	in_middle(550);
}

/* ---- handlers ---- */

NOINLINE void in_handles(int number)
{
	in_leaf(600 + (size_t)(number == SIGUSR2));
	if (number == SIGUSR2)
		siglongjmp(out, 1);
}

NOINLINE void in_raises(int number)
{
	raise(number);
	touch(620);
	BARRIER();
}

static void case_signals(void)
{
	static char memory[64 << 10];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof memory };
	struct sigaction action = { .sa_handler = in_handles };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	for (volatile int i = 0; i < 4; i++) {
		in_raises(SIGUSR1);
		in_raises(SIGALRM);
		if (!sigsetjmp(out, 1))
			in_raises(SIGUSR2);
		in_middle(630);
	}
}

/* ---- threads, processes, coroutines ---- */

NOINLINE void *in_works(void *unused)
{
	for (int i = 0; i < 50; i++)
		in_middle(700);
	in_recurses(20);
	return unused;
}

static void case_threads(void)
{
	pthread_t all[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&all[i], NULL, in_works, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(all[i], NULL);
}

NOINLINE void in_forks(void)
{
	pid_t child = fork();

	if (child == 0) {
		in_middle(750);
		touch(760);
	} else {
		waitpid(child, NULL, 0);
	}
	BARRIER();
}

static void case_fork(void)
{
	in_forks();
	in_leaf(770);
}

static ucontext_t main_context, contexts[2];

NOINLINE void in_first(void)
{
	for (int i = 0; i < 4; i++) {
		in_leaf(800);
		swapcontext(&contexts[0], &contexts[1]);
		touch(810);
	}
}

NOINLINE void in_second(void)
{
	for (int i = 0; i < 4; i++) {
		in_middle(820);
		swapcontext(&contexts[1], &contexts[0]);
		touch(830);
	}
}

static void case_coroutines(void)
{
	enum { BYTES = 64 << 10 };
	static char stacks[2 * BYTES];

	for (int i = 0; i < 2; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks + i * BYTES;
		contexts[i].uc_stack.ss_size = BYTES;
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], i ? in_second : in_first, 0);
	}
	swapcontext(&main_context, &contexts[0]);
	in_middle(840);
}

/* ---- generated code ---- */

/* Calls its argument from code that no unwind table knows. */
static void (*make_code(void))(void (*)(void))
{
#ifdef __x86_64__
	static const unsigned char code[] = { 0x48, 0x83, 0xec, 0x18, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x18, 0xc3 };
#else
	static const unsigned int code[] = { 0xd100c3ff, 0xf9000bfe, 0xd63f0000, 0xf9400bfe, 0x9100c3ff, 0xd65f03c0 };
#endif
	char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(memory, code, sizeof code);
	mprotect(memory, 4096, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(memory, memory + sizeof code);
	return (void (*)(void (*)(void)))(void *)memory;
}

NOINLINE void in_called_back(void)
{
	in_leaf(870);
	touch(880);
	BARRIER();
}

NOINLINE void in_generated(void (*code)(void (*)(void)))
{
	code(in_called_back);
	touch(890);
	BARRIER();
}

static void case_generated(void)
{
	void (*code)(void (*)(void)) = make_code();

	for (int i = 0; i < 3; i++)
		in_generated(code);
}

/* ---- depth ---- */

NOINLINE int in_deep(int n)
{
	int below = 0;

	if (n % 20000 == 0)
		touch(900);
	if (n)
		below = in_deep(n - 1);
	BARRIER();
	return below + 1;
}

static void case_deep(void)
{
	in_recurses(900);
	in_deep(20000);
	in_deep(60000); /* more than are kept */
	in_leaf(910);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = { { "plain", case_plain },     { "jumps", case_jumps }, { "signals", case_signals },
		      { "threads", case_threads }, { "fork", case_fork },   { "coroutines", case_coroutines },
		      { "deep", case_deep },       { "generated", case_generated } };

	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	return 0;
}
