/* SPDX-License-Identifier: MIT
 * Where the blocks of a trace file are: kept while it is written, stored as its index, and found
 * again from the index or, if there is none, by walking from block to block. */
#ifndef HOST_TRACE_BLOCKLIST_H
#define HOST_TRACE_BLOCKLIST_H

#include "host/base/strbuf.h"
#include "host/base/vec.h"
#include "host/trace/block.h"

struct block_entry {
	u64 offset;
	u32 bytes; /* header and payload; of a damaged area at most UINT32_MAX */
	u32 items;
	u32 image;
	u16 type;   /* enum hw_block_type, 0 = a damaged area */
	u16 status; /* enum block_status of a damaged area */
};

struct block_list { /* all zero = empty */
	VEC(struct block_entry) entries;
	bool indexed; /* the list is from the index */
	bool closed;  /* a trailer says that the recording ended properly */
};

void block_list_release(struct block_list *list);
bool block_list_add(struct block_list *list, u64 offset, const struct hw_block_header *header);

/* Payload of one index block: rows first … first + count - 1. False if there is no memory. The list
 * must be free of damaged areas: an index tells them as gaps. */
bool block_list_put_rows(const struct block_list *list, u64 first, u64 count, struct strbuf *out);
void block_list_drop_damage(struct block_list *list);

/* Fills an empty list from the file. Areas that are no blocks become entries of type 0.
 * Returns 0, ERR_MEMORY or ERR_SYSTEM. */
struct block_range {
	u64 start, end; /* bytes of the file that hold blocks */
};
int block_list_load(struct block_list *list, struct block_loader *loader, struct block_range range,
		    struct err *err);

#endif
