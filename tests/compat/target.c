/* SPDX-License-Identifier: MIT
 * Programs of the kinds that profilers break. Usage: compat_target CASE [ARGUMENT...]
 * Each does what its kind does, allocates blocks of 1237 bytes, which nobody else does, and says how many:
 * "truth ALLOCATIONS FREES". What it prints and how it ends must be the same with and without a recorder. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#ifdef __GLIBC__
#include <ucontext.h>
#endif
#include <unistd.h>

enum { SIZE = 1237 };

static int allocations, frees;
static int arguments;
static char **argument;

/* ---- what all do ---- */

static void need(int holds, const char *what)
{
	if (holds)
		return;
	printf("WRONG: %s (%s)\n", what, strerror(errno));
	fflush(stdout);
	_exit(99);
}

static void allocate(int count)
{
	for (int i = 0; i < count; i++) {
		char *volatile block = malloc(SIZE);

		need(block != NULL, "malloc");
		memset(block, 1, SIZE);
		__atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
		if (i % 2 == 0)
			continue;
		errno = 4242;
		free(block);
		need(errno == 4242, "errno after free");
		__atomic_fetch_add(&frees, 1, __ATOMIC_RELAXED);
	}
}

/* No stdio: descriptors and environment may be gone. */
static void say_truth(int fd)
{
	char line[64];
	int n = snprintf(line, sizeof line, "truth %d %d\n", allocations, frees);

	need(write(fd, line, (size_t)n) == n, "write");
}

static int number(int at, int otherwise) { return arguments > at ? atoi(argument[at]) : otherwise; }

static int wait_for(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	return status;
}

/* ---- processes ---- */

/* As daemon(3): forks twice, leaves terminal and folder, has no descriptors; then works. ARGUMENT: file for the truth. */
static void case_daemon(void)
{
	pid_t pid = fork();

	if (pid) {
		need(wait_for(pid) == 0, "the child of a daemon's start");
		return;
	}
	setsid();
	if (fork())
		_exit(0);
	need(chdir("/") == 0, "chdir");
	for (int fd = 0; fd < 256; fd++)
		close(fd);
	usleep(100000); /* the parents have ended */
	allocate(1000);
	say_truth(open(argument[0], O_WRONLY | O_CREAT | O_TRUNC, 0644));
	_exit(0);
}

/* ARGUMENT children of ten allocations each, 20 at a time. */
static void case_storm(void)
{
	int count = number(0, 200);

	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		need(pid >= 0, "fork");
		if (pid == 0) {
			allocate(10);
			_exit(0);
		}
		if (i >= 20)
			need(wait(NULL) > 0, "wait");
	}
	while (wait(NULL) > 0) {
	}
	allocations = 10 * count;
	frees = 5 * count;
}

/* Allocates, and becomes another program: ARGUMENT..., with an empty environment if the first is "-i". */
static void case_exec(void)
{
	char *nothing[] = {NULL};
	int scrub = strcmp(argument[0], "-i") == 0;

	allocate(100);
	say_truth(1);
	if (scrub)
		execve(argument[1], argument + 1, nothing);
	else
		execv(argument[0], argument);
	need(0, "exec");
}

static void case_scrubbed(void)
{
	allocate(10);
	clearenv();
	allocate(990);
}

/* Children of a process without an environment. */
static void case_scrubbed_child(void)
{
	pid_t pid;

	clearenv();
	pid = fork();
	if (pid == 0) {
		allocate(1000);
		say_truth(1);
		exit(0);
	}
	need(wait_for(pid) == 0, "child");
}

static void case_chroot(void)
{
	allocate(10);
	need(chroot(argument[0]) == 0 && chdir("/") == 0, "chroot");
	allocate(990);
}

static void case_chroot_child(void)
{
	pid_t pid;

	allocate(10);
	need(chroot(argument[0]) == 0 && chdir("/") == 0, "chroot");
	pid = fork();
	if (pid == 0) {
		allocate(1000);
		exit(0);
	}
	need(wait_for(pid) == 0, "child");
}

static void case_user_namespace(void)
{
	allocate(10);
	need(unshare(CLONE_NEWUSER) == 0, "unshare");
	allocate(990);
}

/* The child is process 1 of its namespace. */
static void case_pid_namespace(void)
{
	pid_t pid;

	need(unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0, "unshare");
	pid = fork();
	if (pid == 0) {
		need(getpid() == 1, "number of the first process");
		allocate(1000);
		say_truth(1);
		exit(0);
	}
	need(wait_for(pid) == 0, "child");
}

/* ---- what the system refuses ---- */

