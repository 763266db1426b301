/* SPDX-License-Identifier: MIT
 * The verbs by which a recording is controlled; see control.h. Runs in the monitor, on threads that
 * may wait. Never touches a ring or a file: the drain thread does what is asked for. */
#define _GNU_SOURCE
#include "live/control/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/atomics.h"
#include "host/base/clock.h"

enum { VERBS_MAX = 16 };

static void nap(void)
{
	const struct timespec time = {.tv_nsec = 2000000};

	nanosleep(&time, NULL);
}

void control_reply_add(struct control_reply *self, const char *key, const char *format, ...)
{
	struct strbuf value = {0};
	va_list arguments;

	va_start(arguments, format);
	strbuf_vaddf(&value, format, arguments);
	va_end(arguments);
	for (u64 i = 0; i < value.count; i++) {
		if (value.text[i] == '\n')
			value.text[i] = ' '; /* a name of a file may have any byte in it */
	}
	strbuf_addf(&self->lines, "%s %s\n", key, strbuf_text(&value));
	strbuf_release(&value);
}

/* ---- processes ------------------------------------------------------------------------------- */

bool control_find(const struct control *self, u32 pid, struct process **process)
{
	struct process *at = self->drain->processes;

	*process = NULL;
	if (pid == (u32)getpid())
		return true;
	/* A pid may come again: the process that had it before has ended. */
	for (; at; at = process_next(at)) {
		if (at->pid == pid && !load_acquire(&at->finished)) {
			*process = at;
			return true;
		}
	}
	return false;
}

static u64 seconds_of(enum ask_what what)
{
	return what == ASK_SCAN || what == ASK_OWNERS ? CONTROL_SCAN_SECONDS : CONTROL_WAIT_SECONDS;
}

static int ask_wait(struct process *process, enum ask_what what, u32 number)
{
	const struct ask *ask = &process->asks[what];
	u64 since = now_ns();

	/* Acquire: pairs with the drain thread's release, `failure` is there. */
	while ((i32)(load_acquire(&ask->done) - number) < 0) {
		if (load_acquire(&process->finished))
			return ESRCH;
		if (now_ns() - since > seconds_of(what) * 1000000000)
			return ETIMEDOUT;
		nap();
	}
	return (int)load_relaxed(&ask->failure);
}

static int ask_one(struct control *self, struct process *process, enum ask_what what)
{
	struct ask *ask = &process->asks[what];
	u32 number = add_acq_rel(&ask->asked, 1) + 1;

	drain_wake(self->drain);
	return ask_wait(process, what, number);
}

int control_ask(struct control *self, struct process *process, enum ask_what what)
{
	int failure = 0, one;

	if (process)
		return ask_one(self, process, what);
	for (process = self->drain->processes; process; process = process_next(process)) {
		if (load_acquire(&process->finished))
			continue;
		one = ask_one(self, process, what);
		if (one && one != ESRCH && !failure)
			failure = one;
	}
	return failure;
}

/* ---- verbs ----------------------------------------------------------------------------------- */

static const char *state_word(const struct process *process)
{
	static const char *const words[] = {[SHOWN_WAITING] = "waiting",
					    [SHOWN_RECORDING] = "recording",
					    [SHOWN_PAUSED] = "paused",
					    [SHOWN_STOPPED] = "stopped",
					    [SHOWN_ENDED] = "ended"};

	return words[load_relaxed(&process->shown.state) % (SHOWN_ENDED + 1)];
}

static int failed(int failure, struct err *err)
{
	switch (failure) {
	case 0: return 0;
	case ETIMEDOUT: return err_set(err, ERR_SYSTEM, "the monitor did not answer in time");
	case ESRCH: return err_set(err, ERR_INPUT, "the process has ended");
	case EAGAIN: return err_set(err, ERR_INPUT, "the program has not allocated anything yet");
	case ENODATA:
		return err_set(err, ERR_INPUT,
			       "the recording was stopped; only the program itself can start "
			       "another one (heapwise_restart)");
	default: return err_set(err, ERR_SYSTEM, "%s", strerror(failure));
	}
}

static void reply_number(struct control_reply *reply, const char *key, u64 number)
{
	control_reply_add(reply, key, "%llu", (unsigned long long)number);
}

/* Who asks may be in another folder. */
static void reply_path(struct control_reply *reply, const char *path)
{
	char folder[4096];

	if (*path && *path != '/' && getcwd(folder, sizeof(folder)))
		control_reply_add(reply, "trace", "%s/%s", folder, path);
	else
		control_reply_add(reply, "trace", "%s", path);
}

static struct process *one_of(struct control *self, struct process *process)
{
	return process ? process : self->drain->processes;
}

static int status(struct control *self, struct process *process, struct control_reply *reply,
		  struct err *err)
{
	struct process *one = one_of(self, process);
	const struct process_shown *shown = &one->shown;
	char path[4096];

