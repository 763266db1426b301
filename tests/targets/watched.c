/* SPDX-License-Identifier: MIT
 * watched CASE [SECONDS [PROGRAM]]   does what could go wrong where memory is armed under a program's feet, and checks each result
 * itself: 0 if all is as it would be without. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;
static double seconds = 2;
static const char *until; /* a file that ends the case */
static int program;

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s: %s\n", __func__, __LINE__, #condition, strerror(errno)); \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void nap(int ms) { usleep((useconds_t)ms * 1000); }

/* ---- system calls ---- */

static void file_calls(char *buffer, char *path, struct stat *status)
{
	int fd;

	memset(buffer, 'a', 20000);
	strcpy(path, "watched.data");
	nap(25);
	CHECK((fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600)) >= 0);
	CHECK(write(fd, buffer, 20000) == 20000);
	nap(25);
	CHECK(pread(fd, buffer, 20000, 0) == 20000);
	CHECK(fstat(fd, status) == 0 && status->st_size == 20000);
	nap(25);
	CHECK(stat(path, status) == 0 && status->st_size == 20000);
	nap(25);
	CHECK(unlink(path) == 0);
	CHECK(close(fd) == 0);
	CHECK(buffer[19999] == 'a');
}

static void *send_later(void *socket)
{
	nap(120);
	CHECK(send(*(int *)socket, "a datagram", 10, 0) == 10);
	return NULL;
}

/* The buffer is armed again and again while the thread sleeps in the kernel, and nothing may be lost. */
static void datagram_calls(char *buffer, struct msghdr *message, struct iovec *vectors)
{
	int pair[2];
	pthread_t thread;

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
	CHECK(pthread_create(&thread, NULL, send_later, &pair[1]) == 0);
	nap(30);
	CHECK(recv(pair[0], buffer, 100, 0) == 10 && memcmp(buffer, "a datagram", 10) == 0);
	pthread_join(thread, NULL);
	CHECK(pthread_create(&thread, NULL, send_later, &pair[1]) == 0);
	vectors[0] = (struct iovec){buffer, 3};
	vectors[1] = (struct iovec){buffer + 4096, 100};
	*message = (struct msghdr){.msg_iov = vectors, .msg_iovlen = 2};
	nap(30);
	CHECK(recvmsg(pair[0], message, 0) == 10 && memcmp(buffer + 4096, "atagram", 7) == 0);
	pthread_join(thread, NULL);
	close(pair[0]);
	close(pair[1]);
}

static void pipe_calls(int *ends, struct pollfd *polls, char *buffer)
{
	CHECK(pipe(ends) == 0);
	nap(25);
	CHECK(write(ends[1], buffer, 4000) == 4000);
	polls[0] = (struct pollfd){.fd = ends[0], .events = POLLIN};
	nap(25);
	CHECK(poll(polls, 1, 1000) == 1 && polls[0].revents & POLLIN);
	nap(25);
	CHECK(read(ends[0], buffer, 4000) == 4000);
	close(ends[0]);
	close(ends[1]);
}

static void stream_calls(char *buffer)
{
	FILE *file = tmpfile();

	CHECK(file);
	memset(buffer, 'b', 20000);
	nap(25);
	CHECK(fwrite(buffer, 1, 20000, file) == 20000);
	nap(25);
	CHECK(fprintf(file, "%s", "tail") == 4);
	rewind(file);
	nap(25);
	CHECK(fread(buffer, 1, 20004, file) == 20004 && memcmp(buffer + 19999, "btail", 5) == 0);
	fclose(file);
}

