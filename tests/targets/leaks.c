/* SPDX-License-Identifier: MIT
 * Programs that keep blocks of every class, for the comparison with memcheck. Usage: leaks CASE
 * Blocks are made in functions of their own, and the stack and registers that these used are
 * overwritten afterwards: what the compiler left there must not decide. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noipa))
#endif

struct node {
	struct node *next, *other;
	long value;
};

void *volatile global, *volatile globals[8];
static __thread void *volatile local;
static volatile uintptr_t hidden;

/* Overwrites what deeper calls have left on the stack, and the registers that callees may
 * change. */
static APART void wipe(void)
{
	volatile char stack[96 * 1024];

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
}

static APART struct node *list_new(int count)
{
	struct node *list = NULL;

	for (int i = 0; i < count; i++) {
		struct node *node = calloc(1, sizeof(*node));

		node->next = list;
		list = node;
	}
	return list;
}

/* Leaves pointers wherever deeper calls will have their frames. */
static APART void soil(void)
{
	void *volatile stack[12 * 1024];
	void *list = list_new(10);

	for (size_t i = 0; i < sizeof(stack) / sizeof(stack[0]); i++)
		stack[i] = list;
}

static APART struct node *tree_new(int depth)
{
	struct node *node;

	if (!depth)
		return NULL;
	node = calloc(1, sizeof(*node));
	node->next = tree_new(depth - 1);
	node->other = tree_new(depth - 1);
	return node;
}

static APART struct node *ring_new(int count)
{
	struct node *list = list_new(count), *last = list;

	while (last->next)
		last = last->next;
	last->next = list;
	return list;
}

/* One list is held, one lost, one held by its third node only, one lost but for a freed block. */
static APART void case_lists(void)
{
	struct node **freed;

	globals[0] = list_new(10);
	list_new(7);
	globals[1] = list_new(9)->next->next;
	freed = calloc(1, 4096);
	freed[100] = list_new(4);
	free(freed);
}

static APART void case_trees(void)
{
	globals[0] = tree_new(6);
	tree_new(5);
	globals[1] = tree_new(4)->other;
}

/* Rings, a ring that a lost block leads to, two rings that lead to each other, a block that
 * leads to itself. */
static APART void case_rings(void)
{
	struct node *a, *b, *entry = calloc(1, sizeof(*entry));

	globals[0] = ring_new(5);
	ring_new(6);
	entry->next = ring_new(3);
	a = ring_new(4);
	b = ring_new(4);
	a->other = b;
	b->other = a;
	a = calloc(1, sizeof(*a));
	a->other = a;
}

/* Pointers into blocks, to their last byte, one byte behind them; chains behind such pointers; a
 * pointer at an address that is no multiple of 8. */
static APART void case_interior(void)
{
	struct node *first = list_new(3);
	char *unaligned;

	globals[0] = (char *)calloc(1, 100) + 99;
	globals[1] = (char *)calloc(1, 100) + 100;
	globals[2] = &first->value; /* possible, and so is what it leads to */
	global = list_new(2);
	((struct node *)global)->other = (struct node *)((char *)list_new(4) + 4);
	unaligned = calloc(1, 64);
	globals[3] = unaligned;
	{
		void *only = list_new(1);

		memcpy(unaligned + 3, &only, sizeof(only));
	}
	/* A start-pointer found after an interior one wins. */
	first = list_new(2);
	globals[4] = &first->value;
	globals[5] = first;
}

static APART void case_hidden(void)
{
	hidden = (uintptr_t)list_new(5) ^ (uintptr_t)0x5555555555555555;
	globals[0] = list_new(1);
}

static APART void case_sizes(void)
{
	void **large = calloc(1, 3 << 20); /* has a mapping of its own */

	globals[0] = malloc(0);
	malloc(0);
	globals[1] = large;
	large[300000] = list_new(6);
	globals[2] = realloc(calloc(1, 10), 5000);
	*(void **)calloc(1, 160 << 10) = list_new(3); /* mapped, too; larger ones have numbers in them by chance */
	globals[3] = aligned_alloc(4096, 8192);
	memset(globals[3], 0, 8192);
	((void **)globals[3])[1000] = list_new(2);
	globals[4] = calloc(1, 12); /* only its first word is whole */
	memset(globals[4], 0, 12);
	{
		void *only = list_new(1);

		memcpy((char *)globals[4] + 4, &only, sizeof(only));
	}
}

static APART void case_tls(void) { local = list_new(8); }

/* ---- threads --------------------------------------------------------------------------------- */

static sem_t ready;

static APART void *holder(void *kind)
{
	/* Held by this thread's stack, or its thread-local data, until the process ends. */
	struct node *volatile list = NULL;

	if (kind)
		local = list_new(3);
	else
		list = list_new(5);
	wipe();
	sem_post(&ready);
	for (;;)
		pause();
	return list;
}

