/* SPDX-License-Identifier: MIT
 * Messages of the text form → a trace: routines, allocations with their stacks, totals, names.
 * Host. Blocks are matched by address; times are those of the exits. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "show/formats/emad.h"
#include "show/formats/import.h"
#include "format/session.h"

struct called {
	u32 routine; /* in the list */
	u32 context; /* of the stack up to it, 0 = not made yet */
	u64 argument;
};

struct thread {
	VEC(struct called) frames;
	u64 made, gone; /* block that it allocated or freed last, until the other happens to it */
};

struct importing {
	struct import trace; /* first */
	const struct emad_import *how;
	struct emad_summary *summary;
	struct emad_routines routines;
	struct map threads; /* number → index + 1 */
	VEC(struct thread) stacks;
	struct map contexts; /* parent, routine → id */
	struct map blocks;   /* address → chunk + 1 */
	VEC(u64) sizes;      /* by chunk */
	u64 first, last;     /* times */
	bool timed;
};

/* ---- a first reading ---- */

/* The message of a line; 1 = it is empty. */
static int read_message(struct unpack *file, struct emad_message *message, struct err *err)
{
	if (strlen(file->line) != file->length)
		return err_set(err, ERR_INPUT, "zero byte in a text file");
	return emad_parse(file->line, file->number, message, err);
}

static int take_first(void *self_, struct unpack *file, struct err *err)
{
	struct importing *self = self_;
	struct emad_message message;
	struct emad_facts facts;
	int status = read_message(file, &message, err);

	if (status)
		return status < 0 ? status : 0;
	self->summary->messages++;
	status = emad_learn(&self->routines, &message, err);
	if (status < 0 || !message.exits)
		return status;
	status = emad_understand(&self->routines, &message, &facts, err);
	if (status == 0 && facts.has_time && !self->timed) {
		self->first = facts.time;
		self->timed = true;
	}
	return status;
}

/* ---- telling ---- */

static int tell_row(struct importing *self, struct stream_routine row, struct err *err)
{
	row.ticks = self->trace.ticks;
	return self->trace.sink.routines(self->trace.sink.self, &row, 1, err);
}

static int thread_of(struct importing *self, u32 number, u32 *thread, struct err *err)
{
	u64 *index = map_at(&self->threads, number);
	struct stream_thread told = {.tid = number, .start_ticks = self->trace.ticks};

	if (!index)
		return err_memory_for(err, "the text");
	if (*index) {
		*thread = (u32)*index - 1;
		return 0;
	}
	told.index = (u32)self->stacks.count;
	*index = (u64)told.index + 1;
	*thread = told.index;
	if (!vec_push(&self->stacks, (struct thread){.made = 0}))
		return err_memory_for(err, "the text");
	return self->trace.sink.thread(self->trace.sink.self, &told, err);
}

static u64 address_of(const struct emad_routine *routine)
{
	return emad_base(routine->kind) + (u64)routine->number * EMAD_ROUTINE_BYTES;
}

static int context_add(struct importing *self, u32 parent, u32 routine, u32 *id, struct err *err)
{
	u64 pc = address_of(&self->routines.list.data[routine]) + 1;
	u64 *known = map_at(&self->contexts, (u64)parent << 32 | routine);

	if (!known)
		return err_memory_for(err, "the text");
	if (*known) {
		*id = (u32)*known;
		return 0;
	}
	*known = self->trace.last_context + 1;
	return import_context(&self->trace, parent, pc, id, err);
}

/* The context of the innermost frame, made from the outermost frame on that has none. */
static int context_of(struct importing *self, struct thread *thread, u32 *context, struct err *err)
{
	u64 from = thread->frames.count;
	int status = 0;

	while (from && !thread->frames.data[from - 1].context)
		from--;
	*context = from ? thread->frames.data[from - 1].context : 0;
	for (u64 i = from; i < thread->frames.count && status == 0; i++) {
		struct called *frame = &thread->frames.data[i];

		status = context_add(self, *context, frame->routine, &frame->context, err);
		*context = frame->context;
	}
	return status;
}

static u8 kind_of(const char *name, bool allocates)
{
	bool array = strstr(name, "[]");

	if (!allocates) {
		if (strstr(name, "delete"))
			return array ? HW_DELETE_ARRAY : HW_DELETE;
		return HW_FREE;
	}
	if (strncmp(name, "operator new", 12) == 0)
		return array ? HW_NEW_ARRAY : HW_NEW;
	return strcmp(name, "calloc") == 0 ? HW_CALLOC : HW_MALLOC;
}

