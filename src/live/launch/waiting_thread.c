/* SPDX-License-Identifier: MIT
 * The loop of the waiting thread; see waiting_thread.h. Runs on the thread that called monitor_run.
 * Never touches a ring. */
#define _GNU_SOURCE
#include "live/launch/waiting_thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/base/clock.h"
#include "host/base/io.h"
#include "format/atomics.h"
#include "live/drain/futex.h"

static const u64 DISK_NS = 1000000000, PROGRESS_NS = 100000000;
static const u64 SLEEP_NS = 100000000, SLEEP_NS_MIN = 1000000;
/* Samples cost system calls: with many processes each has fewer. */
static const u64 SAMPLE_NS_EACH = 1000000;

static bool is_due(u64 *last_ns, u64 now, u64 period_ns)
{
	if (now - *last_ns < period_ns)
		return false;
	*last_ns = now;
	return true;
}

/* ---- disk ------------------------------------------------------------------------------------ */

void waiting_thread_measure_disk(struct waiting_thread *self)
{
	struct statvfs disk;
	u64 total, available;

	if (statvfs(self->folder, &disk) < 0)
		return;
	total = (u64)disk.f_blocks * disk.f_frsize;
	available = (u64)disk.f_bavail * disk.f_frsize;
	/* A disk that is over 90 % full before we start may still have plenty of room. */
	self->disk_floor_bytes = available > total / 10 ? total / 10 : available / 2;
}

static void disk_check(struct waiting_thread *self)
{
	struct statvfs disk;

	if (self->options->output.max_size || statvfs(self->folder, &disk) < 0)
		return;
	if ((u64)disk.f_bavail * disk.f_frsize < self->disk_floor_bytes)
		store_relaxed(&self->drain->aggregate, 1);
}

/* ---- traces of child processes --------------------------------------------------------------- */

static void trace_open_for(struct waiting_thread *self, struct process *process)
{
	struct trace_writer *writer = NULL;
	struct err err = {0};

	/* A pid may come again: the trace of an earlier process is not overwritten. */
	for (u32 i = 1; i < 10000; i++) {
		char suffix[16] = "";

		if (i > 1)
			snprintf(suffix, sizeof(suffix), ".%u", i);
		if (snprintf(process->trace_path, sizeof(process->trace_path), "%s/%s.%u%s.hwt",
			     self->folder, self->name, process->pid,
			     suffix) >= (int)sizeof(process->trace_path))
			break;
		if (access(process->trace_path, F_OK) == 0)
			continue;
		writer = trace_writer_open(process->trace_path,
					   &(struct trace_writer_options){.fresh = true}, &err);
		break;
	}
	process->writer = writer;
	if (!writer)
		process->write_errno = errno ? errno : EIO;
	/* Pairs with the drain thread's acquire. */
	store_release(&process->writer_state, writer ? WRITER_OPEN : WRITER_FAILED);
}

void process_close_trace(struct process *process)
{
	struct err err = {0};
	int failed;

	if (process->closed || !process->writer)
		return;
	process->closed = true;
	failed = trace_writer_failed(process->writer);
	if (trace_writer_close(process->writer, &err) < 0 && !failed)
		failed = errno ? errno : EIO;
	process->writer = NULL;
	if (!process->write_errno)
		process->write_errno = failed;
}

/* ---- further traces of a process ------------------------------------------------------------- */

bool process_is_our_user(u32 pid)
{
	unsigned int effective = 0, filesystem = 0;
	struct strbuf text = {0};
	char path[64];
	const char *at;
	bool same = false;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (io_read_file(path, 65536, &text, NULL) == 0 && (at = strstr(text.text, "\nUid:")) &&
	    sscanf(at, "\nUid: %*u %u %*u %u", &effective, &filesystem) == 2)
		same = effective == geteuid() && filesystem == geteuid();
	strbuf_release(&text);
	return same;
}

static bool is_being_written(struct waiting_thread *self, const struct stat *file)
{
	struct process *process = self->drain->processes;

	for (; process; process = process_next(process)) {
		char path[4096];
		struct stat other;

		process_get_path(process, path);
		if (*path && stat(path, &other) == 0 && other.st_dev == file->st_dev &&
		    other.st_ino == file->st_ino)
			return true;
	}
	return false;
}