static APART void start(void *(*run)(void *), void *argument, int count)
{
	pthread_attr_t detached;
	pthread_t thread;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	sem_init(&ready, 0, 0);
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, &detached, run, argument) != 0)
			abort();
	for (int i = 0; i < count; i++)
		while (sem_wait(&ready) != 0)
			continue;
	pthread_attr_destroy(&detached);
}

static APART void case_threads(void)
{
	start(holder, NULL, 4);
	start(holder, &ready, 4);
}

static APART void case_threads_64(void) { start(holder, NULL, 64); }

/* Lists of a thread that has ended: one is held by a global, one by another block of the thread's
 * arena, one was only ever known to the thread. */
static APART void *ended(void *unused)
{
	struct node *first = list_new(2);

	(void)unused;
	globals[0] = list_new(20);
	first->other = list_new(20);
	globals[1] = first;
	list_new(20);
	wipe();
	return NULL;
}

static APART void case_ended(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, ended, NULL) != 0 || pthread_join(thread, NULL) != 0)
		abort();
}

static APART void case_plugin(void)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 32);
	void (*keep)(void *, void *);
	void *library;

	path[length > 0 ? length : 0] = 0;
	strcpy(strrchr(path, '/'), "/leaks-plugin.so");
	library = dlopen(path, RTLD_NOW);
	keep = library ? (void (*)(void *, void *))(uintptr_t)dlsym(library, "keep") : NULL;
	if (!keep)
		abort();
	keep(list_new(11), list_new(12));
	list_new(3);
}

/* Blocks of threads that wait in the C library, in no variable any more. */
static sem_t waiting;
static APART void *wait_without(void *unused)
{
	for (int i = 0; i < 50; i++)
		memset(malloc(33), 1, 33);
	sem_post(&waiting);
	for (;;)
		pause();
	return unused;
}
static APART void case_waiting(void)
{
	pthread_t thread;

	for (int i = 0; i < 8; i++)
		if (pthread_create(&thread, NULL, wait_without, NULL) != 0)
			abort();
	for (int i = 0; i < 8; i++)
		sem_wait(&waiting);
	usleep(50000);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static APART void *exit_in_thread(void *unused)
{
	(void)unused;
	exit(5);
}

static APART void *ended_late(void *unused)
{
	usleep(100000); /* after main */
	return ended(unused);
}
/* exit cannot end before somebody reads what it has to write. */
static APART void fill_output(void)
{
	static const char page[4096];
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	fcntl(STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK);
	while (write(STDOUT_FILENO, page, sizeof(page)) > 0)
		continue;
	fcntl(STDOUT_FILENO, F_SETFL, flags);
	fputs("the last words", stdout);
}

/* A parent is told of its child's end, once, and of nothing else. */
static APART void case_parent(void)
{
	int status, told = 0, ended = 0;
	pid_t child;

	globals[0] = list_new(1);
	child = fork();

	if (child == 0) {
		execl("/proc/self/exe", "leaks", "end", "return", (char *)NULL);
		_exit(127);
	}
	while (waitpid(child, &status, WUNTRACED | WCONTINUED) == child) {
		told++;
		ended += WIFEXITED(status) && WEXITSTATUS(status) == 5;
	}
	if (told != 1 || ended != 1)
		_exit(9);
}

static APART void end(const char *how, bool soiled)
{
	pthread_t thread;

	case_lists();
	wipe();
	if (soiled)
		soil();
	if (strcmp(how, "exit") == 0)
		exit(5);
	if (strcmp(how, "_exit") == 0)
		_exit(5);
	if (strcmp(how, "quick_exit") == 0)
		quick_exit(5);
	if (strcmp(how, "thread") == 0) {
		pthread_create(&thread, NULL, exit_in_thread, NULL);
		pthread_join(thread, NULL);
	}
	if (strcmp(how, "last_thread") == 0) {
		void *volatile gone = calloc(1, 1000); /* with the stack that main has */

		memset(gone, 1, 1);
		pthread_create(&thread, NULL, ended_late, NULL);
		pthread_exit(NULL);
	}
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "segv") == 0)
		*(volatile int *)8 = 1;
	if (strcmp(how, "blocked") == 0)
		fill_output();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{"lists", case_lists},   {"trees", case_trees},
		{"rings", case_rings},   {"interior", case_interior},
		{"hidden", case_hidden}, {"sizes", case_sizes},
		{"tls", case_tls},       {"threads", case_threads},
		{"ended", case_ended},   {"threads-64", case_threads_64},
		{"plugin", case_plugin}, {"parent", case_parent},
		{"waiting", case_waiting},
	};

	for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(argv[1], cases[i].name) != 0)
			continue;
		cases[i].run();
		wipe();
		return 0;
	}
	if (argc == 3 && (strcmp(argv[1], "end") == 0 || strcmp(argv[1], "soiled") == 0)) {
		end(argv[2], strcmp(argv[1], "soiled") == 0);
		return 5;
	}
	fprintf(stderr, "usage: leaks CASE, leaks end HOW, or leaks soiled HOW\n");
	return 2;
}
