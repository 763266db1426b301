/* SPDX-License-Identifier: MIT
 * Reads the monitor's notes of modules without instrumentation, and with too little: paths, one to
 * a line.
 * Host. */
#include "study/analysis/places/plain.h"

#include <string.h>

#include "host/base/path.h"

static const char *lines_find(const struct model *model)
{
	return model_note(model, "access_uninstrumented");
}

/* Whether the path that is a line is of the C or C++ library. */
static bool line_is_system(const char *line, size_t length)
{
	while (length && line[length - 1] != '/')
		length--;
	return library_is_system(line + length);
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
	if (*model_note(model, "access_unchecked"))
		return true;
	for (const char *line = lines_find(model); *line;) {
		size_t length = strcspn(line, "\n");

		if (length && !line_is_system(line, length))
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

		if (!is_c_library(path_file(names.module)) ||
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

		if (*module && !library_is_system(path_file(module)))
			return is_listed(source->model, module);
		frame.index = context_table_frame(&source->model->contexts, frame)->parent;
	}
	return is_listed(source->model, innermost);
}

bool plain_allocates(const struct stack_source *source, struct frame_id frame)
{
	return is_library_own(source, frame) || is_c_library_own(source, frame);
}
