/* SPDX-License-Identifier: MIT
 * Copies of a trace that grows; see renewal.h. Runs on threads of the server and on one of its own.
 * Never changes the file that is being written. */
#define _GNU_SOURCE
#include "show/serve/renewal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/base/io.h"
#include "host/base/clock.h"
#include "host/symbols/resolve/resolve.h"

/* A copy is good for two seconds, and for as long as it took to make ten of it: who looks all the
 * time costs a tenth of a processor at most. */
static const u64 GOOD_NS = 2000000000, RETRY_NS = 250000000;
enum { GOOD_TIMES = 10, COPY_STEP = 1 << 30, FIRST_SECONDS = 3, QUIET_SECONDS = 1 };

struct generation {
	struct generation *next; /* older */
	struct study *trace;
	u32 users;
	int fd; /* of the copy, -1 = it is the file itself */
	char path[32];
};

void renewal_init(struct renewal *self)
{
	pthread_mutex_init(&self->lock, NULL);
	pthread_cond_init(&self->changed, NULL);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* What is added to the file meanwhile is not in the copy. */
static int bytes_copy(int from, int to, u64 bytes)
{
	off_t at = 0;

	while ((u64)at < bytes) {
		u64 rest = bytes - (u64)at;
		size_t step = rest < COPY_STEP ? (size_t)rest : COPY_STEP;
		ssize_t got = copy_file_range(from, &at, to, NULL, step, 0);

		if (got < 0 && errno != EINTR)
			got = sendfile(to, from, &at,
				       step); /* another file system, or an old kernel */
		if (got < 0 && errno != EINTR)
			return -1;
		if (got == 0)
			break;
	}
	return 0;
}

int trace_copy(const char *from, int to, struct err *err)
{
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	struct stat status;
	int failure = 0;

	if (fd < 0 || fstat(fd, &status) < 0 || bytes_copy(fd, to, (u64)status.st_size) < 0)
		failure = errno;
	if (fd >= 0)
		close(fd);
	return failure ? err_set(err, ERR_SYSTEM, "cannot copy the trace %s: %s", from,
				 strerror(failure))
		       : 0;
}

static int nameless_in(const char *folder)
{
	char path[4096];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || errno == EACCES || errno == EROFS)
		return fd;
	if (snprintf(path, sizeof path, "%s/heapwise-XXXXXX", folder) >= (int)sizeof path)
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

/* A file without a name: beside the trace, where a copy may cost nothing, or else where temporary
 * files are. */
static int nameless_open(const char *beside)
{
	const char *slash = strrchr(beside, '/');
	char folder[4096] = ".";
	int fd;

	if (slash)
		snprintf(folder, sizeof folder, "%.*s", slash == beside ? 1 : (int)(slash - beside),
			 beside);
	fd = trace_is_nameless(beside) ? -1 : nameless_in(folder);
	return fd >= 0 ? fd : nameless_in(io_temporary_folder());
}

static void generation_free(struct renewal *self, struct generation *generation)
{
	if (generation->trace) {
		part_cache_forget(self->parts, generation->trace);
		study_free(generation->trace);
	}
	if (generation->fd >= 0)
		close(generation->fd);
	free(generation);
}

/* The copy is opened again for reading only: a file that is open for writing counts as one that
 * grows. */
static int copy_make(struct renewal *self, struct generation *generation, struct err *err)
{
	struct symbolize_summary summary;
	struct err ignored = {0};
	char path[32];
	int fd = nameless_open(self->path);

	if (fd < 0)
		return err_set(err, ERR_SYSTEM, "cannot create a temporary file: %s",
			       strerror(errno));
	if (trace_copy(self->path, fd, err) < 0) {
		close(fd);
		return err->code;
	}
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	generation->fd = open(path, O_RDONLY | O_CLOEXEC);
	close(fd);
	if (generation->fd < 0)
		return err_set(err, ERR_SYSTEM, "cannot open a temporary file: %s",
			       strerror(errno));
	snprintf(generation->path, sizeof generation->path, "/proc/self/fd/%d", generation->fd);
	symbols_resolve_trace(generation->path, NULL, &summary,
			      &ignored); /* without names it is one, too */
	return 0;
}

static struct generation *generation_make(struct renewal *self, bool complete, struct err *err)
{
	struct generation *made = calloc(1, sizeof *made);
	struct study_options how = view_options;

	if (!made) {
		err_memory(err);
		return NULL;
	}
	made->fd = -1;
	if (!complete && copy_make(self, made, err) < 0)
		goto fail;
	if (!complete || trace_is_nameless(self->path))
		how.index = INDEX_IGNORE; /* the file will be gone soon */
	made->trace = study_new(complete ? self->path : made->path, &how);
	if (!made->trace) {
		err_memory(err);
		goto fail;
	}
	made->trace->name = self->name;
	if (study_load(made->trace, err) < 0)
		goto fail;
	memcpy(made->trace->id, self->id, sizeof made->trace->id);
	return made;
fail:
	generation_free(self, made);
	return NULL;
}

/* With the lock: those that nobody reads any more. */
static void generations_tidy(struct renewal *self)
{
	struct generation **at = self->newest ? &self->newest->next : &self->newest;

	while (*at) {
		struct generation *generation = *at;

		if (generation->users) {
			at = &generation->next;
			continue;
		}
		*at = generation->next;
		generation_free(self, generation);
	}
}

/* ---- renewing -------------------------------------------------------------------------------- */

/* Who has recorded adds function names in the end: the file must have been left alone for a
 * while. */
static bool is_fresh(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && time(NULL) - status.st_mtim.tv_sec <= QUIET_SECONDS;
}

static bool is_written(struct renewal *self)
{
	if (self->is_written)
		return self->is_written(self->self);
	return study_is_being_written(self->path) || is_fresh(self->path);
}

static void renew(struct renewal *self)
{
	u64 start = now_ns(), took;
	bool complete = !is_written(self); /* before the copy, so that it has the end */
	struct generation *made;
	struct err err = {0};

	if (!complete && self->save)
		self->save(self->self);
	made = generation_make(self, complete, &err);
	took = now_ns() - start;
	pthread_mutex_lock(&self->lock);
	if (made) {
		made->next = self->newest;
		self->newest = made;
		self->epoch++;
		generations_tidy(self);
	}
	self->complete = complete;
	self->err = err;
	took = took * GOOD_TIMES > GOOD_NS ? took * GOOD_TIMES : GOOD_NS;
	self->next_ns = now_ns() + (made ? took : RETRY_NS);
	self->running = false;
	pthread_cond_broadcast(&self->changed);
	pthread_mutex_unlock(&self->lock);
}

static void *renewal_main(void *self)
{
	renew(self);
	return NULL;
}

/* With the lock. */
static void renewal_begin(struct renewal *self)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (self->running || self->closing || self->complete)
		return;
	if (now_ns() < self->next_ns && (!self->newest || is_written(self)))
		return; /* but the last one is made at once */
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	self->running = pthread_create(&thread, &attributes, renewal_main, self) == 0;
	pthread_attr_destroy(&attributes);
}

