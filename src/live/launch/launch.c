/* SPDX-License-Identifier: MIT
 * Fork, gate and exec; see launch.h. Runs in the monitor, and between fork and exec in the child,
 * where only async-signal-safe calls are made. The child has no tie to the monitor once it runs:
 * no parent-death signal, no pipe, no descriptor. */
#define _GNU_SOURCE
#include "live/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/atomics.h"
#include "format/session.h"

extern char **environ;

static const struct {
	int number;
	bool waited; /* else ignored */
} signals_taken[LAUNCH_SIGNALS] = {
	{SIGINT, true},  {SIGTERM, true},  {SIGHUP, true},   {SIGQUIT, true},
	{SIGCHLD, true}, {SIGPIPE, false}, {SIGXFSZ, false},
};

static void files_raise(struct rlimit *old)
{
	struct rlimit raised;

	if (getrlimit(RLIMIT_NOFILE, old) < 0)
		return;
	raised = (struct rlimit){.rlim_cur = old->rlim_max, .rlim_max = old->rlim_max};
	setrlimit(RLIMIT_NOFILE, &raised);
}

void launch_signals_take(struct launch_signals *self)
{
	struct sigaction action = {.sa_handler = SIG_DFL};

	files_raise(&self->old_files);
	sigemptyset(&self->waited);
	for (u32 i = 0; i < LAUNCH_SIGNALS; i++) {
		if (signals_taken[i].waited)
			sigaddset(&self->waited, signals_taken[i].number);
	}
	if (self->toggle)
		sigaddset(&self->waited, self->toggle);
	sigprocmask(SIG_BLOCK, &self->waited, &self->old_mask);
	if (self->toggle) /* one that is ignored would never be seen */
		sigaction(self->toggle, &action, &self->old_toggle);
	for (u32 i = 0; i < LAUNCH_SIGNALS; i++) {
		/* SIGCHLD, if it came ignored, would have the system reap the child behind our
		 * back. */
		action.sa_handler = signals_taken[i].waited ? SIG_DFL : SIG_IGN;
		sigaction(signals_taken[i].number, &action, &self->old_actions[i]);
	}
}

void launch_signals_restore(const struct launch_signals *self)
{
	for (u32 i = 0; i < LAUNCH_SIGNALS; i++)
		sigaction(signals_taken[i].number, &self->old_actions[i], NULL);
	if (self->toggle)
		sigaction(self->toggle, &self->old_toggle, NULL);
	sigprocmask(SIG_SETMASK, &self->old_mask, NULL);
	setrlimit(RLIMIT_NOFILE, &self->old_files);
}

/* ---- environment ----------------------------------------------------------------------------- */

