/* SPDX-License-Identifier: MIT
 * Functions, stacks and names of a program that is not there.
 * Host. */
#include "dev/synth/program.h"

#include <stdio.h>
#include <stdlib.h>

#include "host/trace/symtab.h"
#include "host/trace/typenames.h"

enum {
	FUNCTIONS_MIN = 61,
	POINTS_PER_FUNCTION = 16,
	FUNCTIONS_MAX = 60000,
	FUNCTION_BYTES = 0x400,
	SITES = 8, /* calls in a function */
	SITE_BYTES = 0x40,
	MODULES = 3,
	STACK_STEP = 3, /* how much deeper or less deep than the last stack one is */
	BATCH = 1024,
};

static const struct {
	const char *path;
	u64 base;
} modules[MODULES] = {{"/usr/bin/synthetic", 0x555500000000},
		      {"/usr/lib/libengine.so.2", 0x7f1000000000},
		      {"/usr/lib/libwire.so.1", 0x7f2000000000}};

bool program_init(struct program *self, u64 points, u64 seed)
{
	u64 functions = points / POINTS_PER_FUNCTION;

	functions = functions < FUNCTIONS_MIN ? FUNCTIONS_MIN : functions;
	self->functions = (u32)(functions > FUNCTIONS_MAX ? FUNCTIONS_MAX : functions) | 1;
	self->draw = (struct draw){draw_mix(seed ^ 0x70726f6772616d)};
	/* no context, and the frame in which main was called */
	return vec_push(&self->nodes, (struct synth_node){0}) &&
	       vec_push(&self->nodes, (struct synth_node){.depth = 1}) &&
	       (self->path[1] = 1, self->depth = 1);
}

void program_release(struct program *self)
{
	vec_release(&self->nodes);
	arena_release(&self->names);
}

/* Children of one node call from different functions, as long as there are any: so no two stacks
 * are equal. */
static u32 add_child(struct program *self, u32 parent)
{
	struct synth_node *above = &self->nodes.data[parent];
	u64 number = above->children++;
	struct synth_node node = {.parent = parent,
				  .function = 1 + (u32)((draw_mix(parent) + number) %
							(self->functions - 1)),
				  .site = (u8)(number / (self->functions - 1) % SITES),
				  .depth = (u8)(above->depth + 1)};

	if (self->nodes.count > UINT32_MAX - 2 || !vec_push(&self->nodes, node))
		return 0;
	return (u32)self->nodes.count - 1;
}

u32 program_new_stack(struct program *self)
{
	i64 depth =
		(i64)self->depth - STACK_STEP + (i64)draw_below(&self->draw, 2 * STACK_STEP + 1);
	u32 shared, at;

	if (depth < SYNTH_DEPTH_MIN)
		depth = SYNTH_DEPTH_MIN;
	if (depth > SYNTH_DEPTH_MAX)
		depth = SYNTH_DEPTH_MAX;
	shared = (u32)draw_below(&self->draw, 4) + 1; /* frames that differ at least */
	shared = depth > shared + 2 ? (u32)depth - shared : 2;
	if (draw_below(&self->draw, 64) == 0)
		shared = 2; /* another part of the program */
	if (shared > self->depth)
		shared = self->depth;
	for (at = shared; at < (u32)depth; at++) {
		u32 child = add_child(self, self->path[at]);

		if (!child)
			return 0;
		self->path[at + 1] = child;
	}
	self->depth = at;
	return self->path[at];
}

static u32 module_of(u32 function) { return function % MODULES; }

/* Return address of a call, in its module. */
static u64 offset_of(u32 function, u32 site)
{
	return 0x1000 + (u64)(function / MODULES) * FUNCTION_BYTES + (site + 1) * SITE_BYTES;
}

int program_tell_modules(const struct program *self, const struct stream_sink *sink,
			 struct err *err)
{
	int status = 0;

	for (u32 i = 0; i < MODULES && status == 0; i++) {
		u8 build_id[20] = {0x5e, (u8)i};
		struct stream_module module = {.id = i,
					       .base = modules[i].base,
					       .start = modules[i].base,
					       .end = modules[i].base +
						      offset_of(self->functions + MODULES, SITES),
					       .path = modules[i].path,
					       .build_id = build_id,
					       .build_id_bytes = sizeof build_id};

		status = sink->module(sink->self, &module, err);
	}
	return status;
}

