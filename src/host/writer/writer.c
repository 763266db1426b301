/* SPDX-License-Identifier: MIT
 * The functions of include/heapwise/writer.h, on top of the trace writer. Runs in whatever process
 * links it, which may be an interpreter: never prints, never exits, and tells failures by errno.
 *
 * Functions of the language stand at numbers in a module that is no file, so that stacks are stored
 * as those of machine code are; their names follow when the trace is complete, as for any other
 * trace. */
#include "heapwise/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/base/arena.h"
#include "host/base/clock.h"
#include "host/base/map.h"
#include "host/base/vec.h"
#include "format/session.h"
#include "host/trace/symtab.h"
#include "host/trace/typenames.h"
#include "host/trace/writer.h"

#define CODE ((u64)1 << 48)     /* where the module of functions begins */
#define IDENTITY ((u64)1 << 60) /* of types, above every number of a name */
enum { CODE_BYTES = 1 << 30 };

struct function {
	const char *name, *file;
	u32 line;
	u32 next; /* with the same hash, + 1 */
};

struct object {
	u64 address, size, chunk;
	u32 type;
	struct stream_access access;
};

struct heapwise_writer {
	pthread_mutex_t lock;
	struct trace_writer *writer;
	struct stream_sink sink;
	struct arena arena;
	char *path;
	bool accesses;
	int failed; /* first errno */
	u64 start_ns, last_ns;
	VEC(struct function) functions;
	VEC(struct type_name) types;
	VEC(struct object) objects; /* ended ones are reused */
	VEC(u64) free_objects;
	struct map function_by_hash; /* → number */
	struct map type_by_hash;
	struct map stacks;     /* caller << 32 | function → stack */
	struct map by_address; /* → index of objects */
	u32 stacks_count;
	u64 chunks;
	u64 live_bytes;
	struct stream_totals totals;
};

static u64 next_ns(struct heapwise_writer *self)
{
	u64 ns = now_ns();

	if (ns <= self->last_ns)
		ns = self->last_ns + 1; /* no two events at one time: their order is known */
	self->last_ns = ns;
	return ns;
}

static int fail(int number)
{
	errno = number;
	return -1;
}

/* What a sink says becomes an errno, which stays. */
static int told(struct heapwise_writer *self, int status)
{
	if (status < 0 && !self->failed)
		self->failed = status == ERR_MEMORY ? ENOMEM : EIO;
	if (!self->failed && trace_writer_failed(self->writer))
		self->failed = trace_writer_failed(self->writer);
	return self->failed ? fail(self->failed) : 0;
}

static void release(struct heapwise_writer *self)
{
	map_release(&self->function_by_hash);
	map_release(&self->type_by_hash);
	map_release(&self->stacks);
	map_release(&self->by_address);
	vec_release(&self->functions);
	vec_release(&self->types);
	vec_release(&self->objects);
	vec_release(&self->free_objects);
	arena_release(&self->arena);
	pthread_mutex_destroy(&self->lock);
	free(self->path);
	free(self);
}

static int begin(struct heapwise_writer *self, const char *program)
{
	struct stream_image image = {.pid = (u32)getpid(),
				     .parent_pid = (u32)getppid(),
				     .start_ticks = self->start_ns,
				     .start_ns = self->start_ns,
				     .flags = HW_RUN_ALLOC_STACKS | HW_RUN_FREE_STACKS,
				     .access = self->accesses ? ACCESS_EXACT : ACCESS_NONE,
				     .program = program,
				     .command = program};
	struct stream_module module = {.base = CODE,
				       .start = CODE,
				       .end = CODE + CODE_BYTES,
				       .path = "[runtime]"};
	struct stream_thread thread = {.tid = image.pid, .start_ticks = self->start_ns};
	struct stream_clock clock = {.ticks = self->start_ns, .ns = self->start_ns};
	struct err err = {0};
	int status = self->sink.image(self->sink.self, &image, &err);

	if (status == 0)
		status = self->sink.clock(self->sink.self, &clock, &err);
	if (status == 0)
		status = self->sink.module(self->sink.self, &module, &err);
	if (status == 0)
		status = self->sink.thread(self->sink.self, &thread, &err);
	return told(self, status);
}

