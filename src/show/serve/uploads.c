/* SPDX-License-Identifier: MIT
 * Traces that a browser sends; see uploads.h. Runs on threads of the server. */
#define _GNU_SOURCE
#include "show/serve/uploads.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/io.h"

void uploads_init(struct uploads *self) { pthread_mutex_init(&self->lock, NULL); }

static int remove_one(const char *path, const struct stat *known, int what, struct FTW *where)
{
	(void)known, (void)what, (void)where;
	remove(path);
	return 0;
}

void uploads_release(struct uploads *self)
{
	if (self->folder.count)
		nftw(strbuf_text(&self->folder), remove_one, 8, FTW_DEPTH | FTW_PHYS);
	strbuf_release(&self->folder);
	pthread_mutex_destroy(&self->lock);
}

static int fail(struct err *err, const char *name)
{
	return err_set(err, ERR_SYSTEM, "cannot keep '%.200s': %s", name, strerror(errno));
}

/* A file's name without folders. */
static int name_check(const char *name, struct err *err)
{
	if (*name && *name != '.' && !strchr(name, '/') && strlen(name) < 200)
		return 0;
	return err_set(err, ERR_USAGE, "'%.60s' cannot be the name of a trace", name);
}

static int folder_make(struct uploads *self, struct err *err)
{
	if (self->folder.count)
		return 0;
	strbuf_addf(&self->folder, "%s/heapwise-XXXXXX", io_temporary_folder());
	if (self->folder.failed)
		return err_memory(err);
	if (mkdtemp(self->folder.text))
		return 0;
	err_set(err, ERR_SYSTEM, "cannot create a folder in %s: %s", io_temporary_folder(),
		strerror(errno));
	strbuf_release(&self->folder);
	return -1;
}

static int append(const char *path, u64 offset, const struct strbuf *piece, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (offset ? 0 : O_TRUNC), 0600);
	struct stat file;
	int status = 0;

	if (fd < 0 || fstat(fd, &file) != 0)
		status = fail(err, path);
	else if ((u64)file.st_size != offset)
		status = err_set(err, ERR_USAGE, "the next piece begins at %llu",
				 (unsigned long long)file.st_size);
	else if (lseek(fd, 0, SEEK_END) < 0 ||
		 (errno = io_write_all(fd, piece->text, piece->count, NULL)) != 0)
		status = fail(err, path);
	if (fd >= 0)
		close(fd);
	return status;
}

int uploads_put(struct uploads *self, const char *name, u64 offset, const struct strbuf *piece,
		struct err *err)
{
	struct strbuf path = {0};
	int status = name_check(name, err);

	pthread_mutex_lock(&self->lock);
	if (status == 0)
		status = folder_make(self, err);
	strbuf_addf(&path, "%s/%s", strbuf_text(&self->folder), name);
	if (status == 0)
		status = path.failed ? err_memory(err)
				     : append(strbuf_text(&path), offset, piece, err);
	pthread_mutex_unlock(&self->lock);
	strbuf_release(&path);
	return status;
}

static bool is_file(const char *path)
{
	struct stat known;

	return lstat(path, &known) == 0 && S_ISREG(known.st_mode);
}

/* Into a folder of its own, whose name no file that is sent can have. Before the first piece there
 * is nothing to move: without a folder the name would be one of the root folder. */
static char *move(struct uploads *self, const char *name, struct err *err)
{
	char *from = NULL, *folder = NULL, *to = NULL;

	if (!self->folder.count) {
		err_set(err, ERR_INPUT, "no file '%.200s' was sent", name);
		return NULL;
	}
	if (asprintf(&from, "%s/%s", strbuf_text(&self->folder), name) < 0 ||
	    asprintf(&folder, "%s/.%u", strbuf_text(&self->folder), self->taken) < 0 ||
	    asprintf(&to, "%s/%s", folder, name) < 0) {
		err_memory(err);
	} else if (!is_file(from)) {
		err_set(err, ERR_INPUT, "no file '%.200s' was sent", name);
	} else if (mkdir(folder, 0700) != 0 || rename(from, to) != 0) {
		fail(err, name);
	} else {
		self->taken++;
		free(from);
		free(folder);
		return to;
	}
	free(from);
	free(folder);
	free(to);
	return NULL;
}

char *uploads_take(struct uploads *self, const char *name, struct err *err)
{
	char *path = NULL;

	if (name_check(name, err) < 0)
		return NULL;
	pthread_mutex_lock(&self->lock);
	path = move(self, name, err);
	pthread_mutex_unlock(&self->lock);
	return path;
}
