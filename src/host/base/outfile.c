/* SPDX-License-Identifier: MIT
 * Whole files by renaming.
 * Host. */
#include "host/base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/io.h"

enum { UNIQUE_CHARS = 6, UNIQUE_TRIES = 100 };

static int fail(const struct outfile *self, const char *what, struct err *err)
{
	int error = errno;

	return err_set(err, ERR_SYSTEM, "cannot %s %s: %s", what,
		       self->path ? self->path : "the result", strerror(error));
}

static void names_release(struct outfile *self)
{
	strbuf_release(&self->target);
	strbuf_release(&self->temporary);
}

/* A name that no file has, in place of the six X at the end. Others may read the file as far as the
 * umask lets them, as any program makes it; mkstemp would make it ours alone, and to ask for the
 * umask is to change it, for all threads. */
static int create_unique(struct strbuf *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
	char *end = name->text + name->count - UNIQUE_CHARS;

	for (u32 i = 0; i < UNIQUE_TRIES; i++) {
		u8 random[UNIQUE_CHARS];
		int fd;

		if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return -1;
		for (u32 k = 0; k < UNIQUE_CHARS; k++)
			end[k] = letters[random[k] % (sizeof(letters) - 1)];
		fd = open(name->text, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static int make_temporary(struct outfile *self, struct err *err)
{
	int fd, status;

	if (self->temporary.failed || self->target.failed) {
		names_release(self);
		return err_memory(err);
	}
	fd = create_unique(&self->temporary);
	if (fd >= 0)
		self->file = fdopen(fd, "w");
	if (self->file)
		return 0;
	status = fail(self, "write", err);
	if (fd >= 0) {
		close(fd);
		unlink(self->temporary.text);
	}
	names_release(self);
	return status;
}

/* A link is followed, so that what it leads to is replaced and not the link. */
static void find_target(struct outfile *self)
{
	char *real = realpath(self->path, NULL);

	strbuf_add(&self->target, real ? real : self->path);
	free(real);
}

int outfile_open(struct outfile *self, const char *path, bool named, struct err *err)
{
	struct stat file;

	*self = (struct outfile){.path = path && strcmp(path, "-") != 0 ? path : NULL};
	if (self->path && (stat(self->path, &file) != 0 || S_ISREG(file.st_mode))) {
		find_target(self);
		strbuf_addf(&self->temporary, "%s.XXXXXX", strbuf_text(&self->target));
		return make_temporary(self, err);
	}
	if (named) {
		strbuf_addf(&self->temporary, "%s/heapwise-XXXXXX", io_temporary_folder());
		return make_temporary(self, err);
	}
	self->file = self->path ? fopen(self->path, "we") : stdout;
	return self->file ? 0 : fail(self, "write", err);
}

static int copy_out(struct outfile *self, struct err *err)
{
	FILE *in = fopen(strbuf_text(&self->temporary), "re");
	FILE *out = self->path ? fopen(self->path, "we") : stdout;
	char piece[1 << 16];
	size_t got;
	int status = 0;

	while (in && out && (got = fread(piece, 1, sizeof(piece), in)) > 0)
		fwrite(piece, 1, got, out);
	if (!in || !out || ferror(in) || fflush(out) != 0 || ferror(out))
		status = fail(self, "write", err);
	if (in)
		fclose(in);
	if (out && out != stdout)
		fclose(out);
	return status;
}

int outfile_close(struct outfile *self, int status, struct err *err)
{
	const char *temporary = strbuf_text(&self->temporary);

	if (status == 0 && (fflush(self->file) != 0 || ferror(self->file)))
		status = fail(self, "write", err);
	if (self->file != stdout && fclose(self->file) != 0 && status == 0)
		status = fail(self, "write", err);
	if (*temporary && status == 0 && !self->target.count)
		status = copy_out(self, err);
	else if (*temporary && status == 0 && rename(temporary, strbuf_text(&self->target)) != 0)
		status = fail(self, "write", err);
	if (*temporary && (status < 0 || !self->target.count))
		unlink(temporary);
	names_release(self);
	return status;
}
