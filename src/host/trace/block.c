/* SPDX-License-Identifier: MIT
 * Packs and loads blocks. Runs on the host, in the writer's own thread and in readers. Never
 * trusts a length before it was checked, never interprets a payload. */
#include "host/trace/block.h"

#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "host/base/io.h"
#include "host/base/xxh.h"

u64 checksum(const void *bytes, u64 count) { return XXH3_64bits(bytes, count); }

void file_header_fill(struct hw_trace_header *header)
{
	*header = (struct hw_trace_header){
		.magic = HW_TRACE_MAGIC,
		.version = HW_TRACE_VERSION,
		.bytes = sizeof(*header),
	};
	header->check = checksum(header, offsetof(struct hw_trace_header, check));
}

bool file_header_intact(const struct hw_trace_header *header)
{
	return header->check == checksum(header, offsetof(struct hw_trace_header, check));
}

static u64 block_header_check(const struct hw_block_header *header)
{
	return checksum(header, offsetof(struct hw_block_header, check));
}

bool block_header_intact(const struct hw_block_header *header)
{
	if (header->magic != HW_BLOCK_MAGIC || header->check != block_header_check(header))
		return false;
	if (header->raw_bytes > HW_BLOCK_RAW_MAX || header->stored_bytes > HW_BLOCK_STORED_MAX)
		return false;
	return !(header->flags & HW_BLOCK_STORED) || header->raw_bytes == header->stored_bytes;
}

/* Where events are much alike, in a loop, zstd finds long matches, and a block becomes many times
 * smaller. Where they are not, nearly all that is gained comes from short codes for frequent bytes,
 * and the search for matches is time wasted: most of the time. So events are packed hastily, hardly
 * searching, for as long as that makes blocks hardly larger. Every so often one is packed in both
 * ways to find out. */
enum {
	HASTY_LEVEL = -1000,
	HASTY_TRIAL = 32,     /* blocks from one trial to the next */
	HASTY_LOSS_SHARE = 16 /* a hasty block may be larger by one of so many parts */
};

struct block_packer {
	ZSTD_CCtx *zstd;
	int level;
	bool can_hasten, hasty;
	u32 until_trial; /* blocks */
	u8 *out;
	u64 out_bytes;
};

struct block_packer *block_packer_new(int level)
{
	struct block_packer *packer = calloc(1, sizeof(*packer));

	if (!packer)
		return NULL;
	packer->zstd = ZSTD_createCCtx();
	if (!packer->zstd) {
		free(packer);
		return NULL;
	}
	packer->level = level;
	ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_contentSizeFlag, 1);
	/* Codes for bytes also at levels below 0. Without this parameter (it is called
	 * literalCompressionMode, 1 = always) they would be stored. */
	packer->can_hasten =
		!ZSTD_isError(ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_experimentalParam5, 1));
	return packer;
}

void block_packer_free(struct block_packer *packer)
{
	if (!packer)
		return;
	ZSTD_freeCCtx(packer->zstd);
	free(packer->out);
	free(packer);
}

/* Flushing after each part ends zstd's block there, so that columns with different statistics do
 * not share one table. Returns the compressed length, or 0 if it did not fit or failed. */
static u64 compress_parts(struct block_packer *packer, const struct raw_block *raw, bool hasty,
			  u64 room)
{
	ZSTD_outBuffer out = {packer->out + sizeof(struct hw_block_header), room, 0};
	u64 at = 0;
	u32 last = raw->parts ? raw->parts - 1 : 0;

	ZSTD_CCtx_reset(packer->zstd, ZSTD_reset_session_only);
	ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel,
			       hasty ? HASTY_LEVEL : packer->level);
	if (ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(packer->zstd, raw->bytes)))
		return 0;
	for (u32 i = 0; i <= last; i++) {
		u64 bytes = i == last ? raw->bytes - at : raw->part_bytes[i];
		ZSTD_inBuffer in = {raw->payload + at, bytes, 0};
		size_t left = ZSTD_compressStream2(packer->zstd, &out, &in,
						   i == last ? ZSTD_e_end : ZSTD_e_flush);

		if (left != 0) /* an error, or no room */
			return 0;
		at += bytes;
	}
	return out.pos;
}

static u64 compress_block(struct block_packer *packer, const struct raw_block *raw)
{
	u64 room = raw->bytes, hasty, careful;

	if (raw->type != HW_BLOCK_EVENTS || !packer->can_hasten)
		return compress_parts(packer, raw, false, room);
	if (packer->until_trial--)
		return compress_parts(packer, raw, packer->hasty, room);
	packer->until_trial = HASTY_TRIAL - 1;
	hasty = compress_parts(packer, raw, true, room);
	careful = compress_parts(packer, raw, false, room);
	packer->hasty = hasty && careful && hasty <= careful + careful / HASTY_LOSS_SHARE;
	return careful;
}

