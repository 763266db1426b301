/* SPDX-License-Identifier: MIT
 * Controls its own recording through include/heapwise/heapwise.h, and prints what it knows of the
 * truth; tests/run/control.sh compares. Blocks of one part of a program have one size, so that they
 * are told apart in a trace. Without Heapwise every case runs to its end as well. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <heapwise/heapwise.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 1000, WORKERS = 4 };

static void *blocks[BLOCKS];

static void *block(size_t size)
{
	void *p = malloc(size);

	if (!p)
		exit(1);
	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

static void make(unsigned count, size_t size)
{
	for (unsigned i = 0; i < count; i++)
		blocks[i] = block(size);
}

static void drop(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		free(blocks[i]);
		blocks[i] = NULL;
	}
}

static void nap(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&time, &time) < 0) {
	}
}

/* ---- threads that allocate meanwhile --------------------------------------------------------- */

static atomic_bool over;

static void *work(void *size)
{
	while (!atomic_load(&over)) {
		void *p = block((size_t)size);

		free(realloc(p, (size_t)size + 1));
	}
	return NULL;
}

static void start_workers(pthread_t *threads, size_t size)
{
	atomic_store(&over, false);
	for (size_t i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)size))
			exit(1);
}

static void end_workers(pthread_t *threads)
{
	atomic_store(&over, true);
	for (size_t i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static int failed(const char *what, int result)
{
	if (result)
		printf("%s: %d %s\n", what, result, strerror(errno));
	return result != 0;
}

/* Three recordings: 1,000 blocks in the first, 600 in the second, which frees 400 of the first's, and
 * 50 in the third, which begins after a stop. */
static int restart(char **argv)
{
	int failures = 0;

	make(BLOCKS, 5001);
	failures += failed("restart", heapwise_restart(argv[0]));
	drop(400);
	make(400, 5002);
	drop(100);
	make(100, 5002);
	free(realloc(block(5002), 7002));
	failures += failed("stop", heapwise_stop());
	if (access(argv[0], F_OK) == 0)
		printf("state %d\n", heapwise_state());
	drop(300);
	make(300, 5003); /* nobody sees these */
	failures += failed("second restart", heapwise_restart(argv[1]));
	make(50, 5004);
	failures += failed("second stop", heapwise_stop());
	failures += failed("stop of what has stopped", heapwise_stop());
	drop(BLOCKS);
	return failures;
}

/* The same with threads at work all the time: nothing may be torn or lost. */
static int busy(char **argv)
{
	pthread_t threads[WORKERS];
	int failures = 0;

	start_workers(threads, 3000);
	for (unsigned i = 0; argv[i]; i++) {
		make(BLOCKS, 5001 + i);
		nap(20);
		failures += failed("restart", heapwise_restart(argv[i]));
		drop(BLOCKS);
	}
	failures += failed("stop", heapwise_stop());
	end_workers(threads);
	return failures;
}

/* What cannot work says so, and the recording goes on. */
static int refused(char **argv)
{
	/* The last one is the file that is being written. */
	const char *const names[] = {NULL, "", "/no/such/folder/trace", "/", argv[0]};

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		int result;

		errno = 0;
		result = heapwise_restart(names[i]);
		printf("%d %s\n", result, result ? strerror(errno) : "");
	}
	make(10, 5005);
	printf("state %d\n", heapwise_state());
	return 0;
}

/* Gives up its rights, and asks for a file that it could not write itself. */
static int rights(char **argv)
{
	free(block(5020));
	if (setresuid(65534, 65534, 65534))
		return 1;
	failed("restart", heapwise_restart(argv[0]));
	return 0;
}

/* A relative name is looked up where the program is, not where its monitor is. */
static int relative(char **argv)
{
	if (chdir(argv[0]))
		return 1;
	return failed("restart", heapwise_restart("here.hwt"));
}

/* Allocates, tells its number of blocks when they should be in the file, and is killed. */
static int autosave(char **argv)
{
	heapwise_autosave(strtoull(argv[0], NULL, 10));
	for (unsigned i = 0; i < 20000; i++)
		block(5006);
	nap(200); /* less than the second after which everything is written anyway */
	printf("%d\n", (int)getpid());
	fflush(stdout);
	nap(60000);
	return 0;
}

static int save(char **argv)
{
	pthread_t threads[WORKERS];

	(void)argv;
	start_workers(threads, 3000);
	make(BLOCKS, 5007);
	if (failed("save", heapwise_save()))
		return 1;
	kill(getppid(), SIGKILL);
	kill(getpid(), SIGKILL);
	return 1;
}

static void called(void *count) { ++*(unsigned *)count; }

static int marks(char **argv)
{
	unsigned calls = 0;

	(void)argv;
	heapwise_mark(7);
	heapwise_phase_begin("load");
	make(100, 5008);
	heapwise_mark_named("in \"the\" middle");
	heapwise_phase_end("load");
	heapwise_on_snapshot(called, &calls);
	heapwise_snapshot();
	make(50, 5009);
	heapwise_on_snapshot(NULL, NULL);
	heapwise_snapshot();
	heapwise_mark_named("a name that is much longer than a name in a trace may be, and is cut");
	heapwise_mark_named(NULL);
	for (unsigned i = 0; i < 1100; i++) {
		char name[16];

		snprintf(name, sizeof name, "name %u", i);
		heapwise_mark_named(name);
	}
	heapwise_phase_begin("load");
	heapwise_pause();
	heapwise_phase_end("load"); /* marks are told even now */
	heapwise_resume();
	printf("%u\n", calls);
	return 0;
}

/* Known chunks end while paused; what is born then is unknown later. */
static int paused(char **argv)
{
	void *grown = block(5010);

	(void)argv;
	make(BLOCKS, 5010);
	heapwise_pause();
	drop(300);                    /* 300 of the known ones */
	grown = realloc(grown, 9010); /* ends the known one, begins nothing */
	make(300, 5011);              /* unseen */
	heapwise_resume();
	drop(200);       /* unknown */
	make(200, 5012); /* most likely at the same addresses */
	nap(300);        /* long enough for those that wait for something */
	drop(BLOCKS);    /* 200 of 5012, 100 unknown, 700 known */
	free(grown);     /* unknown */
	return 0;
}

/* Is controlled from outside: allocates blocks of one size and naps until a file appears. */
static int steered(char **argv)
{
	unsigned calls = 0, callback = argv[1] != NULL;

	if (callback)
		heapwise_on_snapshot(called, &calls);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (access(argv[0], F_OK)) {
		free(block(5013));
		nap(1);
		if (callback)
			heapwise_poll();
	}
	printf("%u\n", calls);
	return 0;
}

static __attribute__((noinline)) void lose(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		block(5033);
}

/* Overwrites what calls before this one have left on the stack. */
static __attribute__((noinline)) void sweep(void)
{
	char stack[8192];

	memset(stack, 0, sizeof(stack));
	__asm__ volatile("" : : "r"(stack) : "memory");
}

/* Keeps 7 blocks and loses 3; 2 more when it may go on. */
static int leaking(char **argv)
{
	make(7, 5031);
	lose(3);
	sweep();
	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (access(argv[0], F_OK))
		nap(10);
	lose(2);
	sweep();
	return 0;
}

/* Does nothing until it is terminated, and then frees all at once. */
static int dropping(char **argv)
{
	sigset_t terminated;
	int number;

	(void)argv;
	sigemptyset(&terminated);
	sigaddset(&terminated, SIGTERM);
	sigprocmask(SIG_BLOCK, &terminated, NULL);
	make(100, 5041);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	sigwait(&terminated, &number);
	drop(100);
	return 0;
}

/* Has a callback, and never calls us. */
static int deaf(char **argv)
{
	heapwise_on_snapshot(called, NULL);
	block(5013);
	puts("ready");
	fflush(stdout);
	while (access(argv[0], F_OK))
		nap(10);
	return 0;
}

/* Its monitor dies: nothing waits for it, and nothing fails. */
static int orphan(char **argv)
{
	int before = heapwise_state();

	make(10, 5019);
	kill(getppid(), SIGKILL);
	nap(300);
	heapwise_save();
	heapwise_restart(argv[0]);
	heapwise_stop();
	heapwise_mark_named("gone");
	heapwise_snapshot();
	printf("%d\n%d\ndone\n", before, heapwise_state());
	fflush(stdout);
	return 0;
}

/* Says by blocks of different sizes what it believes to be recorded. */
static int started(char **argv)
{
	(void)argv;
	make(10, 5014);
	heapwise_resume();
	make(20, 5015);
	drop(20);
	return 0;
}

/* stop, exec, restart in the next image */
static int again(char **argv)
{
	if (argv[1]) {
		make(5, 5016);
		if (failed("stop", heapwise_stop()))
			return 1;
		execl("/proc/self/exe", "control", "again", argv[0], (char *)NULL);
		return 1;
	}
	make(7, 5017);
	if (failed("restart", heapwise_restart(argv[0])))
		return 1;
	make(9, 5018);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **argv);
	} cases[] = {
		{"restart", restart},   {"busy", busy},         {"refused", refused},
		{"relative", relative}, {"autosave", autosave}, {"save", save},
		{"marks", marks},       {"paused", paused},     {"steered", steered},
		{"started", started},   {"again", again},       {"deaf", deaf},
		{"orphan", orphan},     {"rights", rights},
		{"leaking", leaking},   {"dropping", dropping},
	};

	for (unsigned i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			return cases[i].run(argv + 2);
	return 2;
}
