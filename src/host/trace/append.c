/* SPDX-License-Identifier: MIT
 * Appends blocks to a trace. Runs on the host, after the recording. Never rewrites a byte that is
 * there; if it fails, the file is as it was. */
#include "host/trace/append.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "host/trace/lock.h"
#include "host/trace/reader.h"
#include "host/trace/readerfile.h"

enum { LOCK_WAIT_MS = 5000 }; /* for others who append, which takes milliseconds */

static int open_locked(const char *path, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, ERR_SYSTEM, "cannot write %s: %s", path, strerror(errno));
	if (trace_lock(fd, LOCK_WAIT_MS) != 0) {
		close(fd);
		return err_set(err, ERR_SYSTEM,
			       "cannot write %s: a recording is writing to it; "
			       "try again when it has ended",
			       path);
	}
	return fd;
}

/* The trace's list of blocks becomes that of the file to be continued. */
static int continue_file(struct block_file *file, struct trace_reader *reader, int fd,
			 const char *path, struct err *err)
{
	u64 end = trace_info(reader)->file_bytes;

	if (lseek(fd, (off_t)end, SEEK_SET) < 0)
		return err_set(err, ERR_SYSTEM, "cannot write %s: %s", path, strerror(errno));
	if (block_file_init(file, fd, end, 1) < 0)
		return err_memory(err);
	file->list = *reader_list(reader);
	*reader_list(reader) = (struct block_list){0};
	block_list_drop_damage(&file->list);
	return 0;
}

int append_payload(struct block_file *file, enum hw_block_type type, struct strbuf *payload,
		   u32 items, struct err *err)
{
	struct raw_block raw = {.payload = (const u8 *)strbuf_text(payload),
				.bytes = payload->count,
				.items = items,
				.image = HW_NO_IMAGE,
				.type = (u16)type};

	if (payload->failed)
		return err_memory(err);
	block_file_append(file, &raw);
	strbuf_clear(payload);
	return 0;
}

/* What is there is read when nobody else writes any more. */
int trace_append(const char *path, append_rows *append, const void *rows, u64 count,
		 struct err *err)
{
	int fd = open_locked(path, err), status, failure;
	struct trace_reader *reader = fd < 0 ? NULL : trace_open(path, err);
	struct block_file file;
	bool complete;
	u64 end;

	if (!reader) {
		if (fd >= 0)
			close(fd);
		return fd < 0 ? fd : ERR_INPUT;
	}
	end = trace_info(reader)->file_bytes;
	complete = trace_info(reader)->complete;
	status = continue_file(&file, reader, fd, path, err);
	trace_close(reader);
	if (status < 0) {
		close(fd);
		return status;
	}
	status = append(&file, rows, count, err);
	if (status == 0)
		block_file_finish(&file, complete);
	if ((status < 0 || file.failure) && ftruncate(file.fd, (off_t)end))
		status = err_set(err, ERR_SYSTEM, "cannot truncate %s: %s", path, strerror(errno));
	failure = block_file_release(&file);
	if (status == 0 && failure)
		status = err_set(err, ERR_SYSTEM, "cannot write %s: %s", path, strerror(failure));
	return status;
}