static void spawn_calls(void)
{
	char **argv = malloc(4 * sizeof(*argv));
	int status;
	pid_t pid;

	argv[0] = strdup("sh");
	argv[1] = strdup("-c");
	argv[2] = strdup("test \"$WATCHED\" = yes && exit 7");
	argv[3] = NULL;
	setenv("WATCHED", "yes", 1);
	nap(25);
	CHECK(posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
	nap(25);
	CHECK(WEXITSTATUS(system(argv[2])) == 7);
	nap(25);
	pid = vfork();
	if (pid == 0) {
		execvp(argv[0], argv);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
	for (int i = 0; i < 3; i++)
		free(argv[i]);
	free(argv);
}

static void case_calls(void)
{
	char *buffer = malloc(30000), *path = malloc(100);
	struct stat *status = malloc(sizeof(*status));
	struct msghdr *message = malloc(sizeof(*message));
	struct iovec *vectors = malloc(2 * sizeof(*vectors));
	int *ends = malloc(2 * sizeof(*ends));
	struct pollfd *polls = malloc(sizeof(*polls));

	for (double end = now() + seconds; now() < end;) {
		file_calls(buffer, path, status);
		datagram_calls(buffer, message, vectors);
		pipe_calls(ends, polls, buffer);
		stream_calls(buffer);
		spawn_calls();
	}
}

/* ---- signals ---- */

static sigjmp_buf back;
static volatile sig_atomic_t faults, alarms;
static volatile char *touched;

static void on_segv(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	faults++;
	CHECK(info->si_addr == (void *)16);
	siglongjmp(back, 1);
}

static void on_alarm(int number)
{
	(void)number;
	alarms++;
	touched[alarms % 1000]++; /* with all signals blocked */
}

static void fault_once(void)
{
	if (!sigsetjmp(back, 1))
		*(volatile char *)16 = 1;
}

static void case_signals(void)
{
	struct sigaction action = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_ONSTACK}, old;
	struct sigaction alarm_action = {.sa_handler = on_alarm};
	struct itimerval every = {{0, 20000}, {0, 20000}};
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536}, seen;
	sigset_t all, before;
	int count = 0;

	touched = malloc(1000);
	CHECK(sigaltstack(NULL, &seen) == 0 && seen.ss_flags & SS_DISABLE);
	CHECK(sigaltstack(&stack, NULL) == 0);
	CHECK(sigaction(SIGSEGV, &action, &old) == 0 && old.sa_handler == SIG_DFL);
	CHECK(sigaction(SIGSEGV, NULL, &old) == 0 && old.sa_sigaction == on_segv);
	sigfillset(&alarm_action.sa_mask);
	CHECK(sigaction(SIGALRM, &alarm_action, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
	sigfillset(&all);
	for (double end = now() + seconds; now() < end; count++) {
		fault_once();
		nap(15);
		CHECK(sigprocmask(SIG_SETMASK, &all, &before) == 0);
		touched[5]++;
		CHECK(sigprocmask(SIG_SETMASK, NULL, &all) == 0 && sigismember(&all, SIGSEGV) == 1);
		CHECK(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
		CHECK(sigprocmask(SIG_SETMASK, NULL, &before) == 0 && sigismember(&before, SIGSEGV) == 0);
	}
	CHECK(faults == count && alarms > 0);
	CHECK((void *)signal(SIGSEGV, SIG_DFL) == (void *)on_segv);
}

/* Ends by the signal, as a program does that nobody watches. */
static void case_crash(void)
{
	char *p = malloc(100);

	p[3] = 1;
	nap(100);
	*(volatile char *)16 = p[3];
}

/* ---- threads ---- */

struct shared {
	pthread_mutex_t lock;
	pthread_cond_t turn;
	long count, sum;
	char *areas[64];
};

static void *hammer(void *data)
{
	struct shared *shared = data;
	unsigned long random = (unsigned long)pthread_self();
	double end = now() + seconds;

	while (now() < end) {
		char *own = malloc(1 + random % 6000);

		random = random * 6364136223846793005ul + 1442695040888963407ul;
		own[0] = 1;
		for (int i = 0; i < 64; i++)
			__atomic_fetch_add(shared->areas[i], 1, __ATOMIC_RELAXED);
		own = realloc(own, 1 + (random >> 20) % 9000);
		CHECK(own[0] == 1);
		pthread_mutex_lock(&shared->lock);
		shared->count++;
		shared->sum += own[0];
		pthread_cond_broadcast(&shared->turn);
		if (random >> 62 == 0) {
			struct timespec soon;

			clock_gettime(CLOCK_REALTIME, &soon);
			soon.tv_nsec = (soon.tv_nsec + 1000000) % 1000000000;
			pthread_cond_timedwait(&shared->turn, &shared->lock, &soon);
		}
		pthread_mutex_unlock(&shared->lock);
		free(own);
	}
	return NULL;
}

static void case_threads(void)
{
	struct shared *shared = calloc(1, sizeof(*shared));
	pthread_t threads[8];

	pthread_mutex_init(&shared->lock, NULL);
	pthread_cond_init(&shared->turn, NULL);
	for (int i = 0; i < 64; i++)
		shared->areas[i] = calloc(1, (size_t)(8 + i * 200));
	for (int i = 0; i < 8; i++)
		CHECK(pthread_create(&threads[i], NULL, hammer, shared) == 0);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	CHECK(shared->count > 0 && shared->count == shared->sum);
	for (int i = 1; i < 64; i++)
		CHECK(*shared->areas[i] == *shared->areas[0]);
}

/* ---- forks ---- */

static int child_checks(char **areas, int count, int round)
{
	for (int i = 0; i < count; i++) {
		char *p = malloc(50);

		if (areas[i][0] != (char)i || areas[i][7] != (char)round)
			return 1;
		areas[i][7]++; /* the child's copy */
		free(p);
		areas[i] = realloc(areas[i], (size_t)(100 + i));
	}
	return 0;
}

static void case_fork(void)
{
	enum { COUNT = 300 };
	char *areas[COUNT];
	int round = 0;

	for (int i = 0; i < COUNT; i++) {
		areas[i] = calloc(1, (size_t)(8 + i * 30));
		areas[i][0] = (char)i;
	}
	for (double end = now() + seconds; now() < end; round++) {
		int status;
		pid_t pid;

		for (int i = 0; i < COUNT; i++)
			areas[i][7] = (char)round;
		nap(30);
		pid = fork();
		if (pid == 0)
			_exit(child_checks(areas, COUNT, round));
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		for (int i = 0; i < COUNT; i += 7)
			CHECK(areas[i][7] == (char)round);
	}
}

/* ---- the heap ---- */

static void case_heap(void)
{
	enum { COUNT = 200 };
	unsigned char *areas[COUNT] = {0};
	size_t sizes[COUNT] = {0};
	unsigned long random = 1;

	for (double end = now() + seconds; now() < end;) {
		for (int i = 0; i < COUNT; i++) {
			size_t size = (random >> 20) % (random >> 60 ? 3000 : 3000000) + 1;

			random = random * 6364136223846793005ul + 1442695040888963407ul;
			for (size_t k = 0; k < sizes[i]; k += 511)
				CHECK(areas[i][k] == (unsigned char)i);
			if (random >> 61 == 0) {
				free(areas[i]);
				areas[i] = calloc(1, size);
				for (size_t k = 0; k < size; k += 511)
					CHECK(areas[i][k] == 0);
			} else if (random >> 61 == 1) {
				free(areas[i]);
				CHECK(posix_memalign((void **)&areas[i], 4096, size) == 0);
				CHECK(((unsigned long)areas[i] & 4095) == 0);
			} else {
				areas[i] = realloc(areas[i], size);
				for (size_t k = 0; k < size && k < sizes[i]; k += 511)
					CHECK(areas[i][k] == (unsigned char)i);
			}
			memset(areas[i], i, size);
			sizes[i] = size;
		}
		nap(20);
	}
}

/* ---- stacks in the heap, memory that the program protects itself ---- */

static ucontext_t *main_context, *other;

static void other_runs(void)
{
	for (;;) {
		volatile char frame[2000];

		frame[1000] = 1;
		CHECK(frame[1000] == 1);
		swapcontext(other, main_context);
	}
}

static void case_contexts(void)
{
	char *stack = malloc(64000);

	main_context = malloc(sizeof(*main_context));
	other = malloc(sizeof(*other));
	CHECK(getcontext(other) == 0);
	other->uc_stack.ss_sp = stack;
	other->uc_stack.ss_size = 64000;
	makecontext(other, other_runs, 0);
	for (double end = now() + seconds; now() < end;) {
		CHECK(swapcontext(main_context, other) == 0);
		nap(15);
	}
}

static char *guarded;

static void on_guard(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	CHECK((char *)info->si_addr == guarded + 4);
	faults++;
	CHECK(mprotect(guarded, 4096, PROT_READ | PROT_WRITE) == 0);
}

static void case_guards(void)
{
	struct sigaction action = {.sa_sigaction = on_guard, .sa_flags = SA_SIGINFO};
	int count = 0;

	CHECK(posix_memalign((void **)&guarded, 4096, 4096) == 0);
	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	for (double end = now() + seconds; now() < end; count++) {
		nap(15);
		CHECK(mprotect(guarded, 4096, PROT_NONE) == 0);
		((volatile char *)guarded)[4] = 1;
	}
	CHECK(faults == count);
}

/* ---- a sandbox ---- */

/* Whoever changes protections, masks or returns from a handler dies: all that was armed must be open by then. */
static void case_sandbox(void)
{
	enum { BLOCKS = 200 };
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog *filter = malloc(sizeof(*filter)); /* armed as all else */
	volatile char *blocks[BLOCKS];

	CHECK(filter && (filter->filter = malloc(sizeof(code))) != NULL);
	memcpy(filter->filter, code, sizeof(code));
	filter->len = sizeof(code) / sizeof(code[0]);
	for (int i = 0; i < BLOCKS; i++)
		CHECK((blocks[i] = malloc(100 + 50 * (size_t)i)) != NULL);
	/* libseccomp's question, which no kernel grants: watching goes on. */
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) == -1 && errno == EINVAL);
	for (double end = now() + seconds; now() < end; nap(100))
		for (int i = 0; i < BLOCKS / 2; i++)
			blocks[i][3] = 1;
	nap(200);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0) == 0);
	for (int round = 0; round < 5; round++, nap(50))
		for (int i = 0; i < BLOCKS; i++)
			blocks[i][5] = 1;
}

