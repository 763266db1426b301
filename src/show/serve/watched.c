/* SPDX-License-Identifier: MIT
 * A program that runs, in a browser; see watched.h. Host. Reports come from the thread that waits
 * for the program, questions from threads of the server. */
#define _GNU_SOURCE
#include "host/base/io.h"
#include "show/serve/watched.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/atomics.h"
#include "host/symbols/resolve/resolve.h"
#include "live/control/control.h"
#include "live/watch/names.h"
#include "show/serve/api.h"
#include "show/serve/tick.h"

struct watched {
	struct watched_options options;
	char *name;      /* of the program, without its folder */
	char path[4096]; /* of the trace */
	int temporary;   /* its descriptor, -1 = it has a name */
	struct api api;
	struct feed feed;
	struct renewal renewal;
	bool started;
	u32 running; /* the trace is being written */

	pthread_mutex_t control_lock; /* held while it is used */
	struct control *control;      /* NULL = not yet, or not any more */
	u32 pid;                      /* of the program */
	pthread_mutex_t names_lock;
	struct watch_names names;
};

/* ---- the trace ------------------------------------------------------------------------------- */

static int temporary_open(struct watched *self, struct err *err)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/heapwise-XXXXXX", io_temporary_folder());
	self->temporary = mkostemp(path, O_CLOEXEC);
	if (self->temporary < 0)
		return err_set(err, ERR_SYSTEM,
			       "cannot create a temporary file in %s: %s; choose another place "
			       "with --trace",
			       io_temporary_folder(), strerror(errno));
	unlink(path); /* it is gone with us, whatever becomes of us */
	snprintf(self->path, sizeof(self->path), "/proc/self/fd/%d", self->temporary);
	return 0;
}

/* Has all that was recorded so far in the file. */
static void save(void *data)
{
	struct watched *self = data;
	struct control_reply reply = {0};
	struct err err = {0};

	pthread_mutex_lock(&self->control_lock);
	if (self->control)
		control_run(self->control, "save", NULL, &reply,
			    &err); /* if not, what there is will do */
	pthread_mutex_unlock(&self->control_lock);
	strbuf_release(&reply.lines);
}

static bool is_written(void *data)
{
	struct watched *self = data;

	return load_acquire(&self->running); /* pairs with watched_ended */
}

/* ---- snapshots ------------------------------------------------------------------------------- */

/* Beside the trace, or in the current folder: where `heapwise run` would put it. */
static char *snapshot_name(const struct watched *self, u32 number)
{
	const char *trace = self->options.trace;
	size_t bytes = trace ? strlen(trace) : 0;
	char *path = NULL;
	int length;

	if (bytes > 4 && strcmp(trace + bytes - 4, ".hwt") == 0)
		bytes -= 4;
	if (trace)
		length = asprintf(&path, "%.*s.snapshot-%u.hwt", (int)bytes, trace, number);
	else
		length = asprintf(&path, "heapwise.%s.%u.snapshot-%u.hwt", self->name, self->pid,
				  number);
	return length < 0 ? NULL : path;
}

/* A file that was not there; NULL and err. */
static char *snapshot_create(const struct watched *self, int *fd, struct err *err)
{
	for (u32 i = 1; i < 10000; i++) {
		char *path = snapshot_name(self, i);

		if (!path)
			break;
		*fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (*fd >= 0)
			return path;
		if (errno != EEXIST) {
			err_set(err, ERR_SYSTEM, "cannot write %s: %s", path, strerror(errno));
			free(path);
			return NULL;
		}
		free(path);
	}
	err_set(err, ERR_SYSTEM, "too many snapshots; all their names are taken");
	return NULL;
}

static char *snapshot(void *data, struct err *err)
{
	struct watched *self = data;
	struct symbolize_summary summary;
	struct err ignored = {0};
	char *path, *whole;
	int fd = -1, status;

	save(self);
	path = snapshot_create(self, &fd, err);
	if (!path)
		return NULL;
	status = trace_copy(self->path, fd, err);
	close(fd);
	if (status < 0) {
		unlink(path);
		free(path);
		return NULL;
	}
	symbols_resolve_trace(path, NULL, &summary, &ignored); /* without names it is one, too */
	whole = realpath(path, NULL);
	if (!whole)
		return path;
	free(path);
	return whole;
}

static const struct watch_name *name_at(void *data, const struct watch_frame *place)
{
	struct watched *self = data;
	const struct watch_name *name;

	pthread_mutex_lock(&self->names_lock);
	name = watch_names_look(&self->names, place);
	pthread_mutex_unlock(&self->names_lock);
	return name;
}

