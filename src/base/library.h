/* SPDX-License-Identifier: MIT
 * Shared libraries that few commands need, loaded when one does: libcurl and libmicrohttpd bring thirty others along,
 * and more than half of the time of a run of an empty program was spent on loading them.
 *
 *	static struct { __typeof__(&curl_easy_init) easy_init; … } curl;
 *	static const struct library_function functions[] = {{"curl_easy_init", offsetof(…)}, …};
 *	void *library = dlopen(…);
 *	library_fill(library, "libcurl", functions, count, &curl, err);
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include "base/err.h"
#include "format/types.h"

struct library_function {
	const char *name;
	u64 offset; /* of its pointer in the table */
};

/* NULL if it cannot be loaded: the error says why, and which package to install. */
void *library_open(const char *file, const char *package, struct err *err);

/* Finds all functions; negative if one is not there. */
int library_fill(void *library, const char *name, const struct library_function *functions, u64 count, void *table,
		 struct err *err);

#endif
