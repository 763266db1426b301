/* SPDX-License-Identifier: MIT
 * Libraries that are loaded when they are needed. Host. */
#include "host/base/library.h"

#include <dlfcn.h>

int library_fill(void *library, const char *name, const struct library_function *functions,
		 u64 count, void *table, struct err *err)
{
	for (u64 i = 0; i < count; i++) {
		void *function = dlsym(library, functions[i].name);

		if (!function)
			return err_set(err, ERR_SYSTEM,
				       "%s has no function %s: its version may be "
				       "too old; install a newer one",
				       name, functions[i].name);
		*(void **)((char *)table + functions[i].offset) = function;
	}
	return 0;
}

int library_load(const char *file, const char *package, const struct library_function *functions,
		 u64 count, void *table, struct err *err)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return err_set(err, ERR_SYSTEM,
			       "%s cannot be loaded: %s; install it (package %s "
			       "on Debian and Ubuntu)",
			       file, dlerror(), package);
	return library_fill(library, file, functions, count, table, err);
}
