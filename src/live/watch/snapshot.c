/* SPDX-License-Identifier: MIT
 * Writes a snapshot; see snapshot.h. Runs on any thread but the drain thread. */
#include "live/watch/snapshot.h"

#include <string.h>

#include "format/ticks.h"
#include "live/drain/join.h"
#include "host/trace/writer.h"

struct snapshot {
	struct stream_sink sink;
	u64 ticks;
	u64 chunks, bytes;
	bool done;
};

/* The texts of an image are not passed on. */
static int on_image(void *data, const struct stream_image *image, struct err *err)
{
	struct snapshot *self = data;
	struct stream_image told = *image;
	struct stream_thread thread = {.tid = image->pid, .start_ticks = image->start_ticks};

	told.program = told.command = "";
	told.number = 0;
	told.flags &= ~(u32)HW_RUN_FREE_STACKS;
	self->ticks = hw_ticks();
	if (self->sink.image(self->sink.self, &told, err) < 0)
		return err->code;
	return stream_tell(&self->sink, thread, &thread, err);
}

static int on_module(void *data, const struct stream_module *module, struct err *err)
{
	struct snapshot *self = data;

	return self->sink.module(self->sink.self, module, err);
}

static int on_contexts(void *data, const struct stream_context *contexts, u64 count,
		       struct err *err)
{
	struct snapshot *self = data;

	return self->sink.contexts(self->sink.self, contexts, count, err);
}

static int on_blocks(void *data, const struct join_block *blocks, u64 count, struct err *err)
{
	struct snapshot *self = data;

	for (u64 i = 0; i < count; i++) {
		struct event event = {.ticks = self->ticks,
				      .address = blocks[i].address,
				      .size = blocks[i].size,
				      .chunk = self->chunks++,
				      .context = blocks[i].context,
				      .kind = HW_MALLOC};

		self->bytes += event.size;
		if (self->sink.events(self->sink.self, &event, 1, err) < 0)
			return err->code;
	}
	return 0;
}

/* All that lived was told. */
static void on_cycle(void *data, struct image *image, u64 now_ns)
{
	struct snapshot *self = data;

	(void)image;
	(void)now_ns;
	self->done = true;
}

static int end_tell(struct snapshot *self, struct err *err)
{
	struct stream_image_end end = {
		.ticks = self->ticks,
		.how = IMAGE_DETACHED,
		.totals = {.allocations = self->chunks,
			   .bytes = self->bytes,
			   .peak_bytes = self->bytes,
			   .peak_chunks = self->chunks,
			   .peak_ticks = self->ticks,
			   .kept_chunks = self->chunks,
			   .kept_bytes = self->bytes},
	};

	return self->sink.image_end(self->sink.self, &end, err);
}

static int snapshot_take(struct snapshot *self, u32 pid, struct err *err)
{
	struct join_handlers handlers = {
		.tap = {.self = self,
			.sink = {.self = self,
				 .image = on_image,
				 .module = on_module,
				 .contexts = on_contexts},
			.cycle = on_cycle},
		.blocks = on_blocks,
	};
	struct join_listener listener;
	int status = join_open(&listener, pid, err);

	if (status < 0)
		return status;
	status = join_listen(&listener, &handlers, &self->done, err);
	join_close(&listener);
	if (status == 0 && !self->done)
		return err_set(err, ERR_INPUT, "the program has ended");
	return status < 0 ? status : end_tell(self, err);
}

int snapshot_write(u32 pid, const char *path, struct err *err)
{
	struct snapshot self = {.done = false};
	struct trace_writer *writer = trace_writer_open(path, NULL, err);
	struct err second = {0};
	int status;

	if (!writer)
		return err->code;
	self.sink = trace_writer_sink(writer);
	status = snapshot_take(&self, pid, err);
	if (trace_writer_close(writer, &second) < 0 && status == 0) {
		*err = second;
		status = err->code;
	}
	return status;
}
