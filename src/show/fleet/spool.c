/* SPDX-License-Identifier: MIT
 * Traces that wait for a store.
 * Host. */
#include "show/fleet/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/base/io.h"
#include "host/base/path.h"

/* ---- what is kept beside a trace ---- */

#define ABOUT ".about"
enum { ABOUT_MAX = 1 << 20 };

/* "word=text" and a zero byte each: labels may have any other letter. */
static void about_text(const struct run_about *about, struct strbuf *out)
{
	strbuf_addf(out, "host=%s", about->host);
	strbuf_add_char(out, 0);
	if (*about->version) {
		strbuf_addf(out, "version=%s", about->version);
		strbuf_add_char(out, 0);
	}
	if (about->build) {
		strbuf_addf(out, "build=%s", about->build);
		strbuf_add_char(out, 0);
	}
	for (u32 i = 0; i < about->label_count; i++) {
		strbuf_addf(out, "label=%s", about->labels[i]);
		strbuf_add_char(out, 0);
	}
}

/* 0 or errno; EEXIST if there is something beside the trace. */
static int about_write(const char *path, const struct run_about *about)
{
	struct strbuf beside = {0}, text = {0};
	int fd = -1, failure = ENOMEM;

	strbuf_addf(&beside, "%s" ABOUT, path);
	about_text(about, &text);
	if (!beside.failed && !text.failed) {
		fd = open(strbuf_text(&beside), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		failure = fd < 0 ? errno : io_write_all(fd, text.text, text.count, NULL);
	}
	if (fd >= 0 && close(fd) != 0 && !failure)
		failure = errno;
	if (fd >= 0 && failure)
		unlink(strbuf_text(&beside));
	strbuf_release(&beside);
	strbuf_release(&text);
	return failure;
}

static void about_remove(const char *path)
{
	struct strbuf beside = {0};

	strbuf_addf(&beside, "%s" ABOUT, path);
	if (!beside.failed)
		unlink(strbuf_text(&beside));
	strbuf_release(&beside);
}

void spool_remove(const char *path)
{
	unlink(path);
	about_remove(path);
}

static const char *after(const char *text, const char *word)
{
	size_t length = strlen(word);

	return strncmp(text, word, length) == 0 && text[length] == '=' ? text + length + 1 : NULL;
}

static void about_take(const char *text, u64 bytes, const char **labels, struct run_about *about)
{
	about->version = "";
	about->build = NULL;
	about->labels = labels;
	about->label_count = 0;
	for (u64 at = 0; at < bytes; at += strlen(text + at) + 1) {
		const char *value;

		if ((value = after(text + at, "host")))
			about->host = value;
		else if ((value = after(text + at, "version")))
			about->version = value;
		else if ((value = after(text + at, "build")))
			about->build = value;
		else if ((value = after(text + at, "label")))
			labels[about->label_count++] = value;
	}
}

int spool_about(const char *path, struct arena *arena, struct run_about *about, struct err *err)
{
	struct strbuf beside = {0}, text = {0};
	const char **labels;
	char *kept;
	int status = 0;

	strbuf_addf(&beside, "%s" ABOUT, path);
	if (beside.failed || access(strbuf_text(&beside), F_OK) == 0)
		status = beside.failed ? err_memory(err)
				       : io_read_file(strbuf_text(&beside), ABOUT_MAX, &text, err);
	if (status == 0 && text.count) {
		u64 count = 0;

		for (u64 i = 0; i < text.count; i++)
			count += !text.text[i];
		kept = arena_copy_text(arena, text.text, text.count);
		labels = arena_new_array(arena, const char *, count + 1);
		if (kept && labels)
			about_take(kept, text.count, labels, about);
		else
			status = err_memory(err);
	}
	strbuf_release(&beside);
	strbuf_release(&text);
	return status;
}

/* ---- names ---- */

/* FOLDER/STEM.hwt, or with a number. What is kept beside a trace is made first, so that nobody else
 * takes the name, and whoever finds the trace finds it. */
static int reserve(const char *folder, const char *stem, const struct run_about *about,
		   struct strbuf *path, struct err *err)
{
	int failure = io_make_folder(folder, 0700, err) < 0 ? -1 : EEXIST;

	for (u32 number = 0; failure == EEXIST; number++) {
		strbuf_clear(path);
		strbuf_addf(path, "%s/%s", folder, stem);
		if (number)
			strbuf_addf(path, ".%u", number);
		strbuf_add(path, ".hwt");
		if (path->failed)
			failure = ENOMEM;
		else if (access(strbuf_text(path), F_OK) != 0)
			failure = about_write(strbuf_text(path), about);
	}
	if (failure > 0)
		err_set(err, ERR_SYSTEM, "cannot write to spool %s: %s", folder, strerror(failure));
	return failure ? err->code : 0;
}

int spool_name(const char *folder, const char *program, const struct run_about *about,
	       struct strbuf *path, struct err *err)
{
	struct strbuf stem = {0};
	int status;

	strbuf_addf(&stem, "%s.%lld.%d", path_file(program), (long long)time(NULL), (int)getpid());
	status = stem.failed ? err_memory(err)
			     : reserve(folder, strbuf_text(&stem), about, path, err);
	strbuf_release(&stem);
	return status;
}

static int copy(const char *from, const char *to, struct err *err)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out = -1, failure = in < 0 ? errno : 0;
	struct stat about = {0};
	u64 at = 0, got = 1;
	u8 part[1 << 16];

	if (!failure) {
		fstat(in, &about);
		out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		failure = out < 0 ? errno : 0;
	}
	for (; !failure && got; at += got) {
		failure = io_read_at(in, part, sizeof part, at, &got);
		if (!failure)
			failure = io_write_all(out, part, got, NULL);
	}
	if (!failure) { /* when the trace was written is when the run was */
		struct timespec times[2] = {about.st_mtim, about.st_mtim};

		futimens(out, times);
	}
	if (in >= 0)
		close(in);
	if (out >= 0 && close(out) != 0 && !failure)
		failure = errno;
	if (failure && out >= 0)
		unlink(to);
	return failure ? err_set(err, ERR_SYSTEM, "cannot store %s in the spool: %s", from,
				 strerror(failure))
		       : 0;
}

