/* SPDX-License-Identifier: MIT
 * Draws the events of a made-up run, tells them to a trace writer, and counts them.
 * Host. Counts apart from what the model does, so that one can be held against the other. */
#include "dev/synth/synth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dev/synth/lives.h"
#include "dev/synth/program.h"
#include "format/session.h"
#include "host/trace/writer.h"

#define START_TICKS 1000000000000ull
#define START_NS 7000000000ull
#define IDLE_TICKS 50000000ull /* 20 ms between phases */
enum { EVENTS = 4096, ROWS = 1024, CLOCK_EVENTS = 1 << 18, FREE_STACKS = 64, PROGRAM_PID = 4242 };

/* What the chunks of a point have in common. */
struct habit {
	u64 size;
	u32 context;
	u32 type;     /* number + 1, 0 = none */
	float spread; /* of sizes: 0 = all have the same */
	u8 lifetime;  /* enum lifetime */
	u8 kind;
	u8 touch; /* enum touch */
	u64 live_bytes;
};

enum lifetime { LIFE_TEMPORARY, LIFE_SHORT, LIFE_MEDIUM, LIFE_PHASE, LIFE_ANY };
enum touch { TOUCH_ALL, TOUCH_FRONT, TOUCH_WRITTEN, TOUCH_NEVER };

struct run {
	const struct synth_options *options;
	struct synth_result *result;
	struct stream_sink sink;
	struct draw draw;
	struct program program;
	struct lives lives;
	struct addresses addresses;
	VEC(struct habit) habits; /* by point */
	u32 free_contexts[FREE_STACKS];
	u32 made[SYNTH_THREADS_MAX];
	u64 ticks, events, live_bytes, live_chunks;
	u64 next; /* number of the next chunk */
	u32 phase;
	u64 phase_end;   /* chunk with which the next one begins */
	u64 phase_first; /* first point that the phase has brought */
	u32 burst, burst_point;
	u16 thread;
	struct event batch[EVENTS];
	struct stream_access accesses[ROWS];
	struct stream_type types[ROWS];
	u32 batched, access_rows, type_rows;
};

static const struct {
	const char *name;
	double until; /* share of all chunks */
} phases[SYNTH_PHASES] = {{"startup", 0.05}, {"load", 0.30},    {"index", 0.50},
			  {"serve", 0.85},   {"compact", 0.97}, {"shutdown", 1.0}};

const char *synth_phase_name(u32 phase) { return phases[phase].name; }

static u64 to_ns(u64 ticks) { return (ticks - START_TICKS) * 2 / 5; } /* 2.5 GHz */

/* ---- telling ---- */

/* Events first: rows of accesses and types name chunks that they tell. */
static int flush(struct run *self, struct err *err)
{
	int status = program_tell_contexts(&self->program, &self->sink, err);

	if (status == 0 && self->batched)
		status = self->sink.events(self->sink.self, self->batch, self->batched, err);
	if (status == 0 && self->access_rows)
		status = self->sink.accesses(self->sink.self, self->accesses, self->access_rows,
					     err);
	if (status == 0 && self->type_rows)
		status = self->sink.types(self->sink.self, self->types, self->type_rows, err);
	self->batched = self->access_rows = self->type_rows = 0;
	return status;
}

static int tell_clock(struct run *self, struct err *err)
{
	struct stream_clock clock = {self->ticks, START_NS + to_ns(self->ticks)};
	struct stream_usage usage = {self->ticks, (self->live_bytes * 5 / 4 + (4 << 20)) & ~4095ull,
				     (self->live_bytes * 2 + (64 << 20)) & ~4095ull};
	int status = self->sink.clock(self->sink.self, &clock, err);

	return status < 0 ? status : self->sink.usage(self->sink.self, &usage, err);
}

