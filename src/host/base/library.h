/* SPDX-License-Identifier: MIT
 * Shared libraries that few commands need, loaded when one does: libcurl and libmicrohttpd bring
 * thirty others along, and more than half of the time of a run of an empty program was spent on
 * loading them.
 *
 *	static struct { __typeof__(&curl_easy_init) easy_init; … } curl;
 *	static const struct library_function functions[] = {{"curl_easy_init", offsetof(…)}, …};
 *	library_load(&(struct library){"libcurl.so.4", "libcurl4", functions, count}, &curl, err);
 */
#ifndef HOST_BASE_LIBRARY_H
#define HOST_BASE_LIBRARY_H

#include "host/base/err.h"
#include "format/types.h"

struct library_function {
	const char *name;
	u64 offset; /* of its pointer in the table */
};

struct library {
	const char *name;    /* of the file */
	const char *package; /* of Debian and Ubuntu */
	const struct library_function *functions;
	u64 count;
};

/* Loads the file and finds all functions: the system's, which its owner keeps up to date, or else
 * the one in libs/ beside our parts, where there is one. It stays loaded, and may be asked for
 * again. Negative: the error says what is missing, and which package to install. */
int library_load(const struct library *self, void *table, struct err *err);

/* Finds all functions of one that is loaded, by its handle; negative if one is not there. */
int library_fill(const struct library *self, void *handle, void *table, struct err *err);

#endif
