/* SPDX-License-Identifier: MIT
 * What imports have in common.
 * Host. */
#include "show/formats/import.h"

#include <inttypes.h>
#include <sys/stat.h>

int import_check_output(const char *from, const char *to, struct err *err)
{
	struct stat input, output;

	if (stat(from, &input) == 0 && stat(to, &output) == 0 && input.st_dev == output.st_dev &&
	    input.st_ino == output.st_ino)
		return err_set(err, ERR_USAGE,
			       "%s is both input and output; choose another output file", to);
	return 0;
}

/* ---- lines ---- */

int import_lines(struct unpack *file, const char *path, import_line *take, void *self,
		 struct err *err)
{
	int status = unpack_open(file, path, err);

	while (status == 0) {
		status = unpack_line(file, err);
		if (status < 0 || !file->line)
			break;
		status = take(self, file, err);
		if (status < 0)
			err_prefix(err, "%s: line %" PRIu64, path, file->number);
	}
	unpack_close(file);
	return status;
}

int import_text(const char *path, import_line *take, void *self, struct err *err)
{
	struct unpack file;
	int status = import_lines(&file, path, take, self, err);

	return status == 0 && file.cut ? err_set(err, ERR_INPUT, "%s is truncated", path) : status;
}

/* ---- the trace ---- */

int import_write(struct import *self, const char *path,
		 int (*tell)(struct import *self, struct err *err), struct err *err)
{
	struct trace_writer *writer = trace_writer_open(path, NULL, err);
	struct err closing = {0};
	int status;

	if (!writer)
		return err->code;
	self->sink = trace_writer_sink(writer);
	status = tell(self, err);
	if (trace_writer_close(writer, &closing) < 0 && status == 0) {
		*err = closing;
		status = closing.code;
	}
	if (status == 0 && (self->named || self->symbols.count))
		status = trace_write_symbols(path, self->symbols.data, self->symbols.count, err);
	return status;
}

void import_release(struct import *self)
{
	vec_release(&self->symbols);
	arena_release(&self->arena);
}

int import_context(struct import *self, u32 parent, u64 pc, u32 *id, struct err *err)
{
	struct stream_context told = {.id = ++self->last_context, .parent = parent, .pc = pc};

	*id = told.id;
	return self->sink.contexts(self->sink.self, &told, 1, err);
}

int import_birth(struct import *self, struct event *event, struct err *err)
{
	struct stream_totals *totals = &self->totals;

	event->chunk = self->chunks++;
	event->ticks = self->ticks;
	totals->allocations++;
	totals->bytes += event->size;
	totals->kept_bytes += event->size;
	totals->kept_chunks++;
	if (totals->kept_bytes > totals->peak_bytes) {
		totals->peak_bytes = totals->kept_bytes;
		totals->peak_chunks = totals->kept_chunks;
		totals->peak_ticks = self->ticks;
	}
	return self->sink.events(self->sink.self, event, 1, err);
}

int import_death(struct import *self, struct event *event, struct err *err)
{
	struct stream_totals *totals = &self->totals;

	event->ticks = self->ticks;
	totals->frees++;
	if (event->chunk == NO_CHUNK) {
		totals->unknown_frees++;
	} else {
		totals->freed_bytes += event->size;
		totals->kept_bytes -= event->size;
		totals->kept_chunks--;
		totals->implied_frees += (event->flags & EVENT_IMPLIED) != 0;
	}
	return self->sink.events(self->sink.self, event, 1, err);
}

int import_name(struct import *self, u32 module, u64 address, const char *function, struct err *err)
{
	struct symbol_frame *frame = arena_new_array(&self->arena, struct symbol_frame, 1);
	struct symbol_entry entry = {.module = module,
				     .address = address,
				     .frames = frame,
				     .frame_count = 1};

	if (!frame || !vec_push(&self->symbols, entry))
		return err_memory_for(err, "names");
	*frame = (struct symbol_frame){.function = function, .file = ""};
	return 0;
}

int import_end(struct import *self, const struct stream_clock *clock, bool whole, struct err *err)
{
	struct stream_image_end end = {.ticks = clock->ticks,
				       .how = IMAGE_EXITED,
				       .totals = self->totals};
	int status = self->sink.clock(self->sink.self, clock, err);

	return status < 0 || !whole ? status : self->sink.image_end(self->sink.self, &end, err);
}
