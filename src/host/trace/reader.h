/* SPDX-License-Identifier: MIT
 * Reads a trace file once, from front to back, into a sink; checks every block; goes on after a
 * damaged one when asked to. */
#ifndef HOST_TRACE_READER_H
#define HOST_TRACE_READER_H

#include "host/trace/stream.h"

struct trace_reader;

/* What is known without reading events, and what was wrong with the file. */
struct trace_info {
	u32 version;
	u64 file_bytes;
	u64 blocks;
	u64 images;
	u64 events;    /* by the block headers */
	u64 accesses;  /* rows of accesses, by the block headers */
	u64 routines;  /* rows of routines, by the block headers */
	u64 types;     /* rows of types, by the block headers */
	u64 graphs;    /* their blocks */
	bool complete; /* has its index: the run was closed properly */
	bool has_symbols;
	u64 damaged_blocks; /* filled by trace_read */
	u64 damaged_bytes;
	char damage[256];  /* first damage in words, with block number and offset */
	u64 lost_chunks;   /* frees told with NO_CHUNK because their allocation was damaged */
	u64 lost_accesses; /* rows whose chunk was damaged */
	u64 lost_types;    /* likewise */
	u64 lost_names;    /* contexts, threads … that were named but not told: see below */
};

struct trace_reader *trace_open(const char *path, struct err *err);
void trace_close(struct trace_reader *reader);
const struct trace_info *trace_info(const struct trace_reader *reader);
/* How many events an image has, by the block headers. */
u64 trace_image_events(const struct trace_reader *reader, u32 image);

enum { TRACE_ALL_IMAGES = -1, TRACE_LAST_IMAGE = -2 };

struct trace_read_options {
	int image;   /* number of the image in the file, or TRACE_ALL_IMAGES / TRACE_LAST_IMAGE */
	bool only;   /* sections that the sink does not take are not even checked */
	bool strict; /* stop at the first damaged block with an error; else skip and count it */
	/* Called now and then with the share that has been read, 0 to 1; false ends the reading,
	 * with ERR_SYSTEM. May be NULL. */
	bool (*progress)(void *self, double share);
	void *progress_self;
};

/* What is told is bounded: a sink that keeps it all needs at most about 512 MiB and 1,024 times the
 * size of the file; more is an ERR_INPUT, unless the environment says HEAPWISE_TRUST=1.
 *
 * Whatever the file holds, the sink is told a stream that keeps the contract of stream.h: what
 * names a lost context, thread or module gets context 0 or a placeholder (tid 0, path ""), a lost
 * image record becomes one with pid 0, chunks are renumbered without gaps, in events, classes and
 * accesses alike. An allocation whose address was lost with another block has address 0. Only
 * image_end may be missing, if the monitor died.
 *
 * A graph with a lost block is not told. Of one whose chunks were lost the rest is.
 *
 * A sink that takes types or graphs and neither events nor accesses is told the chunks as the file
 * numbers them: events need not be decoded for it. */
int trace_read(struct trace_reader *reader, const struct trace_read_options *options,
	       const struct stream_sink *sink, struct err *err);

/* A file that is still being written is read as it grows: all images, block by block. */
struct trace_follow;
struct trace_follow *trace_follow_begin(const char *path, const struct stream_sink *sink,
					struct err *err);
/* Reads the next block: 1 if it did, 0 if it has not come yet; negative if the file is damaged, or
 * the sink stops it. *events: how many were read is added. */
int trace_follow_read(struct trace_follow *self, u64 *events, struct err *err);
/* Whether all of the file was read. */
bool trace_follow_is_whole(const struct trace_follow *self);
void trace_follow_end(struct trace_follow *self);

#endif
