/* SPDX-License-Identifier: MIT
 * Finds libmicrohttpd and its functions. Host. */
#include "serve/mhd.h"

#include <stddef.h>

#include "base/library.h"

struct mhd mhd;

int mhd_load(struct err *err)
{
#define X(name) {"MHD_" #name, offsetof(struct mhd, name)},
	static const struct library_function functions[] = {MHD_FUNCTIONS(X)};
#undef X
	static void *library;

	if (!library)
		library = library_open(HEAPWISE_LIBMICROHTTPD, "libmicrohttpd12", err);
	return library ? library_fill(library, "libmicrohttpd", functions, sizeof(functions) / sizeof(*functions), &mhd, err) : ERR_SYSTEM;
}
