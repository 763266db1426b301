/* SPDX-License-Identifier: MIT
 * Runs the registered tests one after the other, each in a forked child that leads its own process
 * group, and prints one line per test (TAP). Runs on the host and, cross-built, under qemu-user.
 * Never lets a test outlive its timeout: the whole group is killed. */
#define _GNU_SOURCE
#include "lib/test.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEFAULT_TIMEOUT_S = 60, EXIT_SKIPPED = 77 };

struct options {
	unsigned timeout_s;
	bool list;
	char **filters; /* NULL-terminated; a test runs if its name or sentence has one of them */
};

static struct test *tests;
static struct test **tests_end = &tests;
static unsigned failures; /* of the running test: lives in its child */
static char folder[64];
static char program_folder[PATH_MAX];

/* LeakSanitizer searches all memory when a process ends. With gcc 12 on aarch64 that takes seconds, as it
 * asks for each megabyte of the 48-bit address space, and there is a process per test. But a process with
 * as many bytes allocated at its end as before the tests has leaked none: only others are searched. */
static size_t allocated_bytes; /* before the tests */

/* Of the sanitizers' libraries: NULL without LeakSanitizer. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));
void __lsan_do_leak_check(void) __attribute__((weak));

/* Called by LeakSanitizer when exit handlers have run. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return __sanitizer_get_current_allocated_bytes() == allocated_bytes;
}

static void *thread_run(void *argument) { return argument; }

/* What the C library allocates once and keeps would look like a leak of the test that first needs it: the
 * buffer of stdout, and what belongs to the stacks of ended threads, which the next threads take over. */
static void leaks_prepare(void)
{
	static char buffer[BUFSIZ];
	pthread_t threads[4]; /* few tests have more at a time */
	size_t count = 0;

	if (!__lsan_do_leak_check)
		return;
	setvbuf(stdout, buffer, _IOLBF, sizeof buffer);
	while (count < 4 && pthread_create(&threads[count], NULL, thread_run, NULL) == 0)
		count++;
	while (count > 0)
		pthread_join(threads[--count], NULL);
	allocated_bytes = __sanitizer_get_current_allocated_bytes();
}

void test_register(struct test *test)
{
	*tests_end = test;
	tests_end = &test->next;
}

const char *test_folder(void) { return folder; }

const char *test_program_folder(void) { return program_folder; }

static void say_failure(const char *file, int line, const char *format, va_list arguments)
{
	failures++;
	fflush(stdout);
	fprintf(stderr, "# %s:%d: ", file, line);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
}

bool test_check(bool held, const char *file, int line, const char *format, ...)
{
	va_list arguments;

	if (held)
		return true;
	va_start(arguments, format);
	say_failure(file, line, format, arguments);
	va_end(arguments);
	return false;
}

bool test_check_eq(uint64_t got, uint64_t want, const char *file, int line, const char *text)
{
	return test_check(got == want, file, line, "%s is %llu (0x%llx), not %llu (0x%llx)", text,
			  (unsigned long long)got, (unsigned long long)got,
			  (unsigned long long)want, (unsigned long long)want);
}

bool test_check_str(const char *got, const char *want, const char *file, int line, const char *text)
{
	bool same = got && want ? !strcmp(got, want) : got == want;

	return test_check(same, file, line, "%s is \"%s\", not \"%s\"", text, got ? got : "(null)",
			  want ? want : "(null)");
}

void test_fail(const char *file, int line, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say_failure(file, line, format, arguments);
	va_end(arguments);
	fflush(NULL);
	_exit(1);
}

void test_skip(const char *format, ...)
{
	va_list arguments;

	fputs("# skipped: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	fflush(NULL);
	/* A failed check before the skip stays a failure. */
	_exit(failures ? 1 : EXIT_SKIPPED);
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	(void)stat, (void)type, (void)ftw;
	remove(path);
	return 0;
}

static bool folder_make(void)
{
	const char *base = getenv("TMPDIR");

	if (!base || strlen(base) > sizeof folder - sizeof "/heapwise-test-XXXXXX")
		base = "/tmp";
	snprintf(folder, sizeof folder, "%s/heapwise-test-XXXXXX", base);
	return mkdtemp(folder) != NULL;
}

static void child_run(const struct test *test)
{
	setpgid(0, 0);
	test->run();
	fflush(NULL);
	/* exit, not _exit: leak and race checkers report in exit handlers. */
	exit(failures ? 1 : 0);
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* For how long the one of its threads has waited for a processor that waited longest: nobody's fault but the machine's. */
static double starved_s(pid_t pid)
{
	char path[300];
	const struct dirent *entry;
	double most_s = 0;
	DIR *threads;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	threads = opendir(path);
	while (threads && (entry = readdir(threads))) {
		unsigned long long ran_ns, waited_ns;
		FILE *file;

		snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)pid, entry->d_name);
		file = fopen(path, "r");
		if (file && fscanf(file, "%llu %llu", &ran_ns, &waited_ns) == 2 &&
		    (double)waited_ns / 1e9 > most_s)
			most_s = (double)waited_ns / 1e9;
		if (file)
			fclose(file);
	}
	if (threads)
		closedir(threads);
	return most_s;
}

