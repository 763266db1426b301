/* SPDX-License-Identifier: MIT
 * Debug files without compression, kept from one run to the next. Distributions compress debug
 * info, and libdw inflates all of it before the first question: 75 ms for the C library's, at the
 * end of every run.
 *
 * The copies lie in heapwise/debug below XDG_CACHE_HOME or ~/.cache, by build-id, and take at most
 * DEBUG_CACHE_BYTES; those that were not used for longest go. Without such a folder nothing is
 * kept. */
#ifndef HOST_SYMBOLS_DEBUG_CACHE_H
#define HOST_SYMBOLS_DEBUG_CACHE_H

#include "format/types.h"

#define DEBUG_CACHE_BYTES (512ull << 20)
#define DEBUG_CACHE_FILE_BYTES (128ull << 20) /* larger ones are not copied */
#define DEBUG_CACHE_WORTH_BYTES                                                                    \
	(1ull << 20) /* what must be compressed, counted when inflated, for a copy */

/* Takes a debug file and returns it, or its copy, which is made if there is none: then the file is
 * closed. */
int debug_cache_swap(int fd);

#endif
