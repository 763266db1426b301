/* SPDX-License-Identifier: MIT
 * Types of chunks, to and from the payloads of their blocks. */
#ifndef HOST_TRACE_TYPES_H
#define HOST_TRACE_TYPES_H

#include "host/base/strbuf.h"
#include "host/trace/block.h"
#include "host/trace/stream.h"

/* Payload of a types block under construction. All zero = empty. */
struct types {
	struct strbuf columns[HW_TYPE_COLUMNS];
	u64 chunk, identity; /* of the row before */
	u32 items;
};

void types_add(struct types *self, const struct stream_type *row);

/* Bytes of the payload, whose parts are its head and the columns. */
enum { TYPES_PARTS = HW_TYPE_COLUMNS + 1 };
u64 types_bytes(const struct types *self, u32 part_bytes[TYPES_PARTS]);
void types_finish(struct types *self, u8 *out); /* copies it out and starts anew */
bool types_failed(const struct types *self);
void types_release(struct types *self);

struct decoder;

/* Where rows go. Chunks are told as the decoder numbers them, and rows of those that it does not
 * know are counted in *lost; without a decoder as the file numbers them. */
struct types_reading {
	const struct decoder *decoder;
	const struct stream_sink *sink;
	u64 *lost;
};

/* 0; or a negative code of the sink, with err filled; or a positive enum block_status if the
 * payload is bad, after what came before it was told. */
int types_tell(const struct types_reading *to, const u8 *payload, u64 bytes, u32 items,
	       struct err *err);

#endif
