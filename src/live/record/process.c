/* SPDX-License-Identifier: MIT
 * Leads a recorded process from its first berth to its last event; see process.h for which
 * thread runs what. Never blocks on the drain thread. */
#define _GNU_SOURCE
#include "live/record/process.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/base/clock.h"
#include "host/base/io.h"
#include "format/atomics.h"
#include "live/drain/futex.h"
#include "format/moment.h"
#include "live/program/program.h"

enum { ENVIRONMENT_MAX = 4 << 20 };

static pthread_mutex_t path_lock = PTHREAD_MUTEX_INITIALIZER; /* trace_path of all processes */

struct stream_clock clock_now(void)
{
	struct hw_moment now = hw_moment_read(now_ns);

	return (struct stream_clock){.ticks = now.ticks, .ns = now.ns};
}

struct process *process_new(u32 pid, u32 parent_pid)
{
	struct process *self = calloc(1, sizeof(*self));

	if (!self)
		return NULL;
	self->pid = pid;
	self->parent_pid = parent_pid;
	self->pidfd = -2;
	self->start = clock_now();
	return self;
}

void process_free(struct process *self, struct berths *berths)
{
	scan_free(self->scan);
	for (u64 i = 0; i < self->claimed.count; i++)
		berths_give_back(berths, &self->claimed.data[i]);
	vec_release(&self->claimed);
	for (u64 i = 0; i < self->ended.count; i++)
		free(self->ended.data[i]);
	vec_release(&self->ended);
	image_free(self->image);
	join_hub_free(self->joins);
	if (self->rotation)
		rotation_release(self->rotation);
	free(self->rotation);
	if (self->pidfd >= 0)
		close(self->pidfd);
	free(self);
}

void process_get_path(struct process *self, char path[4096])
{
	pthread_mutex_lock(&path_lock);
	snprintf(path, sizeof(self->trace_path), "%s", self->trace_path);
	pthread_mutex_unlock(&path_lock);
}

void process_set_path(struct process *self, const char *path)
{
	pthread_mutex_lock(&path_lock);
	snprintf(self->trace_path, sizeof(self->trace_path), "%s", path);
	pthread_mutex_unlock(&path_lock);
}

/* It sits in sigtimedwait, and every other thread blocks this signal. */
void waiting_thread_wake(void) { kill(getpid(), SIGCHLD); }

void process_fail(struct process *self, const struct err *err)
{
	if (!self->error.code)
		self->error = *err;
}

/* When the recorder attached; a berth that nobody has attached to yet is the newest. */
static u64 berth_start(const struct berth *berth)
{
	/* Acquire: pairs with the recorder's release of `attached`. */
	return load_acquire(&berth->control->attached) ? load_relaxed(&berth->control->start_ticks)
						       : UINT64_MAX;
}

/* Programs that only exec others come and go faster than we look: their berths are found together,
 * in no order. */
int process_add_berth(struct process *self, const struct berth *berth, struct err *err)
{
	u64 first = self->image ? 1 : 0, at;

	if (!vec_push(&self->claimed, *berth))
		return err_memory_for(err, "an image");
	for (at = self->claimed.count - 1;
	     at > first && berth_start(berth) < berth_start(&self->claimed.data[at - 1]); at--)
		self->claimed.data[at] = self->claimed.data[at - 1];
	self->claimed.data[at] = *berth;
	return 0;
}

/* ---- what the image is ----------------------------------------------------------------------- */

void process_quote(struct strbuf *text, const char *argument)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789%+,-./:=@_^";

	if (text->count)
		strbuf_add_char(text, ' ');
	if (*argument && argument[strspn(argument, plain)] == 0) {
		strbuf_add(text, argument);
		return;
	}
	strbuf_add_char(text, '\'');
	for (; *argument; argument++) {
		if (*argument == '\'')
			strbuf_add(text, "'\\''");
		else
			strbuf_add_char(text, *argument);
	}
	strbuf_add_char(text, '\'');
}

/* The recorder says which image it is in; /proc may speak of the next one already. */
static void command_read(const struct berth *berth, const struct process_fallback *fallback,
			 struct strbuf *command)
{
	struct strbuf raw = {0};

	modlog_text(berth, HW_IMAGE_COMMAND, &raw);
	for (u64 at = 0; at < raw.count; at += strlen(raw.text + at) + 1)
		process_quote(command, raw.text + at);
	if (!raw.count) {
		for (char *const *argument = fallback->argv; argument && *argument; argument++)
			process_quote(command, *argument);
	}
	strbuf_release(&raw);
}