/* Whoever waits for a futex dies. To ask again and again instead would cost all of a CPU. */
static void case_deaf(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};
	volatile char *block = malloc(100);
	clock_t before;

	block[0] = 1;
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0);
	nap(1200); /* it may wait already, for a second */
	before = clock();
	nap(500);
	CHECK(clock() - before < CLOCKS_PER_SEC / 5);
}

/* ---- hits that are known ---- */

/* ---- system calls that nobody sees ---- */

static long raw_write(int fd, const void *from, size_t bytes)
{
	long result;

#if defined(__x86_64__)
	__asm__ volatile("syscall" : "=a"(result) : "a"(1), "D"(fd), "S"(from), "d"(bytes) : "rcx", "r11", "memory");
#else
	register long number __asm__("x8") = 64, a __asm__("x0") = fd, b __asm__("x1") = (long)from,
		      c __asm__("x2") = (long)bytes;

	__asm__ volatile("svc 0" : "+r"(a) : "r"(number), "r"(b), "r"(c) : "memory");
	result = a;
#endif
	return result;
}

/* By libc's syscall() and inside of libc nothing may fail. By an instruction of its own a program gets EFAULT for armed memory,
 * and no other harm: once it has touched the memory the call works. */
static void case_raw(void)
{
	char *buffer = malloc(30000), *small = malloc(50);
	FILE *null = fopen("/dev/null", "w");
	long refused = 0, calls = 0;
	int ends[2];

	CHECK(null && pipe(ends) == 0);
	memset(buffer, 'r', 30000);
	buffer[29999] = 0;
	for (double end = now() + seconds; now() < end; calls++) {
		long result;

		nap(25);
		CHECK(fprintf(null, "%s", buffer) == 29999 && fflush(null) == 0);
		nap(25);
		CHECK(syscall(SYS_write, ends[1], buffer, 40) == 40);
		CHECK(syscall(SYS_read, ends[0], small, 40) == 40 && small[39] == 'r');
		nap(25);
		result = raw_write(ends[1], buffer, 4000);
		if (result == -EFAULT) {
			refused++;
			CHECK(buffer[100] == 'r');
			result = raw_write(ends[1], buffer, 4000);
		}
		CHECK(result == 4000 && read(ends[0], buffer, 4000) == 4000);
	}
	printf("raw calls %ld, refused %ld\n", calls, refused);
}

