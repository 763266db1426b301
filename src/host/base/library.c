/* SPDX-License-Identifier: MIT
 * Libraries that are loaded when they are needed. Host. */
#include "host/base/library.h"

#include <dlfcn.h>

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

int library_load(const struct library *self, void *table, struct err *err)
{
	void *handle = dlopen(self->name, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return err_set(err, ERR_SYSTEM,
			       "%s cannot be loaded: %s; install it (package %s "
			       "on Debian and Ubuntu)",
			       self->name, dlerror(), self->package);
	return library_fill(self, handle, table, err);
}
