/* SPDX-License-Identifier: MIT
 * Reads the monitor's notes of modules without instrumentation, and with too little: paths, one to
 * a line.
 * Host. */
#include "study/analysis/places/plain.h"

#include <string.h>

static const char *note_find(const struct model *model, const char *key)
{
	for (u64 i = 0; i < model->notes.count; i++)
		if (strcmp(model->notes.data[i].key, key) == 0)
			return model->notes.data[i].value;
	return "";
}

static const char *lines_find(const struct model *model)
{
	return note_find(model, "access_uninstrumented");
}

/* The file's name in a path that ends at `length`. */
static const char *base_of(const char *path, size_t length)
{
	size_t base = length;

	while (base && path[base - 1] != '/')
		base--;
	return path + base;
}

static bool is_listed(const struct model *model, const char *path)
{
	for (const char *line = lines_find(model); *line;) {
		size_t length = strcspn(line, "\n");

		if (strlen(path) == length && memcmp(line, path, length) == 0)
			return true;
		line += length + (line[length] == '\n');
	}
	return false;
}

bool plain_library_any(const struct model *model)
{
	if (*note_find(model, "access_unchecked"))
		return true;
	for (const char *line = lines_find(model); *line;) {
		size_t length = strcspn(line, "\n");

		if (length && !library_is_system(base_of(line, length)))
			return true;
		line += length + (line[length] == '\n');
	}
	return false;
}

/* Functions of the C library whose caller owns the chunk. */
static bool hands_out(const struct stack_names *names)
{
	static const char *const functions[] = {"strdup",       "strndup",  "wcsdup",   "asprintf",
						"getline",      "getdelim", "realpath", "getcwd",
						"reallocarray", "scandir"};

	for (u32 i = 0; i < names->count; i++)
		for (u32 k = 0; k < sizeof functions / sizeof *functions; k++)
			if (strstr(names->frames[i].function, functions[k]))
				return true;
	return false;
}

static bool is_c_library(const char *name)
{
	return library_is_system(name) && strncmp(name, "libstdc++", 9) != 0 &&
	       strncmp(name, "libc++", 6) != 0;
}

/* The C library for itself: one of its functions below the allocator that does not hand the chunk
 * out. */
static bool is_c_library_own(const struct stack_source *source, struct frame_id frame)
{
	while (frame.index) {
		struct stack_names names = stack_names(source, frame);

		if (!is_c_library(base_of(names.module, strlen(names.module))) ||
		    !is_listed(source->model, names.module))
			return false;
		if (!hands_out(&names))
			return true;
		frame.index = context_table_frame(&source->model->contexts, frame)->parent;
	}
	return false;
}

/* A plain library for itself: it is the innermost that is not the C or C++ library; or there is no
 * other, as when the C++ library is loaded and reserves memory for exceptions. */
static bool is_library_own(const struct stack_source *source, struct frame_id frame)
{
	const char *innermost = frame.index ? stack_names(source, frame).module : "";

	while (frame.index) {
		const char *module = stack_names(source, frame).module;

		if (*module && !library_is_system(base_of(module, strlen(module))))
			return is_listed(source->model, module);
		frame.index = context_table_frame(&source->model->contexts, frame)->parent;
	}
	return is_listed(source->model, innermost);
}

bool plain_allocates(const struct stack_source *source, struct frame_id frame)
{
	return is_library_own(source, frame) || is_c_library_own(source, frame);
}
