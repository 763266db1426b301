/* SPDX-License-Identifier: MIT
 * Blocks of a trace file: one is packed (compressed, checksummed) by a block_packer and read back
 * (checked, decompressed) by a block_loader. Neither knows what the payload means. */
#ifndef HOST_TRACE_BLOCK_H
#define HOST_TRACE_BLOCK_H

#include "host/base/err.h"
#include "format/tracefile.h"

/* Fills in and checks the header at the start of the file. */
void file_header_fill(struct hw_trace_header *header);
bool file_header_intact(const struct hw_trace_header *header);

/* XXH3-64, the checksum of everything in the file. */
u64 checksum(const void *bytes, u64 count);

/* True if the header is whole and its lengths are within the limits. */
bool block_header_intact(const struct hw_block_header *header);

struct block_packer; /* a compressor and its output buffer */

struct block_packer *block_packer_new(int level);
void block_packer_free(struct block_packer *packer);

/* A payload to pack. part_bytes are the lengths of its parts (columns), each of which is given
 * entropy tables of its own; 0 parts means one. */
struct raw_block {
	const u8 *payload;
	u64 bytes;
	const u32 *part_bytes;
	u32 parts;
	u32 items;
	u32 image;
	u32 number;
	u16 type;
	bool plain; /* not compressed, so that its length in the file is known */
};

/* The block as it goes to the file; *packed is the packer's, valid until its next call.
 * Returns 0 or ERR_MEMORY. */
int block_pack(struct block_packer *packer, const struct raw_block *raw, const u8 **packed,
	       u64 *packed_bytes);

struct block_loader; /* a decompressor and its buffers, for one open file */

struct block_loader *block_loader_new(int fd);
void block_loader_free(struct block_loader *loader);

/* Bytes of the file as they are; 0 or errno. */
int block_loader_read(struct block_loader *loader, void *bytes, u64 count, u64 offset, u64 *got);

enum block_status {
	BLOCK_OK = 0,
	BLOCK_HEADER,     /* there is no block header with a right checksum */
	BLOCK_CUT,        /* the file ends before the block does */
	BLOCK_CHECKSUM,   /* the payload is not what was written */
	BLOCK_CONTENT,    /* the payload is not what the header says */
	BLOCK_UNREADABLE, /* the system could not read it: errno */
	BLOCK_MEMORY,
};

/* "is damaged (checksum)": the end of a sentence about a block. */
const char *block_status_text(enum block_status status);

/* A block that was loaded, or is to be read. */
struct block {
	const u8 *payload;
	u64 bytes;
	u32 items;
};

enum block_status block_load_header(struct block_loader *loader, u64 offset,
				    struct hw_block_header *header);

/* Reads and checks the payload; decompresses it if wanted. *payload is the loader's, of
 * header->raw_bytes, valid until its next call. */
enum block_status block_load(struct block_loader *loader, u64 offset,
			     const struct hw_block_header *header, const u8 **payload);
enum block_status block_verify(struct block_loader *loader, u64 offset,
			       const struct hw_block_header *header);

#endif
