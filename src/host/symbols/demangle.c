/* SPDX-License-Identifier: MIT
 * Calls libiberty's demanglers with bounds on stack, time and output.
 * Runs on the host. Never trusts a name: symbol tables come from strangers. */
#include "host/symbols/demangle.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else
#include <demangle.h> /* Fedora and openSUSE have it there */
#endif

#include "host/symbols/ada_names.h"

enum {
	PLAIN_BYTES_MAX = 1000,     /* of longer ones libiberty wants its depth limit off */
	NAME_BYTES_MAX = 128 << 10, /* longer names stay as they are */
	TEXT_BYTES_MAX = 1 << 20,
	STACK_PER_BYTE = 4096, /* then it recurses at most once per byte of name */
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

/* ---- Valgrind's replacements ---- */

/* What a letter behind a Z stands for; 0 = nothing. */
static char decoded(char letter)
{
	static const char letters[] = "apcduhsAZDLRS", meant[] = "*+:._- @Z$()/";
	const char *at = letter ? strchr(letters, letter) : NULL;

	return at ? meant[at - letters] : 0;
}

/* The function that _vgr10010ZU_LIBRARY_FUNCTION stands in for (_vgw: is wrapped around): malloc,
 * say. The library is written with Z for all that is no letter, so it has no underscore; so is the
 * function after ZZ. */
static char *replaced(const char *name)
{
	size_t digits = strspn(name + 4, "0123456789");
	const char *at = name + 4 + digits, *from;
	char *out, *to;

	if (digits < 4 || digits > 5 || at[0] != 'Z' || (at[1] != 'U' && at[1] != 'Z') ||
	    at[2] != '_')
		return NULL;
	from = strchr(at + 3, '_');
	if (!from || !from[1] || strnlen(from, NAME_BYTES_MAX + 1) > NAME_BYTES_MAX)
		return NULL;
	out = to = strdup(++from);
	for (; out && at[1] == 'Z' && *from; from++) {
		char letter = *from == 'Z' ? decoded(from[1]) : 0;

		from += letter != 0;
		*to++ = letter ? letter : *from;
		*to = 0;
	}
	return out;
}

static char *demangle_replaced(const char *name)
{
	char *function = replaced(name), *text = NULL;

	/* No function of Valgrind's stands in for another of its own: that would be a name made to
	 * recurse. */
	if (function && strncmp(function, "_vg", 3) != 0)
		text = demangle(function);
	if (!text)
		return function;
	free(function);
	return text;
}

/* ---- names ---- */

static char *demangle_ada(const char *name)
{
	struct strbuf text = {0};
	char *copy;

	ada_name_add(&text, name);
	copy = text.failed ? NULL : strdup(strbuf_text(&text));
	strbuf_release(&text);
	return copy;
}

char *demangle(const char *name)
{
	struct demangling work = {.name = name, .options = DMGL_PARAMS | DMGL_ANSI};
	size_t bytes;

	if (strncmp(name, "_vgr", 4) == 0 || strncmp(name, "_vgw", 4) == 0)
		return demangle_replaced(name);
	if (ada_is_certain(name))
		return demangle_ada(name);
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
