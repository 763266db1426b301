/* SPDX-License-Identifier: MIT
 * Appends blocks to a trace. Runs on the host, after the recording. Never rewrites a byte that is
 * there; if it fails, the file is as it was. */
#include "trace/append.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "trace/readerfile.h"

/* The trace's list of blocks becomes that of the file to be continued. */
static int open_to_append(struct block_file *file, struct trace_reader *reader, const char *path,
			  struct err *err)
{
	u64 end = trace_info(reader)->file_bytes;
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || lseek(fd, (off_t)end, SEEK_SET) < 0) {
		err_set(err, ERR_SYSTEM, "cannot write %s: %s", path, strerror(errno));
		goto fail;
	}
	if (block_file_init(file, fd, end, 1) < 0) {
		err_set(err, ERR_MEMORY, "out of memory");
		goto fail;
	}
	file->list = *reader_list(reader);
	*reader_list(reader) = (struct block_list){0};
	block_list_drop_damage(&file->list);
	return 0;
fail:
	if (fd >= 0)
		close(fd);
	return ERR_SYSTEM;
}

int trace_append(const char *path, int (*append)(struct block_file *file, void *data, struct err *err),
		 void *data, struct err *err)
{
	struct trace_reader *reader = trace_open(path, err);
	struct block_file file;
	bool complete;
	int status, failure;
	u64 end;

	if (!reader)
		return ERR_INPUT;
	end = trace_info(reader)->file_bytes;
	complete = trace_info(reader)->complete;
	status = open_to_append(&file, reader, path, err);
	trace_close(reader);
	if (status < 0)
		return status;
	status = append(&file, data, err);
	if (status == 0)
		block_file_finish(&file, complete);
	if ((status < 0 || file.failure) && ftruncate(file.fd, (off_t)end))
		status = err_set(err, ERR_SYSTEM, "cannot cut %s: %s", path, strerror(errno));
	failure = block_file_release(&file);
	if (status == 0 && failure)
		status = err_set(err, ERR_SYSTEM, "cannot write %s: %s", path, strerror(failure));
	return status;
}