static void filter_install(const int *numbers, int count, uint32_t those, uint32_t others)
{
	struct sock_filter code[128] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = {.filter = code};
	int at = 1;

	for (int i = 0; i < count; i++) {
		code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)numbers[i], 0, 1);
		code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, those);
	}
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
	program.len = (unsigned short)at;
	need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
	if (arguments && strcmp(argument[0], "syscall") == 0)
		need(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0, "seccomp");
	else
		need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0, "seccomp");
}

static void *allocate_many(void *count)
{
	allocate((int)(intptr_t)count);
	return NULL;
}

static void run_threads(int count, int each)
{
	pthread_t thread;

	for (int i = 0; i < count; i++) {
		need(pthread_create(&thread, NULL, allocate_many, (void *)(intptr_t)each) == 0, "pthread_create");
		pthread_join(thread, NULL);
	}
}

/* What a sandbox takes away that profilers like to use. */
static void case_seccomp_refuses(void)
{
	static const int refused[] = {SYS_memfd_create, SYS_userfaultfd, SYS_ptrace, SYS_process_vm_readv,
				      SYS_openat,
#ifdef SYS_open /* newer processors have SYS_openat only */
				      SYS_open,
#endif
				      SYS_perf_event_open};

	filter_install(refused, sizeof refused / sizeof *refused, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW);
	allocate(1000);
	run_threads(3, 100);
}

/* What a renderer or a decompressor is left with: everything else is death. */
static void case_seccomp_kills(void)
{
	static const int allowed[] = {SYS_read, SYS_write, SYS_exit, SYS_exit_group, SYS_brk, SYS_mmap, SYS_munmap,
				      SYS_mprotect, SYS_rt_sigreturn};

	allocate(10);
	filter_install(allowed, sizeof allowed / sizeof *allowed, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
	allocate(100000);
	say_truth(1);
	_exit(5);
}

/* The second filter is looked at, too, where the first forbids what the recorder looks with. */
static void case_seccomp_twice(void)
{
	static const int refused[] = {SYS_rt_sigprocmask};

	filter_install(refused, 1, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW);
	case_seccomp_kills();
}

/* libseccomp finds out what the kernel knows by calls that must fail, one of them for strict mode. */
static void case_seccomp_probe(void)
{
	allocate(10);
	need(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) == -1 && errno == EINVAL, "strict mode with a flag");
	need(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, &errno) == -1 && errno == EINVAL, "strict mode with a filter");
	need(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) == -1 && errno == EFAULT, "no filter");
	need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) == -1 && errno == EFAULT, "no filter by prctl");
	case_seccomp_refuses();
}

/* read, write and exit: not even memory. */
static void case_seccomp_strict(void)
{
	free(malloc(8 << 20)); /* so that the heap need not grow */
	allocate(100);
	need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0, "seccomp");
	for (int i = 0; i < 50000; i++) {
		void *volatile block = malloc(SIZE);

		allocations++;
		free(block);
		frees++;
	}
	say_truth(1);
	syscall(SYS_exit, 6);
}

static int take_all(void);

static void limit(int what, rlim_t bytes)
{
	struct rlimit l = {bytes, bytes};

	need(setrlimit(what, &l) == 0, "setrlimit");
}

/* Address space: ARGUMENT MiB, set by the program itself; then it takes all there is. */
static void case_address_space(void)
{
	limit(RLIMIT_AS, (rlim_t)number(0, 512) << 20);
	take_all();
}

/* The soft limit alone, below a hard one that nobody may raise. */
static void case_address_space_soft(void)
{
	struct rlimit l, told;

	need(geteuid() || setresuid(65534, 65534, 65534) == 0, "setresuid");
	need(getrlimit(RLIMIT_AS, &l) == 0 && l.rlim_max != RLIM_INFINITY, "a hard limit");
	l.rlim_cur = (rlim_t)number(0, 512) << 20;
	need(setrlimit(RLIMIT_AS, &l) == 0, "setrlimit");
	need(getrlimit(RLIMIT_AS, &told) == 0 && told.rlim_cur == l.rlim_cur && told.rlim_max == l.rlim_max,
	     "the limit as it was set");
	take_all();
}

/* MiB. */
static int take_all(void)
{
	void *block;
	int got = 0;

	allocate(1000);
	for (int i = 0; i < 100000 && (block = malloc(1 << 20)); i++)
		got++;
	need(got < 100000 && errno == ENOMEM, "the end of memory");
	/* From what is left: the heap must still serve small blocks that were freed. */
	errno = 0;
	return got;
}

/* What is told of the limit is what was set, also through memory of the heap, and there is room for threads. */
static void case_address_space_threads(void)
{
	rlim_t bytes = (rlim_t)number(0, 512) << 20;
	struct rlimit *told = malloc(sizeof *told);

	limit(RLIMIT_AS, bytes);
	need(told && getrlimit(RLIMIT_AS, told) == 0 && told->rlim_cur == bytes, "the limit as it was set");
	run_threads(3, 50);
	allocate(500);
	free(told);
}