int program_tell_contexts(struct program *self, const struct stream_sink *sink, struct err *err)
{
	struct stream_context batch[BATCH];
	int status = 0;
	u64 count = 0;

	while (self->told + 1 < self->nodes.count && status == 0) {
		u32 id = ++self->told;
		const struct synth_node *node = &self->nodes.data[id];

		batch[count++] =
			(struct stream_context){.id = id,
						.parent = node->parent,
						.pc = modules[module_of(node->function)].base +
						      offset_of(node->function, node->site)};
		if (count < BATCH && self->told + 1 < self->nodes.count)
			continue;
		status = sink->contexts(sink->self, batch, count, err);
		count = 0;
	}
	return status;
}

static const char *const subjects[] = {"wire",  "store", "index", "cache", "plan", "parse",
				       "token", "graph", "queue", "image", "text", "math",
				       "table", "log",   "net",   "pool"};
static const char *const things[] = {"Session", "Buffer", "Node",   "Reader", "Writer",
				     "Row",     "Key",    "Frame",  "Batch",  "Page",
				     "Cursor",  "Stream", "Record", "Map",    "Block"};
static const char *const verbs[] = {"append", "read",  "insert", "copy",  "resolve",
				    "build",  "merge", "split",  "fetch", "decode",
				    "encode", "visit", "grow"};

#define WORD(words, number) (words)[(number) % (sizeof(words) / sizeof *(words))]

const char *program_function_name(struct program *self, u32 function)
{
	u64 hash = draw_mix(function + 1);
	char text[128];

	if (function == 0)
		return "main";
	snprintf(text, sizeof text, "%s::%s::%s_%u", WORD(subjects, hash), WORD(things, hash >> 16),
		 WORD(verbs, hash >> 32), function);
	return arena_copy(&self->names, text);
}

static const char *file_name(struct program *self, u32 function)
{
	char text[128];

	snprintf(text, sizeof text, "/src/synthetic/%s/part%u.cc",
		 WORD(subjects, draw_mix(function + 1)), function / 32);
	return arena_copy(&self->names, text);
}

int program_write_symbols(struct program *self, const char *path, struct err *err)
{
	u64 count = (u64)self->functions * SITES, at = 0;
	struct symbol_entry *entries = calloc(count, sizeof *entries);
	struct symbol_frame *frames = calloc(count, sizeof *frames);
	int status = 0;

	if (!entries || !frames)
		status = err_memory(err);
	for (u32 i = 0; i < self->functions && status == 0; i++) {
		const char *name = program_function_name(self, i), *file = file_name(self, i);

		if (!name || !file)
			status = err_memory(err);
		for (u32 site = 0; site < SITES && status == 0; site++, at++) {
			frames[at] = (struct symbol_frame){.function = name,
							   .file = file,
							   .line = i % 32 * 40 + site * 3 + 10};
			entries[at] = (struct symbol_entry){.module = module_of(i),
							    .address = offset_of(i, site) - 1,
							    .frames = &frames[at],
							    .frame_count = 1};
		}
	}
	if (status == 0)
		status = trace_write_symbols(path, entries, count, err);
	free(entries);
	free(frames);
	return status;
}

u64 program_type_identity(u32 type) { return modules[0].base + 0x40000000 + (u64)type * 64; }

int program_write_types(struct program *self, const char *path, u32 types, struct err *err)
{
	struct type_name *rows = calloc(types + 1, sizeof *rows);
	int status = rows ? 0 : err_memory(err);

	for (u32 i = 0; i < types && status == 0; i++) {
		char text[128];

		snprintf(text, sizeof text, "%s::%s<%u>", WORD(subjects, draw_mix(i + 7)),
			 WORD(things, draw_mix(i + 7) >> 16), i);
		rows[i] = (struct type_name){.module = TYPE_NO_MODULE,
					     .identity = program_type_identity(i),
					     .name = arena_copy(&self->names, text)};
		if (!rows[i].name)
			status = err_memory(err);
	}
	if (status == 0)
		status = trace_write_type_names(path, rows, types, err);
	free(rows);
	return status;
}