/* With the lock: who asks first waits a little rather than ask again. */
static void first_wait(struct renewal *self)
{
	struct timespec until =
		clock_time(clock_ns(CLOCK_REALTIME) + FIRST_SECONDS * 1000000000ull);

	while (!self->newest && self->running &&
	       pthread_cond_timedwait(&self->changed, &self->lock, &until) == 0)
		;
}

/* With the lock. */
static struct study *newest_take(struct renewal *self)
{
	if (!self->newest)
		return NULL;
	self->newest->users++;
	return self->newest->trace;
}

struct study *renewal_peek(struct renewal *self)
{
	struct study *trace;

	pthread_mutex_lock(&self->lock);
	trace = newest_take(self);
	pthread_mutex_unlock(&self->lock);
	return trace;
}

struct study *renewal_take(struct renewal *self, u64 *epoch)
{
	struct study *trace;

	pthread_mutex_lock(&self->lock);
	renewal_begin(self);
	first_wait(self);
	trace = newest_take(self);
	*epoch = self->epoch;
	pthread_mutex_unlock(&self->lock);
	return trace;
}

void renewal_give(struct renewal *self, struct study *trace)
{
	pthread_mutex_lock(&self->lock);
	for (struct generation *at = self->newest; at; at = at->next)
		if (at->trace == trace)
			at->users--;
	generations_tidy(self);
	pthread_mutex_unlock(&self->lock);
}

void renewal_finish(struct renewal *self)
{
	pthread_mutex_lock(&self->lock);
	while (self->running)
		pthread_cond_wait(&self->changed, &self->lock);
	self->running = !self->complete;
	pthread_mutex_unlock(&self->lock);
	if (!self->complete)
		renew(self);
}

void renewal_close(struct renewal *self)
{
	pthread_mutex_lock(&self->lock);
	self->closing = true;
	while (self->running)
		pthread_cond_wait(&self->changed, &self->lock);
	pthread_mutex_unlock(&self->lock);
}

void renewal_release(struct renewal *self)
{
	for (struct generation *at = self->newest, *next; at; at = next) {
		next = at->next;
		generation_free(self, at);
	}
	self->newest = NULL;
	pthread_cond_destroy(&self->changed);
	pthread_mutex_destroy(&self->lock);
}

bool renewal_is_complete(struct renewal *self)
{
	bool complete;

	pthread_mutex_lock(&self->lock);
	complete = self->complete;
	pthread_mutex_unlock(&self->lock);
	return complete;
}

u64 renewal_epoch(struct renewal *self)
{
	u64 epoch;

	pthread_mutex_lock(&self->lock);
	epoch = self->epoch;
	pthread_mutex_unlock(&self->lock);
	return epoch;
}

struct study_progress renewal_progress(struct renewal *self)
{
	struct study_progress progress = {.state = STUDY_LOADING,
					  .phase = "reading the part that is there"};

	pthread_mutex_lock(&self->lock);
	if (self->newest)
		progress = (struct study_progress){.state = STUDY_READY,
						   .phase = self->complete ? "ready"
									   : "still being written",
						   .share = 1};
	else if (self->complete)
		progress = (struct study_progress){.state = STUDY_FAILED,
						   .phase = "failed",
						   .err = self->err};
	else if (self->err.code)
		progress.phase = "waiting for the first events";
	pthread_mutex_unlock(&self->lock);
	return progress;
}
