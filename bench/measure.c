/* SPDX-License-Identifier: MIT
 * measure [--rss] --fifo PATH --stdin FILE --stdout FILE --stderr FILE COMMAND [ARGUMENT...]
 * Runs one command and prints as JSON: its wall time, the CPU time of its whole process tree, the wall
 * and (where perf events are allowed) CPU time of the program that was started through stamp (see
 * there), and with --rss the peak memory of each process in the tree, read every few milliseconds. Runs outside of everything measured; without
 * --rss it sleeps from start to end. It never interprets what the command does. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES_MAX = 64, RSS_INTERVAL_MS = 5, COMM_MAX = 32 };

struct process {
	pid_t pid;
	char comm[COMM_MAX]; /* of the last image seen */
	long hwm_kb;         /* VmHWM: starts again at exec, so the largest is of one image */
	long anon_kb, shmem_kb; /* largest seen */
};

struct measure {
	const char *fifo, *input, *output, *errors;
	char **command;
	bool rss;
	int fifo_fd, go_fd, clock_fd; /* -1 = not open */
	pid_t target_pid;
	int64_t target_start_ns, target_end_ns;
	struct process process[PROCESSES_MAX];
	int processes;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "measure: %s: %s\n", what, strerror(errno));
	exit(125);
}

static struct process *process_find(struct measure *self, pid_t pid)
{
	for (int i = 0; i < self->processes; i++)
		if (self->process[i].pid == pid)
			return &self->process[i];
	if (self->processes == PROCESSES_MAX)
		return NULL;
	self->process[self->processes].pid = pid;
	return &self->process[self->processes++];
}

static long max_long(long a, long b)
{
	return a > b ? a : b;
}

static void process_read(struct process *self)
{
	char path[64], line[256];

	snprintf(path, sizeof path, "/proc/%d/status", (int)self->pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return;
	while (fgets(line, sizeof line, file)) {
		long kb;

		if (sscanf(line, "Name: %31s", self->comm) == 1)
			continue;
		if (sscanf(line, "VmHWM: %ld", &kb) == 1)
			self->hwm_kb = max_long(self->hwm_kb, kb);
		if (sscanf(line, "RssAnon: %ld", &kb) == 1)
			self->anon_kb = max_long(self->anon_kb, kb);
		if (sscanf(line, "RssShmem: %ld", &kb) == 1)
			self->shmem_kb = max_long(self->shmem_kb, kb);
	}
	fclose(file);
}

/* Reads pid and everything below it. A process may end at any moment: what cannot be read is gone. */
static void tree_read(struct measure *self, pid_t root)
{
	pid_t queue[PROCESSES_MAX];
	int head = 0, tail = 0;

	queue[tail++] = root;
	while (head < tail) {
		char path[64];
		pid_t pid = queue[head++];
		struct process *process = process_find(self, pid);

		if (process)
			process_read(process);
		snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
		FILE *file = fopen(path, "re");
		if (!file)
			continue;
		int child;
		while (tail < PROCESSES_MAX && fscanf(file, "%d", &child) == 1)
			queue[tail++] = child;
		fclose(file);
	}
}

static void redirect(int fd, const char *path, int flags)
{
	int file = open(path, flags | O_CLOEXEC, 0600);

	if (file < 0 || dup2(file, fd) < 0)
		die(path);
}

static pid_t command_start(const struct measure *self)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid > 0)
		return pid;
	redirect(0, self->input, O_RDONLY);
	redirect(1, self->output, O_WRONLY | O_CREAT | O_TRUNC);
	redirect(2, self->errors, O_WRONLY | O_CREAT | O_TRUNC);
	execv(self->command[0], self->command);
	die(self->command[0]);
	return -1;
}

