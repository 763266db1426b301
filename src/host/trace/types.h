/* SPDX-License-Identifier: MIT
 * Types of chunks, to and from the payloads of their blocks. */
#ifndef HOST_TRACE_TYPES_H
#define HOST_TRACE_TYPES_H

#include "host/trace/columns.h"
#include "host/trace/stream.h"

/* Payload of a types block under construction. All zero = empty. */
struct types {
	struct columns columns;
	u64 chunk, identity; /* of the row before */
};

void types_add(struct types *self, const struct stream_type *row);
struct parcel *types_take(struct types *self); /* as columns_take */

struct decoder;
struct guard;

/* Where rows about chunks go: types and accesses. Chunks are told as the decoder numbers them, and
 * rows of those that it does not know are counted in *lost; without a decoder as the file numbers
 * them. */
struct chunk_reading {
	const struct decoder *decoder;
	struct guard *guard;
	u64 *lost;
};

/* 0; or a negative code of the sink, with err filled; or a positive enum block_status if the
 * block is bad, after what came before it was told. */
int types_tell(const struct chunk_reading *to, const struct block *block, struct err *err);

#endif