/* ---- what is in the folder ---- */

static int compare_age(const void *a, const void *b)
{
	const struct spooled *x = a, *y = b;

	if (x->time.tv_sec != y->time.tv_sec)
		return x->time.tv_sec < y->time.tv_sec ? -1 : 1;
	if (x->time.tv_nsec != y->time.tv_nsec)
		return x->time.tv_nsec < y->time.tv_nsec ? -1 : 1;
	return strcmp(x->path, y->path);
}

void spool_list_fill(struct spool_list *self, const char *folder)
{
	DIR *open_folder = opendir(folder);
	struct dirent *entry;

	while (open_folder && (entry = readdir(open_folder))) {
		size_t length = strlen(entry->d_name);
		struct strbuf path = {0};
		struct stat about;

		strbuf_addf(&path, "%s/%s", folder, entry->d_name);
		if (length > 4 && strcmp(entry->d_name + length - 4, ".hwt") == 0 && !path.failed &&
		    stat(strbuf_text(&path), &about) == 0) {
			struct spooled row = {.time = about.st_mtim,
					      .bytes = (u64)about.st_size,
					      .device = about.st_dev,
					      .inode = about.st_ino,
					      .path = strbuf_take(&path)};

			if (row.path && vec_push(&self->rows, row))
				self->bytes += row.bytes;
			else
				free(row.path);
		}
		strbuf_release(&path);
	}
	if (open_folder)
		closedir(open_folder);
	if (self->rows.count)
		qsort(self->rows.data, self->rows.count, sizeof *self->rows.data, compare_age);
}

void spool_list_release(struct spool_list *self)
{
	for (u64 i = 0; i < self->rows.count; i++)
		free(self->rows.data[i].path);
	vec_release(&self->rows);
}

/* ---- keeping ---- */

static bool is_spooled(const char *folder, const char *trace)
{
	struct spool_list list = {0};
	struct stat about;
	bool found = false;

	if (stat(trace, &about) != 0)
		return false;
	spool_list_fill(&list, folder);
	for (u64 i = 0; i < list.rows.count && !found; i++)
		found = list.rows.data[i].device == about.st_dev &&
			list.rows.data[i].inode == about.st_ino;
	spool_list_release(&list);
	return found;
}

int spool_tell(const char *folder, const char *trace, const struct run_about *about,
	       struct err *err)
{
	int failure = is_spooled(folder, trace) ? about_write(trace, about) : 0;

	return failure && failure != EEXIST
		       ? err_set(err, ERR_SYSTEM, "cannot store the labels of %s: %s", trace,
				 strerror(failure))
		       : 0;
}

int spool_keep(const char *folder, const char *trace, const struct run_about *about,
	       struct err *err)
{
	struct strbuf path = {0}, stem = {0};
	int status;

	if (is_spooled(folder, trace))
		return 0;
	strbuf_add(&stem, path_file(trace));
	if (!stem.failed && stem.count > 4 && strcmp(stem.text + stem.count - 4, ".hwt") == 0)
		stem.text[stem.count -= 4] = 0;
	status = stem.failed ? err_memory(err)
			     : reserve(folder, strbuf_text(&stem), about, &path, err);
	if (status == 0 && link(trace, strbuf_text(&path)) != 0) {
		status = copy(trace, strbuf_text(&path), err);
		if (status < 0)
			about_remove(strbuf_text(&path));
	}
	strbuf_release(&path);
	strbuf_release(&stem);
	return status;
}

/* ---- one at a time ---- */

int spool_lock(const char *folder, int *lock, struct err *err)
{
	struct strbuf path = {0};
	int fd = -1, failure = ENOMEM;

	*lock = -1;
	strbuf_addf(&path, "%s/.lock", folder);
	if (!path.failed) {
		fd = open(strbuf_text(&path), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		failure = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0 ? errno : 0;
	}
	strbuf_release(&path);
	if (!failure)
		*lock = fd;
	else if (fd >= 0)
		close(fd);
	return failure && failure != EWOULDBLOCK
		       ? err_set(err, ERR_SYSTEM, "cannot lock spool %s: %s", folder,
				 strerror(failure))
		       : 0;
}
