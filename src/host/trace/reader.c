/* SPDX-License-Identifier: MIT
 * Opens a trace and reads it into a sink. Runs on the host. Never trusts the file: every block is
 * checked before it is decoded, and what is decoded goes through the guard. */
#include "host/trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/trace/accesses.h"
#include "host/trace/blocklist.h"
#include "host/trace/contexts.h"
#include "host/trace/decode.h"
#include "host/trace/facts.h"
#include "host/trace/graphs.h"
#include "host/trace/guard.h"
#include "host/trace/readerfile.h"
#include "host/trace/routines.h"

enum { EVENT_BATCH = 4096 }; /* 192 KiB of events: decoded and used while in the cache */

/*
 * A file of strangers may have blocks that hardly take any room and unpack to gigabytes. A recorded
 * loop of malloc and free, with a quarter of a byte for an event, is estimated at 256 times its
 * size; times that a program made up may pack better.
 */
enum { MEMORY_ANY = 512 << 20, MEMORY_TIMES = 1024 };

struct trace_reader {
	int fd;
	char *path;
	bool header_damaged;
	struct block_loader *loader;
	struct block_list list;
	struct trace_info info;
	u64 memory_max; /* of what is made of its blocks, estimated */
};

/* What one trace_read needs. */
struct reading {
	struct trace_reader *reader;
	const struct trace_read_options *options;
	struct decoder *decoder;
	struct guard *guard;
	struct scan_gather gather;
	struct graph_gather graph;
	u32 decoder_image;
	struct routine_reader *routines;
	bool wants_contexts, wants_events, wants_accesses, wants_types, wants_graphs;
	u64 memory; /* of what was told so far, estimated */
	struct event events[EVENT_BATCH];
};

static int check_header(struct trace_reader *reader, struct err *err)
{
	struct hw_trace_header header;
	u64 got;
	int failure = block_loader_read(reader->loader, &header, sizeof(header), 0, &got);

	if (failure)
		return err_set(err, ERR_INPUT, "cannot read %s: %s", reader->path,
			       strerror(failure));
	if (got < sizeof(header) || header.magic != HW_TRACE_MAGIC)
		return err_set(err, ERR_INPUT, "%s is not a Heapwise trace", reader->path);
	reader->header_damaged = !file_header_intact(&header) || header.version == 0;
	reader->info.version = reader->header_damaged ? HW_TRACE_VERSION : header.version;
	if (reader->info.version > HW_TRACE_VERSION)
		return err_set(err, ERR_INPUT,
			       "%s: trace version %u is too new; this heapwise reads versions up "
			       "to %u; use a newer heapwise",
			       reader->path, header.version, HW_TRACE_VERSION);
	return 0;
}

static bool is_trusted(void)
{
	const char *trust = getenv("HEAPWISE_TRUST");

	return trust && strcmp(trust, "1") == 0;
}