/* 0 if next_path can be written, else why not. The file is not changed yet. */
static int next_check(struct waiting_thread *self, const struct process *process)
{
	struct stat status;
	int fd, failure = 0;

	if (!process_is_our_user(process->pid))
		return EPERM;
	fd = open(process->next_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
	if (fd < 0)
		return errno;
	if (fstat(fd, &status) == 0 && is_being_written(self, &status))
		failure = EBUSY;
	close(fd);
	return failure;
}

static void next_open(struct waiting_thread *self, struct process *process)
{
	struct err err = {0};

	process->next_errno = next_check(self, process);
	if (!process->next_errno) {
		process->next_writer = trace_writer_open(process->next_path, NULL, &err);
		if (!process->next_writer)
			process->next_errno = errno ? errno : EIO;
	}
}

static void old_close(struct process *process)
{
	struct err err = {0};
	char *path = strdup(process->old_path);

	process->old_errno = trace_writer_failed(process->old_writer);
	if (trace_writer_close(process->old_writer, &err) < 0 && !process->old_errno)
		process->old_errno = errno ? errno : EIO;
	process->old_writer = NULL;
	if (!process->write_errno)
		process->write_errno = process->old_errno;
	if (!path || !vec_push(&process->ended, path))
		free(path);
	/* What is older than was asked for goes; the present file is one of those that stay. */
	if (process->rotate.keep && process->ended.count >= process->rotate.keep) {
		unlink(process->ended.data[0]);
		free(process->ended.data[0]);
		memmove(process->ended.data, process->ended.data + 1,
			--process->ended.count * sizeof(process->ended.data[0]));
	}
}

static void turn_serve(struct waiting_thread *self, struct process *process)
{
	/* Acquire: pairs with the drain thread's release. */
	u32 turn = load_acquire(&process->turn);

	if (turn == TURN_OPEN)
		next_open(self, process);
	else if (turn == TURN_CLOSE)
		old_close(process);
	else
		return;
	store_release(&process->turn, turn == TURN_OPEN ? TURN_OPENED : TURN_CLOSED);
	drain_wake(self->drain);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Returns when to look again. */
static u64 processes_serve(struct waiting_thread *self, u64 now)
{
	struct process *process = self->drain->processes;
	u64 next_ns = now + SLEEP_NS, least_ns = self->process_count * SAMPLE_NS_EACH, count = 0;

	for (; process; process = process_next(process), count++) {
		if (process->closed)
			continue;
		turn_serve(self, process);
		if (load_acquire(&process->finished)) {
			if (!process->root) /* the root's trace gets notes first */
				process_close_trace(process);
			continue;
		}
		if (load_relaxed(&process->writer_state) == WRITER_WANTED) {
			trace_open_for(self, process);
			drain_wake(self->drain);
		}
		if (process->gone || (!process->root && !process_watch(process)))
			drain_wake(self->drain);
		else {
			u64 due_ns = process_sample_usage(process, now, least_ns);

			next_ns = due_ns < next_ns ? due_ns : next_ns;
		}
	}
	self->process_count = count;
	return next_ns;
}

static void processes_detach(struct waiting_thread *self)
{
	struct process *process = self->drain->processes;

	for (; process; process = process_next(process))
		process_set_gone(process, IMAGE_DETACHED, 0);
	drain_wake(self->drain);
}

static bool is_end(const siginfo_t *info)
{
	return info->si_code == CLD_EXITED || info->si_code == CLD_KILLED ||
	       info->si_code == CLD_DUMPED;
}

static void program_reap(struct waiting_thread *self)
{
	struct process *root = self->drain ? self->drain->processes : NULL;
	siginfo_t info = {0};
	int status;

	/* A look first: while a scan traces the program, its stops come here as well. */
	if (self->ended || waitid(P_PID, (id_t)self->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	    !is_end(&info))
		return;
	if (root)
		process_see_cpu(root);
	if (waitpid(self->pid, &status, WNOHANG) != self->pid)
		return;
	self->ended = true;
	self->wait_status = status;
	if (!root)
		return;
	if (WIFSIGNALED(status))
		process_set_gone(root, IMAGE_KILLED, WTERMSIG(status));
	else
		process_set_gone(root, IMAGE_EXITED, WEXITSTATUS(status));
	drain_wake(self->drain);
}

/* The children of one of our threads. */
static bool thread_children(struct pid_list *list, const char *tid)
{
	char path[64];
	FILE *file;
	pid_t pid;
	bool good = true;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/children", tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (good && fscanf(file, "%d", &pid) == 1)
		good = vec_push(&list->pids, pid);
	fclose(file);
	return good;
}

/* False where the kernel does not tell (CONFIG_PROC_CHILDREN). */
static bool children_list(struct pid_list *list)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	bool good = folder != NULL;

	while (good && (entry = readdir(folder)))
		good = entry->d_name[0] == '.' || thread_children(list, entry->d_name) ||
		       /* it has ended */
		       (errno == ENOENT && strtol(entry->d_name, NULL, 10) != getpid());
	if (folder)
		closedir(folder);
	return good;
}

void waiting_thread_note_children(struct waiting_thread *self)
{
	if (!children_list(&self->inherited))
		vec_clear(&self->inherited.pids);
}

static pid_t *find_pid(const struct pid_list *list, pid_t pid)
{
	for (u64 i = 0; i < list->pids.count; i++)
		if (list->pids.data[i] == pid)
			return &list->pids.data[i];
	return NULL;
}

/* Whether children are left that were not there before the program; there are some. */
static bool orphans_live(const struct waiting_thread *self)
{
	struct pid_list now = {0};
	bool live = !self->inherited.pids.count || !children_list(&now);

	for (u64 i = 0; i < now.pids.count && !live; i++)
		live = !find_pid(&self->inherited, now.pids.data[i]);
	vec_release(&now.pids);
	return live;
}

/* A process that the program left behind and that has ended. */
static void orphan_reap(struct waiting_thread *self, const siginfo_t *info)
{
	struct process *process = self->drain->processes;
	pid_t *inherited = find_pid(&self->inherited, info->si_pid);

	if (inherited)
		*inherited = 0; /* another may get its number */
	for (; process; process = process_next(process))
		if (process->pid == (u32)info->si_pid && !process->gone)
			process_set_gone(process,
					 info->si_code == CLD_EXITED ? IMAGE_EXITED : IMAGE_KILLED,
					 info->si_status);
	waitpid(info->si_pid, NULL, WNOHANG);
}

/* Processes that the program left behind come to us (PR_SET_CHILD_SUBREAPER): a daemon that has not
 * allocated yet is only known by that. */
static void orphans_watch(struct waiting_thread *self)
{
	siginfo_t info = {0};
	int status;

	if (!self->drain || self->options->start.embedded)
		return;
	/* Stops of a process that a scan traces come here as well: they are the scan's. */
	while ((status = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT)) == 0 &&
	       info.si_pid && info.si_pid != self->pid && is_end(&info)) {
		orphan_reap(self, &info);
		info.si_pid = 0;
	}
	if (!self->ended)
		return;
	self->left_behind = status == 0 && orphans_live(self);
	if (!self->left_behind && load_relaxed(&self->drain->hold)) {
		store_relaxed(&self->drain->hold, 0);
		drain_wake(self->drain);
	}
}

/* ---- signals --------------------------------------------------------------------------------- */

/* What the terminal sends goes to the whole foreground group, the program included; what a person
 * or another program sends to us alone is passed on. */
static void signal_handle(struct waiting_thread *self, const siginfo_t *info)
{
	struct scan_hub *scans = self->drain ? &self->drain->scans : NULL;

	if (info->si_signo == SIGCHLD) {
		if (scans) {
			add_acq_rel(&scans->children, 1);
			futex_wake(&scans->children, INT_MAX);
		}
		return;
	}
	if (info->si_signo == self->options->toggle.signal) {
		if (self->control)
			control_toggle(self->control);
		return;
	}
	if (scans)
		add_relaxed(&scans->interrupts, 1);
	if (self->ended) {
		if (self->drain) {
			store_relaxed(&self->drain->hold, 0);
			processes_detach(self);
		}
		return;
	}
	if (info->si_code <= 0 && info->si_pid != self->pid) {
		self->passed_signal = info->si_signo;
		kill(self->pid, info->si_signo);
	}
}

static void file_check(struct waiting_thread *self)
{
	const char *path = self->options->toggle.file;

	if (!path || (access(path, F_OK) == 0) == self->file_seen)
		return;
	self->file_seen = !self->file_seen;
	drain_set_paused(self->drain, !self->file_seen);
}

static void progress_tell(struct waiting_thread *self)
{
	const struct run_owner *owner = self->options->owner;
	const struct drain *drain = self->drain;
	u64 bytes = 0;

	if (!owner || !owner->progress)
		return;
	for (struct process *process = drain->processes; process; process = process_next(process)) {
		bytes += load_relaxed(&process->shown.trace_bytes);
	}
	owner->progress(owner->self, load_relaxed(&drain->events), load_relaxed(&drain->live_bytes),
			bytes);
}

static bool is_over(const struct waiting_thread *self)
{
	return self->ended && (!self->drain || load_acquire(&self->drain->done));
}

void waiting_thread_run(struct waiting_thread *self)
{
	struct timespec timeout = {.tv_nsec = (long)SLEEP_NS};

	while (program_reap(self), !is_over(self)) {
		siginfo_t info;
		u64 now, due_ns;

		if (sigtimedwait(&self->signals->waited, &info, &timeout) > 0) {
			signal_handle(self, &info);
			program_reap(self);
		}
		orphans_watch(self);
		now = now_ns();
		if (!self->drain)
			continue;
		file_check(self);
		due_ns = processes_serve(self, now);
		timeout.tv_nsec = (long)(due_ns > now + SLEEP_NS_MIN ? due_ns - now : SLEEP_NS_MIN);
		if (is_due(&self->disk_ns, now, DISK_NS))
			disk_check(self);
		if (is_due(&self->progress_ns, now, PROGRESS_NS))
			progress_tell(self);
	}
	orphans_watch(self); /* recording may be over before the loop came to it */
}
