/* SPDX-License-Identifier: MIT
 * Writes a trace with as many routine events as asked for: several threads in a made-up program of
 * many routines, each of which calls a few others, mostly in turn; some ends are missing, some
 * routines allocate. The same arguments give the same trace.
 *
 *	routine_storm FILE EVENTS [ROUTINES [THREADS]] */
#include <stdio.h>
#include <stdlib.h>

#include "host/trace/writer.h"

enum {
	THREADS_MAX = 64,
	DEPTH_MAX = 60,
	CALLEES = 4,
	BATCH = 1024,
	RUN = 200, /* steps that a thread takes before another one does */
};
#define BASE 0x400000ull

struct walker {
	u32 stack[DEPTH_MAX];
	u32 depth;
};

struct storm {
	struct stream_sink sink;
	u64 random, ticks, block, left;
	u32 routines, threads;
	struct walker walkers[THREADS_MAX];
	struct stream_routine batch[BATCH];
	u32 count;
	u8 *turns; /* by routine: whom it calls next */
	struct err err;
};

static u32 draw(struct storm *self, u32 below)
{
	self->random ^= self->random << 13;
	self->random ^= self->random >> 7;
	self->random ^= self->random << 17;
	return (u32)(self->random >> 11) % below;
}

static void die(const struct err *err)
{
	fprintf(stderr, "routine_storm: %s\n", err->text);
	exit(3);
}

static void flush(struct storm *self)
{
	if (self->sink.routines(self->sink.self, self->batch, self->count, &self->err) < 0)
		die(&self->err);
	self->count = 0;
}

static void put(struct storm *self, struct stream_routine row)
{
	row.ticks = self->ticks += 20 + draw(self, 60);
	self->batch[self->count++] = row;
	if (self->count == BATCH)
		flush(self);
}

static void enter(struct storm *self, u32 thread)
{
	struct walker *walker = &self->walkers[thread];
	u32 caller = walker->depth ? walker->stack[walker->depth - 1] : 0, callee;
	u32 turn = draw(self, 8) ? self->turns[caller]++ % CALLEES : draw(self, CALLEES);

	callee = (caller * 31 + turn * 17 + 1) % self->routines;
	walker->stack[walker->depth++] = callee;
	put(self, (struct stream_routine){.address = BASE + 64 * callee,
					  .thread = thread,
					  .value = BASE + 64 * caller + 5 + turn});
	self->left--;
	if (callee % 16 == 0)
		put(self, (struct stream_routine){.address = 0x7000000 + (self->block++ % 512) * 32,
						  .value = 16 + callee % 64,
						  .thread = thread,
						  .how = HW_MALLOC,
						  .step = ROUTINE_ALLOCATION});
}

/* One end in fifty is missing: that of the caller stands for it. */
static void leave(struct storm *self, u32 thread)
{
	struct walker *walker = &self->walkers[thread];

	if (walker->depth > 1 && draw(self, 50) == 0)
		walker->depth--;
	put(self, (struct stream_routine){.address = BASE + 64 * walker->stack[--walker->depth],
					  .thread = thread,
					  .step = ROUTINE_LEAVE});
	self->left--;
}

static void run(struct storm *self, u32 thread)
{
	struct walker *walker = &self->walkers[thread];

	for (u32 i = 0; i < RUN && self->left; i++) {
		if (!walker->depth || (walker->depth < DEPTH_MAX && draw(self, 100) < 51))
			enter(self, thread);
		else
			leave(self, thread);
	}
}

static void begin(struct storm *self)
{
	struct stream_image image = {.pid = 1,
				     .start_ticks = 0,
				     .program = "storm",
				     .command = "storm"};
	struct stream_module module = {.base = BASE,
				       .start = BASE,
				       .end = BASE + 64ull * self->routines,
				       .path = "storm"};

	self->sink.image(self->sink.self, &image, &self->err);
	self->sink.module(self->sink.self, &module, &self->err);
	for (u32 i = 0; i < self->threads; i++)
		self->sink.thread(self->sink.self,
				  &(struct stream_thread){.index = i, .tid = i + 1}, &self->err);
}

static void end(struct storm *self)
{
	struct stream_clock clock = {.ticks = self->ticks + 1, .ns = self->ticks / 2};
	struct stream_image_end told = {.ticks = self->ticks + 1, .how = IMAGE_EXITED};

	flush(self);
	self->sink.note(self->sink.self, "routines", "compiler", &self->err);
	self->sink.clock(self->sink.self, &clock, &self->err);
	self->sink.image_end(self->sink.self, &told, &self->err);
}

int main(int argc, char **argv)
{
	static struct storm self = {.random = 88172645463325252ull, .routines = 5000, .threads = 4};
	struct trace_writer *writer;

	if (argc < 3) {
		fprintf(stderr, "usage: routine_storm FILE EVENTS [ROUTINES [THREADS]]\n");
		return 2;
	}
	self.left = strtoull(argv[2], NULL, 10);
	if (argc > 3)
		self.routines = (u32)strtoul(argv[3], NULL, 10);
	if (argc > 4)
		self.threads = (u32)strtoul(argv[4], NULL, 10);
	if (!self.routines || !self.threads || self.threads > THREADS_MAX)
		return 2;
	self.turns = calloc(self.routines, 1);
	writer = trace_writer_open(argv[1], NULL, &self.err);
	if (!writer || !self.turns)
		die(&self.err);
	self.sink = trace_writer_sink(writer);
	begin(&self);
	for (u32 thread = 0; self.left; thread = (thread + 1) % self.threads)
		run(&self, thread);
	end(&self);
	if (trace_writer_close(writer, &self.err) < 0)
		die(&self.err);
	free(self.turns);
	return 0;
}
