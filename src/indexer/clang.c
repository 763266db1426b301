/* SPDX-License-Identifier: MIT
 * Finds libclang and its functions.
 * Runs on the host. */
#include "indexer/clang.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEWEST = 30, OLDEST = 11 };

/* The version of the headers first: numbers of cursors have moved between some others. */
static void *open_library(void)
{
	const char *chosen = getenv("HEAPWISE_LIBCLANG");
	void *library;
	char name[64];

	if (chosen && *chosen)
		return dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
	snprintf(name, sizeof name, "libclang-%d.so.1", HEAPWISE_CLANG_MAJOR);
	library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	for (int i = NEWEST; !library && i >= OLDEST; i--) {
		snprintf(name, sizeof name, "libclang-%d.so.1", i);
		library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	}
	return library ? library : dlopen("libclang.so.1", RTLD_NOW | RTLD_LOCAL);
}

int clang_load(struct clang *self, struct err *err)
{
	const char *missing = NULL;

	self->library = open_library();
	if (!self->library)
		return err_set(err, ERR_SYSTEM,
			       "libclang is not there (%s): install Debian's libclang1-%d or the "
			       "like, or name it by HEAPWISE_LIBCLANG",
			       dlerror(), HEAPWISE_CLANG_MAJOR);
#define X(name)                                                                                    \
	*(void **)&self->name = dlsym(self->library, "clang_" #name);                              \
	if (!self->name)                                                                           \
		missing = "clang_" #name;
	CLANG_FUNCTIONS(X)
#undef X
	if (!missing)
		return 0;
	clang_unload(self);
	return err_set(err, ERR_SYSTEM, "libclang has no %s: is it too old?", missing);
}

void clang_unload(struct clang *self)
{
	if (self->library)
		dlclose(self->library);
	self->library = NULL;
}
