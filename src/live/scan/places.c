/* SPDX-License-Identifier: MIT
 * What the memory outside of blocks is; see places.h. Runs on a scan's thread. */
#include "live/scan/places.h"

#include <string.h>

#include "live/scan/arch/arch.h"

/* Modules that were loaded later count, too, though their variables are elsewhere. Where a thread's
 * stack ends below its variables, they begin above its outermost frame. */
static struct scan_span tls_of(const struct scan_thread *thread, u64 tls_bytes)
{
	u64 at = thread->thread_pointer, below = SCAN_TLS_ABOVE ? SCAN_RECORD_BYTES : tls_bytes;
	u64 above = SCAN_TLS_ABOVE ? 16 + tls_bytes : SCAN_RECORD_BYTES;
	u64 start = at > below ? at - below : 0;
	u64 outermost = thread->frame_count ? thread->frames[thread->frame_count - 1].start : 0;

	if (outermost > start && outermost < at)
		start = outermost;
	return (struct scan_span){start, at + above};
}

/* ---- mappings -------------------------------------------------------------------------------- */

struct placing {
	struct scan_places *to;
	const struct scan_surroundings *around;
	const struct scan_modules *modules;
	u64 module; /* the first that may end after what is placed */
	bool failed;
};

/* What [at, *end) of a mapping is where no thread keeps anything in it; *end becomes less if what
 * follows is something else: the kernel joins a module's zeroed data and what is mapped behind
 * it. */
static struct stream_root part_root(struct placing *self, const struct mapping *mapping, u64 at,
				    u64 *end)
{
	const struct scan_modules *modules = self->modules;
	const struct scan_module *module;

	if (mapping->kind == MAPPING_STACK)
		return (struct stream_root){.kind = ROOT_STACK,
					    .tid = self->around->pid,
					    .name = ""};
	while (self->module < modules->rows.count && modules->rows.data[self->module].end <= at)
		self->module++;
	module = &modules->rows.data[self->module];
	if (self->module == modules->rows.count || module->start >= *end)
		return (struct stream_root){.kind = ROOT_MAPPING, .name = mapping->path};
	if (module->start > at) {
		*end = module->start;
		return (struct stream_root){.kind = ROOT_MAPPING, .name = mapping->path};
	}
	if (module->end < *end)
		*end = module->end;
	return (struct stream_root){.kind = ROOT_DATA, .code = module->base, .name = module->path};
}

static void row_add(struct placing *self, struct stream_root root, u64 start, u64 end)
{
	const u64 last = self->to->rows.count;

	if (start >= end)
		return;
	root.address = start;
	root.bytes = end - start;
	if (last && strcmp(self->to->rows.data[last - 1].name, root.name) == 0)
		root.name = self->to->rows.data[last - 1].name;
	else
		root.name = arena_copy(&self->to->names, root.name);
	self->failed |= !root.name || !vec_push(&self->to->rows, root);
}

/* The thread whose stack pointer is the lowest there; NULL if there is none. */
static const struct scan_thread *stack_in(const struct placing *self, u64 start, u64 end)
{
	const struct scan_thread *found = NULL;

	for (u64 i = 0; i < self->around->thread_count; i++) {
		const struct scan_thread *thread = &self->around->threads[i];

		if (thread->stack_pointer >= start && thread->stack_pointer < end &&
		    (!found || thread->stack_pointer < found->stack_pointer))
			found = thread;
	}
	return found;
}

/* A row for each frame that is known, from the stack pointer's red zone on. */
static void stack_add(struct placing *self, const struct scan_thread *thread, u64 start, u64 end)
{
	struct stream_root root = {.kind = ROOT_STACK,
				   .tid = thread->tid,
				   .code = thread->code,
				   .name = ""};

	for (u32 i = 0; i + 1 < thread->frame_count && thread->frames[i + 1].start < end; i++) {
		row_add(self, root, start, thread->frames[i + 1].start);
		start = thread->frames[i + 1].start;
		root.code = thread->frames[i + 1].code;
	}
	row_add(self, root, start, end);
}

/* A part of a mapping without thread-local variables. */
static void part_add(struct placing *self, const struct mapping *mapping, u64 start, u64 end)
{
	const struct scan_thread *thread = start < end ? stack_in(self, start, end) : NULL;
	u64 top = end, next;

	if (thread)
		top = thread->stack_pointer - start > SCAN_RED_ZONE
			      ? thread->stack_pointer - SCAN_RED_ZONE
			      : start;
	for (; start < top; start = next) {
		struct stream_root root;

		next = top;
		root = part_root(self, mapping, start, &next);
		row_add(self, root, start, next);
	}
	if (thread)
		stack_add(self, thread, top, end);
}

/* The first thread-local variables that end after `at` and begin before `end`. */
static const struct scan_thread *tls_next(const struct placing *self, u64 at, u64 end,
					  struct scan_span *span)
{
	const struct scan_thread *found = NULL;

	for (u64 i = 0; i < self->around->thread_count; i++) {
		const struct scan_thread *thread = &self->around->threads[i];
		struct scan_span one = tls_of(thread, self->modules->tls_bytes);

		if (thread->thread_pointer < at || thread->thread_pointer >= end ||
		    (found && one.start >= span->start))
			continue;
		found = thread;
		*span = one;
	}
	return found;
}

static void mapping_place(struct placing *self, const struct mapping *mapping)
{
	const struct scan_thread *thread;
	struct scan_span tls = {0};
	u64 at = mapping->start;

	while (at < mapping->end && (thread = tls_next(self, at, mapping->end, &tls))) {
		u64 start = tls.start > at ? tls.start : at;
		u64 end = tls.end < mapping->end ? tls.end : mapping->end;

		part_add(self, mapping, at, start);
		row_add(self,
			(struct stream_root){.kind = ROOT_TLS, .tid = thread->tid, .name = ""},
			start, end);
		at = end;
	}
	part_add(self, mapping, at, mapping->end);
}

static void registers_place(struct placing *self)
{
	struct scan_places *to = self->to;

	for (u64 i = 0; i < self->around->thread_count; i++) {
		const struct scan_thread *thread = &self->around->threads[i];

		for (u32 k = 0; k < thread->register_count; k++) {
			struct stream_root root = {.kind = ROOT_REGISTER,
						   .tid = thread->tid,
						   .bytes = sizeof(u64),
						   .name = thread->names[k]};

			self->failed |= !vec_push(&to->rows, root);
		}
	}
}

int scan_places_find(struct scan_places *self, const struct scan_surroundings *around,
		     const struct scan_modules *modules, struct err *err)
{
	struct placing placing = {.to = self, .around = around, .modules = modules};

	for (u64 i = 0; i < around->memory->mappings.count; i++)
		if (around->memory->mappings.data[i].writable)
			mapping_place(&placing, &around->memory->mappings.data[i]);
	self->ranges = self->rows.count;
	registers_place(&placing);
	return placing.failed ? err_memory(err) : 0;
}

void scan_places_release(struct scan_places *self)
{
	vec_release(&self->rows);
	arena_release(&self->names);
}