/* A limit of its own, then another image: that one is told this limit, and has no more than it. */
static void case_address_space_exec(void)
{
	char limit_text[32];
	char *const next[] = { (char *)"/proc/self/exe", (char *)"address_space_next", limit_text, NULL };
	rlim_t bytes = (rlim_t)number(0, 512) << 20;

	snprintf(limit_text, sizeof limit_text, "%llu", (unsigned long long)bytes);
	free(malloc(100));
	limit(RLIMIT_AS, bytes);
	execv(next[0], next);
	need(0, "execv");
}

static void case_address_space_next(void)
{
	rlim_t bytes = strtoull(argument[0], NULL, 10);
	struct rlimit told;

	need(getrlimit(RLIMIT_AS, &told) == 0 && told.rlim_cur == bytes && told.rlim_max == bytes, "the limit as it was set");
	need((rlim_t)take_all() < bytes >> 20, "an end of memory at the limit");
}

static void case_address_space_from_start(void)
{
	allocate(1000);
	run_threads(2, 50);
}

/* Is killed with much memory in use. */
static void case_killed(void)
{
	allocate(1000);
	say_truth(1);
	kill(getpid(), SIGKILL);
}

/* Until the system has no more, and kills. */
static void case_memory_out(void)
{
	allocate(1000);
	say_truth(1);
	for (;;) {
		char *block = malloc(1 << 20);

		if (!block)
			_exit(3);
		memset(block, 1, 1 << 20);
	}
}

/* ---- memory ---- */

static void case_huge_pages(void)
{
	size_t bytes = 8 << 20;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	if (p != MAP_FAILED)
		memset(p, 1, bytes);
	p = aligned_alloc(2 << 20, bytes);
	need(p != NULL && madvise(p, bytes, MADV_HUGEPAGE) == 0, "large pages");
	memset(p, 1, bytes);
	allocate(1000);
	free(p);
}

/* Everything the program has or will have is locked. */
static void case_locked_memory(void)
{
	allocate(10);
	need(mlockall(MCL_CURRENT) == 0, "mlockall");
	allocate(990);
	munlockall();
}

/* ---- signals ---- */

static volatile sig_atomic_t children_ended, ticks;

static void on_child(int signal)
{
	int saved = errno, status;

	(void)signal;
	while (waitpid(-1, &status, WNOHANG) > 0)
		children_ended++;
	errno = saved;
}

static void on_tick(int signal)
{
	(void)signal;
	ticks++;
}

/* Reaps in a handler, as servers do: a child that is not its own would be one too many. */
static void case_reaper(void)
{
	struct sigaction action = {.sa_handler = on_child};
	sigset_t block, old;

	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&block);
	sigaddset(&block, SIGCHLD);
	sigprocmask(SIG_BLOCK, &block, &old);
	for (int i = 0; i < 20; i++) {
		if (fork() == 0)
			_exit(0);
		allocate(50);
	}
	while (children_ended < 20)
		sigsuspend(&old);
	need(children_ended == 20, "children that were reaped");
	need(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "no child is left");
}

/* A timer that interrupts everything, and code that does not expect it to: no SA_RESTART. */
static void case_interrupted(void)
{
	struct sigaction action = {.sa_handler = on_tick};
	struct itimerspec every = {{0, 300000}, {0, 300000}};
	timer_t timer;

	sigaction(SIGALRM, &action, NULL);
	need(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0, "timer");
	timer_settime(timer, 0, &every, NULL);
	allocate(20000);
	while (ticks < 200)
		free(malloc(88));
	timer_delete(timer);
}

static sigjmp_buf landing;

static void on_crash(int signal)
{
	(void)signal;
	siglongjmp(landing, 1);
}

/* Catches its own crashes on a stack of its own, as runtimes do. */
static void case_crash_handler(void)
{
	static char memory[65536];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
	struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_NODEFER};
	volatile int caught = 0;

	need(sigaltstack(&stack, NULL) == 0, "sigaltstack");
	sigaction(SIGSEGV, &action, NULL);
	for (volatile int i = 0; i < 100; i++) {
		if (sigsetjmp(landing, 1) == 0) {
			*(volatile int *)(uintptr_t)(16 + i) = 1;
			need(0, "a crash");
		}
		caught++;
		allocate(10);
	}
	need(caught == 100, "crashes");
}

/* Stops; someone else lets it go on. */
static void case_suspended(void)
{
	allocate(500);
	kill(getpid(), SIGSTOP);
	allocate(500);
}

/* Says by the first file that it waits, for the second. */
static void case_awaits(void)
{
	struct timespec pause = {0, 10000000};
	int fd;

	allocate(500);
	fd = open(argument[0], O_WRONLY | O_CREAT, 0600);
	need(fd >= 0, "open");
	close(fd);
	while (access(argument[1], F_OK) != 0)
		nanosleep(&pause, NULL);
	allocate(500);
}