static int open_file(struct trace_reader *reader, struct err *err)
{
	struct stat st;

	reader->fd = open(reader->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (reader->fd < 0 || fstat(reader->fd, &st))
		return err_set(err, ERR_INPUT, "cannot open %s: %s", reader->path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INPUT, "%s is not a regular file", reader->path);
	reader->info.file_bytes = (u64)st.st_size;
	reader->memory_max =
		is_trusted() ? UINT64_MAX : MEMORY_ANY + MEMORY_TIMES * reader->info.file_bytes;
	return 0;
}

static void summarize(struct trace_reader *reader)
{
	struct trace_info *info = &reader->info;

	for (u64 i = 0; i < reader->list.entries.count; i++) {
		const struct block_entry *entry = &reader->list.entries.data[i];

		if (!entry->type)
			continue;
		info->blocks++;
		if (entry->type == HW_BLOCK_EVENTS)
			info->events += entry->items;
		if (entry->type == HW_BLOCK_ACCESSES)
			info->accesses += entry->items;
		if (entry->type == HW_BLOCK_ROUTINES)
			info->routines += entry->items;
		if (entry->type == HW_BLOCK_TYPES)
			info->types += entry->items;
		info->graphs += entry->type == HW_BLOCK_GRAPH;
		if (entry->type == HW_BLOCK_SYMBOLS)
			info->has_symbols = true;
		if (entry->image != HW_NO_IMAGE && entry->image >= info->images)
			info->images = (u64)entry->image + 1;
	}
	info->complete = reader->list.closed;
}

struct trace_reader *trace_open(const char *path, struct err *err)
{
	struct trace_reader *reader = calloc(1, sizeof(*reader));
	struct block_range range = {.start = sizeof(struct hw_trace_header)};

	if (!reader)
		goto no_memory;
	reader->fd = -1;
	reader->path = strdup(path);
	if (!reader->path)
		goto no_memory;
	if (open_file(reader, err) < 0)
		goto fail;
	reader->loader = block_loader_new(reader->fd);
	if (!reader->loader)
		goto no_memory;
	if (check_header(reader, err) < 0)
		goto fail;
	range.end = reader->info.file_bytes;
	if (block_list_load(&reader->list, reader->loader, range, err) < 0) {
		err_prefix(err, "%s", path);
		goto fail;
	}
	summarize(reader);
	return reader;
no_memory:
	err_memory(err);
fail:
	trace_close(reader);
	return NULL;
}

void trace_close(struct trace_reader *reader)
{
	if (!reader)
		return;
	block_list_release(&reader->list);
	block_loader_free(reader->loader);
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader->path);
	free(reader);
}

const struct trace_info *trace_info(const struct trace_reader *reader) { return &reader->info; }

u64 trace_image_events(const struct trace_reader *reader, u32 image)
{
	u64 events = 0;

	for (u64 i = 0; i < reader->list.entries.count; i++) {
		const struct block_entry *entry = &reader->list.entries.data[i];

		if (entry->type == HW_BLOCK_EVENTS && entry->image == image)
			events += entry->items;
	}
	return events;
}

struct block_list *reader_list(struct trace_reader *reader) { return &reader->list; }

/* What a reader keeps of a block: columns become rows of structs, others are lists of short numbers
 * and texts. */
static u64 memory_of(const struct hw_block_header *header)
{
	switch (header->type) {
	case HW_BLOCK_EVENTS:
	case HW_BLOCK_ROUTINES:
	case HW_BLOCK_ACCESSES: return 64 * (u64)header->items + header->raw_bytes;
	case HW_BLOCK_TYPES: return 16 * (u64)header->items + header->raw_bytes;
	case HW_BLOCK_CONTEXTS: return 128 * (u64)header->items + header->raw_bytes;
	default: return 16 * (u64)header->raw_bytes;
	}
}

/* Counts a block before it is unpacked. */
static int take_memory(const struct trace_reader *reader, u64 *memory,
		       const struct hw_block_header *header, struct err *err)
{
	*memory += memory_of(header);
	if (*memory <= reader->memory_max)
		return 0;
	return err_set(err, ERR_INPUT,
		       "%s has %llu bytes, but its contents need more than %llu MiB of memory; set "
		       "HEAPWISE_TRUST=1 if you trust the file",
		       reader->path, (unsigned long long)reader->info.file_bytes,
		       (unsigned long long)(reader->memory_max >> 20));
}

int trace_blocks(const char *path, u32 type, bool (*use)(void *data, const struct block *block),
		 void *data, struct err *err)
{
	struct trace_reader *reader = trace_open(path, err);
	u64 memory = 0;
	int status = reader ? 0 : ERR_INPUT;

	for (u64 i = 0; status == 0 && i < reader->list.entries.count; i++) {
		const struct block_entry *entry = &reader->list.entries.data[i];
		struct hw_block_header header;
		struct block block;

		if (entry->type != type ||
		    block_load_header(reader->loader, entry->offset, &header) != BLOCK_OK ||
		    header.type != type)
			continue;
		block = (struct block){.bytes = header.raw_bytes, .items = header.items};
		status = take_memory(reader, &memory, &header, err);
		if (status == 0 &&
		    block_load(reader->loader, entry->offset, &header, &block.payload) ==
			    BLOCK_OK &&
		    !use(data, &block))
			status = err_memory(err);
	}
	trace_close(reader);
	return status;
}

