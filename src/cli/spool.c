/* SPDX-License-Identifier: MIT
 * Traces that wait for a store.
 * Host. */
#include "cli/spool.h"

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

#include "base/io.h"
#include "base/units.h"
#include "cli/loaded.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int spool_name(const char *folder, const char *program, struct strbuf *path, struct err *err)
{
	int status = io_make_folder(folder, 0700, err);

	strbuf_addf(path, "%s/%s.%lld.%d.hwt", folder, base_name(program), (long long)time(NULL),
		    (int)getpid());
	if (status == 0 && path->failed)
		status = err_set(err, ERR_MEMORY, "out of memory");
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
	return failure ? err_set(err, ERR_SYSTEM, "cannot keep %s in the spool: %s", from,
				 strerror(failure))
		       : 0;
}

int spool_keep(const char *folder, const char *trace, struct err *err)
{
	struct strbuf path = {0};
	int status = io_make_folder(folder, 0700, err);

	strbuf_addf(&path, "%s/%s", folder, base_name(trace));
	if (status == 0 && path.failed)
		status = err_set(err, ERR_MEMORY, "out of memory");
	if (status == 0 && access(strbuf_text(&path), F_OK) == 0)
		strbuf_addf(&path, ".%lld.%d.hwt", (long long)time(NULL), (int)getpid());
	if (status == 0 && link(trace, strbuf_text(&path)) != 0)
		status = copy(trace, strbuf_text(&path), err);
	strbuf_release(&path);
	return status;
}

/* ---- the bound ---- */

struct spooled {
	struct timespec time;
	u64 bytes;
	char *path;
};

static int compare_age(const void *a, const void *b)
{
	const struct spooled *x = a, *y = b;

	if (x->time.tv_sec != y->time.tv_sec)
		return x->time.tv_sec < y->time.tv_sec ? -1 : 1;
	if (x->time.tv_nsec != y->time.tv_nsec)
		return x->time.tv_nsec < y->time.tv_nsec ? -1 : 1;
	return strcmp(x->path, y->path);
}

struct spool_list {
	VEC(struct spooled) rows;
	u64 bytes;
};

static void list_spool(struct spool_list *self, const char *folder)
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

static void drop_oldest(const struct pushing *self, const char *folder, u64 max_bytes)
{
	struct spool_list list = {0};

	list_spool(&list, folder);
	for (u64 i = 0; i < list.rows.count; i++) {
		struct spooled *row = &list.rows.data[i];

		if (list.bytes > max_bytes && !loaded_is_being_written(row->path) &&
		    unlink(row->path) == 0) {
			fprintf(stderr,
				"heapwise %s: the spool is full (%s): %s was never delivered and "
				"is gone\n",
				self->command->name, units_bytes(max_bytes).text, row->path);
			list.bytes -= row->bytes;
		}
		free(row->path);
	}
	vec_release(&list.rows);
}

/* ---- delivering ---- */

static int lock_spool(const char *folder)
{
	struct strbuf path = {0};
	int fd;

	strbuf_addf(&path, "%s/.lock", folder);
	fd = path.failed ? -1 : open(strbuf_text(&path), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	strbuf_release(&path);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Traces that are complete, one operand each: those that are being written wait for their end. */
static int deliver_list(struct pushing *self, const struct spool_list *list)
{
	char **paths = calloc(list->rows.count + 1, sizeof *paths);
	int count = 0, status = EXIT_DONE;

	for (u64 i = 0; paths && i < list->rows.count; i++)
		if (!loaded_is_being_written(list->rows.data[i].path))
			paths[count++] = list->rows.data[i].path;
	if (count)
		status = pushing_all(self, count, paths);
	free(paths);
	return paths ? status : EXIT_BAD_INPUT;
}

static void remove_delivered(const char *path, void *self)
{
	(void)self;
	unlink(path);
}

int spool_deliver(struct pushing *self, const char *address, const char *folder, u64 max_bytes)
{
	struct spool_list list = {0};
	int lock = lock_spool(folder), status = EXIT_DONE;

	if (lock < 0)
		return EXIT_DONE;
	list_spool(&list, folder);
	self->delivered = remove_delivered;
	if (list.rows.count) {
		status = pushing_open(self, address);
		if (status == EXIT_DONE)
			status = deliver_list(self, &list);
	}
	for (u64 i = 0; i < list.rows.count; i++)
		free(list.rows.data[i].path);
	vec_release(&list.rows);
	drop_oldest(self, folder, max_bytes);
	close(lock);
	return status;
}
