/* SPDX-License-Identifier: MIT
 * Finds the blocks of a file by its index or by a scan. Runs on the host. Never believes an index
 * that does not fit the file; never reads payloads while it scans. */
#include "host/trace/blocklist.h"

#include <errno.h>
#include <string.h>

#include "host/base/io.h"
#include "host/trace/cursor.h"

enum { RESYNC_WINDOW = 256 << 10 };

void block_list_release(struct block_list *list) { vec_release(&list->entries); }

bool block_list_add(struct block_list *list, u64 offset, const struct hw_block_header *header)
{
	struct block_entry entry = {
		.offset = offset,
		.bytes = (u32)sizeof(*header) + header->stored_bytes,
		.items = header->items,
		.image = header->image,
		.type = header->type,
	};

	return vec_push(&list->entries, entry);
}

static u64 end_of(const struct block_list *list, u64 index, u64 start)
{
	const struct block_entry *entry = index ? &list->entries.data[index - 1] : NULL;

	return entry ? entry->offset + entry->bytes : start;
}

bool block_list_put_rows(const struct block_list *list, u64 first, u64 count, struct strbuf *out)
{
	for (u64 i = first; i < first + count; i++) {
		const struct block_entry *entry = &list->entries.data[i];
		u64 end = end_of(list, i, sizeof(struct hw_trace_header));

		varint_add(out, entry->offset - end);
		varint_add(out, entry->bytes);
		varint_add(out, entry->type);
		varint_add(out, (u32)(entry->image + 1));
		varint_add(out, entry->items);
	}
	return !out->failed;
}

void block_list_drop_damage(struct block_list *list)
{
	u64 kept = 0;

	for (u64 i = 0; i < list->entries.count; i++) {
		if (list->entries.data[i].type)
			list->entries.data[kept++] = list->entries.data[i];
	}
	list->entries.count = kept;
}

static bool add_damage(struct block_list *list, u64 start, u64 end, enum block_status status)
{
	struct block_entry entry = {
		.offset = start,
		.bytes = end - start < UINT32_MAX ? (u32)(end - start) : UINT32_MAX,
		.image = HW_NO_IMAGE,
		.status = (u16)status,
	};

	return vec_push(&list->entries, entry);
}

/* The rows of an index. False if one does not describe a block between *end and limit. */
static bool get_rows(struct block_list *list, const struct block *block, u64 *end, u64 limit)
{
	struct cursor in = block_cursor(block);

	while (in.at < in.end) {
		u64 gap = cursor_get(&in), bytes = cursor_get(&in), type = cursor_get(&in);
		u32 image = cursor_get_u32(&in), items = cursor_get_u32(&in);
		struct block_entry entry = {
			.offset = *end + gap,
			.bytes = (u32)bytes,
			.type = (u16)type,
			.image = image - 1,
			.items = items,
		};

		if (in.bad || gap > limit - *end || bytes > limit - *end - gap ||
		    bytes < sizeof(struct hw_block_header) || bytes > UINT32_MAX || type == 0 ||
		    type > UINT16_MAX)
			return false;
		if ((gap && !add_damage(list, *end, entry.offset, BLOCK_HEADER)) ||
		    !vec_push(&list->entries, entry))
			return false;
		*end = entry.offset + entry.bytes;
	}
	return true;
}

static bool load_trailer(struct block_loader *loader, u64 offset,
			 const struct hw_block_header *header, struct hw_trace_trailer *trailer)
{
	const u8 *payload;

	if (header->type != HW_BLOCK_TRAILER || header->raw_bytes != sizeof(*trailer) ||
	    block_load(loader, offset, header, &payload) != BLOCK_OK)
		return false;
	memcpy(trailer, payload, sizeof(*trailer));
	return trailer->file_bytes == offset + sizeof(*header) + header->stored_bytes;
}

/* The index blocks between trailer->index_offset and the trailer itself, which end the list. */
static bool load_index(struct block_list *list, struct block_loader *loader,
		       struct block_range range, u64 trailer_offset, u64 index_offset)
{
	u64 end = range.start, at = index_offset, first = list->entries.count;
	struct block_list own = {0};
	bool good = index_offset >= range.start && index_offset < trailer_offset;