	(void)err;
	process_get_path(one, path);
	control_reply_add(reply, "state", "%s", state_word(one));
	control_reply_add(reply, "pid", "%u", one->pid);
	control_reply_add(reply, "monitor_pid", "%d", (int)getpid());
	reply_path(reply, path);
	reply_number(reply, "trace_bytes", load_relaxed(&shown->trace_bytes));
	reply_number(reply, "events", load_relaxed(&shown->events));
	reply_number(reply, "allocations", load_relaxed(&shown->allocations));
	reply_number(reply, "live_bytes", load_relaxed(&shown->live_bytes));
	reply_number(reply, "live_chunks", load_relaxed(&shown->live_chunks));
	reply_number(reply, "snapshots", load_relaxed(&shown->snapshots));
	return 0;
}

/* A process that is alone stays paused through an exec; so do all if all are meant. */
static int set_paused(struct control *self, struct process *process, bool paused,
		      struct control_reply *reply, struct err *err)
{
	int failure = control_ask(self, process, paused ? ASK_PAUSE : ASK_RESUME);

	if (!failure && (!process || !self->drain->berths->options.children))
		drain_set_paused(self->drain, paused);
	if (failure)
		return failed(failure, err);
	control_reply_add(reply, "state", "%s", paused ? "paused" : "recording");
	return 0;
}

static int do_pause(struct control *self, struct process *process, struct control_reply *reply,
		    struct err *err)
{
	return set_paused(self, process, true, reply, err);
}

static int do_resume(struct control *self, struct process *process, struct control_reply *reply,
		     struct err *err)
{
	return set_paused(self, process, false, reply, err);
}

static int do_snapshot(struct control *self, struct process *process, struct control_reply *reply,
		       struct err *err)
{
	int failure = control_ask(self, process, ASK_SNAPSHOT);
	const struct process_shown *shown = &one_of(self, process)->shown;

	if (failure && failure != ETIME)
		return failed(failure, err);
	if (failure == ETIME)
		control_reply_add(reply, "caveat", "%s",
				  "the callback was not called: the program did not call "
				  "heapwise_poll within one second");
	reply_number(reply, "live_bytes", load_relaxed(&shown->live_bytes));
	reply_number(reply, "live_chunks", load_relaxed(&shown->live_chunks));
	return 0;
}

static int do_stop(struct control *self, struct process *process, struct control_reply *reply,
		   struct err *err)
{
	struct process *one = one_of(self, process);
	char path[4096];
	int failure;

	process_get_path(one, path);
	failure = control_ask(self, process, ASK_STOP);
	if (failure)
		return failed(failure, err);
	control_reply_add(reply, "state", "stopped");
	reply_path(reply, path);
	return 0;
}

static int do_save(struct control *self, struct process *process, struct control_reply *reply,
		   struct err *err)
{
	int failure = control_ask(self, process, ASK_SAVE);
	char path[4096];

	if (failure)
		return failed(failure, err);
	process_get_path(one_of(self, process), path);
	reply_path(reply, path);
	return 0;
}

struct scan_wish {
	enum ask_what what;
	u32 how; /* OWNERS_* */
};

static int scan_ask(struct control *self, struct process *process, const struct scan_wish *wish,
		    struct control_reply *reply, struct err *err)
{
	static const char *const names[CLASS_COUNT] = {
		[CLASS_LOST] = "lost",
		[CLASS_INDIRECT] = "indirect",
		[CLASS_POSSIBLE] = "possible",
		[CLASS_REACHABLE] = "reachable",
	};
	const struct process *one = one_of(self, process);
	char key[32];
	int failure;

	for (struct process *at = self->drain->processes; at; at = process_next(at))
		store_relaxed(&at->owners_how, wish->how); /* released with the question */
	failure = control_ask(self, process, wish->what);
	if (failure)
		return failed(failure, err);
	if (one->scanned.state != SCAN_DONE)
		return err_set(err, ERR_INPUT, "the memory was not scanned: %s", one->scan_reason);
	for (u32 i = CLASS_LOST; i > CLASS_UNKNOWN; i--) {
		snprintf(key, sizeof(key), "%s_chunks", names[i]);
		reply_number(reply, key, one->scanned.class_chunks[i]);
		snprintf(key, sizeof(key), "%s_bytes", names[i]);
		reply_number(reply, key, one->scanned.class_bytes[i]);
	}
	reply_number(reply, "stopped_ns", one->scanned.scan_ns);
	return 0;
}

/* What a scan has found stays until the next one: two at a time would read each other's, and the
 * program would stand still for both. */
static int scan_in_turn(struct control *self, struct process *process, struct scan_wish wish,
			struct control_reply *reply, struct err *err)
{
	static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
	int status;