static bool is_variable(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static char *variable_new(const char *name, const char *value, const char *rest)
{
	char *text;

	if (asprintf(&text, "%s=%s%s%s", name, value, rest ? ":" : "", rest ? rest : "") < 0)
		return NULL;
	return text;
}

static void environment_free(char **environment)
{
	/* Ours are the first two; the rest is borrowed. */
	if (environment) {
		free(environment[0]);
		free(environment[1]);
	}
	free(environment);
}

static char **environment_new(const struct launch *self)
{
	const char *own = self->valgrind ? "VALGRIND_LIB" : "LD_PRELOAD";
	const char *rest = self->valgrind ? NULL : getenv(own);
	size_t count = 0, kept = 2;
	char **environment;

	while (environ && environ[count])
		count++;
	environment = calloc(count + 3, sizeof(*environment));
	if (!environment)
		return NULL;
	environment[0] = variable_new(own, self->valgrind ? self->valgrind : self->recorder,
				      rest && *rest ? rest : NULL);
	environment[1] = variable_new(HW_SESSION_ENV, self->session, NULL);
	if (!environment[0] || !environment[1]) {
		environment_free(environment);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		if (!is_variable(environ[i], own) && !is_variable(environ[i], HW_SESSION_ENV))
			environment[kept++] = environ[i];
	}
	return environment;
}

/* What execvp does with a file that has neither a known format nor a first line: a shell runs
 * it. */
static char **shell_argv_new(const struct launch *self)
{
	static char shell[] = "/bin/sh";
	size_t count = 0;
	char **argv;

	while (self->argv[count])
		count++;
	argv = calloc(count + 2, sizeof(*argv));
	if (!argv)
		return NULL;
	argv[0] = shell;
	argv[1] = (char *)(uintptr_t)self->path;
	for (size_t i = 1; i < count; i++)
		argv[i + 1] = self->argv[i];
	return argv;
}

/* ---- child ----------------------------------------------------------------------------------- */

/* Returns why it did not become the program. */
static int child_exec(const struct launch *self)
{
	char *const *environment = self->environment ? self->environment : environ;

	launch_signals_restore(self->signals);
	execve(self->path, self->argv, environment);
	if (errno == ENOEXEC)
		execve(self->shell_argv[0], self->shell_argv, environment);
	return errno;
}

static void child_main(const struct launch *self, int gate, int failure)
{
	char byte;
	int code;

	if (read(gate, &byte, 1) != 1)
		_exit(127);
	if (self->root_pid)
		store_release(self->root_pid, (u32)getpid());
	code = child_exec(self);
	if (write(failure, &code, sizeof(code)) < 0)
		_exit(126);
	_exit(127);
}

/* ---- parent ---------------------------------------------------------------------------------- */

static void launch_release(struct launch *self)
{
	if (self->gate >= 0)
		close(self->gate);
	if (self->failure >= 0)
		close(self->failure);
	self->gate = self->failure = -1;
	environment_free(self->environment);
	free(self->shell_argv);
	self->environment = self->shell_argv = NULL;
}

int launch_fork(struct launch *self, struct err *err)
{
	int gate[2] = {-1, -1}, failure[2] = {-1, -1};

	self->environment = NULL;
	self->gate = self->failure = -1;
	self->shell_argv = shell_argv_new(self);
	if (self->recorder || self->valgrind)
		self->environment = environment_new(self);
	if (!self->shell_argv || ((self->recorder || self->valgrind) && !self->environment)) {
		launch_release(self);
		return err_memory_for(err, "arguments and environment");
	}
	if (pipe2(gate, O_CLOEXEC) < 0 || pipe2(failure, O_CLOEXEC) < 0)
		goto fail;
	self->pid = fork();
	if (self->pid < 0)
		goto fail;
	if (self->pid == 0) {
		close(gate[1]);
		child_main(self, gate[0], failure[1]);
	}
	close(gate[0]);
	close(failure[1]);
	self->gate = gate[1];
	self->failure = failure[0];
	return 0;
fail:
	err_set(err, ERR_SYSTEM, "cannot start a process: %s", strerror(errno));
	for (u32 i = 0; i < 2; i++) {
		if (gate[i] >= 0)
			close(gate[i]);
		if (failure[i] >= 0)
			close(failure[i]);
	}
	launch_release(self);
	return err->code;
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
	}
}

/* A program that is there, but whose interpreter (#!) or loader is not, is not found either. */
static int cannot_run(const struct launch *self, int code, struct err *err)
{
	return err_set(err, ERR_INPUT, "cannot run '%s': %s", self->path,
		       code == ENOENT && access(self->path, F_OK) == 0
			       ? "the interpreter or loader that it names does not exist"
			       : strerror(code));
}

/* The child of vfork runs in our memory until it has become the program or ends, and leaves there
 * what it met with. */
int launch_plain(struct launch *self, struct err *err)
{
	volatile int code = 0;

	self->environment = NULL;
	self->gate = self->failure = -1;
	self->shell_argv = shell_argv_new(self);
	if (!self->shell_argv)
		return err_memory_for(err, "arguments and environment");
	self->pid = vfork();
	if (self->pid == 0) {
		code = child_exec(self);
		_exit(127);
	}
	if (self->pid < 0)
		err_set(err, ERR_SYSTEM, "cannot start a process: %s", strerror(errno));
	else if (code)
		cannot_run(self, code, err);
	launch_release(self);
	if (self->pid > 0 && code)
		reap(self->pid);
	return self->pid < 0 || code ? err->code : 0;
}

int launch_go(struct launch *self, struct err *err)
{
	char byte = 1;
	int code = 0, refused = 0;
	ssize_t got;

	/* A gate that cannot be opened is taken away: the child ends, and is not waited for in
	 * vain. Where nobody waits at it any more, the child was killed: that is the program's end,
	 * and not a reason to start it again. */
	if (write(self->gate, &byte, 1) != 1 && errno != EPIPE) {
		refused = errno;
		close(self->gate);
		self->gate = -1;
	}
	/* The pipe closes by itself at a successful exec. */
	do
		got = read(self->failure, &code, sizeof(code));
	while (got < 0 && errno == EINTR);
	launch_release(self);
	if (!code && !refused)
		return 0;
	reap(self->pid);
	if (refused)
		return err_set(err, ERR_SYSTEM, "cannot start a process: %s", strerror(refused));
	return cannot_run(self, code, err);
}

void launch_cancel(struct launch *self)
{
	launch_release(self);
	reap(self->pid);
}
