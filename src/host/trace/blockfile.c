/* SPDX-License-Identifier: MIT
 * The writing end of a trace file. Runs on the writer's own thread and where symbols are added.
 * Never rewrites what is there; what a failed write left behind is cut off again. */
#include "host/trace/blockfile.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "host/base/io.h"
#include "format/atomics.h"

int block_file_init(struct block_file *file, int fd, u64 end, int level)
{
	*file = (struct block_file){.fd = fd, .end = end};
	file->packer = block_packer_new(level);
	return file->packer ? 0 : ERR_MEMORY;
}

static void fail(struct block_file *file, int failure)
{
	if (!file->failure)
		store_release(&file->failure, failure); /* pairs with trace_writer_failed */
}

static void append_bytes(struct block_file *file, const void *bytes, u64 count)
{
	u64 written;
	int failure = io_write_all(file->fd, bytes, count, &written);

	if (!failure) {
		store_relaxed(&file->end, file->end + count);
		return;
	}
	fail(file, failure);
	/* A device such as /dev/full cannot be cut, and need not be. */
	if (written && ftruncate(file->fd, (off_t)file->end) == 0)
		lseek(file->fd, (off_t)file->end, SEEK_SET);
}

void block_file_start(struct block_file *file)
{
	struct hw_trace_header header;

	file_header_fill(&header);
	append_bytes(file, &header, sizeof(header));
}

void block_file_append(struct block_file *file, struct raw_block *raw)
{
	struct hw_block_header header;
	u64 offset = file->end, bytes;
	const u8 *packed;

	if (file->failure)
		return;
	raw->number = (u32)file->list.entries.count;
	if (block_pack(file->packer, raw, &packed, &bytes) < 0) {
		fail(file, ENOMEM);
		return;
	}
	append_bytes(file, packed, bytes);
	memcpy(&header, packed, sizeof(header));
	if (!file->failure && !block_list_add(&file->list, offset, &header))
		fail(file, ENOMEM);
}

static void append_index(struct block_file *file)
{
	struct strbuf rows = {0};
	u64 count = file->list.entries.count, first = 0;

	do {
		u64 some = count - first < HW_BLOCK_ROWS_MAX ? count - first : HW_BLOCK_ROWS_MAX;
		struct raw_block raw = {
			.items = (u32)some,
			.image = HW_NO_IMAGE,
			.type = HW_BLOCK_INDEX,
		};

		strbuf_clear(&rows);
		if (!block_list_put_rows(&file->list, first, some, &rows))
			fail(file, ENOMEM);
		raw.payload = (const u8 *)strbuf_text(&rows);
		raw.bytes = rows.count;
		block_file_append(file, &raw);
		first += some;
	} while (first < count);
	strbuf_release(&rows);
}

void block_file_finish(struct block_file *file, bool closed)
{
	struct hw_trace_trailer trailer = {
		.index_offset = file->end,
		.flags = closed ? HW_TRAILER_CLOSED : 0,
	};
	struct raw_block raw = {
		.payload = (const u8 *)&trailer,
		.bytes = sizeof(trailer),
		.items = 1,
		.image = HW_NO_IMAGE,
		.type = HW_BLOCK_TRAILER,
		.plain = true, /* found by its distance from the end of the file */
	};

	append_index(file);
	trailer.file_bytes = file->end + sizeof(struct hw_block_header) + sizeof(trailer);
	block_file_append(file, &raw);
}

int block_file_release(struct block_file *file)
{
	if (close(file->fd))
		fail(file, errno);
	block_packer_free(file->packer);
	block_list_release(&file->list);
	return file->failure;
}
