/* SPDX-License-Identifier: MIT
 * How a row of a table says which ranges its function accesses, and what it becomes: short names,
 * to be included last. Runs in the target. */
#ifndef TARGET_ACCESS_RANGES_ROWS_H
#define TARGET_ACCESS_RANGES_ROWS_H

typedef char *text;
typedef const char *ctext;
typedef const void *cmemory;
typedef void *memory;

#define R(p, n) hwr_range(p, n, false);
#define W(p, n) hwr_range(p, n, true);
#define S(p) hwr_range_text(p, SIZE_MAX);
#define SN(p, n) hwr_range_text(p, n);
/* Of functions that gcc knows and does not leave to the sanitizer's library: it may have reported
 * the access. */
#define R_ONCE(p, n) hwr_range_once(p, n, false);
#define W_ONCE(p, n) hwr_range_once(p, n, true);
#define COPY_ONCE(to, from, n) R_ONCE(from, n) W_ONCE(to, n)
#define GIVEN(condition, action)                                                                   \
	if (condition) {                                                                           \
		action                                                                             \
	}

/* row(type, name, parameters, arguments, before) */
#define DEFINE_BEFORE(type, name, parameters, arguments, before)                                   \
	HWR_IN_FRONT(type, name, parameters)                                                       \
	{                                                                                          \
		static void *real;                                                                 \
                                                                                                   \
		before return ((type(*) parameters)hwr_real_once(&real, #name))arguments;          \
	}

/* row(type, name, parameters, arguments, after) */
#define DEFINE_AFTER(type, name, parameters, arguments, after)                                     \
	HWR_IN_FRONT(type, name, parameters)                                                       \
	{                                                                                          \
		static void *real;                                                                 \
		type result = ((type(*) parameters)hwr_real_once(&real, #name))arguments;          \
                                                                                                   \
		after return result;                                                               \
	}

#endif