static void program_read(struct process *self, const struct berth *berth,
			 const struct process_fallback *fallback)
{
	static const char deleted[] = " (deleted)";
	struct strbuf raw = {0};
	size_t length;

	modlog_text(berth, HW_IMAGE_PROGRAM, &raw);
	snprintf(self->program, sizeof(self->program), "%s",
		 raw.count           ? strbuf_text(&raw)
		 : fallback->program ? fallback->program
				     : "");
	strbuf_release(&raw);
	length = strlen(self->program);
	if (length > sizeof(deleted) &&
	    strcmp(self->program + length - (sizeof(deleted) - 1), deleted) == 0)
		self->program[length - (sizeof(deleted) - 1)] = 0;
}

static bool python_malloc_is_set(u32 pid)
{
	static const char wanted[] = "PYTHONMALLOC=malloc";
	struct strbuf raw = {0};
	char path[64];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	if (io_read_file(path, ENVIRONMENT_MAX, &raw, NULL) == 0) {
		for (u64 at = 0; at < raw.count && !found; at += strlen(raw.text + at) + 1)
			found = strncmp(raw.text + at, wanted, sizeof(wanted) - 1) == 0;
	}
	strbuf_release(&raw);
	return found;
}

/* ---- images ---------------------------------------------------------------------------------- */

static void image_begin(struct process *self, const struct process_fallback *fallback,
			const struct berths_options *options)
{
	struct strbuf command = {0};
	struct image_start start = {
		.number = self->next_number,
		.sample_bytes = options->sample_bytes,
		.flags = options->flags |
			 (load_relaxed(&self->claimed.data[0].control->forked) ? HW_RUN_CONTINUED
									       : 0),
		.stamp_shift = options->stamp_shift,
		.prepare = options->prepare,
		.tap = self->tap,
	};
	struct err err = {0};

	program_read(self, &self->claimed.data[0], fallback);
	command_read(&self->claimed.data[0], fallback, &command);
	self->python_malloc = python_malloc_is_set(self->pid);
	start.program = self->program;
	start.command = strbuf_text(&command);
	self->image = image_new(&self->claimed.data[0], &start, &self->sink, &err);
	self->scan_told = false;
	process_usage_begin(self, self->images
					  ? load_relaxed(&self->claimed.data[0].control->start_ns)
					  : 0);
	if (self->image) {
		self->images++;
		self->next_number++;
		self->recordings++;
	} else {
		process_fail(self, &err);
	}
	if (self->image && self->writer_state == WRITER_STOPPED) {
		/* The recording was ended before this exec. */
		store_relaxed(&self->claimed.data[0].control->stopped, HW_STOPPED);
		image_rest(self->image);
	} else if (self->image && load_relaxed(&self->claimed.data[0].control->began_paused)) {
		image_mark(self->image, HW_MARK_PAUSED);
	}
	strbuf_release(&command);
	/* Without the image nothing of the trace can be read, should we be killed. Until the file
	 * has it, nothing that follows is read, and the program gets no further than its rings. */
	if (self->image && self->writer && trace_writer_flush(self->writer, &err) < 0)
		process_fail(self, &err);
	if (self->writer && self->images == 1)
		trace_writer_settle(self->writer);
}

static void runtime_find(struct process *self)
{
	const struct image *image = self->image;

	self->runtime = runtime_of_module(self->program);
	for (u64 i = 0; i < image->modules.count && self->runtime == RUNTIME_NONE; i++)
		self->runtime = runtime_of_module(image->modules.data[i].told.path);
	if (self->runtime == RUNTIME_PYTHON && self->python_malloc)
		self->runtime = RUNTIME_NONE;
	for (u64 i = 0; i < image->modules.count && self->runtime == RUNTIME_NONE; i++)
		if (strcmp(image->modules.data[i].told.path, self->program) != 0 &&
		    library_hides_malloc(image->modules.data[i].told.path))
			self->runtime = RUNTIME_HIDDEN_MALLOC;
}

static void clock_tell(struct process *self)
{
	struct stream_clock told = clock_now();
	struct err err = {0};

	if (self->sink.clock && self->sink.clock(self->sink.self, &told, &err) < 0)
		process_fail(self, &err);
}

void process_end_recording(struct process *self, u32 how, i32 value)
{
	struct stream_image_end end = {.ticks = hw_ticks(), .how = how, .value = value};
	struct err err = {0};

	runtime_find(self);
	memcpy(self->runtime_says, self->image->runtime_says, sizeof(self->runtime_says));
	clock_tell(self);
	process_usage_finish(self, &end);
	if (how != IMAGE_EXEC)
		process_scan_explain(self, &end);
	process_owners_explain(self);
	if (image_end(self->image, &end, &self->totals, &err) < 0)
		process_fail(self, &err);
	self->plain_accesses = self->image->has_plain_accesses;
	self->routines |= self->image->has_routines;
	self->routine_stacks |= load_relaxed(&self->image->berth.control->routine_stacks) != 0;
	self->ended_events += correlator_events(self->image->correlator);
	self->scan_told = false; /* what follows in another file has a scan of its own */
}

