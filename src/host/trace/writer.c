/* SPDX-License-Identifier: MIT
 * The trace writer: a sink that fills blocks and hands them to the outbox. Runs on the monitor's
 * drain thread. Never touches the disk after opening, never gives up because of it: a failure is
 * latched and everything after it is dropped.
 *
 * Four blocks are filled at a time: facts, contexts, events, accesses. They leave together, in this
 * order, so that whatever an event names comes before it, and a chunk before its accesses. Facts
 * may thus overtake events of the same block; at the borders of an image, and before aggregates,
 * everything leaves first. Routines, the fifth, name threads only: they leave after facts whenever
 * their block is full. */
#include "host/trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/trace/accesses.h"
#include "host/trace/contexts.h"
#include "host/trace/encode.h"
#include "host/trace/facts.h"
#include "host/trace/graphs.h"
#include "host/trace/lock.h"
#include "host/trace/routines.h"

enum { FACTS_FULL = 256 << 10 };
#define QUEUE_BYTES (256ull << 20)

struct trace_writer {
	struct outbox *outbox;
	struct encoder *encoder;
	struct facts facts;
	struct contexts contexts;
	struct accesses accesses;
	struct routines *routines; /* NULL until there are any */
	struct types types;
	u32 image; /* that the blocks belong to, or HW_NO_IMAGE between images */
	u32 next_image;
	char *path;
};

/* Without a parcel there was no memory for it. */
static void send(struct trace_writer *writer, enum hw_block_type type, struct parcel *parcel)
{
	if (!parcel) {
		outbox_fail(writer->outbox, ENOMEM);
		return;
	}
	parcel->raw.type = (u16)type;
	parcel->raw.image = writer->image;
	outbox_put(writer->outbox, parcel);
}

static void send_facts(struct trace_writer *writer)
{
	if (writer->facts.items)
		send(writer, HW_BLOCK_FACTS, facts_take(&writer->facts));
}

static void send_contexts(struct trace_writer *writer)
{
	if (writer->contexts.columns.items)
		send(writer, HW_BLOCK_CONTEXTS, contexts_take(&writer->contexts));
}

static void send_routines(struct trace_writer *writer)
{
	if (writer->routines && routines_count(writer->routines))
		send(writer, HW_BLOCK_ROUTINES, routines_take(writer->routines));
}

static void send_all(struct trace_writer *writer)
{
	send_facts(writer);
	send_contexts(writer);
	if (encoder_count(writer->encoder))
		send(writer, HW_BLOCK_EVENTS, encoder_take(writer->encoder));
	if (writer->accesses.columns.items)
		send(writer, HW_BLOCK_ACCESSES, accesses_take(&writer->accesses));
	if (writer->types.columns.items)
		send(writer, HW_BLOCK_TYPES, types_take(&writer->types));
	send_routines(writer);
}

static bool failed(const struct trace_writer *writer) { return outbox_failed(writer->outbox) != 0; }

static int fact_added(struct trace_writer *writer)
{
	if (writer->facts.payload.count >= FACTS_FULL)
		send_facts(writer);
	return 0;
}

static int write_fact(struct trace_writer *writer, enum hw_fact tag, const void *fact)
{
	if (failed(writer))
		return 0;
	facts_add(&writer->facts, tag, fact);
	return fact_added(writer);
}

static int write_image(void *self, const struct stream_image *image, struct err *err)
{
	struct trace_writer *writer = self;

	(void)err;
	if (failed(writer))
		return 0;
	send_all(writer);
	writer->image = writer->next_image++;
	encoder_start_image(writer->encoder);
	return write_fact(writer, HW_FACT_IMAGE, image);
}

static int write_module(void *self, const struct stream_module *module, struct err *err)
{
	(void)err;
	return write_fact(self, HW_FACT_MODULE, module);
}

static int write_thread(void *self, const struct stream_thread *thread, struct err *err)
{
	(void)err;
	return write_fact(self, HW_FACT_THREAD, thread);
}

static int write_contexts(void *self, const struct stream_context *contexts, u64 count,
			  struct err *err)
{
	struct trace_writer *writer = self;

	(void)err;
	if (failed(writer))
		return 0;
	for (u64 i = 0; i < count; i++) {
		contexts_add(&writer->contexts, &contexts[i]);
		if (writer->contexts.columns.items < HW_BLOCK_CONTEXTS_MAX)
			continue;
		send_facts(writer); /* the image itself may still be among them */
		send_contexts(writer);
	}
	return 0;
}