/* Counts a damage; in a strict reading it is the end: then a negative code. */
static int note_damage(struct reading *r, const char *what, u64 bytes, struct err *err)
{
	struct trace_info *info = &r->reader->info;

	info->damaged_blocks++;
	info->damaged_bytes += bytes;
	if (!info->damage[0])
		snprintf(info->damage, sizeof(info->damage), "%s", what);
	if (r->options->strict)
		return err_set(err, ERR_INPUT, "%s: %s", r->reader->path, what);
	return 0;
}

static int damaged_block(struct reading *r, u64 index, enum block_status status, struct err *err)
{
	const struct block_entry *entry = &r->reader->list.entries.data[index];
	char what[128];

	snprintf(what, sizeof(what), "section %llu at offset %llu %s", (unsigned long long)index,
		 (unsigned long long)entry->offset, block_status_text(status));
	if (status == BLOCK_MEMORY)
		return err_set(err, ERR_MEMORY, "%s: %s", r->reader->path, what);
	return note_damage(r, what, entry->bytes, err);
}

static void graph_forget(struct reading *r)
{
	graph_gather_release(&r->graph);
	graph_rows_release(&r->graph);
}

/* From here on chunks are those of the image. */
static void enter_chunks(struct reading *r, u32 image)
{
	if (image != r->decoder_image) {
		decoder_start_image(r->decoder);
		graph_forget(r);
	}
	r->decoder_image = image;
}

/* As facts_tell: 0, a negative code, or a positive block_status. */
static int read_events(struct reading *r, const struct block *block, struct err *err)
{
	enum block_status status = decoder_start_block(r->decoder, block);
	u64 got;

	while (status == BLOCK_OK) {
		int told;

		status = decoder_next(r->decoder, r->events, EVENT_BATCH, &got);
		told = got ? guard_events(r->guard, r->events, got, err) : 0;
		if (told < 0)
			return told;
		if (got == 0)
			break;
	}
	return (int)status;
}

static int read_payload(struct reading *r, const struct hw_block_header *header, const u8 *payload,
			struct err *err)
{
	const struct block block = {payload, header->raw_bytes, header->items};
	struct trace_info *info = &r->reader->info;

	if (header->image != HW_NO_IMAGE && !guard_enter(r->guard, header->image))
		return BLOCK_CONTENT;
	if (header->type == HW_BLOCK_FACTS)
		return facts_tell(r->guard, &block, &r->gather, err);
	if (header->type == HW_BLOCK_CONTEXTS)
		return contexts_tell(r->guard, &block, err);
	if (header->image == HW_NO_IMAGE)
		return BLOCK_CONTENT;
	if (header->type == HW_BLOCK_ROUTINES)
		return routines_tell(r->routines, &block, r->guard, err);
	enter_chunks(r, header->image);
	if (header->type == HW_BLOCK_ACCESSES)
		return accesses_tell(&(struct chunk_reading){r->decoder, r->guard,
							     &info->lost_accesses},
				     &block, err);
	if (header->type == HW_BLOCK_TYPES)
		return types_tell(&(struct chunk_reading){r->wants_events ? r->decoder : NULL,
							  r->guard, &info->lost_types},
				  &block, err);
	if (header->type == HW_BLOCK_CONTENTS)
		return contents_gather(&r->graph, &block, err);
	if (header->type == HW_BLOCK_NUMBERS)
		return numbers_gather(&r->graph, &block, err);
	if (header->type == HW_BLOCK_GRAPH)
		return graph_tell(&r->graph, &block, err);
	return read_events(r, &block, err);
}

static bool header_fits(const struct hw_block_header *header, const struct block_entry *entry)
{
	return header->type == entry->type && header->image == entry->image &&
	       header->items == entry->items &&
	       header->stored_bytes + (u64)sizeof(*header) == entry->bytes;
}