/* For so many seconds of CPU time, of which a share is what monitoring may cost, whatever runs beside. */
static void work(double for_seconds)
{
	for (clock_t end = clock() + (clock_t)(for_seconds * CLOCKS_PER_SEC); clock() < end;)
		;
}

/* Many areas rest while the program works, and then all are touched at once; so many times. */
static void touch_all(int stride, int times)
{
	enum { AREAS = 8000 };
	static volatile char *areas[AREAS];

	for (int i = 0; i < AREAS; i++) {
		areas[i] = malloc(3000);
		areas[i][0] = 1;
	}
	for (; times; times--) {
		work(seconds);
		for (int i = 0; i < AREAS; i++)
			CHECK(areas[i * stride % AREAS][0] == 1);
	}
	work(0.3);
}

/* In no order of addresses, and in that, twice: only what was hit is opened with its neighbours. */
static void case_burst(void) { touch_all(4001, 1); }
static void case_sweep(void) { touch_all(1, 2); }

/* 100 small areas and a large one; of these 10 and the large one are touched ten times a second, until there is a certain file, if one
 * is named. */
static void case_known(void)
{
	volatile char *areas[100], *large = malloc(100000);

	for (int i = 0; i < 100; i++) {
		areas[i] = malloc((size_t)(100 + i));
		areas[i][0] = 1;
	}
	for (double end = now() + seconds; now() < end && (!until || access(until, F_OK) != 0); nap(100)) {
		for (int i = 0; i < 10; i++)
			areas[i][3]++;
		large[50000]++;
	}
	_exit(0);
}

