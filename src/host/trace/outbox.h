/* SPDX-License-Identifier: MIT
 * A queue of raw blocks and the thread that compresses them and writes them to the file, so that
 * who puts a block in does not wait for the disk, unless too many bytes are waiting. */
#ifndef HOST_TRACE_OUTBOX_H
#define HOST_TRACE_OUTBOX_H

#include "host/trace/block.h"

enum { PARCEL_PARTS = 12 };

/* A raw block on its way. */
struct parcel {
	struct parcel *next;
	struct raw_block raw; /* payload and part_bytes point into this parcel */
	u32 part_bytes[PARCEL_PARTS];
	u8 payload[];
};

struct parcel *parcel_new(u64 payload_bytes);

struct outbox;

struct outbox_options {
	u64 queue_bytes;
	int level;
};

/* Writes to fd, an empty file at its start, which belongs to the outbox then. */
struct outbox *outbox_open(int fd, const struct outbox_options *options, struct err *err);

/* Takes the parcel. May wait while more than queue_bytes are in the queue. */
void outbox_put(struct outbox *outbox, struct parcel *parcel);

/* A failure that happened before the file: nothing more is written. */
void outbox_fail(struct outbox *outbox, int failure);

/* Whether nothing waits to be written, safe from any thread. */
bool outbox_settled(struct outbox *outbox);

/* Waits until nothing does. */
void outbox_settle(struct outbox *outbox);

u64 outbox_bytes(const struct outbox *outbox);
int outbox_failed(const struct outbox *outbox);

/* Waits for the queue, writes index and trailer, closes. Returns 0 or the first errno. */
int outbox_close(struct outbox *outbox);

#endif
