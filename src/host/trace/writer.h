/* SPDX-License-Identifier: MIT
 * Writes a trace file: a sink for the stream. Blocks are compressed and written by a thread of the
 * writer's own, so that no call here waits for the disk unless `queue_bytes` are waiting. */
#ifndef HOST_TRACE_WRITER_H
#define HOST_TRACE_WRITER_H

#include "host/trace/stream.h"

struct trace_writer;

struct trace_writer_options {
	u64 queue_bytes; /* raw bytes that may wait for the disk, 0 = 256 MiB */
	int level;       /* zstd level, 0 = 1 */
	/* the name is not the user's own: a file or link that is there is replaced, never written
	 * to */
	bool fresh;
};

/* Creates path, mode 0600, or truncates it. NULL and err on failure. */
struct trace_writer *trace_writer_open(const char *path, const struct trace_writer_options *options,
				       struct err *err);

/* The sink to feed. All calls from one thread. */
struct stream_sink trace_writer_sink(struct trace_writer *writer);

/* Events so far buffered become a block of their own, so that a killed monitor loses little. */
int trace_writer_flush(struct trace_writer *writer, struct err *err);

/* Whether all that was flushed is in the file (or will never be: trace_writer_failed), safe from
 * any thread. */
bool trace_writer_settled(struct trace_writer *writer);

/* Waits until it is. */
void trace_writer_settle(struct trace_writer *writer);

/* Bytes written to disk so far, safe from any thread. */
u64 trace_writer_bytes(const struct trace_writer *writer);

/* The first write error, or 0: errno of it (ENOSPC …), safe from any thread. After an error the
 * writer accepts and drops everything; what was written stays readable. */
int trace_writer_failed(const struct trace_writer *writer);

/* Writes the index and closes. Frees writer in any case. */
int trace_writer_close(struct trace_writer *writer, struct err *err);

#endif
