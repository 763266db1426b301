/* SPDX-License-Identifier: MIT
 * Which regular expressions of strangers may be given to the C library. */
#ifndef HOST_BASE_PATTERN_H
#define HOST_BASE_PATTERN_H

/* What is wrong with an extended regular expression, as a sentence; NULL = it takes bounded time
 * and memory. The library copies what + and {m,n} repeat, so that what is nested multiplies, makes
 * nodes for each way through places of no width (^, $) that repeat, and tries all ways for
 * back-references. Whether it is an expression at all is for regcomp to say. */
const char *pattern_trouble(const char *text);

#endif
