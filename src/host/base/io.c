/* SPDX-License-Identifier: MIT
 * Whole reads and writes. Runs on the host. Never gives up on EINTR, never leaves a descriptor
 * open. */
#include "host/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_STEP = 64 << 10 };
enum { TRANSFER_MAX = 1 << 30 }; /* the kernel moves less than 2 GiB in a call anyway */

int io_write_all(int fd, const void *bytes, u64 count, u64 *written)
{
	const u8 *p = bytes;
	u64 done = 0;
	int failure = 0;

	while (done < count && !failure) {
		u64 step = count - done < TRANSFER_MAX ? count - done : TRANSFER_MAX;
		ssize_t n = write(fd, p + done, step);

		if (n > 0)
			done += (u64)n;
		else if (n == 0)
			failure = EIO;
		else if (errno != EINTR)
			failure = errno;
	}
	if (written)
		*written = done;
	return failure;
}

int io_read_at(int fd, void *bytes, u64 count, u64 offset, u64 *got)
{
	u64 done = 0;
	int failure = 0;

	while (done < count && !failure) {
		u64 step = count - done < TRANSFER_MAX ? count - done : TRANSFER_MAX;
		ssize_t n = pread(fd, (u8 *)bytes + done, step, (off_t)(offset + done));

		if (n > 0)
			done += (u64)n;
		else if (n == 0)
			break;
		else if (errno != EINTR)
			failure = errno;
	}
	*got = done;
	return failure;
}

/* 0 at the end of the file, a positive number while there is more, or a negative code. */
static int read_step(int fd, struct strbuf *buf, u64 limit, struct err *err)
{
	char step[READ_STEP];
	ssize_t n = read(fd, step, sizeof(step));

	if (n < 0 && errno == EINTR)
		return 1;
	if (n < 0)
		return err_set(err, ERR_INPUT, "cannot read: %s", strerror(errno));
	if (n == 0)
		return 0;
	if (buf->count + (u64)n > limit)
		return err_set(err, ERR_INPUT, "is too large");
	strbuf_add_bytes(buf, step, (u64)n);
	if (buf->failed)
		return err_memory(err);
	return 1;
}

/* Closes fd. */
static int read_rest(int fd, u64 max_bytes, struct strbuf *buf, struct err *err)
{
	u64 limit = max_bytes < UINT64_MAX - buf->count ? buf->count + max_bytes : UINT64_MAX;
	int status;

	do
		status = read_step(fd, buf, limit, err);
	while (status > 0);
	close(fd);
	return status;
}

int io_read_file(const char *path, u64 max_bytes, struct strbuf *buf, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int status;

	if (fd < 0)
		return err_set(err, ERR_INPUT, "cannot open %s: %s", path, strerror(errno));
	status = read_rest(fd, max_bytes, buf, err);
	if (status < 0 && err)
		err_prefix(err, "%s", path);
	return status;
}

int io_open_regular(const char *path, struct stat *status)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || (fstat(fd, status) == 0 && S_ISREG(status->st_mode)))
		return fd;
	close(fd);
	return -1;
}

int io_read_regular(const char *path, u64 max_bytes, struct strbuf *buf, struct err *err)
{
	struct stat file;
	int fd = io_open_regular(path, &file);

	if (fd >= 0 && file.st_size > 0 && (u64)file.st_size <= max_bytes)
		return read_rest(fd, max_bytes, buf, err);
	if (fd >= 0)
		close(fd);
	return err_set(err, ERR_INPUT, "%s: not a readable regular file of 1 to %llu bytes", path,
		       (unsigned long long)max_bytes);
}

int io_write_file(const char *path, const void *bytes, u64 count, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int failure;

	if (fd < 0)
		return err_set(err, ERR_SYSTEM, "cannot create %s: %s", path, strerror(errno));
	failure = io_write_all(fd, bytes, count, NULL);
	if (close(fd) && !failure)
		failure = errno;
	if (failure)
		return err_set(err, ERR_SYSTEM, "cannot write %s: %s", path, strerror(failure));
	return 0;
}

static int make_one(const char *path, u32 mode)
{
	struct stat st;

	if (mkdir(path, (mode_t)mode) == 0)
		return 0;
	if (errno == EEXIST && stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
	return errno;
}

const char *io_temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : "/tmp";
}

int io_make_folder(const char *path, u32 mode, struct err *err)
{
	char part[4096];
	int failure = 0;

	if (strlen(path) >= sizeof(part))
		return err_set(err, ERR_INPUT, "the folder's name %.40s… is too long", path);
	snprintf(part, sizeof(part), "%s", path);
	for (char *p = part + 1; part[0] && *p && !failure; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		failure = make_one(part, mode);
		*p = '/';
	}
	if (!failure)
		failure = make_one(part, mode);
	if (failure)
		return err_set(err, ERR_SYSTEM, "cannot create folder %s: %s", path,
			       strerror(failure));
	return 0;
}

bool io_is_folder(const char *path, u64 length)
{
	char copy[4096];
	struct stat st;

	if (length >= sizeof(copy))
		return false;
	memcpy(copy, path, length);
	copy[length] = '\0';
	return stat(copy, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The length of the path of the folder that this one is in. */
static u64 parent_length(const char *path)
{
	u64 length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	while (length > 1 && path[length - 1] != '/')
		length--;
	return length;
}

bool io_user_folder(const char *variable, const char *below_home, struct strbuf *out)
{
	const char *named = getenv(variable), *home = getenv("HOME");

	if (named && named[0] == '/') {
		if (!io_is_folder(named, parent_length(named)))
			return false;
		strbuf_add(out, named);
		return true;
	}
	if (!home || home[0] != '/' || !io_is_folder(home, strlen(home)))
		return false;
	strbuf_addf(out, "%s/%s", home, below_home);
	return true;
}