/* ---- stacks and threads ---- */

static void case_threads(void)
{
	pthread_t threads[10];
	int rounds = number(0, 500);

	for (int i = 0; i < rounds; i++) {
		for (int j = 0; j < 10; j++)
			need(pthread_create(&threads[j], NULL, allocate_many, (void *)2) == 0, "pthread_create");
		for (int j = 0; j < 10; j++)
			pthread_join(threads[j], NULL);
	}
}

static __attribute__((noinline)) int deeper(int depth)
{
	volatile char room[64];

	room[0] = (char)depth;
	if (depth == 0)
		allocate(100);
	else
		return deeper(depth - 1) + room[0];
	return room[0];
}

static void case_deep(void)
{
	deeper(number(0, 10000));
	allocate(900);
}

#ifdef __GLIBC__ /* musl has no contexts */
static ucontext_t main_context, routines[8];
static char routine_stacks[8][65536];
static int current;

static void routine(void)
{
	for (int i = 0; i < 25; i++) {
		allocate(5);
		swapcontext(&routines[current], &main_context);
	}
}

static void case_coroutines(void)
{
	for (int i = 0; i < 8; i++) {
		getcontext(&routines[i]);
		routines[i].uc_stack.ss_sp = routine_stacks[i];
		routines[i].uc_stack.ss_size = sizeof routine_stacks[i];
		routines[i].uc_link = &main_context;
		makecontext(&routines[i], routine, 0);
	}
	for (int round = 0; round < 25; round++)
		for (current = 0; current < 8; current++)
			swapcontext(&main_context, &routines[current]);
}
#else
static void case_coroutines(void) { exit(2); }
#endif

/* Code that no file has, named as runtimes do it for perf: two functions with frame pointers, of which one calls the
 * other, and that one allocate. */
static void case_generated(void)
{
	enum { CALLER_AT = 64 };
	static const unsigned char code[] = {
#if defined(__x86_64__)
		0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0xbf, 0x0a, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3,
#else
		0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0xe1, 0x03, 0x00, 0xaa, 0x40, 0x01, 0x80, 0x52,
		0x20, 0x00, 0x3f, 0xd6, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6,
#endif
	}, caller[] = {
#if defined(__x86_64__)
		0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3,
#else
		0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x20, 0x00, 0x3f, 0xd6, 0xfd, 0x7b, 0xc1, 0xa8,
		0xc0, 0x03, 0x5f, 0xd6,
#endif
	};
	unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *map;

	need(p != MAP_FAILED, "memory for code");
	memcpy(p, code, sizeof code);
	memcpy(p + CALLER_AT, caller, sizeof caller);
	__builtin___clear_cache((char *)p, (char *)p + CALLER_AT + sizeof caller);
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	need(map != NULL, "perf map");
	fprintf(map, "%lx %zx jit_allocates\n", (unsigned long)p, sizeof code);
	fprintf(map, "%lx %zx jit_calls\n", (unsigned long)p + CALLER_AT, sizeof caller);
	fclose(map);
	for (int i = 0; i < 100; i++)
		((void (*)(void (*)(int), void *))(uintptr_t)(p + CALLER_AT))(allocate, p);
}

/* A little of everything, for faults that are made. */
static void case_mixed(void)
{
	pid_t pid;

	allocate(200);
	run_threads(3, 50);
	pid = fork();
	if (pid == 0) {
		allocate(100);
		run_threads(1, 20);
		say_truth(1);
		exit(0);
	}
	need(wait_for(pid) == 0, "child");
	allocate(50);
}

static void case_plain(void) { allocate(1000); }

#define CASE(name) {#name, case_##name}
static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	CASE(plain), CASE(mixed), CASE(daemon), CASE(storm), CASE(exec), CASE(scrubbed), CASE(scrubbed_child), CASE(chroot),
	CASE(chroot_child), CASE(user_namespace), CASE(pid_namespace), CASE(seccomp_refuses), CASE(seccomp_kills),
	CASE(seccomp_twice), CASE(seccomp_probe), CASE(seccomp_strict), CASE(address_space), CASE(address_space_soft), CASE(address_space_threads),
	CASE(address_space_exec), CASE(address_space_next), CASE(address_space_from_start), CASE(killed), CASE(memory_out),
	CASE(huge_pages), CASE(locked_memory), CASE(reaper), CASE(interrupted), CASE(crash_handler), CASE(suspended), CASE(awaits),
	CASE(threads), CASE(deep), CASE(coroutines), CASE(generated),
};

int main(int argc, char **argv)
{
	arguments = argc - 2;
	argument = argv + 2;
	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			if (allocations)
				say_truth(1);
			return 0;
		}
	return 2;
}
