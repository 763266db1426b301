/* SPDX-License-Identifier: MIT
 * Appends blocks to a trace file so that it always ends at a whole block, and closes it with
 * index and trailer. The first error is kept; after it nothing is written any more. */
#ifndef HOST_TRACE_BLOCKFILE_H
#define HOST_TRACE_BLOCKFILE_H

#include "host/trace/blocklist.h"

struct block_file {
	int fd;
	u64 end;     /* where the next block goes; safe to read from any thread */
	int failure; /* errno of the first error, 0 = none; safe to read from any thread */
	struct block_packer *packer;
	struct block_list list;
};

/* Takes over fd, which stands at `end`, and a list of the blocks that are there. ERR_MEMORY
 * leaves fd to the caller. */
int block_file_init(struct block_file *file, int fd, u64 end, int level);

/* The header of an empty file. */
void block_file_start(struct block_file *file);

/* raw->number is filled in here. */
void block_file_append(struct block_file *file, struct raw_block *raw);

/* Index and trailer. */
void block_file_finish(struct block_file *file, bool closed);

/* Closes fd; returns the first error, that of close included. */
int block_file_release(struct block_file *file);

#endif
