/* SPDX-License-Identifier: MIT
 * Tells allocators by the names of their libraries and functions.
 * Host. */
#include "study/analysis/places/allocator.h"

#include <string.h>

#include "host/base/path.h"

/* Whether an entry of this allocator was recorded, "malloc". */
static bool has_entry(const struct model *model, const char *function)
{
	for (u64 i = 0; function && i < model->notes.count; i++) {
		const char *at = model->notes.data[i].value, *end;

		if (strcmp(model->notes.data[i].key, "custom_allocators") != 0)
			continue;
		for (; (at = strstr(at, function)); at = end) {
			end = at + strlen(function);
			if (strncmp(end, " recorded", 9) == 0)
				return true;
		}
	}
	return false;
}

static bool has_module(const struct model *model, const char *name)
{
	const struct modmap *map = &model->contexts.modules;

	for (u32 i = 0; i < map->module_count; i++)
		if (map->modules[i].told &&
		    strncmp(path_file(map->modules[i].path), name, strlen(name)) == 0)
			return true;
	return false;
}

/* Whether an allocator that is linked into the program was recorded. */
static bool has_own_malloc(const struct model *model) { return has_entry(model, "entry malloc"); }

const char *allocator_name(const struct model *model)
{
	/* A library without a frame on any stack is not among the modules, but functions that only
	 * it has may have been recorded; some programs put a prefix before them. */
	static const struct {
		const char *module, *name, *function;
	} known[] = {{"libjemalloc", "jemalloc", "mallocx"},
		     {"libmimalloc", "mimalloc", "mi_malloc"},
		     {"libtcmalloc", "tcmalloc", "tc_malloc"},
		     {"libsnmalloc", "snmalloc", NULL},
		     {"libhoard", "hoard", NULL},
		     {"libgc.so", "libgc", NULL},
		     {"ld-musl", "musl", NULL},
		     {"libc.so", "glibc", NULL}};
	bool own = has_own_malloc(model);

	for (u32 i = 0; i < sizeof known / sizeof *known; i++)
		if ((!own && has_module(model, known[i].module)) ||
		    has_entry(model, known[i].function))
			return known[i].name;
	return NULL;
}

/* Recorders of accesses bring an allocator of their own. */
bool allocator_is_glibc(const struct model *model)
{
	const char *name = allocator_name(model);

	return !model->image.access && (name ? strcmp(name, "glibc") == 0 : !has_own_malloc(model));
}