static int write_events(void *self, const struct event *events, u64 count, struct err *err)
{
	struct trace_writer *writer = self;

	while (count && !failed(writer)) {
		i64 taken = encoder_add(writer->encoder, events, count, err);

		if (taken == ERR_MEMORY)
			outbox_fail(writer->outbox, ENOMEM);
		else if (taken < 0)
			return (int)taken;
		else if (encoder_full(writer->encoder))
			send_all(writer);
		if (taken < 0)
			break;
		events += taken;
		count -= (u64)taken;
	}
	return 0;
}

static int write_clock(void *self, const struct stream_clock *clock, struct err *err)
{
	(void)err;
	return write_fact(self, HW_FACT_CLOCK, clock);
}

static int write_usage(void *self, const struct stream_usage *usage, struct err *err)
{
	(void)err;
	return write_fact(self, HW_FACT_USAGE, usage);
}

static int write_memory(void *self, const struct stream_memory *memory, struct err *err)
{
	(void)err;
	return write_fact(self, HW_FACT_MEMORY, memory);
}

static int write_aggregates(void *self, const struct stream_aggregate *rows, u64 count,
			    struct err *err)
{
	struct trace_writer *writer = self;

	(void)err;
	if (failed(writer))
		return 0;
	send_all(writer);
	while (count) {
		u64 some = count < AGGREGATE_ROWS ? count : AGGREGATE_ROWS;

		facts_add_aggregates(&writer->facts, rows, some);
		fact_added(writer);
		rows += some;
		count -= some;
	}
	return 0;
}

static int write_scan(void *self, const struct stream_scan *scan,
		      const struct stream_class *classes, u64 count, struct err *err)
{
	struct trace_writer *writer = self;
	struct scan_piece piece = {.rows = classes, .total = count};

	(void)err;
	if (failed(writer))
		return 0;
	send_all(writer);
	do {
		u64 left = count - piece.first;

		piece.rows = classes + piece.first;
		piece.count = left < SCAN_ROWS ? left : SCAN_ROWS;
		facts_add_scan(&writer->facts, scan, &piece);
		fact_added(writer);
		piece.first += piece.count;
	} while (piece.first < count);
	return 0;
}

static int write_graph(void *self, const struct stream_graph *graph, struct err *err)
{
	struct trace_writer *writer = self;
	struct graph_place place = {0};
	u64 next = 0, row = 0;

	(void)err;
	if (failed(writer))
		return 0;
	send_all(writer);
	while (graph->contents && (next < graph->chunk_count || !row) && !failed(writer))
		send(writer, HW_BLOCK_CONTENTS, contents_take(graph, &next, &row));
	next = row = 0;
	while (graph->numbers && (next < graph->number_count || !row) && !failed(writer))
		send(writer, HW_BLOCK_NUMBERS, numbers_take(graph, &next, &row));
	do
		send(writer, HW_BLOCK_GRAPH, graph_take(graph, &place));
	while (!graph_is_written(graph, &place) && !failed(writer));
	return 0;
}

static int write_accesses(void *self, const struct stream_access *rows, u64 count, struct err *err)
{
	struct trace_writer *writer = self;

	(void)err;
	for (u64 i = 0; i < count && !failed(writer); i++) {
		accesses_add(&writer->accesses, &rows[i]);
		if (accesses_full(&writer->accesses))
			send_all(writer);
	}
	return 0;
}

static int write_routines(void *self, const struct stream_routine *rows, u64 count, struct err *err)
{
	struct trace_writer *writer = self;

	(void)err;
	if (!writer->routines && !failed(writer))
		writer->routines = routines_new();
	if (!writer->routines)
		outbox_fail(writer->outbox, ENOMEM);
	while (count && !failed(writer)) {
		u64 taken = routines_add(writer->routines, rows, count);

		if (routines_count(writer->routines) == HW_BLOCK_ROUTINES_MAX) {
			send_facts(writer); /* the image and the threads may be among them */
			send_routines(writer);
		}
		rows += taken;
		count -= taken;
	}
	return 0;
}

static int write_types(void *self, const struct stream_type *rows, u64 count, struct err *err)
{
	struct trace_writer *writer = self;

	(void)err;
	for (u64 i = 0; i < count && !failed(writer); i++) {
		types_add(&writer->types, &rows[i]);
		if (writer->types.columns.items == HW_BLOCK_TYPES_MAX)
			send_all(writer);
	}
	return 0;
}

static int write_image_end(void *self, const struct stream_image_end *end, struct err *err)
{
	struct trace_writer *writer = self;

	(void)err;
	if (failed(writer))
		return 0;
	send_all(writer);
	facts_add(&writer->facts, HW_FACT_IMAGE_END, end);
	send_facts(writer);
	writer->image = HW_NO_IMAGE;
	return 0;
}