struct heapwise_writer *heapwise_writer_open(const char *path, const char *program, int flags)
{
	struct heapwise_writer *self = path && program ? calloc(1, sizeof(*self)) : NULL;
	struct err err = {0};
	int saved;

	if (!self) {
		errno = path && program ? ENOMEM : EINVAL;
		return NULL;
	}
	pthread_mutex_init(&self->lock, NULL);
	self->accesses = flags & HEAPWISE_WRITER_ACCESSES;
	self->path = strdup(path);
	errno = 0;
	self->writer = self->path ? trace_writer_open(path, NULL, &err) : NULL;
	if (!self->writer) {
		saved = errno ? errno : EIO;
		release(self);
		errno = saved;
		return NULL;
	}
	self->sink = trace_writer_sink(self->writer);
	self->start_ns = next_ns(self);
	if (begin(self, program) < 0) {
		saved = errno;
		trace_writer_close(self->writer, &err);
		release(self);
		errno = saved;
		return NULL;
	}
	return self;
}

/* ---- names ---- */

static bool function_is(const struct function *one, const char *name, const char *file, u32 line)
{
	return one->line == line && strcmp(one->name, name) == 0 && strcmp(one->file, file) == 0;
}

static u32 function_number(struct heapwise_writer *self, const char *name, const char *file,
			   u32 line)
{
	u64 hash = hash_text(hash_text(HASH_START, name), file) ^ hash_u64(line), *first;
	struct function one = {.line = line};
	u32 number;

	first = map_at(&self->function_by_hash, hash);
	if (!first)
		return 0;
	for (number = (u32)*first; number; number = self->functions.data[number - 1].next)
		if (function_is(&self->functions.data[number - 1], name, file, line))
			return number;
	if (self->functions.count >= CODE_BYTES - 1)
		return 0;
	one.name = arena_copy(&self->arena, name);
	one.file = arena_copy(&self->arena, file);
	one.next = (u32)*first;
	if (!one.name || !one.file || !vec_push(&self->functions, one))
		return 0;
	*first = self->functions.count;
	return (u32)self->functions.count;
}

uint32_t heapwise_writer_function(struct heapwise_writer *self, const char *name, const char *file,
				  uint32_t line)
{
	u32 number;

	if (!self || !name)
		return 0;
	pthread_mutex_lock(&self->lock);
	number = function_number(self, name, file ? file : "", line);
	pthread_mutex_unlock(&self->lock);
	return number;
}

static u32 stack_number(struct heapwise_writer *self, u32 caller, u32 function)
{
	u64 *known;
	struct stream_context context = {.parent = caller, .pc = CODE + function + 1};
	struct err err = {0};

	if (!function || function > self->functions.count || caller > self->stacks_count)
		return 0;
	known = map_at(&self->stacks, (u64)caller << 32 | function);
	if (!known || *known || self->stacks_count == UINT32_MAX)
		return known ? (u32)*known : 0;
	context.id = (u32)(*known = ++self->stacks_count);
	told(self, self->sink.contexts(self->sink.self, &context, 1, &err));
	return context.id;
}

uint32_t heapwise_writer_stack(struct heapwise_writer *self, uint32_t caller, uint32_t function)
{
	u32 number;

	if (!self)
		return 0;
	pthread_mutex_lock(&self->lock);
	number = stack_number(self, caller, function);
	pthread_mutex_unlock(&self->lock);
	return number;
}

static u32 type_number(struct heapwise_writer *self, const char *name)
{
	u64 hash = hash_text(HASH_START, name), *known;
	struct type_name one = {.module = TYPE_NO_MODULE};

	while ((known = map_at(&self->type_by_hash, hash)) && *known) {
		if (strcmp(self->types.data[*known - 1].name, name) == 0)
			return (u32)*known;
		hash = hash_u64(hash + 1);
	}
	one.identity = IDENTITY | (self->types.count + 1);
	one.name = arena_copy(&self->arena, name);
	if (!known || !one.name || !vec_push(&self->types, one))
		return 0;
	*known = self->types.count;
	return (u32)self->types.count;
}

uint32_t heapwise_writer_type(struct heapwise_writer *self, const char *name)
{
	u32 number;

	if (!self || !name)
		return 0;
	pthread_mutex_lock(&self->lock);
	number = type_number(self, name);
	pthread_mutex_unlock(&self->lock);
	return number;
}

/* ---- objects ---- */