/* Events that nobody listens to are not even unpacked. */
static bool is_told(const struct reading *r, u32 type)
{
	return type == HW_BLOCK_FACTS ||
	       (type == HW_BLOCK_CONTEXTS && (r->wants_contexts || !r->options->only)) ||
	       (type == HW_BLOCK_EVENTS && r->wants_events) ||
	       (type == HW_BLOCK_ACCESSES && r->wants_accesses) ||
	       (type == HW_BLOCK_TYPES && r->wants_types) ||
	       ((type == HW_BLOCK_GRAPH || type == HW_BLOCK_CONTENTS || type == HW_BLOCK_NUMBERS) &&
		r->wants_graphs) ||
	       (type == HW_BLOCK_ROUTINES && r->routines);
}

static int read_block(struct reading *r, u64 index, struct err *err)
{
	const struct block_entry *entry = &r->reader->list.entries.data[index];
	struct block_loader *loader = r->reader->loader;
	struct hw_block_header header;
	const u8 *payload;
	int status;

	if (!entry->type)
		return damaged_block(r, index, entry->status, err);
	if (r->options->only && !is_told(r, entry->type))
		return 0;
	status = (int)block_load_header(loader, entry->offset, &header);
	if (status == BLOCK_OK && !header_fits(&header, entry))
		status = BLOCK_HEADER;
	if (status == BLOCK_OK) {
		bool told = is_told(r, entry->type);

		if (told && take_memory(r->reader, &r->memory, &header, err) < 0)
			return ERR_INPUT;
		status = told ? (int)block_load(loader, entry->offset, &header, &payload)
			      : (int)block_verify(loader, entry->offset, &header);
		if (status == BLOCK_OK && told)
			status = read_payload(r, &header, payload, err);
	}
	return status > 0 ? damaged_block(r, index, (enum block_status)status, err) : status;
}

static bool wanted(const struct reading *r, const struct block_entry *entry)
{
	u64 image = (u64)r->options->image;

	if (entry->image == HW_NO_IMAGE || r->options->image == TRACE_ALL_IMAGES)
		return true;
	if (r->options->image == TRACE_LAST_IMAGE)
		image = r->reader->info.images - 1;
	return entry->image == image;
}

static int read_all(struct reading *r, struct err *err)
{
	const struct trace_read_options *options = r->options;
	struct trace_reader *reader = r->reader;
	int status = 0;

	if (reader->header_damaged)
		status = note_damage(r, "the file header is damaged (checksum)",
				     sizeof(struct hw_trace_header), err);
	for (u64 i = 0; i < reader->list.entries.count && status >= 0; i++) {
		const struct block_entry *entry = &reader->list.entries.data[i];

		if (!wanted(r, entry))
			continue;
		status = read_block(r, i, err);
		if (status >= 0 && options->progress &&
		    !options->progress(options->progress_self,
				       (double)(entry->offset + entry->bytes) /
					       (double)reader->info.file_bytes))
			status = err_set(err, ERR_SYSTEM, "%s was not read to its end",
					 reader->path);
	}
	return status;
}

static int check_image(const struct trace_reader *reader, int image, struct err *err)
{
	if (image < TRACE_LAST_IMAGE || (image >= 0 && (u64)image >= reader->info.images))
		return err_set(err, ERR_INPUT, "%s has no image %d; number of images: %llu",
			       reader->path, image, (unsigned long long)reader->info.images);
	return 0;
}

static void reading_free(struct reading *r)
{
	scan_gather_release(&r->gather);
	graph_forget(r);
	decoder_free(r->decoder);
	routine_reader_free(r->routines);
	guard_free(r->guard);
	free(r);
}

static struct reading *reading_new(struct trace_reader *reader,
				   const struct trace_read_options *options,
				   const struct stream_sink *sink)
{
	struct reading *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->reader = reader;
	r->options = options;
	r->decoder_image = HW_NO_IMAGE;
	r->wants_contexts = sink->contexts;
	r->wants_accesses = sink->accesses;
	r->wants_types = sink->types;
	r->wants_graphs = sink->graph;
	r->wants_events = sink->events || r->wants_accesses; /* which number the chunks */
	r->decoder = decoder_new();
	r->guard = guard_new(sink);
	if (sink->routines)
		r->routines = routine_reader_new();
	r->gather.decoder = r->decoder;
	r->graph.decoder = r->wants_events ? r->decoder : NULL;
	r->graph.guard = r->guard;
	if (r->decoder && r->guard && (r->routines || !sink->routines))
		return r;
	reading_free(r);
	return NULL;
}