/* Never leaves NULL: an empty payload is a place of 0 bytes. */
static bool reserve(u8 **buffer, u64 *capacity, u64 bytes)
{
	u8 *fresh;

	if (*buffer && bytes <= *capacity)
		return true;
	fresh = malloc(bytes ? bytes : 1);
	if (!fresh)
		return false;
	free(*buffer);
	*buffer = fresh;
	*capacity = bytes;
	return true;
}

int block_pack(struct block_packer *packer, const struct raw_block *raw, const u8 **packed,
	       u64 *packed_bytes)
{
	struct hw_block_header header = {
		.magic = HW_BLOCK_MAGIC,
		.type = raw->type,
		.raw_bytes = (u32)raw->bytes,
		.items = raw->items,
		.image = raw->image,
		.number = raw->number,
	};
	u64 stored;

	if (!reserve(&packer->out, &packer->out_bytes, sizeof(header) + raw->bytes))
		return ERR_MEMORY;
	/* What does not become smaller is stored; so no more room than the raw bytes is needed. */
	stored = raw->plain ? 0 : compress_block(packer, raw);
	if (!stored) {
		header.flags |= HW_BLOCK_STORED;
		stored = raw->bytes;
		memcpy(packer->out + sizeof(header), raw->payload, raw->bytes);
	}
	header.stored_bytes = (u32)stored;
	header.payload_check = checksum(packer->out + sizeof(header), stored);
	header.check = block_header_check(&header);
	memcpy(packer->out, &header, sizeof(header));
	*packed = packer->out;
	*packed_bytes = sizeof(header) + stored;
	return 0;
}

struct block_loader {
	int fd;
	ZSTD_DCtx *zstd;
	u8 *stored, *raw;
	u64 stored_bytes, raw_bytes; /* capacities */
};

struct block_loader *block_loader_new(int fd)
{
	struct block_loader *loader = calloc(1, sizeof(*loader));

	if (!loader)
		return NULL;
	loader->fd = fd;
	loader->zstd = ZSTD_createDCtx();
	if (!loader->zstd) {
		free(loader);
		return NULL;
	}
	return loader;
}

void block_loader_free(struct block_loader *loader)
{
	if (!loader)
		return;
	ZSTD_freeDCtx(loader->zstd);
	free(loader->stored);
	free(loader->raw);
	free(loader);
}

int block_loader_read(struct block_loader *loader, void *bytes, u64 count, u64 offset, u64 *got)
{
	return io_read_at(loader->fd, bytes, count, offset, got);
}

const char *block_status_text(enum block_status status)
{
	static const char *const text[] = {
		[BLOCK_OK] = "is intact",
		[BLOCK_HEADER] = "is damaged (header)",
		[BLOCK_CUT] = "is truncated",
		[BLOCK_CHECKSUM] = "is damaged (checksum)",
		[BLOCK_CONTENT] = "is damaged (content)",
		[BLOCK_UNREADABLE] = "cannot be read",
		[BLOCK_MEMORY] = "does not fit into memory",
	};

	return text[status];
}

enum block_status block_load_header(struct block_loader *loader, u64 offset,
				    struct hw_block_header *header)
{
	u64 got;

	if (io_read_at(loader->fd, header, sizeof(*header), offset, &got))
		return BLOCK_UNREADABLE;
	if (got < sizeof(*header))
		return BLOCK_CUT;
	return block_header_intact(header) ? BLOCK_OK : BLOCK_HEADER;
}

enum block_status block_verify(struct block_loader *loader, u64 offset,
			       const struct hw_block_header *header)
{
	u64 bytes = header->stored_bytes, got;

	if (!reserve(&loader->stored, &loader->stored_bytes, bytes))
		return BLOCK_MEMORY;
	if (io_read_at(loader->fd, loader->stored, bytes, offset + sizeof(*header), &got))
		return BLOCK_UNREADABLE;
	if (got < bytes)
		return BLOCK_CUT;
	if (checksum(loader->stored, bytes) != header->payload_check)
		return BLOCK_CHECKSUM;
	return BLOCK_OK;
}

enum block_status block_load(struct block_loader *loader, u64 offset,
			     const struct hw_block_header *header, const u8 **payload)
{
	enum block_status status = block_verify(loader, offset, header);
	size_t bytes;

	if (status != BLOCK_OK)
		return status;
	*payload = loader->stored;
	if (header->flags & HW_BLOCK_STORED)
		return BLOCK_OK;
	if (!reserve(&loader->raw, &loader->raw_bytes, header->raw_bytes))
		return BLOCK_MEMORY;
	*payload = loader->raw;
	bytes = ZSTD_decompressDCtx(loader->zstd, loader->raw, header->raw_bytes, loader->stored,
				    header->stored_bytes);
	return bytes == header->raw_bytes ? BLOCK_OK : BLOCK_CONTENT;
}