	if (pthread_mutex_trylock(&turn) != 0)
		return err_set(err, ERR_INPUT,
			       "another scan is running; try again when it has ended");
	status = scan_ask(self, process, &wish, reply, err);
	pthread_mutex_unlock(&turn);
	return status;
}

static int do_scan(struct control *self, struct process *process, struct control_reply *reply,
		   struct err *err)
{
	return scan_in_turn(self, process, (struct scan_wish){ASK_SCAN, 0}, reply, err);
}

/* One verb for each way: a verb has no arguments. */
#define SCAN_OWNERS(function, how)                                                                 \
	static int function(struct control *self, struct process *process,                         \
			    struct control_reply *reply, struct err *err)                          \
	{                                                                                          \
		return scan_in_turn(self, process, (struct scan_wish){ASK_OWNERS, how}, reply,     \
				    err);                                                          \
	}
SCAN_OWNERS(do_scan_owners, 0)
SCAN_OWNERS(do_scan_background, OWNERS_BACKGROUND)
SCAN_OWNERS(do_scan_contents, OWNERS_CONTENTS)
SCAN_OWNERS(do_scan_both, OWNERS_BACKGROUND | OWNERS_CONTENTS)

/* Each gets a place of its own: one after the other. */
static int do_join(struct control *self, struct process *process, struct control_reply *reply,
		   struct err *err)
{
	static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
	struct process *one = one_of(self, process);
	int failure;

	pthread_mutex_lock(&turn);
	failure = control_ask(self, one, ASK_JOIN);
	if (!failure) {
		control_reply_add(reply, "join", "%s", one->join_path);
		control_reply_add(reply, "monitor_pid", "%d", (int)getpid());
	}
	pthread_mutex_unlock(&turn);
	if (failure == EBUSY)
		return err_set(err, ERR_INPUT,
			       "too many tools have joined this program; end one of them first");
	return failed(failure, err);
}

static const struct control_verb own_verbs[] = {
	{.name = "pause",
	 .summary = "stop recording allocations (frees of recorded chunks are still recorded)",
	 .run = do_pause},
	{.name = "resume", .summary = "record allocations again", .run = do_resume},
	{.name = "snapshot",
	 .summary = "store a snapshot of live memory in the trace",
	 .run = do_snapshot},
	{.name = "scan",
	 .summary = "scan for lost memory now; the program is stopped meanwhile",
	 .run = do_scan},
	{.name = "scan-owners",
	 .summary = "scan, and record every pointer that is found",
	 .run = do_scan_owners,
	 .variant = true,
	 .local = true},
	{.name = "scan-owners-background",
	 .summary = "the same, in a copy of the memory while the program runs on",
	 .run = do_scan_background,
	 .variant = true,
	 .local = true},
	{.name = "scan-owners-contents",
	 .summary = "the same as scan-owners, and record which chunks are alike",
	 .run = do_scan_contents,
	 .variant = true,
	 .local = true},
	{.name = "scan-owners-background-contents",
	 .summary = "both of these",
	 .run = do_scan_both,
	 .variant = true,
	 .local = true},
	{.name = "save",
	 .summary = "write everything recorded so far to the trace",
	 .run = do_save},
	{.name = "stop",
	 .summary = "end the recording and close the trace; the program continues",
	 .run = do_stop},
	{.name = "join",
	 .summary = "let a tool built with the toolkit receive the events",
	 .run = do_join,
	 .local = true},
	{.name = "status", .summary = "show what is recorded, and how much", .run = status},
};
enum { OWN_VERBS = sizeof(own_verbs) / sizeof(*own_verbs) };

static const struct control_verb *more_verbs[VERBS_MAX];
static u32 more_count;

const struct control_verb *control_verb_at(u32 index)
{
	if (index < OWN_VERBS)
		return &own_verbs[index];
	return index - OWN_VERBS < more_count ? more_verbs[index - OWN_VERBS] : NULL;
}

bool control_only_tells(const struct control_verb *verb) { return verb->run == status; }

bool control_register(const struct control_verb *verb)
{
	if (more_count == VERBS_MAX)
		return false;
	more_verbs[more_count++] = verb;
	return true;
}

int control_run(struct control *self, const char *name, struct process *process,
		struct control_reply *reply, struct err *err)
{
	const struct control_verb *verb;

	for (u32 i = 0; (verb = control_verb_at(i)); i++) {
		if (strcmp(verb->name, name) == 0)
			return verb->run(self, process, reply, err);
	}
	return err_set(err, ERR_USAGE, "unknown verb '%s'", name);
}

void control_toggle(struct control *self)
{
	const struct process *root = self->drain->processes;
	u32 state = load_relaxed(&root->shown.state);
	bool paused = load_relaxed(&self->drain->pause_command) & 1;

	if (state == SHOWN_RECORDING || state == SHOWN_PAUSED)
		paused = state == SHOWN_PAUSED;
	drain_set_paused(self->drain, !paused);
}
