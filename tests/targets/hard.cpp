// SPDX-License-Identifier: MIT
// hard CASE   programs that once broke the recorder; tests/run/hard.sh says what must hold.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heapwise/heapwise.h"

static void take_and_give(size_t size)
{
	void *volatile p = malloc(size);

	free(p);
}

// ---- operator new fails, its handler frees something, and the second try succeeds ----

static void *ballast;
static const size_t mega = 1 << 20;

static void free_ballast()
{
	if (!ballast)
		throw std::bad_alloc();
	free(ballast);
	ballast = nullptr;
}

static int handler_retries()
{
	struct rlimit limit;
	long pages = 0;
	FILE *f;

	std::set_new_handler(free_ballast);
	ballast = malloc(300 * mega);
	f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%ld", &pages) != 1)
		return 1;
	fclose(f);
	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + 100 * mega;
	setrlimit(RLIMIT_AS, &limit);
	operator delete(operator new(200 * mega));
	return ballast ? 1 : 0;
}

// ---- a few owners sleep with the block in hand, at the call sites of many that do not ----

static __attribute__((noinline)) void sleep_maybe(bool really)
{
	if (really)
		usleep(3000);
}

static int sleepers()
{
	for (int i = 0; i < 200000; i++) {
		bool sleeps = i % 2000 == 1000;
		void *volatile p = malloc(sleeps ? 1000 : 24);

		sleep_maybe(sleeps);
		free(p);
	}
	return 0;
}

// ---- a handler forks, and the child comes back from it into the interrupted code ----

static volatile sig_atomic_t is_child, forks;

static void fork_once(int)
{
	if (is_child || forks >= 30)
		return;
	forks = forks + 1;
	if (fork() == 0)
		is_child = 1;
}

static int fork_in_handler()
{
	struct sigaction action = {};
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = {};
	long count = 0;

	action.sa_handler = fork_once;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, nullptr);
	setitimer(ITIMER_REAL, &often, nullptr);
	while (!is_child && (forks < 30 || count < 100000)) {
		take_and_give(4242);
		count++;
	}
	if (is_child)
		_exit(0);
	setitimer(ITIMER_REAL, &never, nullptr);
	while (wait(nullptr) > 0)
		;
	printf("%ld\n", count);
	return 0;
}

// ---- one thread pauses and resumes while others allocate ----

static volatile bool stop;

static void *allocate_until_stopped(void *)
{
	while (!stop)
		take_and_give(40);
	return nullptr;
}

static int pause_storm()
{
	pthread_t threads[3];

	for (pthread_t &t : threads)
		pthread_create(&t, nullptr, allocate_until_stopped, nullptr);
	for (int i = 0; i < 20000; i++) {
		heapwise_pause();
		heapwise_resume();
	}
	stop = true;
	for (pthread_t &t : threads)
		pthread_join(t, nullptr);
	for (int i = 0; i < 1000; i++)
		take_and_give(12345);
	return 0;
}

// ---- a stack made by hand, whose outermost return address is the first byte of a function ----

#ifdef __x86_64__
extern "C" void hard_switch(void **save, void *to);
__asm__(".type hard_switch, @function\n"
	"hard_switch: pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15\n"
	"movq %rsp, (%rdi); movq %rsi, %rsp\n"
	"popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp; ret\n");

static void *main_stack, *own_stack_sp;

// A large frame that never returns: what stands before the next function, and so at its address - 1.
extern "C" __attribute__((noinline, noreturn, no_reorder)) void hard_large_frame(int x)
{
	char room[8192];

	memset(room, x, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	abort();
}

extern "C" __attribute__((noinline, noreturn, no_reorder, aligned(1))) void hard_leave()
{
	for (;;)
		hard_switch(&own_stack_sp, main_stack);
}

static __attribute__((noinline)) void on_own_stack() { take_and_give(77); }

static int own_stack()
{
	const size_t bytes = 65536;
	char *guarded = static_cast<char *>(
		mmap(nullptr, 3 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	void **top = reinterpret_cast<void **>(guarded + 2 * bytes);

	if (mprotect(guarded + bytes, bytes, PROT_READ | PROT_WRITE) != 0)
		return 1;
	top -= 2;
	*--top = reinterpret_cast<void *>(hard_leave);
	*--top = reinterpret_cast<void *>(on_own_stack);
	hard_switch(&main_stack, top - 6);
	return 0;
}
#else
static int own_stack()
{
	take_and_give(77);
	return 0;
}
#endif

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)();
	} cases[] = {
		{ "handler-retries", handler_retries }, { "sleepers", sleepers },
		{ "fork-in-handler", fork_in_handler }, { "pause-storm", pause_storm },
		{ "own-stack", own_stack },
	};

	for (const auto &c : cases)
		if (argc > 1 && strcmp(argv[1], c.name) == 0)
			return c.run();
	return 2;
}
