/* SPDX-License-Identifier: MIT
 * How a row of a table says which ranges its function accesses, and what it becomes: short names, to be included last. Runs in the
 * target. */
#ifndef RECORDER_ACCESS_ROWS_H
#define RECORDER_ACCESS_ROWS_H

#include "recorder/access/ranges.h"

typedef char *text;
typedef const char *ctext;
typedef const void *cmemory;
typedef void *memory;

#define R(p, n) hwr_range(p, n, false);
#define W(p, n) hwr_range(p, n, true);
#define S(p) hwr_range_text(p, SIZE_MAX);
#define SN(p, n) hwr_range_text(p, n);
#define GIVEN(condition, action)                                                                   \
	if (condition) {                                                                           \
		action                                                                             \
	}

#define DEFINE_BEFORE(type, name, parameters, arguments, before)                                   \
	type name parameters;                                                                      \
	HWR_EXPORT type name parameters                                                            \
	{                                                                                          \
		static void *real;                                                                 \
                                                                                                   \
		before return ((type(*) parameters)hwr_range_real(&real, #name))arguments;         \
	}

#define DEFINE_AFTER(type, name, parameters, arguments, after)                                     \
	type name parameters;                                                                      \
	HWR_EXPORT type name parameters                                                            \
	{                                                                                          \
		static void *real;                                                                 \
		type result = ((type(*) parameters)hwr_range_real(&real, #name))arguments;         \
                                                                                                   \
		after return result;                                                               \
	}

#endif