/* Times are multiples of 5 ticks, so that ns are whole. */
static int tell(struct run *self, const struct event *event, struct err *err)
{
	int status = 0;

	self->ticks += 5 + draw_below(&self->draw, 60) * 5;
	self->batch[self->batched] = *event;
	self->batch[self->batched++].ticks = self->ticks;
	if (self->batched == EVENTS)
		status = flush(self, err);
	if (++self->events % CLOCK_EVENTS == 0 && status == 0)
		status = tell_clock(self, err);
	return status;
}

/* ---- points ---- */

static u8 draw_lifetime(struct draw *draw)
{
	u64 part = draw_below(draw, 100);

	return part < 25   ? LIFE_TEMPORARY
	       : part < 70 ? LIFE_SHORT
	       : part < 88 ? LIFE_MEDIUM
	       : part < 95 ? LIFE_PHASE
			   : LIFE_ANY;
}

static u8 draw_kind(struct draw *draw)
{
	u64 part = draw_below(draw, 100);

	return part < 55 ? HW_MALLOC : part < 85 ? HW_NEW : part < 90 ? HW_NEW_ARRAY : HW_CALLOC;
}

static u8 free_kind(u8 kind)
{
	return kind == HW_NEW ? HW_DELETE : kind == HW_NEW_ARRAY ? HW_DELETE_ARRAY : HW_FREE;
}

static u8 draw_touch(struct draw *draw)
{
	u64 part = draw_below(draw, 100);

	return part < 60   ? TOUCH_ALL
	       : part < 80 ? TOUCH_FRONT
	       : part < 90 ? TOUCH_WRITTEN
			   : TOUCH_NEVER;
}

static int add_point(struct run *self, struct err *err)
{
	/* What a point does is the program's, if several traces share that. */
	struct draw own = {
		draw_mix(self->options->program * 0x9e3779b97f4a7c15ull + self->habits.count)};
	struct draw *draw = self->options->program == self->options->seed ? &self->draw : &own;
	double large = draw_share(draw);
	struct habit habit = {.context = program_new_stack(&self->program),
			      .size = (u64)exp2(3 + 13 * large * large),
			      .lifetime = draw_lifetime(draw),
			      .kind = draw_kind(draw),
			      .touch = draw_touch(draw),
			      .spread = draw_below(draw, 10) < 7 ? 0 : 3};
	struct synth_point point = {.context = habit.context};

	if (self->options->types && draw_below(draw, 4))
		habit.type = 1 + (u32)draw_below(draw, self->options->types);
	if (!habit.context || !vec_push(&self->habits, habit))
		return err_memory(err);
	point.depth = self->program.nodes.data[habit.context].depth;
	return vec_push(&self->result->points, point) ? 0 : err_memory(err);
}

/* Few points make most chunks, and those that the phase has brought more than others. */
static u32 draw_point(struct run *self)
{
	u64 first = draw_below(&self->draw, 10) < 7 ? self->phase_first : 0;
	double share = draw_share(&self->draw);

	if (first >= self->habits.count)
		first = 0;
	return (u32)(first + (u64)((double)(self->habits.count - first) * share * share * share));
}

/* A point comes when its share of the chunks has been made, so that all have come in the end. */
static int next_point(struct run *self, u32 *point, struct err *err)
{
	u64 due = self->next * self->options->points / self->options->chunks;

	if (self->habits.count <= due) {
		*point = (u32)self->habits.count;
		return add_point(self, err);
	}
	if (self->burst == 0) {
		self->burst = 1 + (u32)draw_below(&self->draw, 8);
		self->burst_point = draw_point(self);
		self->thread = (u16)draw_below(&self->draw, self->options->threads);
	}
	self->burst--;
	*point = self->burst_point;
	return 0;
}

/* ---- chunks ---- */

static u64 log_uniform(struct draw *draw, u64 most)
{
	return (u64)exp2(draw_share(draw) * log2((double)most + 1));
}