/* ---- start and end --------------------------------------------------------------------------- */

static int api_prepare(struct watched *self, struct err *err)
{
	struct study *face = study_new(self->path, &view_options);

	if (!face)
		return err_memory(err);
	face->name = self->name;
	if (self->temporary >= 0)
		face->how.index = INDEX_IGNORE; /* the file will be gone soon */
	self->renewal.path = self->path;
	self->renewal.name = self->name;
	memcpy(self->renewal.id, face->id, sizeof(face->id));
	self->renewal.parts = &self->api.parts;
	self->renewal.save = save;
	self->renewal.is_written = is_written;
	self->renewal.self = self;
	renewal_init(&self->renewal);
	self->api.version = HEAPWISE_VERSION;
	self->api.graphs_folder = self->options.graphs_folder;
	self->api.traces[0] = face;
	self->api.renewals[0] = &self->renewal;
	self->api.count = 1;
	self->api.feed = &self->feed;
	api_init(&self->api);
	return 0;
}

int watched_start(struct watched *self, struct control *control, struct err *err)
{
	struct site site;

	if (api_prepare(self, err) < 0)
		return err->code;
	site = api_site(&self->api);
	self->running = 1;
	self->control = control;
	self->pid = control->drain->processes->pid;
	if (server_start(self->options.server, &site, err) < 0)
		return err->code;
	self->started = true;
	return 0;
}

void watched_leave(struct watched *self)
{
	pthread_mutex_lock(&self->control_lock);
	self->control = NULL;
	pthread_mutex_unlock(&self->control_lock);
}

struct watched *watched_open(const struct watched_options *options, struct err *err)
{
	struct watched *self = calloc(1, sizeof(*self));
	const char *slash = strrchr(options->program, '/');

	if (!self) {
		err_memory(err);
		return NULL;
	}
	self->options = *options;
	self->temporary = -1;
	feed_init(&self->feed);
	self->feed.source = (struct feed_source){self, options->watcher, name_at, snapshot};
	pthread_mutex_init(&self->control_lock, NULL);
	pthread_mutex_init(&self->names_lock, NULL);
	self->name = strdup(slash && slash[1] ? slash + 1 : options->program);
	snprintf(self->path, sizeof(self->path), "%s", options->trace ? options->trace : "");
	if (!self->name)
		err_memory(err);
	else if (options->trace || temporary_open(self, err) == 0)
		return self;
	watched_close(self);
	return NULL;
}

const char *watched_trace(const struct watched *self) { return self->path; }

void watched_report(struct watched *self, const struct watch_report *report)
{
	char *text;

	pthread_mutex_lock(&self->names_lock);
	text = tick_make(report, self->options.policy, &self->names);
	pthread_mutex_unlock(&self->names_lock);
	if (text)
		feed_push(&self->feed, report->elapsed_ns, text);
}

bool watched_ended(struct watched *self, const struct run_result *result)
{
	char number[16] = "null", signal[16] = "null", *text;
	int status = result->wait_status;

	if (!self->started)
		return false;
	watcher_rest(self->options.watcher);
	store_release(&self->running, 0); /* pairs with is_written */
	renewal_finish(&self->renewal);
	if (WIFSIGNALED(status))
		snprintf(signal, sizeof(signal), "%d", WTERMSIG(status));
	else
		snprintf(number, sizeof(number), "%d", WEXITSTATUS(status));
	if (asprintf(&text, "{\"exit\": %s, \"signal\": %s, \"trace\": \"%s\"}", number, signal,
		     self->api.traces[0]->id) >= 0)
		feed_end(&self->feed, text);
	return true;
}

static void api_end(struct watched *self)
{
	renewal_close(&self->renewal);
	renewal_release(&self->renewal);
	api_end_loads(&self->api);
	for (u32 i = 0; i < self->api.count; i++) {
		char *path = i ? (char *)self->api.traces[i]->path : NULL; /* of a snapshot: ours */

		study_free(self->api.traces[i]);
		free(path);
	}
	api_release(&self->api);
}

void watched_close(struct watched *self)
{
	feed_close(&self->feed);
	server_close(self->options.server);
	if (self->api.count)
		api_end(self);
	feed_release(&self->feed);
	watch_names_release(&self->names);
	if (self->temporary >= 0)
		close(self->temporary);
	pthread_mutex_destroy(&self->control_lock);
	pthread_mutex_destroy(&self->names_lock);
	free(self->options.graphs_folder);
	free(self->name);
	free(self);
}
