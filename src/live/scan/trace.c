/* SPDX-License-Identifier: MIT
 * The tracer; see trace.h. Runs on a scan's thread. It never takes a process's exit status: it
 * waits for stops only, so that parents, and we where we are the parent, get it as ever. */
#define _GNU_SOURCE
#include "live/scan/trace.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/base/clock.h"
#include "host/base/io.h"
#include "live/scan/arch/arch.h"

/* A thread that cannot be woken (it waits for a disk) is not waited for any longer. */
static const u64 STRAGGLERS_NS = 2000000000;

/* ---- /proc ----------------------------------------------------------------------------------- */

static bool thread_is_dead(u32 pid, u32 tid)
{
	struct strbuf text = {0};
	char path[80];
	const char *at;
	bool dead = true;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", pid, tid);
	if (io_read_file(path, 8192, &text, NULL) == 0 && (at = strrchr(strbuf_text(&text), ')')) &&
	    at[1] == ' ')
		dead = at[2] == 'Z' || at[2] == 'X';
	strbuf_release(&text);
	return dead;
}

/* Calls `each` for every thread until it returns false. False if the process is gone. */
static bool each_thread(u32 pid, bool (*each)(void *data, u32 tid), void *data)
{
	struct dirent *entry;
	char path[64];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	folder = opendir(path);
	if (!folder)
		return false;
	while ((entry = readdir(folder))) {
		u32 tid = (u32)strtoul(entry->d_name, NULL, 10);

		if (tid && !each(data, tid))
			break;
	}
	closedir(folder);
	return true;
}

static u32 tracer_of(u32 pid)
{
	struct strbuf text = {0};
	const char *at;
	char path[64];
	u32 tracer = 0;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (io_read_file(path, 65536, &text, NULL) == 0 &&
	    (at = strstr(strbuf_text(&text), "TracerPid:")))
		tracer = (u32)strtoul(at + strlen("TracerPid:"), NULL, 10);
	strbuf_release(&text);
	return tracer;
}

struct search {
	u32 pid, found;
};

static bool thread_take(void *data, u32 tid)
{
	struct search *self = data;

	if (!thread_is_dead(self->pid, tid))
		self->found = tid;
	return !self->found;
}

u32 tracer_find_thread(u32 pid)
{
	struct search search = {.pid = pid};

	each_thread(pid, thread_take, &search);
	return search.found ? search.found : pid;
}

/* ---- seizing --------------------------------------------------------------------------------- */

static struct tracee *thread_find(struct tracer *self, u32 tid)
{
	for (u64 i = 0; i < self->threads.count; i++) {
		if (self->threads.data[i].tid == tid)
			return &self->threads.data[i];
	}
	return NULL;
}

struct seizing {
	struct tracer *tracer;
	u32 fresh;   /* threads seized in this round */
	int failure; /* errno */
};

static bool thread_seize(void *data, u32 tid)
{
	struct seizing *self = data;
	struct tracee thread = {.tid = tid};
	/* Threads that begin later are seized with their first breath. */
	const long options = PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE;

	if (thread_find(self->tracer, tid))
		return true;
	if (ptrace(PTRACE_SEIZE, (pid_t)tid, NULL, (void *)options) < 0) {
		int failure = errno;

		if (failure != ESRCH && !thread_is_dead(self->tracer->pid, tid))
			self->failure = failure;
		return true;
	}
	self->fresh++;
	if (self->tracer->at_once)
		ptrace(PTRACE_INTERRUPT, (pid_t)tid, NULL, NULL);
	if (!vec_push(&self->tracer->threads, thread))
		self->failure = ENOMEM;
	return true;
}

static int seize_failed(u32 pid, int failure, struct err *err)
{
	u32 tracer = tracer_of(pid);

	if (failure == EPERM && tracer)
		return err_set(err, ERR_SYSTEM,
			       "process %u (a debugger or strace) is already tracing the program",
			       tracer);
	return err_set(err, ERR_SYSTEM, "permission to trace the program was denied: %s",
		       strerror(failure));
}

int tracer_seize(struct tracer *self, u32 pid, struct err *err)
{
	struct seizing seizing = {.tracer = self};

	self->pid = pid;
	do {
		seizing.fresh = 0;
		if (!each_thread(pid, thread_seize, &seizing))
			return err_set(err, ERR_SYSTEM, "the process has ended");
	} while (seizing.fresh && !seizing.failure);
	if (seizing.failure)
		return seize_failed(pid, seizing.failure, err);
	return self->threads.count ? 0 : err_set(err, ERR_SYSTEM, "the process has no threads");
}

/* ---- stops ----------------------------------------------------------------------------------- */

static void thread_continue(u32 tid, int signal)
{
	ptrace(PTRACE_CONT, (pid_t)tid, NULL, (void *)(long)signal);
}

