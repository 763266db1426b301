/* SPDX-License-Identifier: MIT
 * A program that runs, in a browser; see watched.h. Host. Reports come from the thread that waits
 * for the program, questions from threads of the server. */
#define _GNU_SOURCE
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
	const char *folder = getenv("TMPDIR");
	char path[4096];

	snprintf(path, sizeof(path), "%s/heapwise-XXXXXX", folder && *folder ? folder : "/tmp");
	self->temporary = mkostemp(path, O_CLOEXEC);
	if (self->temporary < 0)
		return err_set(err, ERR_SYSTEM,
			       "cannot create a temporary file in %s: %s; choose another place "
			       "with --trace",
			       folder && *folder ? folder : "/tmp", strerror(errno));
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

/* ---- settings and suspects ------------------------------------------------------------------- */

static int not_in_time(struct err *err)
{
	return err_set(err, ERR_SYSTEM,
		       "the program has not allocated yet, or the snapshot was not taken within 10 "
		       "s");
}

static int config(void *data, struct feed_config *now, struct err *err)
{
	struct watched *self = data;
	struct watch_settings settings;

	if (!watcher_settings(self->options.watcher, &settings))
		return not_in_time(err);
	now->tl_ns = settings.leak_after_ns;
	now->overhead_pct = settings.overhead * 100;
	now->tick_ms = settings.interval_ns / 1000000;
	return 0;
}

static int configure(void *data, const struct feed_config *wanted, struct err *err)
{
	struct watched *self = data;
	struct watch_settings settings = {
		.leak_after_ns = wanted->tl_ns,
		.overhead = wanted->overhead_pct / 100,
		.interval_ns = wanted->tick_ms * 1000000,
	};

	return watcher_set(self->options.watcher, &settings) ? 0 : not_in_time(err);
}

struct named {
	const char *function, *file; /* NULL = unknown */
	u32 line;
};

static struct named name_at(struct watched *self, struct arena *arena,
			    const struct watch_frame *place)
{
	const struct watch_name *name = watch_names_look(&self->names, place);

	if (!name)
		return (struct named){0};
	return (struct named){.function = arena_copy(arena,
						     name->function ? name->function : name->text),
			      .file = name->file ? arena_copy(arena, name->file) : NULL,
			      .line = name->line};
}

static bool suspect_add(struct watched *self, struct feed_suspects *found,
			const struct watch_suspect *row)
{
	const struct named at = name_at(self, &found->arena, &row->place);
	struct feed_suspect one = {
		.chunk = row->chunk,
		.point = row->number,
		.size = row->size,
		.age_ns = row->age_ns,
		.idle_ns = row->idle_ns,
		.threshold_ns = row->threshold_ns,
		.hits = row->hits,
		.state = !row->known ? FEED_UNKNOWN
			 : row->lost ? FEED_LOST
				     : FEED_REACHABLE,
		.function = at.function,
		.file = at.file,
		.line = at.line,
	};

	return vec_push(&found->rows, one);
}

static int suspects(void *data, const struct feed_question *question, struct feed_suspects *found,
		    struct err *err)
{
	static const enum stale_sort sorts[] = {[FEED_BY_IDLE] = STALE_BY_IDLE,
						[FEED_BY_SIZE] = STALE_BY_SIZE,
						[FEED_BY_AGE] = STALE_BY_AGE,
						[FEED_BY_HITS] = STALE_BY_HITS};
	struct watched *self = data;
	struct stale_query query = {.after_ns = question->tl_ns,
				    .sort = sorts[question->sort],
				    .rising = question->rising,
				    .limit = (u32)question->limit};
	struct watch_suspects rows = {0};
	struct feed_config now = {0};
	bool done;

	if (config(self, &now, err) < 0)
		return err->code;
	done = watcher_suspects(self->options.watcher, &query, &rows);
	found->tl_ns = question->tl_ns ? question->tl_ns : now.tl_ns;
	found->count = rows.count;
	found->bytes = rows.bytes;
	found->scanned = rows.scanned;
	pthread_mutex_lock(&self->names_lock);
	for (u64 i = 0; i < rows.rows.count && done; i++)
		done = suspect_add(self, found, &rows.rows.data[i]);
	pthread_mutex_unlock(&self->names_lock);
	vec_release(&rows.rows);
	return done ? 0 : not_in_time(err);
}

static bool top_row_add(struct watched *self, struct feed_top *found,
			const struct watch_top_row *row)
{
	const struct named at = name_at(self, &found->arena, &row->place);
	struct feed_point one = {.point = row->number,
				 .areas = row->areas,
				 .bytes = row->bytes,
				 .line_bytes = row->line_bytes,
				 .function = at.function,
				 .file = at.file,
				 .line = at.line};

	return vec_push(&found->rows, one);
}

static bool top_thread_add(struct feed_top *found, const struct watch_thread *row)
{
	struct feed_thread one = {.index = row->index,
				  .tid = row->tid,
				  .areas = row->areas,
				  .bytes = row->bytes};

	memcpy(one.name, row->name, sizeof(one.name));
	return vec_push(&found->threads, one);
}

static int top(void *data, u64 thread, u64 limit, struct feed_top *found, struct err *err)
{
	struct watched *self = data;
	struct top_query query = {.thread = thread == FEED_ALL_THREADS ? TOP_ALL_THREADS
								       : (u32)thread,
				  .limit = (u32)limit};
	struct watch_top rows = {0};
	bool done = watcher_top(self->options.watcher, &query, &rows);

	found->t_ns = rows.elapsed_ns;
	found->points = rows.points;
	pthread_mutex_lock(&self->names_lock);
	for (u64 i = 0; i < rows.rows.count && done; i++)
		done = top_row_add(self, found, &rows.rows.data[i]);
	pthread_mutex_unlock(&self->names_lock);
	for (u64 i = 0; i < rows.threads.count && done; i++)
		done = top_thread_add(found, &rows.threads.data[i]);
	vec_release(&rows.rows);
	vec_release(&rows.threads);
	return done ? 0 : not_in_time(err);
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
	self->feed.source = (struct feed_source){self, config, configure, suspects, top, snapshot};
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
