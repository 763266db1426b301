/* SPDX-License-Identifier: MIT
 * Calls libiberty's demanglers with bounds on stack, time and output.
 * Runs on the host. Never trusts a name: symbol tables come from strangers. */
#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum {
	PLAIN_BYTES_MAX = 1000,     /* of longer ones libiberty wants its depth limit off */
	NAME_BYTES_MAX = 128 << 10, /* longer names stay as they are */
	TEXT_BYTES_MAX = 1 << 20,
	STACK_PER_BYTE = 4096,      /* then it recurses at most once per byte of name */
	STACK_SPARE = 1 << 20,
};

struct demangling {
	const char *name;
	int options;
	char *text;
	size_t count, capacity;
	bool done;
	jmp_buf give_up; /* output can double with each substitution: leave, do not wait */
};

static void take_text(const char *piece, size_t count, void *opaque)
{
	struct demangling *self = opaque;

	if (!count) /* libiberty has no text for an empty piece */
		return;
	if (count > TEXT_BYTES_MAX - self->count)
		longjmp(self->give_up, 1);
	if (self->count + count >= self->capacity) {
		size_t capacity = (self->count + count + 64) * 2;
		char *text = realloc(self->text, capacity);

		if (!text)
			longjmp(self->give_up, 1);
		self->text = text;
		self->capacity = capacity;
	}
	memcpy(self->text + self->count, piece, count);
	self->count += count;
	self->text[self->count] = 0;
}

/* Rust first: its legacy names are valid C++ names, too, but with a hash at the end. */
static void *demangling_run(void *opaque)
{
	struct demangling *self = opaque;

	if (setjmp(self->give_up))
		return NULL;
	self->done = rust_demangle_callback(self->name, self->options, take_text, self);
	if (self->done)
		return NULL;
	self->count = 0;
	self->done = cplus_demangle_v3_callback(self->name, self->options, take_text, self);
	return NULL;
}

/* On a stack that is large enough for the deepest nesting that the name can hold. Only the pages
 * that are touched cost anything. */
static void demangling_run_deep(struct demangling *self, size_t name_bytes)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (pthread_attr_init(&attributes))
		return;
	self->options |= DMGL_NO_RECURSE_LIMIT;
	if (!pthread_attr_setstacksize(&attributes, STACK_SPARE + name_bytes * STACK_PER_BYTE) &&
	    !pthread_create(&thread, &attributes, demangling_run, self))
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

char *demangle(const char *name)
{
	struct demangling work = { .name = name, .options = DMGL_PARAMS | DMGL_ANSI };
	size_t bytes;

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R' && name[1] != 'G'))
		return NULL;
	bytes = strnlen(name, NAME_BYTES_MAX + 1);
	if (bytes > NAME_BYTES_MAX)
		return NULL;
	if (bytes <= PLAIN_BYTES_MAX)
		demangling_run(&work);
	else
		demangling_run_deep(&work, bytes);
	if (work.done && work.count)
		return work.text;
	free(work.text);
	return NULL;
}
