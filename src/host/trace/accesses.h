/* SPDX-License-Identifier: MIT
 * Accesses to chunks, to and from the payloads of their blocks. */
#ifndef HOST_TRACE_ACCESSES_H
#define HOST_TRACE_ACCESSES_H

#include "host/base/strbuf.h"
#include "host/trace/block.h"
#include "host/trace/stream.h"

/* Payload of an accesses block under construction. All zero = empty. */
struct accesses {
	struct strbuf columns[HW_ACCESS_COLUMNS];
	u64 chunk, ticks; /* of the row before */
	u32 items;
};

void accesses_add(struct accesses *self, const struct stream_access *row);

/* No further row may be added before it is finished. */
bool accesses_full(const struct accesses *self);

/* Bytes of the payload, whose parts are its head and the columns. */
enum { ACCESSES_PARTS = HW_ACCESS_COLUMNS + 1 };
u64 accesses_bytes(const struct accesses *self, u32 part_bytes[ACCESSES_PARTS]);
void accesses_finish(struct accesses *self, u8 *out); /* copies it out and starts anew */
bool accesses_failed(const struct accesses *self);
void accesses_release(struct accesses *self);

struct decoder;

/* Where rows go. Chunks are told as the decoder numbers them; rows of those that it does not know
 * are counted in *lost. */
struct accesses_reading {
	const struct decoder *decoder;
	const struct stream_sink *sink;
	u64 *lost;
};

/* 0; or a negative code of the sink, with err filled; or a positive enum block_status if the
 * payload is bad, after what came before it was told. */
int accesses_tell(const struct accesses_reading *to, const u8 *payload, u64 bytes, u32 items,
		  struct err *err);

#endif
