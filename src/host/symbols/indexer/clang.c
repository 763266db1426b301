/* SPDX-License-Identifier: MIT
 * Finds libclang and its functions.
 * Runs on the host. */
#include "host/symbols/indexer/clang.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/library.h"

enum { NEWEST = 30, OLDEST = 11 };

/* The version of the headers first: numbers of cursors have moved between some others. */
static void *open_library(void)
{
	const char *chosen = getenv("HEAPWISE_LIBCLANG");
	void *library;
	char name[64];

	/* Newer versions parse in threads of their own, with small stacks for generated code. */
	setenv("LIBCLANG_NOTHREADS", "1", 0);
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
#define X(name) {"clang_" #name, offsetof(struct clang, name)},
	static const struct library_function functions[] = {CLANG_FUNCTIONS(X)};
#undef X
	const struct library library = {.name = "libclang",
					.functions = functions,
					.count = sizeof(functions) / sizeof(*functions)};
	int status;

	self->library = open_library();
	if (!self->library)
		return err_set(err, ERR_SYSTEM,
			       "libclang cannot be loaded: %s; install it (package libclang1-%d on "
			       "Debian and Ubuntu), or set HEAPWISE_LIBCLANG to its path",
			       dlerror(), HEAPWISE_CLANG_MAJOR);
	status = library_fill(&library, self->library, self, err);
	if (status < 0)
		clang_unload(self);
	return status;
}

void clang_unload(struct clang *self)
{
	if (self->library)
		dlclose(self->library);
	self->library = NULL;
}