static __attribute__((noinline)) volatile char *live_area(size_t size)
{
	volatile char *p = malloc(size);

	p[0] = 1;
	return p;
}

static __attribute__((noinline)) void stale_area(size_t size) { *(volatile char *)malloc(size) = 1; }

/* Of each size 100 areas are read again and again, all in a row, and as many are never touched again. Says how long it took at
 * most from one time to the next: a busy machine may hold the program up. */
static void case_live(void)
{
	static const size_t sizes[] = {16, 64, 200, 700, 2000, 4096};
	enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), EACH = 100 };
	volatile char *areas[SIZES * EACH];
	double last = now(), longest = 0, end = last + seconds;

	for (int i = 0; i < SIZES * EACH; i++) {
		areas[i] = live_area(sizes[i / EACH]);
		stale_area(sizes[i / EACH]);
	}
	while (last < end) {
		double before = last;

		work(0.1);
		nap(300);
		for (int i = 0; i < SIZES * EACH; i++)
			CHECK(areas[i][0] == 1);
		last = now();
		longest = last - before > longest ? last - before : longest;
	}
	printf("%.0f\n", 1000 * longest);
	fflush(stdout);
	_exit(0);
}

/* ---- sets that are known ---- */

enum { SETS_MANNERS = 4, SETS_MOST = 200, SETS_BYTES = 2 << 20 };
static volatile char *sets_live[SETS_MOST];
static int sets_count;

static void *sets_read(void *unused)
{
	(void)unused;
	for (int i = 0; i < sets_count; i++)
		CHECK(sets_live[i][0] == 1);
	return NULL;
}

/* Chunks of the same size that come and go, a few of which live at a time. */
static void sets_churn(size_t size)
{
	enum { AT_A_TIME = 50, ROUNDS = 20 };
	static char *areas[AT_A_TIME];

	for (int i = 0; i < AT_A_TIME * ROUNDS; i++) {
		free(areas[i % AT_A_TIME]);
		areas[i % AT_A_TIME] = malloc(size);
		areas[i % AT_A_TIME][0] = 1;
	}
}

/* One of 20 programs: each has a size, and as many areas that are read again and again as ones that never are. Says how long it took
 * at most from one time to the next, and how many bytes are stale. */
