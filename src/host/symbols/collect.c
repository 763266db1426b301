/* SPDX-License-Identifier: MIT
 * Gathers the distinct addresses of all contexts and routines, image by image.
 * Runs on the host. Never opens a module's file. */
#include "host/symbols/collect.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/order.h"
#include "host/base/strbuf.h"
#include "format/runtime.h"

static int compare_pcs(const void *a, const void *b)
{
	const struct frame_pc *x = a, *y = b;

	return rising(x->pc, y->pc) ?: rising(x->generation, y->generation);
}

/* The number of the file that a module was loaded from; ERR_MEMORY if it cannot be kept. */
static int file_of(struct collect *self, const struct modmap_module *module, u32 *file)
{
	struct symbolizer_module new = {.path = module->path[0] ? module->path : self->program,
					.build_id = module->build_id,
					.build_id_bytes = module->build_id_bytes,
					.arch = self->arch};
	struct strbuf key = {0};
	const char *kept;
	u64 *index;

	strbuf_addf(&key, "%u ", self->arch);
	for (u32 i = 0; i < module->build_id_bytes; i++)
		strbuf_addf(&key, "%02x", module->build_id[i]);
	strbuf_addf(&key, " %s", new.path);
	kept = names_keep(&self->keys, strbuf_text(&key));
	strbuf_release(&key);
	index = map_at(&self->by_key, (u64)(uintptr_t)kept);
	if (!kept[0] || !index)
		return ERR_MEMORY;
	if (!*index) {
		if (!symbolizer_module_copy(&self->arena, &new, &new) ||
		    !vec_push(&self->files, new) ||
		    !vec_push(&self->own, strcmp(new.path, self->program) == 0))
			return ERR_MEMORY;
		*index = self->files.count;
	}
	*file = (u32)*index - 1;
	return 0;
}

/* The file of whatever module had the address. Of types it is not known when they were told: if two
 * files were mapped there one after the other, there is no answer. */
static int place_type(struct collect *self, struct wanted_type *wanted, bool *found)
{
	*found = false;
	for (u32 i = 0; i < self->modules.module_count; i++) {
		const struct modmap_module *module = &self->modules.modules[i];
		u32 file;

		if (!module->told || wanted->identity < module->start ||
		    wanted->identity >= module->end)
			continue;
		if (file_of(self, module, &file) < 0)
			return ERR_MEMORY;
		if (*found && file != wanted->file) {
			*found = false;
			return 0;
		}
		*found = true;
		wanted->file = file;
		wanted->module = module->id;
		wanted->address = wanted->identity - module->base;
	}
	return 0;
}

static int finish_types(struct collect *self)
{
	struct wanted_type wanted = {.image = self->image};
	int result = 0;

	for (u64 at = 0, count;
	     result == 0 && map_next(&self->identities, &at, &wanted.identity, &count);) {
		bool found;

		result = place_type(self, &wanted, &found);
		if (!result && found && !vec_push(&self->types, wanted))
			result = ERR_MEMORY;
	}
	map_clear(&self->identities);
	return result;
}

static int finish_variables(struct collect *self)
{
	struct wanted wanted = {.image = self->image};
	u64 address, ticks;
	int result = 0;

	for (u64 at = 0; result == 0 && map_next(&self->data, &at, &address, &ticks);) {
		const struct modmap_module *module = modmap_at(&self->modules, address, ticks);

		if (!module)
			continue;
		result = file_of(self, module, &wanted.file);
		wanted.module = module->id;
		wanted.address = address - module->base;
		if (!result && !vec_push(&self->variables, wanted))
			result = ERR_MEMORY;
	}
	map_clear(&self->data);
	return result;
}

/* Turns the image's addresses into places in files, once all of its modules are known. */
static int finish_image(struct collect *self, struct err *err)
{
	const struct modmap_module generated = {.path = self->generated, .build_id = (u8 *)""},
				   *last = NULL;
	struct wanted wanted = {.image = self->image};
	int result = 0;

	vec_sort(&self->pcs, compare_pcs);
	for (u64 i = 0; i < self->pcs.count && !result; i++) {
		u64 address = self->pcs.data[i].pc - 1; /* as modmap_place does */
		const struct modmap_module *module =
			modmap_find(&self->modules, address, self->pcs.data[i].generation);

		if (!module && !self->generated[0])
			continue;
		module = module ? module : &generated;
		if (module != last)
			result = file_of(self, module, &wanted.file);
		last = module;
		wanted.module = module == &generated ? WANTED_NO_MODULE : module->id;
		wanted.address = address - module->base;
		if (!result && !vec_push(&self->wanted, wanted))
			result = ERR_MEMORY;
	}
	if (!result)
		result = finish_types(self);
	if (!result)
		result = finish_variables(self);
	vec_clear(&self->pcs);
	map_clear(&self->seen);
	memset(self->recent, 0, sizeof(self->recent));
	modmap_release(&self->modules);
	return result ? err_set(err, result, "out of memory for the addresses of a trace") : 0;
}

static int take_image(void *opaque, const struct stream_image *image, struct err *err)
{
	struct collect *self = opaque;
	int result = finish_image(self, err);

	self->image = image->number;
	self->arch = image->arch;
	if (!perf_map_find_file(image->pid, image->start_ns, self->generated))
		self->generated[0] = 0;
	self->program = arena_copy(&self->arena, image->program ? image->program : "");
	if (!result && !self->program)
		result = err_memory_for(err, "the addresses of a trace");
	return result;
}

static int take_module(void *opaque, const struct stream_module *module, struct err *err)
{
	struct collect *self = opaque;

	return modmap_tell(&self->modules, module, err);
}

