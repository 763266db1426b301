/* SPDX-License-Identifier: MIT
 * Writes dumps; see dumps.h.
 * Host. Runs on whatever thread wants a dump, and prints nothing: a program may be on the
 * terminal. */
#define _GNU_SOURCE
#include "show/cli/dumps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "show/cli/opening.h"
#include "show/formats/export.h"
#include "show/formats/heaplog.h"
#include "live/record/process.h"
#include "host/symbols/resolve/resolve.h"

enum { NUMBERS = 10000, TICK_NS = 1000000, COPY_BYTES = 1 << 20 };

/* ---- files ---- */

static int fail_at(struct err *err, const char *path)
{
	return err_set(err, ERR_SYSTEM, "cannot write %s: %s", path, strerror(errno));
}

/* TRACE.0001.heaplog, without the trace's ".hwt". Creates the file, so that nobody else takes the
 * name. */
static FILE *open_numbered(const char *trace, char path[DUMP_PATH], struct err *err)
{
	size_t bytes = strlen(trace);
	int fd = -1;

	if (bytes > 4 && strcmp(trace + bytes - 4, ".hwt") == 0)
		bytes -= 4;
	for (u32 i = 1; i < NUMBERS && fd < 0; i++) {
		if (snprintf(path, DUMP_PATH, "%.*s.%04u.heaplog", (int)bytes, trace, i) >=
		    DUMP_PATH) {
			errno = ENAMETOOLONG;
			break;
		}
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		fail_at(err, path);
	return fd < 0 ? NULL : fdopen(fd, "w");
}

/* A program may have named the file: it must be no trace that grows, and may be no file at all. */
static FILE *open_named(const char *to, char path[DUMP_PATH], struct err *err)
{
	int fd = -1;

	snprintf(path, DUMP_PATH, "%s", to);
	if (study_is_being_written(to))
		errno = EBUSY;
	else
		fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
			  0666);
	if (fd < 0)
		fail_at(err, to);
	return fd < 0 ? NULL : fdopen(fd, "w");
}

static int close_dump(FILE *out, const char *path, int status, struct err *err)
{
	struct stat file;
	bool regular = fstat(fileno(out), &file) == 0 && S_ISREG(file.st_mode);

	if (fclose(out) != 0 && status == 0)
		status = fail_at(err, path);
	if (status < 0 && regular)
		unlink(path);
	return status;
}

/* ---- names ---- */

static int copy_file(int from, int to)
{
	ssize_t bytes;

	do
		bytes = sendfile(to, from, NULL, COPY_BYTES);
	while (bytes > 0 || (bytes < 0 && errno == EINTR));
	return bytes < 0 ? errno : 0;
}

/* A copy of the trace as it is now, which may get names: the file itself belongs to who writes it.
 * It has no name and is gone with us. Its descriptor, or a negative code. */