/* The number of allocations after which it dies. */
static u64 draw_due(struct run *self, const struct habit *habit)
{
	struct draw *draw = &self->draw;
	u64 now = self->next, due = now;

	if (draw_share(draw) < self->options->kept)
		return LIFE_KEPT;
	switch ((enum lifetime)habit->lifetime) {
	case LIFE_TEMPORARY: break;
	case LIFE_SHORT: due += log_uniform(draw, 1000); break;
	case LIFE_MEDIUM: due += log_uniform(draw, self->options->chunks / 8); break;
	case LIFE_PHASE: due = self->phase_end - 1; break;
	case LIFE_ANY: due += log_uniform(draw, self->options->chunks); break;
	}
	return due > self->options->chunks ? self->options->chunks : due;
}

static void count_birth(struct run *self, struct habit *habit, struct synth_point *point, u64 size)
{
	struct synth_result *result = self->result;

	result->allocations++;
	result->bytes += size;
	point->allocations++;
	point->bytes += size;
	habit->live_bytes += size;
	if (habit->live_bytes > point->peak_bytes)
		point->peak_bytes = habit->live_bytes;
	self->live_bytes += size;
	self->live_chunks++;
	if (self->live_bytes > result->peak_bytes) {
		result->peak_bytes = self->live_bytes;
		result->peak_chunks = self->live_chunks;
		result->peak_ns = to_ns(self->ticks);
	}
}

static int add_type(struct run *self, const struct habit *habit, u64 chunk, struct err *err)
{
	if (self->type_rows == ROWS && flush(self, err) < 0)
		return err->code;
	self->types[self->type_rows++] =
		(struct stream_type){.chunk = chunk,
				     .identity = program_type_identity(habit->type - 1),
				     .count = habit->kind == HW_NEW_ARRAY ? habit->size / 16 : 1,
				     .source = habit->kind == HW_NEW ? TYPE_VTABLE : TYPE_DECLARED};
	self->result->typed_chunks++;
	return 0;
}

static int birth(struct run *self, struct err *err)
{
	u32 number;
	int status = next_point(self, &number, err);
	struct habit *habit = &self->habits.data[number];
	struct life life = {.chunk = self->next, .point = number, .thread = self->thread};
	struct event event = {.chunk = self->next, .thread = self->thread};

	if (status < 0)
		return status;
	life.size = habit->size;
	if (habit->spread > 0)
		life.size += (u64)((double)habit->size * habit->spread * draw_share(&self->draw));
	life.due = draw_due(self, habit);
	life.address = addresses_take(&self->addresses, self->thread, life.size);
	life.made = ++self->made[self->thread];
	if (!life.address)
		return err_set(err, ERR_INPUT,
			       "too many chunks: they do not fit into 128 GiB per thread");
	event.address = life.address;
	event.size = life.size;
	event.context = habit->context;
	event.kind = habit->kind;
	status = tell(self, &event, err);
	life.born_ticks = self->ticks;
	count_birth(self, habit, &self->result->points.data[number], life.size);
	if (!lives_add(&self->lives, &life))
		return err_memory(err);
	self->next++;
	if (status == 0 && habit->type)
		status = add_type(self, habit, life.chunk, err);
	return status;
}

/* What became known of the accesses to a chunk by the time of its end. */
static int add_access(struct run *self, const struct life *life, struct err *err)
{
	const struct habit *habit = &self->habits.data[life->point];
	struct stream_access row = {.chunk = life->chunk};
	u64 span = habit->touch == TOUCH_FRONT ? (life->size + 1) / 2 : life->size;
	u64 words = (span + 7) / 8;

	if (self->access_rows == ROWS && flush(self, err) < 0)
		return err->code;
	if (habit->touch != TOUCH_NEVER && span) {
		row.high = row.covered_bytes = span;
		row.writes = words;
		row.written_bytes = span;
		row.reads = habit->touch == TOUCH_WRITTEN ? 0 : words * (1 + life->chunk % 3);
		row.read_bytes = row.reads * 8;
		row.first_ticks = life->born_ticks + 1;
		row.last_ticks = life->born_ticks + 1 + (self->ticks - life->born_ticks) / 2;
	}
	self->accesses[self->access_rows++] = row;
	self->result->accessed_chunks++;
	self->result->reads += row.reads;
	self->result->writes += row.writes;
	return 0;
}