/* Waits without SIGALRM, which tests may use themselves. Returns false on timeout. */
static bool child_wait(pid_t pid, unsigned timeout_s, int *status)
{
	double end_s = now_s() + timeout_s;
	struct timespec nap = {0, 500 * 1000};

	for (;;) {
		pid_t done = waitpid(pid, status, WNOHANG);

		if (done == pid || (done < 0 && errno != EINTR))
			return true;
		if (now_s() >= end_s && now_s() >= end_s + starved_s(pid))
			return false;
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < 10 * 1000 * 1000)
			nap.tv_nsec *= 2;
	}
}

/* "" when it passed, else why not. */
static const char *test_execute(const struct test *test, unsigned timeout_s)
{
	static char why[64];
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return "cannot fork";
	if (pid == 0)
		child_run(test);
	setpgid(pid, pid);
	if (!child_wait(pid, timeout_s, &status)) {
		kill(-pid, SIGKILL);
		waitpid(pid, &status, 0);
		snprintf(why, sizeof why, "timeout after %u s", timeout_s);
		return why;
	}
	/* Whatever the test left running must not disturb the next one. */
	kill(-pid, SIGKILL);
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED)
		return "SKIP";
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return "";
	if (WIFSIGNALED(status))
		snprintf(why, sizeof why, "%s", strsignal(WTERMSIG(status)));
	else
		snprintf(why, sizeof why, "exit status %d", WEXITSTATUS(status));
	return why;
}

static bool test_selected(const struct test *test, char *const *filters)
{
	if (!*filters)
		return true;
	for (; *filters; filters++)
		if (strstr(test->name, *filters) || strstr(test->sentence, *filters))
			return true;
	return false;
}

static int run_all(const struct options *options)
{
	unsigned number = 0, failed = 0, skipped = 0;

	for (const struct test *test = tests; test; test = test->next) {
		const char *why;

		if (!test_selected(test, options->filters))
			continue;
		number++;
		if (!folder_make()) {
			fprintf(stderr, "cannot make a folder for the test: %s\n", strerror(errno));
			return 2;
		}
		why = test_execute(test, options->timeout_s);
		nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
		if (!strcmp(why, "SKIP"))
			skipped++;
		else if (*why)
			failed++;
		printf("%sok %u - %s", *why && strcmp(why, "SKIP") ? "not " : "", number, test->sentence);
		if (*why)
			printf(" # %s (%s:%d %s)", why, test->file, test->line, test->name);
		printf("\n");
		fflush(stdout);
	}
	printf("1..%u\n# %u passed, %u failed, %u skipped\n", number, number - failed - skipped,
	       failed, skipped);
	if (number == 0) {
		fprintf(stderr, "no test matches\n");
		return 2;
	}
	if (failed)
		return 1;
	return skipped == number ? EXIT_SKIPPED : 0;
}

static int list_all(void)
{
	for (const struct test *test = tests; test; test = test->next)
		printf("%s\t%s\n", test->name, test->sentence);
	return 0;
}

static int usage(const char *program)
{
	fprintf(stderr, "usage: %s [--list] [--timeout SECONDS] [PART OF A NAME OR SENTENCE]...\n",
		program);
	return 2;
}

int main(int argc, char **argv)
{
	struct options options = {.timeout_s = DEFAULT_TIMEOUT_S};
	ssize_t length = readlink("/proc/self/exe", program_folder, sizeof program_folder - 1);
	int i = 1;

	if (length > 0)
		*strrchr(program_folder, '/') = '\0';
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--list"))
			options.list = true;
		else if (!strcmp(argv[i], "--timeout") && i + 1 < argc)
			options.timeout_s = (unsigned)strtoul(argv[++i], NULL, 10);
		else
			return usage(argv[0]);
	}
	if (options.timeout_s == 0)
		return usage(argv[0]);
	options.filters = argv + i;
	leaks_prepare();
	return options.list ? list_all() : run_all(&options);
}
