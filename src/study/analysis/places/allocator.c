/* SPDX-License-Identifier: MIT
 * Tells allocators by the names of their libraries.
 * Host. */
#include "study/analysis/places/allocator.h"

#include <string.h>

#include "host/base/path.h"

/* Whether an allocator that is linked into the program was recorded. */
static bool has_own_malloc(const struct model *model)
{
	for (u64 i = 0; i < model->notes.count; i++)
		if (strcmp(model->notes.data[i].key, "custom_allocators") == 0 &&
		    strstr(model->notes.data[i].value, "entry malloc recorded"))
			return true;
	return false;
}

const char *allocator_name(const struct model *model)
{
	static const char *const names[][2] = {
		{"libjemalloc", "jemalloc"}, {"libmimalloc", "mimalloc"},
		{"libtcmalloc", "tcmalloc"}, {"libsnmalloc", "snmalloc"},
		{"libhoard", "hoard"},       {"libgc.so", "libgc"},
		{"ld-musl", "musl"},         {"libc.so", "glibc"}};
	const struct modmap *map = &model->contexts.modules;

	for (u32 k = 0; k < sizeof names / sizeof *names && !has_own_malloc(model); k++)
		for (u32 i = 0; i < map->module_count; i++)
			if (map->modules[i].told && strncmp(path_file(map->modules[i].path),
							    names[k][0], strlen(names[k][0])) == 0)
				return names[k][1];
	return NULL;
}

/* Recorders of accesses bring an allocator of their own. */
bool allocator_is_glibc(const struct model *model)
{
	const char *name = allocator_name(model);

	return !model->image.access && (name ? strcmp(name, "glibc") == 0 : !has_own_malloc(model));
}