static struct object *object_at(struct heapwise_writer *self, u64 address)
{
	const u64 *index = map_find(&self->by_address, address);

	return index ? &self->objects.data[*index] : NULL;
}

static struct object *object_new(struct heapwise_writer *self, u64 address)
{
	u64 index = self->free_objects.count ? self->free_objects.data[self->free_objects.count - 1]
					     : self->objects.count;

	if (index == self->objects.count && !vec_push(&self->objects, (struct object){0}))
		return NULL;
	if (!map_put(&self->by_address, address, index))
		return NULL;
	if (self->free_objects.count)
		self->free_objects.count--;
	self->objects.data[index] = (struct object){.address = address};
	return &self->objects.data[index];
}

static void count_birth(struct heapwise_writer *self, u64 size, u64 ns)
{
	struct stream_totals *totals = &self->totals;

	totals->allocations++;
	totals->bytes += size;
	totals->kept_chunks++;
	self->live_bytes += size;
	if (self->live_bytes > totals->peak_bytes) {
		totals->peak_bytes = self->live_bytes;
		totals->peak_chunks = totals->kept_chunks;
		totals->peak_ticks = ns;
	}
}

static int object_begin(struct heapwise_writer *self, const struct event *born, u32 type)
{
	struct object *object = object_new(self, born->address);
	struct stream_type row = {.identity = IDENTITY | type, .count = 1, .source = TYPE_DECLARED};
	struct event event = *born;
	struct err err = {0};
	int status;

	if (!object)
		return told(self, ERR_MEMORY);
	event.chunk = row.chunk = object->chunk = self->chunks++;
	object->size = event.size;
	object->type = type;
	object->access = (struct stream_access){.chunk = event.chunk, .covered_bytes = UINT64_MAX};
	count_birth(self, event.size, event.ticks);
	status = self->sink.events(self->sink.self, &event, 1, &err);
	if (status == 0 && type)
		status = self->sink.types(self->sink.self, &row, 1, &err);
	return told(self, status);
}

static int object_end(struct heapwise_writer *self, u64 address, u32 stack)
{
	struct event event = {.address = address, .kind = HW_POOL_FREE, .context = stack};
	struct err err = {0};
	struct object *object;
	int status = 0;
	u64 index;

	event.ticks = next_ns(self);
	if (!map_remove(&self->by_address, address, &index)) {
		self->totals.unknown_frees++;
		event.chunk = NO_CHUNK;
		told(self, self->sink.events(self->sink.self, &event, 1, &err));
		return fail(ENOENT);
	}
	object = &self->objects.data[index];
	event.chunk = object->chunk;
	event.size = object->size;
	self->totals.frees++;
	self->totals.freed_bytes += object->size;
	self->totals.kept_chunks--;
	self->live_bytes -= object->size;
	if (self->accesses)
		status = self->sink.accesses(self->sink.self, &object->access, 1, &err);
	object->address = 0;
	if (!vec_push(&self->free_objects, index))
		status = ERR_MEMORY;
	if (status == 0)
		status = self->sink.events(self->sink.self, &event, 1, &err);
	return told(self, status);
}

int heapwise_writer_alloc(struct heapwise_writer *self, uint64_t address, uint64_t size,
			  uint32_t stack, uint32_t type)
{
	struct event event = {.address = address, .size = size, .context = stack, .kind = HW_POOL};
	int status;

	if (!self || !address)
		return fail(EINVAL);
	pthread_mutex_lock(&self->lock);
	event.ticks = next_ns(self);
	if (stack > self->stacks_count || type > self->types.count)
		status = fail(EINVAL);
	else if (object_at(self, address))
		status = fail(EEXIST);
	else
		status = object_begin(self, &event, type);
	pthread_mutex_unlock(&self->lock);
	return status;
}

int heapwise_writer_free(struct heapwise_writer *self, uint64_t address, uint32_t stack)
{
	int status;

	if (!self || !address)
		return fail(EINVAL);
	pthread_mutex_lock(&self->lock);
	status = stack > self->stacks_count ? fail(EINVAL) : object_end(self, address, stack);
	pthread_mutex_unlock(&self->lock);
	return status;
}

