/* SPDX-License-Identifier: MIT
 * Libraries that are loaded when they are needed. Host. */
#include "host/base/library.h"

#include <dlfcn.h>
#include <stdio.h>

#include "host/base/parts.h"

int library_fill(const struct library *self, void *handle, void *table, struct err *err)
{
	for (u64 i = 0; i < self->count; i++) {
		void *function = dlsym(handle, self->functions[i].name);

		if (!function)
			return err_set(err, ERR_SYSTEM,
				       "%s has no function %s: its version may be "
				       "too old; install a newer one",
				       self->name, self->functions[i].name);
		*(void **)((char *)table + self->functions[i].offset) = function;
	}
	return 0;
}

/* The one that came with Heapwise, as in its tarball; NULL if none did. */
static void *open_own(const char *name)
{
	char folder[PARTS_PATH], path[PARTS_PATH], inside[256];

	parts_own_folder(folder);
	snprintf(inside, sizeof(inside), "libs/%s", name);
	return parts_find(folder, inside, path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

int library_load(const struct library *self, void *table, struct err *err)
{
	void *handle = dlopen(self->name, RTLD_NOW | RTLD_LOCAL);
	int status;

	if (!handle) {
		status = err_set(err, ERR_SYSTEM,
				 "%s cannot be loaded: %s; install it (package %s "
				 "on Debian and Ubuntu)",
				 self->name, dlerror(), self->package);
	} else {
		status = library_fill(self, handle, table, err);
	}
	if (status == 0)
		return 0;
	handle = open_own(self->name);
	return handle ? library_fill(self, handle, table, err) : status;
}