static int write_name(void *self, const struct stream_name *name, struct err *err)
{
	(void)err;
	return write_fact(self, HW_FACT_NAME, name);
}

static int write_note(void *self, const char *key, const char *value, struct err *err)
{
	struct trace_writer *writer = self;

	(void)err;
	if (failed(writer))
		return 0;
	facts_add_note(&writer->facts, key, value);
	return fact_added(writer);
}

struct stream_sink trace_writer_sink(struct trace_writer *writer)
{
	return (struct stream_sink){
		.self = writer,
		.image = write_image,
		.module = write_module,
		.thread = write_thread,
		.contexts = write_contexts,
		.events = write_events,
		.clock = write_clock,
		.usage = write_usage,
		.memory = write_memory,
		.aggregates = write_aggregates,
		.scan = write_scan,
		.graph = write_graph,
		.accesses = write_accesses,
		.routines = write_routines,
		.types = write_types,
		.image_end = write_image_end,
		.note = write_note,
		.name = write_name,
	};
}

static void writer_free(struct trace_writer *writer)
{
	encoder_free(writer->encoder);
	facts_release(&writer->facts);
	columns_release(&writer->contexts.columns);
	columns_release(&writer->accesses.columns);
	routines_free(writer->routines);
	columns_release(&writer->types.columns);
	free(writer->path);
	free(writer);
}

/* A file that is there keeps its owner and mode. One by a name that others can guess, too, is none
 * of ours. It is emptied when nobody else writes it: EBUSY. */
static int trace_create(const char *path, bool fresh)
{
	int fd;

	if (fresh)
		unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | (fresh ? O_EXCL : 0), 0600);
	if (fd >= 0 && trace_lock(fd, 0) != 0) {
		close(fd);
		errno = EBUSY;
		return -1;
	}
	if (fd >= 0 && ftruncate(fd, 0) != 0 && errno != EINVAL) { /* EINVAL: it is no file */
		int failure = errno;

		close(fd);
		errno = failure;
		return -1;
	}
	return fd;
}

static void cannot_create(const char *path, struct err *err)
{
	/* That no more files may be open is not for the user who named this one to mend. */
	bool full = errno == EMFILE || errno == ENFILE || errno == ENOMEM;

	if (errno == EBUSY)
		err_set(err, ERR_INPUT,
			"cannot write %s: another recording is writing to it; choose another file",
			path);
	else
		err_set(err, full ? ERR_SYSTEM : ERR_INPUT, "cannot create %s: %s", path,
			strerror(errno));
}

struct trace_writer *trace_writer_open(const char *path, const struct trace_writer_options *options,
				       struct err *err)
{
	struct outbox_options outbox = {.queue_bytes = QUEUE_BYTES, .level = 1};
	struct trace_writer *writer = calloc(1, sizeof(*writer));
	int fd = -1;

	if (options && options->queue_bytes)
		outbox.queue_bytes = options->queue_bytes;
	if (options && options->level)
		outbox.level = options->level;
	if (!writer || !(writer->path = strdup(path)) || !(writer->encoder = encoder_new())) {
		err_memory(err);
		goto fail;
	}
	writer->image = HW_NO_IMAGE;
	fd = trace_create(path, options && options->fresh);
	if (fd < 0) {
		cannot_create(path, err);
		goto fail;
	}
	writer->outbox = outbox_open(fd, &outbox, err);
	if (!writer->outbox)
		goto fail;
	return writer;
fail:
	if (fd >= 0) {
		struct stat status;

		if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
			unlink(path); /* it is empty */
		close(fd);
	}
	if (writer)
		writer_free(writer);
	return NULL;
}

int trace_writer_flush(struct trace_writer *writer, struct err *err)
{
	(void)err; /* a failure shows in trace_writer_failed: it may come later than this call */
	if (!failed(writer))
		send_all(writer);
	return 0;
}

bool trace_writer_settled(struct trace_writer *writer) { return outbox_settled(writer->outbox); }

void trace_writer_settle(struct trace_writer *writer) { outbox_settle(writer->outbox); }

u64 trace_writer_bytes(const struct trace_writer *writer) { return outbox_bytes(writer->outbox); }

int trace_writer_failed(const struct trace_writer *writer) { return outbox_failed(writer->outbox); }

int trace_writer_close(struct trace_writer *writer, struct err *err)
{
	int failure, status = 0;

	trace_writer_flush(writer, err);
	failure = outbox_close(writer->outbox);
	if (failure)
		status = err_set(err, ERR_SYSTEM, "cannot write %s: %s", writer->path,
				 strerror(failure));
	writer_free(writer);
	return status;
}
