/* SPDX-License-Identifier: MIT
 * Frames of stopped threads; see stacks.h. Runs on a scan's thread. */
#include "live/scan/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "live/scan/arch/arch.h"

enum { FRAMES_MAX = 256 };
static const u64 STACK_MAX = 256 << 10, STACKS_MAX = 64 << 20; /* bytes that are copied */

void scan_stacks_copy(struct scan_memory *memory, struct scan_thread *threads, u64 count)
{
	u64 left = STACKS_MAX;

	for (u64 i = 0; i < count; i++) {
		struct scan_thread *thread = &threads[i];
		const struct mapping *mapping = scan_memory_mapping(memory, thread->stack_pointer);
		u64 bytes = mapping ? mapping->end - thread->stack_pointer : 0;

		bytes = bytes < STACK_MAX ? bytes : STACK_MAX;
		thread->stack = bytes && bytes <= left ? malloc(bytes) : NULL;
		if (!thread->stack ||
		    !scan_memory_read(memory, thread->stack_pointer, thread->stack, bytes))
			continue;
		thread->stack_bytes = bytes;
		left -= bytes;
	}
}

static void thread_unwind(struct frames *frames, struct scan_thread *thread)
{
	struct frames_thread from = {.code = thread->code,
				     .stack_pointer = thread->stack_pointer,
				     .stack_register = SCAN_STACK_REGISTER,
				     .stack_start = thread->stack_pointer,
				     .stack = thread->stack,
				     .stack_bytes = thread->stack_bytes};
	struct frame found[FRAMES_MAX];
	u32 count;

	memcpy(from.registers, thread->numbered, sizeof(from.registers));
	count = frames_find(frames, &from, found, FRAMES_MAX);
	thread->frames = malloc(count * sizeof(*found));
	if (!thread->frames)
		return;
	memcpy(thread->frames, found, count * sizeof(*found));
	thread->frame_count = count;
}

void scan_stacks_unwind(const struct scan_modules *from, struct scan_thread *threads, u64 count)
{
	struct frames_module *modules = calloc(from->rows.count + 1, sizeof(*modules));
	struct frames *frames = modules ? frames_new(modules, from->rows.count) : NULL;

	for (u64 i = 0; i < from->rows.count && modules; i++) {
		const struct scan_module *row = &from->rows.data[i];

		modules[i] = (struct frames_module){row->path, row->start, row->end, row->base};
	}
	for (u64 i = 0; i < count; i++) {
		if (frames && threads[i].stack_bytes)
			thread_unwind(frames, &threads[i]);
		free(threads[i].stack);
		threads[i].stack = NULL;
	}
	frames_free(frames);
	free(modules);
}

void scan_stacks_release(struct scan_thread *threads, u64 count)
{
	for (u64 i = 0; i < count; i++) {
		free(threads[i].stack);
		free(threads[i].frames);
	}
}