int heapwise_writer_move(struct heapwise_writer *self, uint64_t address, uint64_t to, uint64_t size,
			 uint32_t stack)
{
	struct event event = {.address = to, .size = size, .context = stack, .kind = HW_POOL};
	const struct object *object;
	int status = 0;
	u32 type = 0;

	if (!self || !address || !to)
		return fail(EINVAL);
	pthread_mutex_lock(&self->lock);
	object = object_at(self, address);
	if (object)
		type = object->type;
	if (stack > self->stacks_count)
		status = fail(EINVAL);
	else if (!object)
		status = fail(ENOENT);
	else if (to != address && object_at(self, to))
		status = fail(EEXIST);
	if (status == 0)
		status = object_end(self, address, stack);
	event.ticks = next_ns(self);
	if (status == 0)
		status = object_begin(self, &event, type);
	pthread_mutex_unlock(&self->lock);
	return status;
}

static void note_access(struct heapwise_writer *self, struct stream_access *access, u64 offset,
			u64 bytes, bool written)
{
	u64 ns = next_ns(self);

	if (!access->first_ticks)
		access->first_ticks = ns;
	access->last_ticks = ns;
	if (access->high == access->low)
		access->low = offset;
	access->low = offset < access->low ? offset : access->low;
	access->high = offset + bytes > access->high ? offset + bytes : access->high;
	access->reads += !written;
	access->writes += written;
	access->read_bytes += written ? 0 : bytes;
	access->written_bytes += written ? bytes : 0;
}

int heapwise_writer_access(struct heapwise_writer *self, uint64_t address, uint64_t offset,
			   uint64_t bytes, int written)
{
	struct object *object;
	int status = 0;

	if (!self || !address || !bytes || !self->accesses)
		return fail(EINVAL);
	pthread_mutex_lock(&self->lock);
	object = object_at(self, address);
	if (!object)
		status = fail(ENOENT);
	else if (offset > object->size || bytes > object->size - offset)
		status = fail(EINVAL);
	else
		note_access(self, &object->access, offset, bytes, written != 0);
	pthread_mutex_unlock(&self->lock);
	return status;
}

/* ---- the end ---- */

static int end_tell(struct heapwise_writer *self)
{
	struct stream_image_end end = {.how = IMAGE_EXITED};
	struct stream_clock clock;
	struct err err = {0};
	int status = 0;

	for (u64 i = 0; self->accesses && i < self->objects.count && status == 0; i++)
		if (self->objects.data[i].address)
			status = self->sink.accesses(self->sink.self, &self->objects.data[i].access,
						     1, &err);
	end.ticks = next_ns(self);
	clock = (struct stream_clock){.ticks = end.ticks, .ns = end.ticks};
	self->totals.kept_bytes = self->live_bytes;
	end.totals = self->totals;
	if (status == 0)
		status = self->sink.clock(self->sink.self, &clock, &err);
	if (status == 0)
		status = self->sink.image_end(self->sink.self, &end, &err);
	return told(self, status);
}

static int names_write(struct heapwise_writer *self)
{
	u64 count = self->functions.count;
	struct symbol_entry *entries = calloc(count + 1, sizeof(*entries));
	struct symbol_frame *frames = calloc(count + 1, sizeof(*frames));
	int status = entries && frames ? 0 : ERR_MEMORY;
	struct err err = {0};

	for (u64 i = 0; i < count && status == 0; i++) {
		const struct function *one = &self->functions.data[i];

		frames[i] = (struct symbol_frame){.function = one->name,
						  .file = one->file,
						  .line = one->line};
		entries[i] = (struct symbol_entry){.address = i + 1,
						   .frames = &frames[i],
						   .frame_count = 1};
	}
	if (status == 0 && count)
		status = trace_write_symbols(self->path, entries, count, &err);
	if (status == 0 && self->types.count)
		status = trace_write_type_names(self->path, self->types.data, self->types.count,
						&err);
	free(entries);
	free(frames);
	return status;
}

int heapwise_writer_close(struct heapwise_writer *self)
{
	struct err err = {0};
	int failed;

	if (!self)
		return fail(EINVAL);
	pthread_mutex_lock(&self->lock);
	end_tell(self);
	failed = self->failed;
	if (trace_writer_close(self->writer, &err) < 0 && !failed)
		failed = EIO;
	if (!failed && names_write(self) < 0)
		failed = EIO;
	pthread_mutex_unlock(&self->lock);
	release(self);
	return failed ? fail(failed) : 0;
}