/* Another program may have taken over without a recorder, and nobody told us. */
static bool ended_unseen(const struct process *self)
{
	const struct hw_control *control = self->image->berth.control;

	return self->end_how == IMAGE_EXITED && !load_relaxed(&control->left) &&
	       load_relaxed(&control->access) != HW_ACCESS_VALGRIND &&
	       load_relaxed(&control->stopped) != HW_RELEASED &&
	       !load_relaxed(&control->faults[HW_FAULT_SANDBOX]);
}

static void image_finish(struct process *self, bool exec)
{
	self->ended_unseen = !exec && ended_unseen(self);
	if (!self->image->resting)
		process_end_recording(self, exec ? IMAGE_EXEC : self->end_how,
				      exec ? 0 : self->end_value);
	image_free(self->image);
	self->image = NULL;
}

static void berth_drop_first(struct process *self, struct berths *berths)
{
	berths_give_back(berths, &self->claimed.data[0]);
	self->claimed.count--;
	memmove(self->claimed.data, self->claimed.data + 1,
		self->claimed.count * sizeof(*self->claimed.data));
}

struct cycle {
	const struct process_fallback *fallback;
	u64 elapsed_ns;
	bool gone;
	u64 count; /* records so far */
};

/* Works on the first berth; true if it is done with and another one may follow. A berth behind it
 * is the image after an exec: then the first one is complete. */
static bool berth_cycle(struct process *self, struct berths *berths, struct cycle *cycle)
{
	struct berth *berth = &self->claimed.data[0];
	bool last = cycle->gone || self->claimed.count > 1;

	/* Acquire: pairs with the recorder's release of `attached`. */
	if (!self->image && load_acquire(&berth->control->attached)) {
		berth->parent_pid = load_relaxed(&berths->lobby->berth[berth->index].parent);
		image_begin(self, cycle->fallback, &berths->options);
	}
	if (process_scan_cycle(self, berths))
		return false;
	if (self->image)
		cycle->count += image_cycle(self->image, cycle->elapsed_ns, last);
	if (!last || self->scan)
		return false;
	if (self->image)
		image_finish(self, self->claimed.count > 1);
	berth_drop_first(self, berths);
	return true;
}

void process_set_sink(struct process *self, const struct stream_sink *trace)
{
	static const struct stream_sink nobody;
	struct stream_sink first = *trace;

	if (self->summary) {
		first.events = NULL;
		first.types = NULL;
	}
	if (self->rotation) {
		self->rotation->trace = *trace;
		first = rotation_sink(self->rotation);
	}
	self->sink = tap_join(&self->tee, &first, self->tap ? &self->tap->sink : &nobody);
}

static bool writer_is_ready(struct process *self)
{
	/* Acquire: pairs with the waiting thread's release, `writer` is set. */
	u32 state = load_acquire(&self->writer_state);

	if (state != WRITER_WANTED && self->sink.self != &self->tee) {
		struct stream_sink sink = {0};

		if (state == WRITER_OPEN)
			sink = trace_writer_sink(self->writer);
		process_set_sink(self, &sink);
	}
	return state != WRITER_WANTED;
}

/* The process runs on without us: its recorder is told to do nothing from now on. */
static void recorders_stop(struct process *self)
{
	for (u64 i = 0; i < self->claimed.count; i++) {
		struct hw_control *control = self->claimed.data[i].control;

		/* pairs with the helper's acquire of the bell */
		store_release(&control->stopped, HW_RELEASED);
		add_acq_rel(&control->pages.bell, 1);
		futex_wake(&control->pages.bell, 1);
	}
}

/* A program that never allocates never joins: it gets an image without events, so that its trace
 * can be read like any other. */
static void empty_image_tell(struct process *self, const struct process_fallback *fallback,
			     const struct berths_options *options)
{
	struct stream_image image = {
		.pid = self->pid,
		.parent_pid = self->parent_pid,
		.arch = HW_MACHINE,
		.start_ticks = self->start.ticks,
		.start_ns = self->start.ns,
		.sample_bytes = options->sample_bytes,
		.flags = options->flags,
		.program = fallback->program,
	};
	struct stream_image_end end = {.ticks = hw_ticks(),
				       .how = self->end_how,
				       .value = self->end_value};
	struct strbuf command = {0};
	struct err err = {0};

	for (char *const *argument = fallback->argv; *argument; argument++)
		process_quote(&command, *argument);
	image.command = strbuf_text(&command);
	if (self->sink.image && self->sink.image(self->sink.self, &image, &err) == 0) {
		clock_tell(self);
		self->sink.image_end(self->sink.self, &end, &err);
	}
	if (err.code)
		process_fail(self, &err);
	strbuf_release(&command);
}