/* Counts the CPU time of all threads that pid has from now on; readable after its end. */
static int cpu_clock_open(pid_t pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof attr,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.inherit = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int64_t cpu_clock_read(int fd)
{
	int64_t ns;

	return fd >= 0 && read(fd, &ns, sizeof ns) == sizeof ns ? ns : -1;
}

/* stamp waits in its open of the same file until this has happened. */
static int go_open(const char *fifo)
{
	char path[4096];

	snprintf(path, sizeof path, "%s.go", fifo);
	if (mkfifo(path, 0600) < 0 && errno != EEXIST)
		die(path);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* First comes the pid, then the time of the start, then end-of-file: the program's end. */
static void fifo_read(struct measure *self)
{
	char line[64];
	int64_t at = now_ns();
	ssize_t n = read(self->fifo_fd, line, sizeof line - 1);

	if (n == 0) {
		self->target_end_ns = at;
		close(self->fifo_fd);
		self->fifo_fd = -1;
	}
	if (n <= 0)
		return;
	line[n] = 0;
	if (self->target_pid) {
		self->target_start_ns = strtoll(line, NULL, 10);
		close(self->go_fd);
		return;
	}
	self->target_pid = (pid_t)strtol(line, NULL, 10);
	self->clock_fd = cpu_clock_open(self->target_pid);
	self->go_fd = go_open(self->fifo);
}

static int command_wait(struct measure *self, pid_t pid, int64_t *end_ns)
{
	int status, pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (pidfd < 0)
		die("pidfd_open");
	for (;;) {
		struct pollfd fds[2] = { { .fd = pidfd, .events = POLLIN },
					 { .fd = self->fifo_fd, .events = POLLIN } };

		if (poll(fds, 2, self->rss ? RSS_INTERVAL_MS : -1) < 0 && errno != EINTR)
			die("poll");
		if (fds[1].revents)
			fifo_read(self);
		if (self->rss)
			tree_read(self, pid);
		if (fds[0].revents)
			break;
	}
	*end_ns = now_ns();
	if (waitpid(pid, &status, 0) < 0)
		die("waitpid");
	/* Both ends may come in one poll: the program's end is then not later than the command's. */
	if (self->target_pid && !self->target_end_ns)
		fifo_read(self);
	while (wait(NULL) > 0) /* orphans come to us as subreaper: their CPU time counts */
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int64_t timeval_ns(struct timeval t)
{
	return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
}

static void print_json(const struct measure *self, int status, int64_t wall_ns)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	printf("{\"status\": %d, \"wall_ns\": %" PRId64 ", \"user_ns\": %" PRId64 ", \"sys_ns\": %" PRId64,
	       status, wall_ns, timeval_ns(usage.ru_utime), timeval_ns(usage.ru_stime));
	if (self->target_end_ns)
		printf(", \"target_pid\": %d, \"target_ns\": %" PRId64 ", \"target_cpu_ns\": %" PRId64,
		       (int)self->target_pid, self->target_end_ns - self->target_start_ns,
		       cpu_clock_read(self->clock_fd));
	printf(", \"processes\": [");
	for (int i = 0; i < self->processes; i++) {
		const struct process *p = &self->process[i];

		printf("%s{\"pid\": %d, \"comm\": \"", i ? ", " : "", (int)p->pid);
		for (const char *c = p->comm; *c; c++)
			putchar(*c == '"' || *c == '\\' || *c < ' ' ? '?' : *c);
		printf("\", \"hwm_kb\": %ld, \"anon_kb\": %ld, \"shmem_kb\": %ld}", p->hwm_kb,
		       p->anon_kb, p->shmem_kb);
	}
	printf("]}\n");
}

static bool option_take(struct measure *self, char ***argv)
{
	struct { const char *name, **value; } options[] = {
		{ "--fifo", &self->fifo }, { "--stdin", &self->input },
		{ "--stdout", &self->output }, { "--stderr", &self->errors },
	};

	if (!strcmp(**argv, "--rss")) {
		self->rss = true;
		*argv += 1;
		return true;
	}
	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
		if (strcmp(**argv, options[i].name) || !(*argv)[1])
			continue;
		*options[i].value = (*argv)[1];
		*argv += 2;
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	struct measure self = { .input = "/dev/null", .output = "/dev/null", .errors = "/dev/null" };
	int64_t start_ns, end_ns;

	(void)argc;
	argv++;
	while (*argv && option_take(&self, &argv))
		;
	self.command = argv;
	if (!*argv || !self.fifo) {
		fprintf(stderr, "usage: measure [--rss] --fifo PATH COMMAND [ARGUMENT...]\n");
		return 2;
	}
	if (mkfifo(self.fifo, 0600) < 0 && errno != EEXIST)
		die(self.fifo);
	close(go_open(self.fifo)); /* so that stamp finds it */
	self.fifo_fd = open(self.fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (self.fifo_fd < 0)
		die(self.fifo);
	self.clock_fd = self.go_fd = -1;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	start_ns = now_ns();
	int status = command_wait(&self, command_start(&self), &end_ns);
	print_json(&self, status, end_ns - start_ns);
	return 0;
}