static int death(struct run *self, const struct life *life, struct err *err)
{
	struct habit *habit = &self->habits.data[life->point];
	struct synth_point *point = &self->result->points.data[life->point];
	struct event event = {.chunk = life->chunk,
			      .address = life->address,
			      .size = life->size,
			      .thread = life->thread,
			      .kind = free_kind(habit->kind)};
	bool temporary = self->made[life->thread] == life->made;
	int status = 0;

	if (draw_below(&self->draw, 10) == 0)
		event.thread = (u32)draw_below(&self->draw, self->options->threads);
	event.context = self->free_contexts[draw_mix(life->point) % FREE_STACKS];
	if (self->options->access)
		status = add_access(self, life, err);
	if (status == 0)
		status = tell(self, &event, err);
	self->result->frees++;
	self->result->freed_bytes += life->size;
	self->result->temporary += temporary;
	point->frees++;
	point->freed_bytes += life->size;
	point->temporary += temporary;
	habit->live_bytes -= life->size;
	self->live_bytes -= life->size;
	self->live_chunks--;
	if (!addresses_give(&self->addresses, life->thread, life->address, life->size))
		return err_memory(err);
	return status;
}

/* ---- the run ---- */

static int mark(struct run *self, enum hw_mark kind, u64 name, struct err *err)
{
	struct event event = {.kind = HW_MARK,
			      .chunk = NO_CHUNK,
			      .aux = (u16)kind,
			      .address = name,
			      .size = self->phase};

	return tell(self, &event, err);
}

static int begin_phase(struct run *self, struct err *err)
{
	struct stream_name name = {.id = self->phase + 1, .text = phases[self->phase].name};
	int status = self->sink.name(self->sink.self, &name, err);

	self->phase_end = (u64)(phases[self->phase].until * (double)self->options->chunks);
	if (self->phase + 1 == SYNTH_PHASES)
		self->phase_end = self->options->chunks;
	self->phase_first = self->habits.count;
	self->burst = 0;
	return status < 0 ? status : mark(self, HW_MARK_PHASE_BEGIN, name.id, err);
}

static int end_phase(struct run *self, struct err *err)
{
	int status = mark(self, HW_MARK_PHASE_END, self->phase + 1, err);

	self->result->phase_live_bytes[self->phase] = self->live_bytes;
	if (status == 0)
		status = mark(self, HW_MARK_SNAPSHOT, 1, err);
	self->ticks += IDLE_TICKS;
	self->phase++;
	return status;
}

static int run_phases(struct run *self, struct err *err)
{
	struct life life;
	int status = 0;

	while (self->phase < SYNTH_PHASES && status == 0) {
		status = begin_phase(self, err);
		while (self->next < self->phase_end && status == 0) {
			status = birth(self, err);
			while (status == 0 && lives_next(&self->lives, self->next - 1, &life))
				status = death(self, &life, err);
		}
		/* The last phase ends when all is freed that will be. */
		while (status == 0 && self->phase + 1 == SYNTH_PHASES &&
		       lives_next(&self->lives, self->options->chunks, &life))
			status = death(self, &life, err);
		if (status == 0)
			status = end_phase(self, err);
	}
	return status;
}

static int tell_start(struct run *self, struct err *err)
{
	struct stream_image image = {.pid = PROGRAM_PID,
				     .parent_pid = 1,
				     .arch = 62,
				     .start_ticks = START_TICKS,
				     .start_ns = START_NS,
				     .flags = HW_RUN_ALLOC_STACKS | HW_RUN_FREE_STACKS |
					      (self->options->types ? HW_RUN_TYPES : 0),
				     .access = self->options->access ? ACCESS_EXACT : ACCESS_NONE,
				     .program = "/usr/bin/synthetic",
				     .command = "synthetic"};
	int status = self->sink.image(self->sink.self, &image, err);

	if (status == 0)
		status = program_tell_modules(&self->program, &self->sink, err);
	for (u32 i = 0; i < self->options->threads && status == 0; i++) {
		struct stream_thread thread = {.index = i,
					       .tid = PROGRAM_PID + i,
					       .start_ticks = START_TICKS};

		strcpy(thread.name, i ? "worker" : "synthetic");
		status = self->sink.thread(self->sink.self, &thread, err);
	}
	for (u32 i = 0; i < FREE_STACKS && status == 0; i++) {
		self->free_contexts[i] = program_new_stack(&self->program);
		if (!self->free_contexts[i])
			status = err_memory(err);
	}
	return status;
}

