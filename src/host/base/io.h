/* SPDX-License-Identifier: MIT
 * Whole reads and writes that survive EINTR and short transfers. Paths are named in the errors. */
#ifndef HOST_BASE_IO_H
#define HOST_BASE_IO_H

#include <sys/stat.h>

#include "host/base/err.h"
#include "host/base/strbuf.h"
#include "format/types.h"

/* Whether the first `length` bytes of path are the path of a folder that is there. */
bool io_is_folder(const char *path, u64 length);

/* Writes all bytes; 0, or the errno that stopped it. *written (may be NULL) is what went out. */
int io_write_all(int fd, const void *bytes, u64 count, u64 *written);

/* Reads up to count bytes at offset, fewer only at the end of the file; 0 or errno. */
int io_read_at(int fd, void *bytes, u64 count, u64 offset, u64 *got);

/* Appends the whole file to buf; works for /proc files, too. More than max_bytes is ERR_INPUT. */
int io_read_file(const char *path, u64 max_bytes, struct strbuf *buf, struct err *err);

/* For paths that a trace or debug info names: only regular files are opened, so that no device is
 * read and no pipe makes us wait. A descriptor and *status of the file, or -1. */
int io_open_regular(const char *path, struct stat *status);

/* As io_read_file, of a regular file. One whose size is 0 is refused: some of /proc wait, too. */
int io_read_regular(const char *path, u64 max_bytes, struct strbuf *buf, struct err *err);

/* Creates or truncates path with these bytes, mode 0666 less umask. */
int io_write_file(const char *path, const void *bytes, u64 count, struct err *err);

/* The folder for temporary files: TMPDIR, or /tmp. */
const char *io_temporary_folder(void);

/* Creates a folder and the folders above it; one that is there already is no error. */
int io_make_folder(const char *path, u32 mode, struct err *err);

/* Appends the user's folder for caches or settings: what the environment variable names, else the
 * folder below HOME. Both must be absolute. False, and nothing is appended, if HOME (or the folder
 * that the variable's is in) does not exist: accounts without a home must not get one from us. */
bool io_user_folder(const char *variable, const char *below_home, struct strbuf *out);

#endif
