/* SPDX-License-Identifier: MIT
 * The user's pager.
 * Host. */
#include "show/cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	bool allowed, forbidden;
	volatile pid_t pid; /* 0 = none was started */
	int terminal;
} pager;

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

void pager_allow(void) { pager.allowed = true; }

void pager_forbid(void) { pager.forbidden = true; }

bool pager_is_used(void) { return pager.pid != 0; }

int pager_output(void) { return pager.pid ? pager.terminal : STDOUT_FILENO; }

/* NULL = the user wants none. */
static const char *choose(void)
{
	const char *names[] = {"HEAPWISE_PAGER", "PAGER"};
	const char *terminal = getenv("TERM");

	if (!terminal || strcmp(terminal, "dumb") == 0)
		return NULL;
	for (u32 i = 0; i < sizeof names / sizeof *names; i++) {
		const char *command = getenv(names[i]);

		if (command)
			return *command && strcmp(command, "cat") != 0 ? command : NULL;
	}
	return "if command -v less >/dev/null; then exec less; else exec cat; fi";
}

/* What fits on the screen is printed and that is all (F), colours pass (R), and it stays on the
 * screen (X). */
static void become(const char *command, const int ends[2])
{
	dup2(ends[0], STDIN_FILENO);
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/* Whoever ends us ends what writes; the pager has the terminal until the user leaves it. */
static void end_with_pager(int signal_number)
{
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	while (waitpid(pager.pid, NULL, 0) < 0 && errno == EINTR)
		;
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void lead_output(const int ends[2])
{
	pager.terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	fflush(stdout);
	dup2(ends[1], STDOUT_FILENO);
	if (isatty(STDERR_FILENO))
		dup2(ends[1], STDERR_FILENO);
	/* the status is that of the whole work, also if nobody reads it to its end */
	signal(SIGPIPE, SIG_IGN);
	for (u32 i = 0; i < sizeof ending / sizeof *ending; i++)
		signal(ending[i], end_with_pager);
}

void pager_start(void)
{
	const char *command;
	int ends[2];
	pid_t pid;

	if (!pager.allowed || pager.forbidden || pager.pid || !isatty(STDOUT_FILENO))
		return;
	command = choose();
	if (!command || pipe2(ends, O_CLOEXEC) != 0)
		return;
	pid = fork();
	if (pid == 0)
		become(command, ends);
	if (pid > 0) {
		pager.pid = pid;
		lead_output(ends);
	}
	close(ends[0]);
	close(ends[1]);
}

void pager_finish(void)
{
	int status = 0;

	if (!pager.pid)
		return;
	fflush(stdout);
	dup2(pager.terminal, STDOUT_FILENO);
	if (!isatty(STDERR_FILENO))
		dup2(pager.terminal, STDERR_FILENO);
	waitpid(pager.pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		fprintf(stderr,
			"heapwise: cannot run the pager '%s'; set HEAPWISE_PAGER, or use "
			"--no-pager\n",
			choose());
}
