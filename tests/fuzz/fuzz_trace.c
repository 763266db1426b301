/* SPDX-License-Identifier: MIT
 * Fuzz entry of the trace reader: the input is a file, or (first byte odd) the payload of a block
 * of which the checksums are made right here, so that mutations reach the decoders behind them.
 * */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/base/bytemap.h"
#include "host/base/io.h"
#include "host/trace/blockfile.h"
#include "host/trace/reader.h"
#include "host/trace/symtab.h"
#include "host/trace/debugtypes.h"
#include "host/trace/typenames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Uses what the reader promises: ids that were told, chunks that count up. */
struct witness {
	u64 chunks, threads;
	u32 told[1 << 12]; /* contexts, as far as they are small */
	bool image;
};

static void must(bool held)
{
	if (!held)
		abort();
}

static int see_image(void *self, const struct stream_image *image, struct err *err)
{
	struct witness *w = self;

	(void)err;
	memset(w, 0, sizeof(*w));
	w->image = true;
	must(strlen(image->program) + strlen(image->command) < 1 << 25);
	return 0;
}

static int see_thread(void *self, const struct stream_thread *thread, struct err *err)
{
	struct witness *w = self;

	(void)err;
	must(w->image && thread->index == w->threads++);
	return 0;
}

static int see_contexts(void *self, const struct stream_context *contexts, u64 count,
			struct err *err)
{
	struct witness *w = self;

	(void)err;
	for (u64 i = 0; i < count; i++) {
		must(w->image && contexts[i].id != 0);
		if (contexts[i].parent && contexts[i].parent < 1 << 12)
			must(w->told[contexts[i].parent]);
		if (contexts[i].id < 1 << 12)
			must(!w->told[contexts[i].id]++);
	}
	return 0;
}

static int see_events(void *self, const struct event *events, u64 count, struct err *err)
{
	struct witness *w = self;

	(void)err;
	for (u64 i = 0; i < count; i++) {
		const struct event *e = &events[i];

		must(w->image && e->thread < w->threads && e->kind < HW_KIND_COUNT);
		if (e->context && e->context < 1 << 12)
			must(w->told[e->context]);
		if (hw_kind_allocates(e->kind))
			must(e->chunk == w->chunks++);
		else if (e->chunk != NO_CHUNK)
			must(e->chunk < w->chunks);
	}
	return 0;
}

static int see_accesses(void *self, const struct stream_access *rows, u64 count, struct err *err)
{
	struct witness *w = self;

	(void)err;
	for (u64 i = 0; i < count; i++) {
		must(w->image && rows[i].chunk < w->chunks &&
		     (!rows[i].map ||
		      bytemap_count(rows[i].map, HW_MAP_BYTES) == rows[i].covered_bytes));
		for (u32 side = 0; side < HW_SIDES; side++)
			must(rows[i].side_bytes[side] <= rows[i].covered_bytes &&
			     (!rows[i].side_maps[side] ||
			      (rows[i].sided && bytemap_count(rows[i].side_maps[side], HW_MAP_BYTES) ==
							rows[i].side_bytes[side])));
	}
	return 0;
}

static int see_routines(void *self, const struct stream_routine *rows, u64 count, struct err *err)
{
	struct witness *w = self;

	(void)err;
	for (u64 i = 0; i < count; i++)
		must(w->image && rows[i].thread < w->threads && rows[i].step < ROUTINE_STEPS);
	return 0;
}

static int see_types(void *self, const struct stream_type *rows, u64 count, struct err *err)
{
	struct witness *w = self;

	(void)err;
	for (u64 i = 0; i < count; i++)
		must(w->image && rows[i].chunk != NO_CHUNK && rows[i].source < 16);
	return 0;
}

static int see_graph(void *self, const struct stream_graph *graph, struct err *err)
{
	struct witness *w = self;
	u64 nodes = graph->chunk_count + graph->root_count, sum = 0;

	(void)err;
	must(w->image && graph->starts[0] == 0);
	for (u64 i = 0; i < graph->chunk_count; i++)
		must(graph->chunks[i] < w->chunks && (!i || graph->chunks[i - 1] < graph->chunks[i]));
	for (u64 i = 0; i < graph->root_count; i++)
		must(graph->roots[i].kind < ROOT_KINDS && strlen(graph->roots[i].name) < 1 << 25);
	for (u64 i = 0; i < nodes; i++) {
		must(graph->starts[i] <= graph->starts[i + 1]);
		for (u64 k = graph->starts[i]; k < graph->starts[i + 1]; k++)
			must(graph->edges[k].target < graph->chunk_count &&
			     (k == graph->starts[i] || graph->edges[k - 1].from <= graph->edges[k].from));
	}
	for (u64 i = 0; i < graph->chunk_count && graph->contents; i++)
		sum ^= graph->contents[i].group + graph->contents[i].untouched_pages; /* all can be read */
	for (u64 i = 0; i < graph->number_count; i++)
		must(graph->numbers[i].value && graph->numbers[i].place >> 32 < nodes &&
		     (!i || graph->numbers[i - 1].place < graph->numbers[i].place));
	__asm__ volatile("" : : "r"(sum));
	return 0;
}

static void read_trace(const char *path)
{
	static struct witness witness;
	struct stream_sink sink = {.self = &witness, .image = see_image, .thread = see_thread,
				   .contexts = see_contexts, .events = see_events,
				   .accesses = see_accesses, .routines = see_routines,
				   .types = see_types, .graph = see_graph};
	struct err err = {0};
	struct trace_reader *reader = trace_open(path, &err);
	struct symbol_table table;
	struct type_names names;
	struct debug_types types;

	if (!reader)
		return;
	witness.image = false;
	trace_read(reader, &(struct trace_read_options){.image = TRACE_ALL_IMAGES}, &sink, &err);
	trace_read(reader, &(struct trace_read_options){.image = TRACE_LAST_IMAGE, .strict = true},
		   &sink, &err);
	trace_close(reader);
	if (trace_read_symbols(path, &table, &err) == 0) {
		symbol_table_find(&table, 0, 1, 2);
		symbol_table_release(&table);
	}
	if (trace_read_type_names(path, &names, &err) == 0)
		type_names_release(&names);
	if (trace_read_debug_types(path, &types, &err) == 0)
		debug_types_release(&types);
}

/* Pieces of {type, items, image, length u16, payload} become whole blocks. */
static void write_blocks(int fd, const uint8_t *data, size_t size)
{
	struct block_file file;

	if (block_file_init(&file, dup(fd), 0, 1) < 0)
		return;
	block_file_start(&file);
	while (size >= 6) {
		size_t length = data[4] | (size_t)data[5] << 8;
		struct raw_block raw = {
			.payload = data + 6, .type = data[0] % 13, .items = data[1],
			.image = data[2] == 255 ? HW_NO_IMAGE : data[2], .plain = data[3] & 1,
		};

		raw.bytes = length < size - 6 ? length : size - 6;
		block_file_append(&file, &raw);
		data += 6 + raw.bytes;
		size -= 6 + raw.bytes;
	}
	block_file_release(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char path[64];

	if (fd < 0 || size == 0)
		goto out;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (data[0] & 1 && data[0] != 0x89)
		write_blocks(fd, data + 1, size - 1);
	else
		io_write_all(fd, data, size, NULL);
	read_trace(path);
out:
	if (fd >= 0)
		close(fd);
	return 0;
}
