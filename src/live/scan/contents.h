/* SPDX-License-Identifier: MIT
 * Which blocks have the same bytes. Each block is reduced to a hash under a key that is drawn for
 * this scan; key and hashes are gone when the scan is over, and what is told is only which blocks
 * are alike. */
#ifndef LIVE_SCAN_CONTENTS_H
#define LIVE_SCAN_CONTENTS_H

#include "host/trace/stream.h"
#include "live/scan/index.h"
#include "live/scan/memory.h"

struct scan_contents { /* all zero = none */
	u64 count;
	u64 *keys;                   /* of each block's size and bytes */
	struct stream_content *rows; /* of each block; groups from CONTENT_FIRST on come later */
};

/* Reads all blocks, as long as the memory's patience lasts. */
int scan_contents_read(struct scan_contents *self, struct scan_memory *memory,
		       const struct scan_index *index, struct err *err);

/* Finds what is alike and writes what is known of each block to its place: places[block]. Groups
 * are numbered in the order of places. False without memory. */
bool scan_contents_number(struct scan_contents *self, const u32 *places, struct stream_content *to);

void scan_contents_release(struct scan_contents *self);

#endif