int trace_read(struct trace_reader *reader, const struct trace_read_options *options,
	       const struct stream_sink *sink, struct err *err)
{
	struct trace_info *info = &reader->info;
	struct reading *r;
	int status = check_image(reader, options->image, err);

	if (status < 0)
		return status;
	info->damaged_blocks = info->damaged_bytes = info->lost_chunks = info->lost_names = 0;
	info->lost_accesses = info->lost_types = 0;
	info->damage[0] = '\0';
	r = reading_new(reader, options, sink);
	if (!r)
		return err_memory(err);
	status = read_all(r, err);
	info->lost_chunks = decoder_lost_chunks(r->decoder);
	info->lost_names = guard_lost_names(r->guard);
	reading_free(r);
	return status < 0 ? status : 0;
}

/* ---- a file that grows ---- */

struct trace_follow {
	struct trace_reader reader;
	struct trace_read_options options;
	struct reading *reading;
	u64 offset, end; /* of the next block, and of the file when it was looked for */
};

struct trace_follow *trace_follow_begin(const char *path, const struct stream_sink *sink,
					struct err *err)
{
	struct trace_follow *self = calloc(1, sizeof(*self));

	if (!self)
		goto no_memory;
	self->reader.fd = -1;
	self->reader.path = strdup(path);
	if (!self->reader.path)
		goto no_memory;
	if (open_file(&self->reader, err) < 0)
		goto fail;
	self->reader.memory_max = UINT64_MAX; /* we write it ourselves */
	self->options = (struct trace_read_options){.image = TRACE_ALL_IMAGES, .strict = true};
	self->reader.loader = block_loader_new(self->reader.fd);
	self->reading = reading_new(&self->reader, &self->options, sink);
	if (self->reader.loader && self->reading)
		return self;
no_memory:
	err_memory(err);
fail:
	trace_follow_end(self);
	return NULL;
}

void trace_follow_end(struct trace_follow *self)
{
	if (!self)
		return;
	if (self->reading)
		reading_free(self->reading);
	block_loader_free(self->reader.loader);
	if (self->reader.fd >= 0)
		close(self->reader.fd);
	free(self->reader.path);
	free(self);
}

static int follow_block(struct trace_follow *self, const struct hw_block_header *header,
			struct err *err)
{
	struct reading *r = self->reading;
	const u8 *payload;
	int status;

	if (!is_told(r, header->type))
		return 0;
	status = (int)block_load(self->reader.loader, self->offset, header, &payload);
	if (status == BLOCK_OK)
		status = read_payload(r, header, payload, err);
	return status > 0 ? note_damage(r, block_status_text((enum block_status)status), 0, err)
			  : status;
}

int trace_follow_read(struct trace_follow *self, u64 *events, struct err *err)
{
	struct hw_block_header header;
	struct stat file;
	int status;

	if (fstat(self->reader.fd, &file) != 0 || (u64)file.st_size < self->offset)
		return err_set(err, ERR_SYSTEM, "cannot read %s any more", self->reader.path);
	self->end = (u64)file.st_size;
	if (!self->offset && self->end >= sizeof(struct hw_trace_header)) {
		if (check_header(&self->reader, err) < 0)
			return err->code;
		self->offset = sizeof(struct hw_trace_header);
	}
	if (!self->offset ||
	    block_load_header(self->reader.loader, self->offset, &header) != BLOCK_OK ||
	    header.stored_bytes + sizeof(header) > self->end - self->offset)
		return 0;
	status = follow_block(self, &header, err);
	self->offset += sizeof(header) + header.stored_bytes;
	*events += header.type == HW_BLOCK_EVENTS ? header.items : 0;
	return status < 0 ? status : 1;
}

bool trace_follow_is_whole(const struct trace_follow *self)
{
	return self->offset && self->offset == self->end;
}