static int copy_trace(const struct dump_job *job, const char *beside, struct err *err)
{
	char path[DUMP_PATH];
	int from, to, failure;

	if (snprintf(path, sizeof(path), "%s.XXXXXX", beside) >= (int)sizeof(path))
		return err_set(err, ERR_SYSTEM, "cannot write %s: %s", beside,
			       strerror(ENAMETOOLONG));
	from = open(job->trace, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return err_set(err, ERR_INPUT, "cannot read %s: %s", job->trace, strerror(errno));
	to = mkostemp(path, O_CLOEXEC);
	failure = to < 0 ? errno : 0;
	if (to >= 0) {
		unlink(path);
		failure = copy_file(from, to);
	}
	close(from);
	if (!failure)
		return to;
	if (to >= 0)
		close(to);
	errno = failure;
	return fail_at(err, path);
}

/* ---- a dump ---- */

static void count_entries(const struct model *model, struct dump_done *done)
{
	for (u64 chunk = 0; chunk < model->chunks.count; chunk++) {
		enum chunk_end end = chunk_end(&model->chunks, chunk);

		done->freed += end == CHUNK_FREED;
		done->live += end != CHUNK_FREED && end != CHUNK_ABSENT;
	}
}

static int export(const struct dump_job *job, const char *trace_path, FILE *out,
		  struct dump_done *done, struct err *err)
{
	struct study_options opening = opening_options(job->command);
	struct heaplog_options how = {.entries = job->entries,
				      .every = job->every,
				      .sets_written = job->sets_written,
				      .tick_ns = TICK_NS};
	struct export_job dump = {.path = trace_path, .output = job->to, .heaplog = &how};
	struct type_query query = {.source = &dump.stacks, .calls = true, .guess = job->sizes};
	struct type_cascade types = {0};
	struct study *trace;
	int status = 0;

	opening.index = INDEX_IGNORE;
	trace = open_study(trace_path, &opening, err);
	if (!trace)
		return err->code;
	dump.stacks = trace->stacks;
	count_entries(trace->model, done);
	/* Sets that are written while the program runs have no names yet; they are written once
	 * more at its end. */
	if (job->entries != HEAPLOG_SETS) {
		dump.types = &types;
		status = type_cascade_init(&types, &query, err);
	}
	if (status == 0)
		status = heaplog_export(&dump, out, err);
	type_cascade_release(&types);
	close_trace(trace);
	return status;
}

static int export_with_names(const struct dump_job *job, FILE *out, struct dump_done *done,
			     struct err *err)
{
	struct symbolize_options how = {0};
	struct symbolize_summary found;
	struct err ignored = {0};
	char copy[64];
	int fd, status;

	if (!job->names)
		return export(job, job->trace, out, done, err);
	fd = copy_trace(job, done->path, err);
	if (fd < 0)
		return fd;
	snprintf(copy, sizeof(copy), "/proc/self/fd/%d", fd);
	symbols_resolve_trace(copy, &how, &found,
			      &ignored); /* without names there are still addresses */
	status = export(job, copy, out, done, err);
	close(fd);
	return status;
}

int dump_write(const struct dump_job *job, struct dump_done *done, struct err *err)
{
	FILE *out;

	memset(done, 0, sizeof(*done));
	if (job->entries == HEAPLOG_SETS)
		return export(job, job->trace, NULL, done, err);
	out = job->to ? open_named(job->to, done->path, err)
		      : open_numbered(job->trace, done->path, err);
	if (!out)
		return err->code < 0 ? err->code : err_memory(err);
	return close_dump(out, done->path, export_with_names(job, out, done, err), err);
}

/* ---- of a run ---- */

static int write_sets(struct dumps *self, const struct dump_wish *wish, struct err *err)
{
	struct dump_job job = {.command = &cmd_run,
			       .trace = wish->trace,
			       .to = self->to,
			       .entries = HEAPLOG_SETS,
			       .every = self->every};
	struct dump_done done;
	int status;

	if (strcmp(self->trace, wish->trace) != 0)
		self->sets_written = 0; /* the program has begun another recording */
	snprintf(self->trace, sizeof(self->trace), "%s", wish->trace);
	job.sets_written = self->sets_written;
	status = dump_write(&job, &done, err);
	if (status == 0)
		self->sets_written = done.freed / self->every;
	return status;
}

static int write_wish(struct dumps *self, const struct dump_wish *wish, struct err *err)
{
	struct dump_job job = {.command = &cmd_run,
			       .trace = wish->trace,
			       .to = *wish->to ? wish->to : NULL,
			       .entries = wish->freed ? HEAPLOG_ALL : HEAPLOG_LIVE,
			       .names = true};
	struct dump_done done;

	if (wish->regular)
		return write_sets(self, wish, err);
	if (!process_is_our_user(wish->pid)) {
		errno = EPERM;
		return fail_at(err, *wish->to ? wish->to : wish->trace);
	}
	return dump_write(&job, &done, err);
}

/* A program that waits gets an errno. What is wrong with regular dumps is told at the end. */
int dumps_write(struct dumps *self, const struct dump_wish *wish)
{
	struct err err = {0};

	errno = 0;
	if (write_wish(self, wish, &err) == 0)
		return 0;
	if (wish->regular && !self->err.code)
		self->err = err;
	return errno ? errno : EIO;
}

/* Sets are written again: what was recorded last may have been freed before what is in them. */
int dumps_finish(struct dumps *self, const char *trace, struct dump_done *done, struct err *err)
{
	const struct dump_job job = {.command = &cmd_run,
				     .trace = trace,
				     .to = self->to,
				     .entries = HEAPLOG_ALL,
				     .every = self->every,
				     .sizes = true};

	return dump_write(&job, done, err);
}
