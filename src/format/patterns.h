/* SPDX-License-Identifier: MIT
 * Which names a filter lets through: patterns with commas between them, in which * is any text and
 * ? any letter. Freestanding. */
#ifndef FORMAT_PATTERNS_H
#define FORMAT_PATTERNS_H

#include "types.h"

/* Whether the name fits the pattern, which goes up to its end or a comma. */
static inline bool hw_pattern_fits(const char *pattern, const char *name)
{
	const char *star = NULL, *again = NULL;

	for (;;) {
		bool ends = *pattern == 0 || *pattern == ',';

		if (*pattern == '*') {
			star = ++pattern;
			again = name;
		} else if (ends && !*name) {
			return true;
		} else if (!ends && *name && (*pattern == '?' || *pattern == *name)) {
			pattern++;
			name++;
		} else if (star && *again) {
			pattern = star;
			name = ++again;
		} else {
			return false;
		}
	}
}

/* Whether the name fits one of them. */
static inline bool hw_patterns_fit(const char *patterns, const char *name)
{
	while (*patterns) {
		if (hw_pattern_fits(patterns, name))
			return true;
		while (*patterns && *patterns++ != ',') {
		}
	}
	return false;
}

/* What follows the last slash of a path. */
static inline const char *hw_file_name(const char *path)
{
	const char *name = path;

	for (; *path; path++)
		if (*path == '/')
			name = path + 1;
	return name;
}

#endif