u64 process_cycle(struct process *self, struct berths *berths,
		  const struct process_fallback *fallback, u64 elapsed_ns, bool gone)
{
	struct cycle cycle = {.fallback = fallback, .elapsed_ns = elapsed_ns, .gone = gone};

	if (!writer_is_ready(self))
		return 0;
	process_usage_cycle(self, berths);
	if (gone && self->end_how == IMAGE_DETACHED)
		recorders_stop(self);
	while (self->claimed.count && berth_cycle(self, berths, &cycle))
		;
	if (gone && self->root && !self->images)
		empty_image_tell(self, fallback, &berths->options);
	if (!self->scan) /* which holds the live blocks */
		process_recording_cycle(self, &berths->options);
	return cycle.count;
}

bool process_is_done(const struct process *self)
{
	return self->gone_seen && !self->claimed.count && self->writer_state != WRITER_WANTED &&
	       process_is_settled(self);
}

void process_tick(struct process *self)
{
	struct err err = {0};

	if (!self->image || self->image->resting)
		return;
	clock_tell(self);
	if (!self->image->failed && correlator_flush(self->image->correlator, &err) < 0)
		image_fail(self->image, &err);
	if (self->writer && trace_writer_flush(self->writer, &err) < 0)
		process_fail(self, &err);
}

u64 process_events(const struct process *self)
{
	const struct image *image = self->image;

	return self->ended_events +
	       (image && !image->resting ? correlator_events(image->correlator) : 0);
}

u64 process_trace_bytes(const struct process *self)
{
	bool open = load_acquire(&self->writer_state) == WRITER_OPEN;

	return self->ended_bytes + (open ? trace_writer_bytes(self->writer) : 0);
}

u64 process_live_bytes(const struct process *self)
{
	const struct image *image = self->image;

	return image && !image->resting ? correlator_live_bytes(image->correlator) : 0;
}

/* ---- watching -------------------------------------------------------------------------------- */

void process_set_gone(struct process *self, u32 how, i32 value)
{
	if (self->gone)
		return;
	process_see_cpu_end(self);
	self->end_how = how;
	self->end_value = value;
	store_release(&self->gone, 1);
}

/* The state letter of /proc/PID/stat, and the wait status of a zombie; 0 = no process. */
static char stat_read(u32 pid, int *wait_status)
{
	struct strbuf text = {0};
	char path[64], state = 0;
	const char *at;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (io_read_file(path, 8192, &text, NULL) == 0 && (at = strrchr(text.text, ')')) &&
	    at[1] == ' ') {
		const char *last = strrchr(text.text, ' ');

		state = at[2];
		if (state == 'Z' && last)
			*wait_status = atoi(last + 1);
	}
	strbuf_release(&text);
	return state;
}

/* The higher half of the numbers is left to traces, which cannot do without. */
static int pidfd_open(u32 pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct rlimit files;

	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &files) < 0 || (rlim_t)fd < files.rlim_cur / 2)
		return fd;
	close(fd);
	return -1;
}

static bool still_runs(struct process *self, char state)
{
	struct pollfd poll_fd = {.fd = self->pidfd, .events = POLLIN};

	if (self->pidfd >= 0)
		return poll(&poll_fd, 1, 0) == 0;
	return state && state != 'Z' && state != 'X';
}

/* The wait status of a process whose parent was faster than we; from Linux 6.15 on. */
static void reaped_read(int pidfd, int *wait_status)
{
	enum { WITH_EXIT = 8 };
	struct {
		u64 mask, control_group;
		u32 ids[11];
		i32 wait_status;
	} info = {.mask = WITH_EXIT};

	if (pidfd >= 0 && ioctl(pidfd, _IOWR(0xff, 11, info), &info) == 0 && info.mask & WITH_EXIT)
		*wait_status = info.wait_status;
}

bool process_watch(struct process *self)
{
	int wait_status = -1;
	char state;

	if (self->pidfd == -2)
		self->pidfd = pidfd_open(self->pid);
	if (self->pidfd >= 0 && still_runs(self, 0))
		return true;
	state = stat_read(self->pid, &wait_status);
	if (still_runs(self, state))
		return true;
	if (wait_status < 0)
		reaped_read(self->pidfd, &wait_status);
	if (wait_status < 0)
		process_set_gone(self, IMAGE_EXITED, IMAGE_STATUS_UNKNOWN);
	else if (WIFSIGNALED(wait_status))
		process_set_gone(self, IMAGE_KILLED, WTERMSIG(wait_status));
	else
		process_set_gone(self, IMAGE_EXITED, WEXITSTATUS(wait_status));
	return false;
}
