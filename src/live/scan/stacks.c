/* SPDX-License-Identifier: MIT
 * Frames of stopped threads; see stacks.h. Runs on a scan's thread. */
#include "live/scan/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "live/scan/arch/arch.h"

enum { FRAMES_MAX = 256, LEFT_BYTES = 16 << 10 };
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

/* A thread and what is copied of its stack. */
static struct frames_thread thread_copied(const struct scan_thread *thread, const u8 *stack,
					  u64 bytes)
{
	struct frames_thread copied = {.code = thread->code,
				       .stack_pointer = thread->stack_pointer,
				       .stack_register = SCAN_STACK_REGISTER,
				       .stack_start = thread->stack_pointer,
				       .stack = stack,
				       .stack_bytes = bytes};

	memcpy(copied.registers, thread->numbered, sizeof(copied.registers));
	return copied;
}

static void thread_unwind(struct frames *frames, struct scan_thread *thread)
{
	struct frames_thread from = thread_copied(thread, thread->stack, thread->stack_bytes);
	struct frame found[FRAMES_MAX];
	u32 count = frames_find(frames, &from, found, FRAMES_MAX);

	thread->frames = malloc(count * sizeof(*found));
	if (!thread->frames)
		return;
	memcpy(thread->frames, found, count * sizeof(*found));
	thread->frame_count = count;
}

/* *modules is to be freed after the frames. */
static struct frames *frames_open(const struct scan_modules *from, struct frames_module **modules)
{
	*modules = calloc(from->rows.count + 1, sizeof(**modules));
	for (u64 i = 0; i < from->rows.count && *modules; i++) {
		const struct scan_module *row = &from->rows.data[i];

		(*modules)[i] = (struct frames_module){row->path, row->start, row->end, row->base};
	}
	return *modules ? frames_new(*modules, from->rows.count) : NULL;
}

/* The C library, the loader and the recorder: they end a program, and do not return to who asked
 * for it. */
static bool is_left(const char *path)
{
	static const char *const names[] = {"/libc.so", "/libc-", "/libpthread", "/ld-",
					    "/libheapwise"};
	const char *name = strrchr(path, '/');

	for (u32 i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static void thread_leave(struct scan_memory *memory, struct frames *frames,
			 struct scan_thread *thread)
{
	const struct mapping *mapping = scan_memory_mapping(memory, thread->stack_pointer);
	u64 bytes = mapping ? mapping->end - thread->stack_pointer : 0;
	u8 stack[LEFT_BYTES];
	struct frames_thread now;

	bytes = bytes < sizeof(stack) ? bytes : sizeof(stack);
	now = thread_copied(thread, stack, bytes);
	if (!bytes || !scan_memory_read(memory, thread->stack_pointer, stack, bytes) ||
	    !frames_leave(frames, &now, is_left))
		return;
	thread->stack_used = now.stack_pointer;
	for (u32 i = 0; i < thread->register_count; i++)
		thread->registers[i] = now.registers[thread->numbers[i]];
}

void scan_stacks_leave(struct scan_memory *memory, const struct scan_modules *from,
		       struct scan_thread *threads, u64 count)
{
	struct frames_module *modules;
	struct frames *frames = frames_open(from, &modules);

	for (u64 i = 0; i < count && frames; i++) {
		const struct mapping *code = scan_memory_mapping(memory, threads[i].code);

		if (threads[i].ends)
			thread_leave(memory, frames, &threads[i]);
		else if (threads[i].waits && code && is_left(code->path))
			threads[i].stack_used = threads[i].stack_pointer;
	}
	frames_free(frames);
	free(modules);
}

void scan_stacks_unwind(const struct scan_modules *from, struct scan_thread *threads, u64 count)
{
	struct frames_module *modules;
	struct frames *frames = frames_open(from, &modules);

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
