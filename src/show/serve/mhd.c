/* SPDX-License-Identifier: MIT
 * Finds libmicrohttpd and its functions. Host. */
#include "show/serve/mhd.h"

#include <stddef.h>

#include "host/base/library.h"

struct mhd mhd;

int mhd_load(struct err *err)
{
#define X(name) {"MHD_" #name, offsetof(struct mhd, name)},
	static const struct library_function functions[] = {MHD_FUNCTIONS(X)};
#undef X
	const struct library library = {HEAPWISE_LIBMICROHTTPD, "libmicrohttpd12", functions,
					sizeof(functions) / sizeof(*functions)};

	return library_load(&library, &mhd, err);
}