/* The thread that an event is of, and its stack. */
static int place_event(struct importing *self, struct event *event, struct thread *thread,
		       struct err *err)
{
	event->thread = (u32)(thread - self->stacks.data);
	event->ticks = self->trace.ticks;
	return context_of(self, thread, &event->context, err);
}

/* The chunk at the address ends. */
static int tell_end(struct importing *self, struct event *event, struct thread *thread,
		    struct err *err)
{
	u64 index = 0;
	bool known = map_remove(&self->blocks, event->address, &index);
	int status = place_event(self, event, thread, err);

	self->summary->unknown_frees += !known;
	event->chunk = known ? index - 1 : NO_CHUNK;
	event->size = known ? self->sizes.data[index - 1] : 0;
	return status < 0 ? status : import_death(&self->trace, event, err);
}

static int tell_birth(struct importing *self, struct event *event, struct thread *thread,
		      struct err *err)
{
	struct event implied = {.address = event->address, .kind = HW_FREE, .flags = EVENT_IMPLIED};
	int status = 0;

	if (map_find(&self->blocks, event->address)) /* its free is not in the text */
		status = tell_end(self, &implied, thread, err);
	if (status < 0)
		return status;
	if (!vec_push(&self->sizes, event->size) ||
	    !map_put(&self->blocks, event->address, self->sizes.count))
		return err_memory_for(err, "the text");
	status = place_event(self, event, thread, err);
	return status < 0 ? status : import_birth(&self->trace, event, err);
}

/* ---- messages ---- */

static int take_start(struct importing *self, u32 thread, const struct emad_facts *facts,
		      struct err *err)
{
	struct called frame = {.routine = (u32)(facts->routine - self->routines.list.data),
			       .argument = facts->argument};
	struct stream_routine row = {.address = address_of(facts->routine),
				     .value = facts->has_argument ? facts->argument + 1 : 0,
				     .thread = thread,
				     .step = ROUTINE_ENTER};

	if (!vec_push(&self->stacks.data[thread].frames, frame))
		return err_memory_for(err, "the text");
	return tell_row(self, row, err);
}

/* Takes the routine off the stack, with those above it, whose exits are missing; false if it is not
 * there: then nothing changes. */
static bool take_off(struct thread *thread, u32 routine, struct called *frame)
{
	for (u64 i = thread->frames.count; i-- > 0;) {
		if (thread->frames.data[i].routine != routine)
			continue;
		*frame = thread->frames.data[i];
		thread->frames.count = i;
		return true;
	}
	return false;
}

static int take_allocation(struct importing *self, u32 index, const struct emad_facts *facts,
			   u64 size, struct err *err)
{
	struct thread *thread = &self->stacks.data[index];
	struct event event = {.address = facts->address,
			      .size = size,
			      .kind = kind_of(facts->routine->name, true)};
	struct stream_routine row = {.address = facts->address,
				     .value = size,
				     .thread = index,
				     .how = event.kind,
				     .step = ROUTINE_ALLOCATION};
	int status = tell_row(self, row, err);

	if (status < 0)
		return status;
	if (!event.address) {
		event.aux = event.kind;
		event.kind = HW_FAILED;
		status = place_event(self, &event, thread, err);
		return status < 0 ? status
				  : self->trace.sink.events(self->trace.sink.self, &event, 1, err);
	}
	if (event.address == thread->made) { /* a wrapper returns what it was given */
		self->summary->repeated++;
		return 0;
	}
	thread->made = event.address;
	thread->gone = 0;
	self->summary->allocations++;
	return tell_birth(self, &event, thread, err);
}

static int take_free(struct importing *self, u32 index, const struct emad_facts *facts, u64 address,
		     struct err *err)
{
	struct thread *thread = &self->stacks.data[index];
	struct event event = {.address = address, .kind = kind_of(facts->routine->name, false)};
	struct stream_routine row = {.address = address,
				     .thread = index,
				     .how = event.kind,
				     .step = ROUTINE_FREE};
	int status = tell_row(self, row, err);

	if (status < 0 || !address)
		return status;
	if (address == thread->gone) {
		self->summary->repeated++;
		return 0;
	}
	thread->gone = address;
	if (thread->made == address)
		thread->made = 0;
	self->summary->frees++;
	return tell_end(self, &event, thread, err);
}

static int take_exit(struct importing *self, u32 thread, const struct emad_facts *facts,
		     struct err *err)
{
	u32 routine = (u32)(facts->routine - self->routines.list.data);
	struct stream_routine row = {.address = address_of(facts->routine),
				     .thread = thread,
				     .step = ROUTINE_LEAVE};
	struct called frame = {0};
	int status = 0;

