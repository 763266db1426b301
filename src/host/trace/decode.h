/* SPDX-License-Identifier: MIT
 * Turns the payloads of events blocks back into events, in the order of the file. After a gap (a
 * damaged block) chunks are renumbered so that they still count 0, 1, 2 …, and frees of chunks
 * that were lost in it come out with NO_CHUNK. */
#ifndef HOST_TRACE_DECODE_H
#define HOST_TRACE_DECODE_H

#include "host/trace/block.h"
#include "host/trace/stream.h"

struct decoder;

struct decoder *decoder_new(void);
void decoder_free(struct decoder *decoder);

/* A new image: chunks are numbered from 0 again. */
void decoder_start_image(struct decoder *decoder);

/* Begins a block; the payload must stay until it is decoded. BLOCK_OK or BLOCK_CONTENT. */
enum block_status decoder_start_block(struct decoder *decoder, const struct block *block);

/* The next events, at most max, 0 at the end of the block. If the status is not BLOCK_OK the *got
 * events before the damage are good and the rest of the block is lost. */
enum block_status decoder_next(struct decoder *decoder, struct event *events, u64 max, u64 *got);

/* Frees, since decoder_new, whose chunk was lost in a damaged block. */
/* The number of a chunk as the file counts, or NO_CHUNK if it was lost or never told. */
u64 decoder_chunk(const struct decoder *decoder, u64 told);

u64 decoder_lost_chunks(const struct decoder *decoder);

#endif