	while (good && at < trailer_offset) {
		struct hw_block_header header;
		struct block block = {0};

		good = block_load_header(loader, at, &header) == BLOCK_OK &&
		       header.type == HW_BLOCK_INDEX &&
		       block_load(loader, at, &header, &block.payload) == BLOCK_OK;
		if (!good)
			break;
		block.bytes = header.raw_bytes;
		header.image = HW_NO_IMAGE; /* whatever it says */
		good = get_rows(list, &block, &end, index_offset) &&
		       block_list_add(&own, at, &header);
		at += sizeof(header) + header.stored_bytes;
	}
	good = good && at == trailer_offset;
	if (good && end < index_offset)
		good = add_damage(list, end, index_offset, BLOCK_HEADER);
	for (u64 i = 0; good && i < own.entries.count; i++)
		good = vec_push(&list->entries, own.entries.data[i]);
	if (!good)
		list->entries.count = first;
	block_list_release(&own);
	return good;
}

static bool load_by_index(struct block_list *list, struct block_loader *loader,
			  struct block_range range)
{
	const u64 bytes = sizeof(struct hw_block_header) + sizeof(struct hw_trace_trailer);
	struct hw_trace_trailer trailer;
	struct hw_block_header header;
	u64 offset = range.end - bytes;

	if (range.end - range.start < bytes)
		return false;
	if (block_load_header(loader, offset, &header) != BLOCK_OK ||
	    header.stored_bytes != sizeof(trailer) ||
	    !load_trailer(loader, offset, &header, &trailer))
		return false;
	if (!load_index(list, loader, range, offset, trailer.index_offset))
		return false;
	if (!block_list_add(list, offset, &header)) {
		vec_clear(&list->entries);
		return false;
	}
	list->closed = trailer.flags & HW_TRAILER_CLOSED;
	list->indexed = true;
	return true;
}

/* Offset of the first intact block header in the window, or UINT64_MAX. */
static u64 find_in_window(const u8 *window, u64 bytes)
{
	const u32 magic = HW_BLOCK_MAGIC;
	const u8 *at = window, *end = window + bytes;
	struct hw_block_header header;

	while ((u64)(end - at) >= sizeof(header)) {
		at = memmem(at, (u64)(end - at), &magic, sizeof(magic));
		if (!at || (u64)(end - at) < sizeof(header))
			break;
		memcpy(&header, at, sizeof(header));
		if (block_header_intact(&header))
			return (u64)(at - window);
		at++;
	}
	return UINT64_MAX;
}

/* Sets *found to the next intact block header from `from` on, or to the end of the range. */
static int resync(struct block_loader *loader, u64 from, u64 end, u64 *found, struct err *err)
{
	u8 *window = malloc(RESYNC_WINDOW);
	int failure = 0;

	if (!window)
		return err_memory(err);
	*found = end;
	while (from < end && *found == end) {
		u64 got, hit;

		failure = block_loader_read(loader, window, RESYNC_WINDOW, from, &got);
		if (failure || got < sizeof(struct hw_block_header))
			break;
		hit = find_in_window(window, got);
		if (hit != UINT64_MAX)
			*found = from + hit;
		from += got - (sizeof(struct hw_block_header) - 1);
	}
	free(window);
	if (failure)
		return err_set(err, ERR_SYSTEM, "cannot read: %s", strerror(failure));
	return 0;
}

static bool add_scanned(struct block_list *list, struct block_loader *loader, u64 offset,
			const struct hw_block_header *header)
{
	struct hw_trace_trailer trailer;

	if (header->type == HW_BLOCK_TRAILER && load_trailer(loader, offset, header, &trailer))
		list->closed |= trailer.flags & HW_TRAILER_CLOSED;
	return block_list_add(list, offset, header);
}

static int scan(struct block_list *list, struct block_loader *loader, struct block_range range,
		struct err *err)
{
	u64 offset = range.start, next;

	while (offset < range.end) {
		struct hw_block_header header;
		enum block_status status = block_load_header(loader, offset, &header);
		bool added;
		int failed;

		if (status == BLOCK_UNREADABLE)
			return err_set(err, ERR_SYSTEM, "cannot read: %s", strerror(errno));
		if (status == BLOCK_OK && header.stored_bytes > range.end - offset - sizeof(header))
			status = BLOCK_CUT;
		next = range.end;
		if (status == BLOCK_OK)
			next = offset + sizeof(header) + header.stored_bytes;
		failed = status == BLOCK_HEADER ? resync(loader, offset + 1, range.end, &next, err)
						: 0;
		if (failed)
			return failed;
		added = status == BLOCK_OK ? add_scanned(list, loader, offset, &header)
					   : add_damage(list, offset, next, status);
		if (!added)
			return err_memory(err);
		offset = next;
	}
	return 0;
}

int block_list_load(struct block_list *list, struct block_loader *loader, struct block_range range,
		    struct err *err)
{
	if (load_by_index(list, loader, range))
		return 0;
	return scan(list, loader, range, err);
}