static void case_sets(void)
{
	static const size_t sizes[] = {16,  24,  40,   64,   100,  128,  200,  256,  400,   512,
				       700, 900, 1500, 2000, 2100, 4096, 8192, 16384, 40000, 65536};
	size_t size = sizes[(size_t)program % (sizeof(sizes) / sizeof(sizes[0]))];
	enum { ALTERNATE, APART, CHURN_BESIDE, OTHER_THREAD } manner = program % SETS_MANNERS;
	double last, longest = 0, end;

	sets_count = SETS_BYTES / size < SETS_MOST ? (int)(SETS_BYTES / size) : SETS_MOST;
	for (int i = 0; i < sets_count; i++) {
		sets_live[i] = live_area(size);
		if (manner != APART)
			stale_area(size);
	}
	for (int i = 0; manner == APART && i < sets_count; i++)
		stale_area(size);
	for (last = now(), end = last + seconds; last < end;) {
		double before = last;
		pthread_t reading;

		work(0.2);
		nap(200);
		if (manner == CHURN_BESIDE)
			sets_churn(size);
		if (manner != OTHER_THREAD)
			sets_read(NULL);
		else
			CHECK(pthread_create(&reading, NULL, sets_read, NULL) == 0 && pthread_join(reading, NULL) == 0);
		last = now();
		longest = last - before > longest ? last - before : longest;
	}
	printf("%.0f %zu\n", 1000 * longest, (size_t)sets_count * size);
	fflush(stdout);
	_exit(0);
}

/* ---- short lives ---- */

enum { CHURN = 500000, CHURN_MOVED = 50000, CHURN_FRESH = 10000, CHURN_GIVEN = 20000, CHURN_KEPT = 100 };
static void *given; /* from one thread to another */

static void *frees_given(void *unused)
{
	(void)unused;
	for (int i = 0; i < CHURN_GIVEN; i++) {
		void *p;

		while (!(p = __atomic_exchange_n(&given, NULL, __ATOMIC_ACQ_REL)))
			sched_yield();
		free(p);
	}
	return NULL;
}

/* Chunks that end at once: by who allocated them, in and after a realloc, and by another thread. Some that stay are among them. */
static void case_churn(void)
{
	static char *volatile kept[CHURN_KEPT];
	pthread_t freeing;

	for (int i = 0; i < CHURN; i++) {
		char *volatile p = malloc((size_t)(16 + i % 100));

		free(p);
		if (i % (CHURN / CHURN_KEPT) == 0)
			kept[i / (CHURN / CHURN_KEPT)] = malloc(1000);
	}
	for (int i = 0; i < CHURN_MOVED; i++) {
		static const char zeros[20];
		size_t size = (size_t)(10 + i % 200);
		char *volatile p = i % 2 ? malloc(sizeof(zeros)) : calloc(4, sizeof(zeros) / 4);

		CHECK(i % 2 || memcmp(p, zeros, sizeof(zeros)) == 0);
		memset(p, 1 + i % 100, sizeof(zeros));
		p = realloc(p, size);
		CHECK(p[0] == 1 + i % 100 && p[(size < sizeof(zeros) ? size : sizeof(zeros)) - 1] == 1 + i % 100);
		free(p);
	}
	for (int i = 0; i < CHURN_FRESH; i++) {
		char *volatile p = realloc(NULL, (size_t)(10 + i % 200));

		free(p);
	}
	CHECK(pthread_create(&freeing, NULL, frees_given, NULL) == 0);
	for (int i = 0; i < CHURN_GIVEN; i++) {
		void *p = malloc(50);

		while (__atomic_load_n(&given, __ATOMIC_ACQUIRE))
			sched_yield();
		__atomic_store_n(&given, p, __ATOMIC_RELEASE);
	}
	pthread_join(freeing, NULL);
	nap(100);
	CHECK(kept[0] && kept[CHURN_KEPT - 1]);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{"calls", case_calls},   {"signals", case_signals}, {"crash", case_crash},
		{"threads", case_threads}, {"fork", case_fork},     {"heap", case_heap},
		{"contexts", case_contexts}, {"guards", case_guards}, {"known", case_known},
		{"raw", case_raw},         {"burst", case_burst},
		{"sweep", case_sweep},     {"sandbox", case_sandbox},
		{"deaf", case_deaf},       {"live", case_live},
		{"churn", case_churn},     {"sets", case_sets},
	};

	if (argc > 2)
		seconds = atof(argv[2]);
	if (argc > 3)
		until = argv[3], program = atoi(argv[3]);
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[1]) != 0)
			continue;
		cases[i].run();
		printf("%s done\n", argv[1]);
		return 0;
	}
	return 2;
}
