/* SPDX-License-Identifier: MIT
 * What the memory outside of blocks is; see places.h. Runs on a scan's thread. */
#include "live/scan/places.h"

#include <elf.h>
#include <string.h>

#include "live/scan/arch/arch.h"

/* ---- thread-local variables ------------------------------------------------------------------ */

enum { HEADERS_MAX = 64 };

static u64 round_up(u64 value, u64 to) { return to > 1 ? (value + to - 1) / to * to : value; }

/* Where the variables of a module end whose neighbour's end at `before`. */
static u64 module_tls(struct scan_memory *memory, u64 start, u64 before)
{
	Elf64_Phdr headers[HEADERS_MAX];
	Elf64_Ehdr file;

	if (!scan_memory_read(memory, start, &file, sizeof(file)) ||
	    memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_phnum > HEADERS_MAX ||
	    !scan_memory_read(memory, start + file.e_phoff, headers,
			      file.e_phnum * sizeof(*headers)))
		return before;
	for (u32 i = 0; i < file.e_phnum; i++)
		if (headers[i].p_type == PT_TLS && headers[i].p_memsz < 1 << 24 &&
		    headers[i].p_align < 1 << 16)
			return round_up(before + headers[i].p_memsz, headers[i].p_align);
	return before;
}

u64 scan_tls_bytes(struct scan_memory *memory)
{
	u64 bytes = 0, last = 0;

	for (u64 i = 0; i < memory->mappings.count; i++) {
		const struct mapping *mapping = &memory->mappings.data[i];

		if (mapping->kind != MAPPING_FILE || mapping->file == last)
			continue;
		last = mapping->file;
		if (mapping->readable)
			bytes = module_tls(memory, mapping->start, bytes);
	}
	return bytes;
}

static struct scan_span tls_of(const struct scan_thread *thread, u64 tls_bytes)
{
	u64 at = thread->thread_pointer, below = SCAN_TLS_ABOVE ? SCAN_RECORD_BYTES : tls_bytes;
	u64 above = SCAN_TLS_ABOVE ? 16 + tls_bytes : SCAN_RECORD_BYTES;

	return (struct scan_span){at > below ? at - below : 0, at + above};
}

/* ---- mappings -------------------------------------------------------------------------------- */

struct placing {
	struct scan_places *to;
	const struct scan_surroundings *around;
	VEC(u64) code; /* files that code came from */
	u64 tls_bytes;
	bool failed;
};

static bool has_code(const struct placing *self, u64 file)
{
	for (u64 i = 0; i < self->code.count; i++)
		if (self->code.data[i] == file)
			return true;
	return false;
}

static void code_find(struct placing *self)
{
	const struct scan_memory *memory = self->around->memory;

	for (u64 i = 0; i < memory->mappings.count; i++) {
		const struct mapping *mapping = &memory->mappings.data[i];

		if (mapping->kind == MAPPING_FILE && mapping->executable &&
		    !has_code(self, mapping->file))
			self->failed |= !vec_push(&self->code, mapping->file);
	}
}

/* What a mapping is where no thread keeps anything in it. */
static struct stream_root mapping_root(const struct placing *self, u64 number)
{
	const struct mapping *mapping = &self->around->memory->mappings.data[number];
	struct stream_root root = {.kind = ROOT_MAPPING, .name = mapping->path};

	if (mapping->kind == MAPPING_STACK)
		root = (struct stream_root){.kind = ROOT_STACK,
					    .tid = self->around->memory->pid,
					    .name = ""};
	/* zeroed data of a module is mapped anonymously behind its file */
	if (mapping->kind == MAPPING_ANONYMOUS && number && mapping[-1].end == mapping->start &&
	    mapping[-1].kind == MAPPING_FILE && mapping[-1].writable)
		mapping--;
	if (mapping->kind == MAPPING_FILE && has_code(self, mapping->file))
		root = (struct stream_root){.kind = ROOT_DATA, .name = mapping->path};
	return root;
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

/* A part of a mapping without thread-local variables. */
static void part_add(struct placing *self, struct stream_root root, u64 start, u64 end)
{
	const struct scan_thread *thread = start < end ? stack_in(self, start, end) : NULL;
	u64 top;

	if (!thread) {
		row_add(self, root, start, end);
		return;
	}
	top = thread->stack_pointer - start > SCAN_RED_ZONE ? thread->stack_pointer - SCAN_RED_ZONE
							    : start;
	row_add(self, root, start, top);
	row_add(self,
		(struct stream_root){
			.kind = ROOT_STACK, .tid = thread->tid, .code = thread->code, .name = ""},
		top, end);
}

/* The first thread-local variables that end after `at` and begin before `end`. */
static const struct scan_thread *tls_next(const struct placing *self, u64 at, u64 end,
					  struct scan_span *span)
{
	const struct scan_thread *found = NULL;

	for (u64 i = 0; i < self->around->thread_count; i++) {
		const struct scan_thread *thread = &self->around->threads[i];
		struct scan_span one = tls_of(thread, self->tls_bytes);

		if (thread->thread_pointer < at || thread->thread_pointer >= end ||
		    (found && one.start >= span->start))
			continue;
		found = thread;
		*span = one;
	}
	return found;
}

static void mapping_place(struct placing *self, u64 number)
{
	const struct mapping *mapping = &self->around->memory->mappings.data[number];
	struct stream_root root = mapping_root(self, number);
	const struct scan_thread *thread;
	struct scan_span tls = {0};
	u64 at = mapping->start;

	while (at < mapping->end && (thread = tls_next(self, at, mapping->end, &tls))) {
		u64 start = tls.start > at ? tls.start : at;
		u64 end = tls.end < mapping->end ? tls.end : mapping->end;

		part_add(self, root, at, start);
		row_add(self,
			(struct stream_root){.kind = ROOT_TLS, .tid = thread->tid, .name = ""},
			start, end);
		at = end;
	}
	part_add(self, root, at, mapping->end);
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
		     u64 tls_bytes, struct err *err)
{
	struct placing placing = {.to = self, .around = around, .tls_bytes = tls_bytes};

	code_find(&placing);
	for (u64 i = 0; i < around->memory->mappings.count; i++)
		if (around->memory->mappings.data[i].writable)
			mapping_place(&placing, i);
	self->ranges = self->rows.count;
	registers_place(&placing);
	vec_release(&placing.code);
	return placing.failed ? err_memory(err) : 0;
}

void scan_places_release(struct scan_places *self)
{
	vec_release(&self->rows);
	arena_release(&self->names);
}
