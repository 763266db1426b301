/* SPDX-License-Identifier: MIT
 * Categories of Lisp types; see category.h.
 * Host. */
#include "study/analysis/mprof/category.h"

#include <string.h>

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

enum lisp_category lisp_category(const char *type)
{
	static const struct {
		const char *name;
		enum lisp_category category;
	} known[] = {
		{"cons", LISP_CONS},
		{"single-float", LISP_FLOAT},
		{"double-float", LISP_FLOAT},
		{"long-float", LISP_FLOAT},
		{"complex single-float", LISP_FLOAT},
		{"complex double-float", LISP_FLOAT},
		{"complex long-float", LISP_FLOAT},
		{"vector", LISP_STRUCTURE},
		{"vector data", LISP_STRUCTURE},
		{"array", LISP_STRUCTURE},
		{"string", LISP_STRUCTURE},
		{"base-string", LISP_STRUCTURE},
		{"bit-vector", LISP_STRUCTURE},
		{"instance", LISP_STRUCTURE},
	};

	for (u32 i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].name, type) == 0)
			return known[i].category;
	return begins(type, "structure ") || begins(type, "instance ") ? LISP_STRUCTURE
								       : LISP_OTHER;
}

const char *lisp_letter(enum lisp_category category)
{
	static const char *const letters[LISP_CATEGORIES] = {"c", "f", "s", "o"};

	return letters[category];
}

void lisp_column(struct result *result, u64 column, u32 category, const char *prefix)
{
	static const char *const words[LISP_CATEGORIES] = {"cons", "float", "structure", "other"};
	static const char *const meanings[LISP_CATEGORIES] = {
		"share in cons cells",
		"share in floating point numbers",
		"share in structures, instances, vectors, strings and arrays, and their contents",
		"share in other objects",
	};

	if (column >= result->columns.count)
		return;
	result->columns.data[column].name = result_format(result, "%s%s", prefix, words[category]);
	result->columns.data[column].label = lisp_letter(category);
	result->columns.data[column].meaning = meanings[category];
}