	take_off(&self->stacks.data[thread], routine, &frame);
	if (facts->has_time) {
		self->trace.ticks = facts->time;
		if (facts->time > self->last)
			self->last = facts->time;
	}
	if (facts->has_result)
		status = take_allocation(self, thread, facts, frame.argument, err);
	else if (facts->has_time)
		status = take_free(self, thread, facts, frame.argument, err);
	return status < 0 ? status : tell_row(self, row, err);
}

static int take_second(void *self_, struct unpack *file, struct err *err)
{
	struct importing *self = self_;
	struct emad_message message;
	struct emad_facts facts;
	u32 thread = 0;
	int status = read_message(file, &message, err);

	if (status)
		return status < 0 ? status : 0;
	status = emad_understand(&self->routines, &message, &facts, err);
	if (status == 0)
		status = thread_of(self, message.thread, &thread, err);
	if (status < 0)
		return status;
	return message.exits ? take_exit(self, thread, &facts, err)
			     : take_start(self, thread, &facts, err);
}

/* ---- the trace around it ---- */

static int tell_beginning(struct importing *self, struct err *err)
{
	static const char *const paths[EMAD_KINDS] = {"[routines]", "[allocation routines]",
						      "[deallocation routines]"};
	struct stream_image image = {.start_ticks = self->first,
				     .program = self->how->from,
				     .flags = HW_RUN_ALLOC_STACKS | HW_RUN_FREE_STACKS,
				     .command = self->how->from};
	const struct stream_sink *sink = &self->trace.sink;
	int status = sink->image(sink->self, &image, err);

	for (u32 i = 0; i < EMAD_KINDS && status == 0; i++) {
		struct stream_module module = {.id = i,
					       .base = emad_base(i),
					       .start = emad_base(i),
					       .end = emad_base(i + 1),
					       .path = paths[i],
					       .loaded_ticks = self->first};

		status = sink->module(sink->self, &module, err);
	}
	return status < 0 ? status : sink->note(sink->self, EMAD_NOTE_KEY, EMAD_NOTE, err);
}

static int tell_ending(struct importing *self, struct err *err)
{
	u64 last = self->last > self->first ? self->last : self->first + 1;
	struct stream_clock clock = {.ticks = last,
				     .ns = (last - self->first) * self->how->tick_ns};
	int status = import_end(&self->trace, &clock, true, err);

	for (u64 i = 0; i < self->routines.list.count && status == 0; i++) {
		const struct emad_routine *routine = &self->routines.list.data[i];

		status = import_name(&self->trace, routine->kind,
				     (u64)routine->number * EMAD_ROUTINE_BYTES, routine->name, err);
	}
	return status;
}

static int tell_all(struct import *trace, struct err *err)
{
	struct importing *self = (struct importing *)trace;
	int status;

	trace->ticks = self->last = self->first;
	status = tell_beginning(self, err);
	if (status == 0)
		status = import_text(self->how->from, take_second, self, err);
	return status < 0 ? status : tell_ending(self, err);
}

static int check_files(const struct emad_import *how, struct err *err)
{
	struct stat from;

	if (stat(how->from, &from) != 0)
		return err_set(err, ERR_INPUT, "cannot open %s: %s", how->from, strerror(errno));
	if (!S_ISREG(from.st_mode))
		return err_set(err, ERR_INPUT,
			       "%s is not a regular file, but must be read twice; "
			       "save it to a file first",
			       how->from);
	return import_check_output(how->from, how->to, err);
}

int emad_import(const struct emad_import *how, struct emad_summary *summary, struct err *err)
{
	struct importing self = {.trace.named = true, .how = how, .summary = summary};
	int status = check_files(how, err);

	*summary = (struct emad_summary){0};
	if (status == 0)
		status = import_text(how->from, take_first, &self, err);
	if (status == 0 && emad_settle(&self.routines, err) < 0)
		status = err_prefix(err, "%s", how->from);
	if (status == 0) {
		status = import_write(&self.trace, how->to, tell_all, err);
		if (status < 0)
			unlink(how->to);
	}
	summary->routines = self.routines.list.count;
	summary->threads = self.stacks.count;
	for (u64 i = 0; i < self.stacks.count; i++)
		vec_release(&self.stacks.data[i].frames);
	vec_release(&self.stacks);
	vec_release(&self.sizes);
	import_release(&self.trace);
	map_release(&self.threads);
	map_release(&self.contexts);
	map_release(&self.blocks);
	emad_routines_release(&self.routines);
	return status;
}
