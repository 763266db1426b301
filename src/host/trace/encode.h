/* SPDX-License-Identifier: MIT
 * Turns events into the payload of an events block. One encoder serves one image after the other.
 * */
#ifndef HOST_TRACE_ENCODE_H
#define HOST_TRACE_ENCODE_H

#include "host/trace/columns.h"
#include "host/trace/stream.h"

struct encoder;

struct encoder *encoder_new(void);
void encoder_free(struct encoder *encoder);

/* A new image: chunks are numbered from 0 again. The block must be empty. */
void encoder_start_image(struct encoder *encoder);

/* Takes events until the block is full; returns how many, or ERR_INPUT for an event that breaks the
 * stream's contract, or ERR_MEMORY. */
i64 encoder_add(struct encoder *encoder, const struct event *events, u64 count, struct err *err);

u32 encoder_count(const struct encoder *encoder);
bool encoder_full(const struct encoder *encoder);

/* The block, whose parts are its head and the columns; starts a new one. NULL without memory. */
struct parcel *encoder_take(struct encoder *encoder);

#endif
