/* SPDX-License-Identifier: MIT
 * A program that would notice if somebody had it make processes, changed its registers or cut its waits short. Says
 * "ready", goes on until its input ends, and then prints "fine" or what it has noticed.
 *
 *	unseen [THREADS [BLOCKS]]   threads wait in all kinds of ways, and one computes
 *	unseen filter               forbids itself to make processes, by death
 *	unseen adopt                takes care of orphans
 *	unseen limit                may not have more processes
 *	unseen hide                 keeps a page with a pointer from forks, and shares one */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t signals;
static volatile int over;
static const char *noticed;
static void **table;
static int never[2]; /* a pipe that nobody writes to */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;

static void notice(const char *what)
{
	if (!noticed)
		noticed = what;
}

static void on_child(int number)
{
	(void)number;
	signals++;
}

static long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Waits that must be neither shorter nor fail, with errno as it was. */
static void wait_once(int how)
{
	const struct timespec time = {.tv_nsec = 30000000};
	struct timespec until;
	long before = now_us();

	errno = 77;
	switch (how) {
	case 0:
		if (nanosleep(&time, NULL) != 0)
			notice("nanosleep failed");
		break;
	case 1:
		if (poll(NULL, 0, 30) != 0)
			notice("poll failed");
		break;
	default:
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 30000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_mutex_lock(&lock);
		if (pthread_cond_timedwait(&bell, &lock, &until) != ETIMEDOUT)
			notice("a condition was met");
		pthread_mutex_unlock(&lock);
	}
	if (errno != 77)
		notice("errno changed");
	if (how < 2 && now_us() - before < 29000)
		notice("a wait was cut short");
}

static void *thread_main(void *argument)
{
	long number = (long)argument;
	char byte;

	if (number % 4 == 3 && read(never[0], &byte, 1) != 0)
		notice("a read failed");
	while (number % 4 != 3 && !over)
		wait_once((int)(number % 4));
	return NULL;
}

/* The same numbers each time, in as many registers as there are, vectors and flags included. */
static unsigned long compute(void)
{
	unsigned long a = 1, b = 2, c = 3, d = 5, e = 7, f = 11, g = 13, h = 17, i = 19, j = 23;
	double x = 0.5, y = 0.25, z = 0.125;

	for (int n = 0; n < 20000; n++) {
		a = a * 6364136223846793005ul + b;
		b ^= a >> 7;
		c += b < a ? d : e;
		d = (d << 5 | d >> 59) ^ c;
		e += f - (c > d);
		f ^= e * 31;
		g += h ^ a;
		h -= g > f ? i : j;
		i = i * 33 + h;
		j ^= i >> 3;
		x = x * 0.75 + y;
		y = y * 0.5 + z;
		z = z * 0.25 + x * 0.125;
	}
	return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j ^ (unsigned long)(x * 1e9) ^ (unsigned long)(y * 1e9) ^
	       (unsigned long)(z * 1e9);
}

static void children_check(void)
{
	siginfo_t info = {0};

	if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
		notice("it has a child");
	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) != -1 || errno != ECHILD)
		notice("it has a child by waitid");
}

static int input_ended(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};

	return poll(&input, 1, 0) > 0;
}

/* Blocks that point to each other, and one that nothing points to. */
static void blocks_make(long count)
{
	table = calloc((size_t)count + 1, sizeof(*table));
	for (long i = 0; i < count; i++)
		if ((table[i] = malloc(40)))
			memset(table[i], 0, 40);
}

static void filter_set(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_vfork
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_vfork, 1, 0),
#endif
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(rules) / sizeof(rules[0]), rules};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		notice("no filter could be set");
}

static void hide(void)
{
	const int pages = MAP_ANONYMOUS;
	void **hidden = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | pages, -1, 0);
	void **shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | pages, -1, 0);

	hidden[3] = malloc(7777);
	shared[5] = malloc(8888);
	madvise(hidden, 4096, MADV_DONTFORK);
}

static void mode_set(const char *mode)
{
	struct rlimit none = {1, 1};

	if (strcmp(mode, "filter") == 0)
		filter_set();
	else if (strcmp(mode, "adopt") == 0)
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	else if (strcmp(mode, "limit") == 0 &&
		 (setrlimit(RLIMIT_NPROC, &none) != 0 || (getuid() == 0 && setuid(65534) != 0)))
		notice("no limit could be set");
	else if (strcmp(mode, "hide") == 0)
		hide();
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 0, blocks = argc > 2 ? atol(argv[2]) : 1000;
	pthread_t *all = calloc((size_t)threads + 1, sizeof(*all));
	unsigned long wanted = compute();

	signal(SIGCHLD, on_child);
	if (pipe(never) != 0)
		return 1;
	blocks_make(blocks);
	for (long i = 0; i < threads; i++)
		pthread_create(&all[i], NULL, thread_main, (void *)i);
	if (argc > 1)
		mode_set(argv[1]);
	puts("ready");
	fflush(stdout);
	while (!input_ended() && !noticed) {
		errno = 77;
		if (compute() != wanted)
			notice("it computed something else");
		if (errno != 77)
			notice("errno changed");
		children_check();
	}
	over = 1;
	close(never[1]); /* if anybody else has it the threads that read wait for ever */
	for (long i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	children_check();
	if (signals)
		notice("SIGCHLD came");
	puts(noticed ? noticed : "fine");
	return noticed != NULL;
}
