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
#include <sys/statvfs.h>
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
	for (u32 i = 0; i < UPLOADS_MAX; i++)
		free(self->open[i].path);
	pthread_mutex_destroy(&self->lock);
}

/* ---- with the lock ---- */

/* With the folder that it is in. */
static void file_remove(struct uploads *self, char *path, u64 bytes)
{
	self->bytes -= bytes < self->bytes ? bytes : self->bytes;
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	free(path);
}

static void upload_drop(struct uploads *self, struct upload *upload)
{
	file_remove(self, upload->path, upload->bytes);
	*upload = (struct upload){0};
}

/* NULL if there is none of that number. */
static struct upload *upload_find(struct uploads *self, u32 number, struct err *err)
{
	for (u32 i = 0; i < UPLOADS_MAX; i++)
		if (self->open[i].path && self->open[i].number == number)
			return &self->open[i];
	err_set(err, ERR_INPUT, "there is no upload %u; send the file again", number);
	return NULL;
}

/* A free place; if there is none, that of who has not been heard of for longest. */
static struct upload *place_find(struct uploads *self)
{
	struct upload *oldest = self->open;

	for (u32 i = 0; i < UPLOADS_MAX; i++) {
		if (!self->open[i].path)
			return &self->open[i];
		if (self->open[i].turn < oldest->turn)
			oldest = &self->open[i];
	}
	upload_drop(self, oldest);
	return oldest;
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
	return err->code;
}

static struct upload *upload_begin(struct uploads *self, const char *name, struct err *err)
{
	struct upload *upload;
	char *path = NULL;
	int length;

	if (name_check(name, err) < 0 || folder_make(self, err) < 0)
		return NULL;
	length = asprintf(&path, "%s/%u/%s", strbuf_text(&self->folder), self->begun + 1, name);
	if (length < 0) {
		err_memory(err);
		return NULL;
	}
	path[length - (int)strlen(name) - 1] = '\0';
	if (mkdir(path, 0700) != 0) {
		err_set(err, ERR_SYSTEM, "cannot create %s: %s", path, strerror(errno));
		free(path);
		return NULL;
	}
	path[length - (int)strlen(name) - 1] = '/';
	upload = place_find(self);
	*upload = (struct upload){.number = ++self->begun, .path = path};
	return upload;
}

/* What is sent may not fill the disk, or the memory that the folder is in. */
static int space_check(const struct uploads *self, const struct upload_piece *piece,
		       struct err *err)
{
	struct statvfs disk;

	if (statvfs(strbuf_text(&self->folder), &disk) != 0 ||
	    self->bytes + piece->count <= (u64)disk.f_bavail * disk.f_frsize)
		return 0;
	return err_set(err, ERR_SYSTEM, "not enough space for '%.60s' in %s", piece->name,
		       io_temporary_folder());
}

static int append(const char *path, const struct upload_piece *piece, struct err *err)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	int failure = fd < 0 ? errno : io_write_all(fd, piece->bytes, piece->count, NULL);

	if (fd >= 0)
		close(fd);
	return failure ? err_set(err, ERR_SYSTEM, "cannot write %s: %s", path, strerror(failure))
		       : 0;
}

static int upload_add(struct uploads *self, struct upload *upload, const struct upload_piece *piece,
		      struct err *err)
{
	if (piece->offset != upload->bytes)
		return err_set(err, ERR_USAGE, "the next piece begins at %llu",
			       (unsigned long long)upload->bytes);
	if (space_check(self, piece, err) < 0 || append(upload->path, piece, err) < 0) {
		upload_drop(self, upload);
		return err->code;
	}
	upload->turn = ++self->turns;
	upload->bytes += piece->count;
	self->bytes += piece->count;
	return 0;
}

/* ---- what is asked for ---- */

int uploads_put(struct uploads *self, struct upload_piece *piece, struct err *err)
{
	struct upload *upload = NULL;
	int status;

	pthread_mutex_lock(&self->lock);
	if (piece->number)
		upload = upload_find(self, piece->number, err);
	else if (piece->offset)
		err_set(err, ERR_USAGE, "the first piece begins at 0");
	else
		upload = upload_begin(self, piece->name, err);
	status = upload ? upload_add(self, upload, piece, err) : err->code;
	if (status == 0)
		piece->number = upload->number;
	pthread_mutex_unlock(&self->lock);
	return status;
}

char *uploads_take(struct uploads *self, u32 number, struct err *err)
{
	struct upload *upload;
	char *path = NULL;

	pthread_mutex_lock(&self->lock);
	upload = upload_find(self, number, err);
	if (upload) {
		path = upload->path;
		*upload = (struct upload){0};
	}
	pthread_mutex_unlock(&self->lock);
	return path;
}

void uploads_remove(struct uploads *self, char *path)
{
	struct stat known = {0};

	pthread_mutex_lock(&self->lock);
	stat(path, &known);
	file_remove(self, path, (u64)known.st_size);
	pthread_mutex_unlock(&self->lock);
}