static int tell_end(struct run *self, struct err *err)
{
	const struct synth_result *result = self->result;
	struct stream_image_end end = {.how = IMAGE_EXITED,
				       .totals = {.allocations = result->allocations,
						  .bytes = result->bytes,
						  .frees = result->frees,
						  .freed_bytes = result->freed_bytes,
						  .peak_bytes = result->peak_bytes,
						  .peak_chunks = result->peak_chunks,
						  .kept_bytes = self->live_bytes,
						  .kept_chunks = self->live_chunks}};
	struct life life;
	int status = 0;

	end.totals.peak_ticks = START_TICKS + result->peak_ns * 5 / 2;
	while (status == 0 && self->options->access && lives_next_kept(&self->lives, &life))
		status = add_access(self, &life, err);
	if (status == 0)
		status = flush(self, err);
	if (status == 0)
		status = tell_clock(self, err);
	end.ticks = self->ticks;
	self->result->duration_ns = to_ns(self->ticks);
	self->result->kept_bytes = self->live_bytes;
	self->result->kept_chunks = self->live_chunks;
	return status < 0 ? status : self->sink.image_end(self->sink.self, &end, err);
}

static int tell_all(struct run *self, struct err *err)
{
	int status = tell_start(self, err);

	if (status == 0)
		status = run_phases(self, err);
	return status < 0 ? status : tell_end(self, err);
}

static int write_trace(struct run *self, struct err *err)
{
	const char *path = self->options->path;
	struct trace_writer *writer = trace_writer_open(path, NULL, err);
	struct err closing = {0};
	int status;

	if (!writer)
		return err->code;
	self->sink = trace_writer_sink(writer);
	status = tell_all(self, err);
	if (trace_writer_close(writer, &closing) < 0 && status == 0) {
		*err = closing;
		status = closing.code;
	}
	if (status == 0)
		status = program_write_symbols(&self->program, path, err);
	if (status == 0 && self->options->types)
		status = program_write_types(&self->program, path, self->options->types, err);
	if (status < 0)
		unlink(path);
	return status;
}

static int name_points(struct run *self, struct err *err)
{
	for (u64 i = 0; i < self->result->points.count; i++) {
		struct synth_point *point = &self->result->points.data[i];

		point->function =
			program_function_name(&self->program,
					      self->program.nodes.data[point->context].function);
		if (!point->function)
			return err_memory(err);
	}
	self->result->names = self->program.names;
	self->program.names = (struct arena){0};
	return 0;
}

int synth_write(const struct synth_options *options, struct synth_result *result, struct err *err)
{
	struct run *self = calloc(1, sizeof *self);
	int status = 0;

	*result = (struct synth_result){0};
	if (!self)
		return err_memory(err);
	self->options = options;
	self->result = result;
	self->draw = (struct draw){draw_mix(options->seed + 1)};
	self->ticks = START_TICKS;
	if (!program_init(&self->program, options->points, options->program))
		status = err_memory(err);
	if (status == 0)
		status = write_trace(self, err);
	if (status == 0)
		status = name_points(self, err);
	result->contexts = self->program.nodes.count - 1;
	result->functions = self->program.functions;
	program_release(&self->program);
	lives_release(&self->lives);
	addresses_release(&self->addresses);
	vec_release(&self->habits);
	free(self);
	return status;
}

void synth_result_release(struct synth_result *self)
{
	vec_release(&self->points);
	arena_release(&self->names);
}