struct others {
	u32 pid, tid;
	bool any;
};

static bool other_lives(void *data, u32 tid)
{
	struct others *self = data;

	self->any = tid != self->tid && !thread_is_dead(self->pid, tid);
	return !self->any;
}

/* A thread is at its end. One that ends by itself goes, unless it is the last. */
static void thread_ends(struct tracer *self, struct tracee *thread)
{
	struct others others = {.pid = self->pid, .tid = thread->tid};

	if (scan_arch_syscall(thread->tid) == SYS_exit && !self->ending &&
	    each_thread(self->pid, other_lives, &others) && others.any) {
		ptrace(PTRACE_DETACH, (pid_t)thread->tid, NULL, NULL);
		*thread = self->threads.data[--self->threads.count];
		return;
	}
	thread->stopped = true;
	if (!self->ending)
		self->ending_ns = now_ns();
	self->ending = true;
}

/* A thread that we meet for the first time: one of the process, or a child process that was made
 * in an unusual way, which is none of our business. */
static void thread_begins(struct tracer *self, u32 tid)
{
	struct tracee thread = {.tid = tid};
	char path[80];

	snprintf(path, sizeof(path), "/proc/%u/task/%u", self->pid, tid);
	thread.stopped = self->at_once;
	if (access(path, F_OK) == 0 && vec_push(&self->threads, thread)) {
		if (!self->at_once)
			thread_continue(tid, 0);
	} else {
		ptrace(PTRACE_DETACH, (pid_t)tid, NULL, NULL);
	}
}

static bool is_stop_signal(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/* A thread has come to the stop that was asked for. One that the user had stopped anyway counts
 * too. */
static void thread_holds(struct tracer *self, struct tracee *thread)
{
	thread->stopped = true;
	if (!self->ending)
		self->ending_ns = now_ns();
	self->ending = true;
}

static void stop_handle(struct tracer *self, u32 tid, int status)
{
	int event = status >> 8, signal = status & 0xff;
	struct tracee *thread = thread_find(self, tid);

	if (event == PTRACE_EVENT_EXIT) {
		if (thread)
			thread_ends(self, thread);
		else
			ptrace(PTRACE_DETACH, (pid_t)tid, NULL, NULL);
	} else if (!thread) {
		thread_begins(self, tid);
	} else if (event == PTRACE_EVENT_STOP && self->at_once) {
		thread_holds(self, thread);
	} else if (event == PTRACE_EVENT_STOP && is_stop_signal(signal)) {
		ptrace(PTRACE_LISTEN, (pid_t)tid, NULL, NULL); /* it stays stopped, as it should */
	} else {
		thread_continue(tid, event ? 0 : signal);
	}
}

struct running {
	struct tracer *tracer;
	bool any;
};

static bool thread_runs(void *data, u32 tid)
{
	struct running *self = data;
	const struct tracee *thread = thread_find(self->tracer, tid);

	self->any = !(thread && thread->stopped) && !thread_is_dead(self->tracer->pid, tid);
	return !self->any;
}

enum tracer_state tracer_poll(struct tracer *self)
{
	struct running running = {.tracer = self};
	siginfo_t info;

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG | __WALL | __WNOTHREAD) < 0) {
			if (errno == EINTR)
				continue;
			return TRACER_GONE;
		}
		if (!info.si_pid)
			break;
		stop_handle(self, (u32)info.si_pid, info.si_status);
	}
	if (!each_thread(self->pid, thread_runs, &running))
		return TRACER_GONE;
	if (!self->ending)
		return thread_is_dead(self->pid, self->pid) && !running.any ? TRACER_GONE
									    : TRACER_RUNNING;
	return !running.any || now_ns() - self->ending_ns > STRAGGLERS_NS ? TRACER_STOPPED
									  : TRACER_RUNNING;
}

int tracer_threads(struct tracer *self, struct scan_thread **threads, u64 *count, struct err *err)
{
	*count = 0;
	*threads = calloc(self->threads.count + 1, sizeof(**threads));
	if (!*threads)
		return err_memory(err);
	for (u64 i = 0; i < self->threads.count; i++) {
		struct scan_thread *thread = &(*threads)[*count];

		thread->tid = self->threads.data[i].tid;
		if (self->threads.data[i].stopped && scan_arch_registers(thread))
			++*count;
	}
	return *count ? 0 : err_set(err, ERR_SYSTEM, "the process was killed during the scan");
}

void tracer_release(struct tracer *self)
{
	for (u64 i = 0; i < self->threads.count; i++) {
		if (self->threads.data[i].stopped)
			ptrace(PTRACE_DETACH, (pid_t)self->threads.data[i].tid, NULL, NULL);
	}
	vec_release(&self->threads);
}
