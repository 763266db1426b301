/* SPDX-License-Identifier: MIT
 * stamp FIFO [NAME=VALUE...] PROGRAM [ARGUMENT...]: writes its pid into the fifo, waits until the reader
 * has opened FIFO.go for writing, writes the time in ns, and becomes PROGRAM, which keeps the fifo's
 * write end: the reader sees end-of-file when PROGRAM is gone. So the program's own time is measured the
 * same way under every profiler, whatever that does afterwards.
 * Runs between a profiler and the program. It never calls malloc: a profiler that starts at the
 * first allocation does not see it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FIFO_FD = 190, ENVIRONMENT_MAX = 512 }; /* high: the program's own numbers stay as they are */

extern char **environ;

static int fail(const char *what)
{
	const char *why = strerrordesc_np(errno);

	dprintf(2, "stamp: %s: %s\n", what, why ? why : "error");
	return 127;
}

/* setenv would allocate. Assignments of argv come first, since the first of equal names wins. */
static char **environment_extend(char **argv, char **environment)
{
	size_t n = 0;

	while (*argv && strchr(*argv, '=') && n < ENVIRONMENT_MAX / 2)
		environment[n++] = *argv++;
	for (char **e = environ; *e && n < ENVIRONMENT_MAX - 1; e++)
		environment[n++] = *e;
	environment[n] = NULL;
	return argv;
}

static int fifo_write(long long number)
{
	char line[32];
	int length = snprintf(line, sizeof line, "%lld\n", number);

	return write(FIFO_FD, line, (size_t)length) == length ? 0 : -1;
}

static int fifo_announce(const char *path)
{
	char go_path[4096];
	struct timespec now;
	int fd = open(path, O_WRONLY);

	if (fd < 0 || dup2(fd, FIFO_FD) < 0 || fifo_write(getpid()) < 0)
		return -1;
	close(fd);
	snprintf(go_path, sizeof go_path, "%s.go", path);
	int go = open(go_path, O_RDONLY);
	if (go < 0)
		return -1;
	close(go);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return fifo_write((long long)now.tv_sec * 1000000000 + now.tv_nsec);
}

int main(int argc, char **argv)
{
	char *environment[ENVIRONMENT_MAX];

	if (argc < 3) {
		dprintf(2, "usage: stamp FIFO [NAME=VALUE...] PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	char **program = environment_extend(argv + 2, environment);

	if (!*program) {
		dprintf(2, "stamp: no program\n");
		return 2;
	}
	if (fifo_announce(argv[1]) < 0)
		return fail(argv[1]);
	execve(*program, program, environment);
	return fail(*program);
}
