/* SPDX-License-Identifier: MIT
 * Reads the monitor's note of modules without instrumentation: paths, one to a line.
 * Host. */
#include "analysis/plain.h"

#include <string.h>

#include "analysis/stacks.h"

static const char *lines_find(const struct model *model)
{
	for (u64 i = 0; i < model->notes.count; i++)
		if (strcmp(model->notes.data[i].key, "access_uninstrumented") == 0)
			return model->notes.data[i].value;
	return "";
}

/* Whether a line is the path; any line, if there is none to look for. The file name decides whether it is
 * a library of the system's. */
static bool matches(const char *line, size_t length, const char *path)
{
	size_t base = length;

	while (base && line[base - 1] != '/')
		base--;
	if (!length || library_is_system(line + base))
		return false;
	return !path || (strlen(path) == length && memcmp(line, path, length) == 0);
}

static bool find(const struct model *model, const char *path)
{
	for (const char *line = lines_find(model); *line;) {
		size_t length = strcspn(line, "\n");

		if (matches(line, length, path))
			return true;
		line += length + (line[length] == '\n');
	}
	return false;
}

bool plain_library(const struct model *model, const char *path) { return find(model, path); }

bool plain_library_any(const struct model *model) { return find(model, NULL); }
