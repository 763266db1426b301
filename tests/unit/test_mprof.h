/* SPDX-License-Identifier: MIT
 * Models with named stacks for the tests of mprof: a stack is a text, "main>make>get", and a call
 * may say from where it is made: "main>make/2>get". */
#ifndef UNIT_TEST_MPROF_H
#define UNIT_TEST_MPROF_H

#include <stdio.h>

#include "study/analysis/mprof/calls.h"
#include "unit/test_model.h"

enum { NAMES_MAX = 64, SITES = 8, FUNCTION_BYTES = 0x100, CONTEXTS_MAX = 4096 };
#define PROGRAM_BASE 0x100000ull

/* Function k has the code from k * FUNCTION_BYTES on; its sites are 0x10 bytes apart. */
struct program {
	struct feed feed;
	char names[NAMES_MAX][48];
	u32 name_count;
	char stacks[CONTEXTS_MAX][96]; /* of context i + 1 */
	u32 stack_count;
	struct symbol_frame frames[NAMES_MAX];
	struct symbol_entry entries[NAMES_MAX * SITES];
	struct symbol_table symbols;
	struct stack_source source;
	struct mprof_calls calls;
};

static inline u32 name_number(struct program *self, const char *name, size_t bytes)
{
	for (u32 i = 0; i < self->name_count; i++)
		if (strlen(self->names[i]) == bytes && !strncmp(self->names[i], name, bytes))
			return i;
	if (self->name_count == NAMES_MAX)
		FAIL("too many functions");
	snprintf(self->names[self->name_count], sizeof self->names[0], "%.*s", (int)bytes, name);
	return self->name_count++;
}

/* The context of a stack, told with all of its callers. */
static inline u32 context_of(struct program *self, const char *stack)
{
	const char *last = strrchr(stack, '>'), *name = last ? last + 1 : stack;
	char outer[96] = "";
	const char *site;
	u32 parent = 0, number;

	for (u32 i = 0; i < self->stack_count; i++)
		if (strcmp(self->stacks[i], stack) == 0)
			return i + 1;
	if (last) {
		snprintf(outer, sizeof outer, "%.*s", (int)(last - stack), stack);
		parent = context_of(self, outer);
	}
	site = strchr(name, '/');
	number = name_number(self, name, site ? (size_t)(site - name) : strlen(name));
	if (self->stack_count == CONTEXTS_MAX)
		FAIL("too many stacks");
	snprintf(self->stacks[self->stack_count++], sizeof self->stacks[0], "%s", stack);
	tell_context(&self->feed, self->stack_count, parent,
		     PROGRAM_BASE + number * FUNCTION_BYTES +
			     (site ? (u64)(site[1] - '0') : 0) * 0x10 + 1);
	return self->stack_count;
}

static inline struct program *program_new(void)
{
	struct program *self = calloc(1, sizeof *self);

	if (!self)
		FAIL("out of memory");
	self->feed = feed_new();
	tell_module(&self->feed, 0, PROGRAM_BASE, 0, "/bin/prog");
	return self;
}

/* One allocation; returns the chunk. */
static inline u64 allocate(struct program *self, const char *stack, u64 size)
{
	return tell_alloc(&self->feed, HW_MALLOC, *stack ? context_of(self, stack) : 0, size);
}

static inline void release(struct program *self, u64 chunk, u64 size)
{
	tell_free(&self->feed, HW_FREE, chunk, size);
}

/* Ends the program and reads its calls; names that begin with ? stay unknown. */
static inline void program_end_as(struct program *self, u32 how)
{
	u32 count = 0;

	tell_end(&self->feed, how);
	for (u32 i = 0; i < self->name_count; i++) {
		self->frames[i] = (struct symbol_frame){.function = self->names[i], .file = ""};
		for (u32 site = 0; site < SITES && self->names[i][0] != '?'; site++)
			self->entries[count++] =
				(struct symbol_entry){.address = i * FUNCTION_BYTES + site * 0x10,
						      .frames = &self->frames[i],
						      .frame_count = 1};
	}
	self->symbols = (struct symbol_table){.entries = self->entries, .count = count};
	self->source = (struct stack_source){.model = self->feed.model,
					     .symbols = &self->symbols,
					     .fold = true};
	if (mprof_calls_read(&self->calls, &self->source, &self->feed.err) < 0)
		FAIL("%s", self->feed.err.text);
}

static inline void program_end(struct program *self) { program_end_as(self, IMAGE_EXITED); }

static inline void program_free(struct program *self)
{
	mprof_calls_release(&self->calls);
	model_free(self->feed.model);
	free(self);
}

#endif