/* Contexts outnumber their distinct addresses by far. */
static bool keep_pc(struct collect *self, const struct frame_pc *frame)
{
	/* Generations have 16 bits, which no user address has. */
	u64 *seen = map_at(&self->seen, frame->pc ^ (u64)frame->generation << 48);

	if (!seen)
		return false;
	return (*seen)++ || vec_push(&self->pcs, *frame);
}

static int take_contexts(void *opaque, const struct stream_context *contexts, u64 count,
			 struct err *err)
{
	struct collect *self = opaque;
	int result = modmap_tell_contexts(&self->modules, contexts, count, err);

	if (result)
		return result;
	for (u64 i = 0; i < count; i++) {
		struct frame_pc frame = {.pc = contexts[i].pc};

		if (!context_is_frame(&contexts[i]) || !frame.pc)
			continue;
		frame.generation = modmap_generation(&self->modules, contexts[i].id);
		if (!keep_pc(self, &frame))
			return err_memory_for(err, "the addresses of a trace");
	}
	return 0;
}

/* A routine is asked for at its first instruction. Rows outnumber routines by far more than
 * contexts do addresses, and come in a few kinds at a time. */
static int take_routines(void *opaque, const struct stream_routine *rows, u64 count,
			 struct err *err)
{
	struct collect *self = opaque;

	for (u64 i = 0; i < count; i++) {
		struct frame_pc frame = {.pc = rows[i].address + 1};
		struct frame_pc *recent = &self->recent[rows[i].address / 16 % COLLECT_RECENT];

		if (rows[i].step != ROUTINE_ENTER && rows[i].step != ROUTINE_LEAVE)
			continue;
		frame.generation = modmap_generation_at(&self->modules, rows[i].ticks);
		if (recent->pc == frame.pc && recent->generation == frame.generation)
			continue;
		*recent = frame;
		if (!keep_pc(self, &frame))
			return err_memory_for(err, "the addresses of a trace");
	}
	return 0;
}

static int take_types(void *opaque, const struct stream_type *rows, u64 count, struct err *err)
{
	struct collect *self = opaque;

	for (u64 i = 0; i < count; i++)
		if (rows[i].identity >= HW_NAMES && !map_at(&self->identities, rows[i].identity))
			return err_memory_for(err, "the types of a trace");
	return 0;
}

/* Of functions that a runtime named; the others are of marks and types. */
static int take_name(void *opaque, const struct stream_name *name, struct err *err)
{
	struct collect *self = opaque;
	const char *text;

	if (name->id < HW_NAMES || name->id - HW_NAMES >= HW_CODES)
		return 0;
	text = arena_copy(&self->arena, name->text);
	if (!text || !map_put(&self->codes, (u64)self->image << 32 | (name->id - HW_NAMES),
			      (u64)(uintptr_t)text))
		return err_memory_for(err, "the names of functions");
	return 0;
}

/* Where pointers are outside of chunks: variables, and functions of frames. */
static int take_graph(void *opaque, const struct stream_graph *graph, struct err *err)
{
	struct collect *self = opaque;
	const u64 *starts = graph->starts + graph->chunk_count;
	bool good = true;

	for (u64 i = 0; i < graph->root_count && good; i++) {
		const struct stream_root *root = &graph->roots[i];
		struct frame_pc frame = {.pc = root->code + 1};

		if (root->kind == ROOT_STACK && root->code) {
			frame.generation = modmap_generation_at(&self->modules, graph->ticks);
			good = keep_pc(self, &frame);
		}
		for (u64 k = starts[i]; root->kind == ROOT_DATA && good && k < starts[i + 1]; k++)
			good = map_put(&self->data, root->address + graph->edges[k].from,
				       graph->ticks);
	}
	return good ? 0 : err_memory_for(err, "the variables of a trace");
}

struct stream_sink collect_sink(struct collect *self)
{
	return (struct stream_sink){.self = self,
				    .image = take_image,
				    .module = take_module,
				    .contexts = take_contexts,
				    .routines = take_routines,
				    .types = take_types,
				    .graph = take_graph,
				    .name = take_name};
}

static int compare_wanted(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return rising(x->file, y->file)
		       ?: rising(x->address, y->address)
		       ?: rising(x->image, y->image) ?: rising(x->module, y->module);
}

static int compare_types(const void *a, const void *b)
{
	const struct wanted_type *x = a, *y = b;

	return rising(x->file, y->file) ?: rising(x->address, y->address);
}

int collect_finish(struct collect *self, struct err *err)
{
	u64 kept = 0;
	int result = finish_image(self, err);

	vec_sort(&self->types, compare_types);
	vec_sort(&self->wanted, compare_wanted);
	vec_sort(&self->variables, compare_wanted);
	if (result || !self->wanted.count)
		return result;
	for (u64 i = 1; i < self->wanted.count; i++)
		if (compare_wanted(&self->wanted.data[kept], &self->wanted.data[i]))
			self->wanted.data[++kept] = self->wanted.data[i];
	self->wanted.count = kept + 1;
	return 0;
}

void collect_release(struct collect *self)
{
	vec_release(&self->files);
	vec_release(&self->own);
	vec_release(&self->wanted);
	vec_release(&self->types);
	vec_release(&self->variables);
	vec_release(&self->pcs);
	modmap_release(&self->modules);
	names_release(&self->keys);
	map_release(&self->by_key);
	map_release(&self->seen);
	map_release(&self->identities);
	map_release(&self->data);
	map_release(&self->codes);
	arena_release(&self->arena);
}
