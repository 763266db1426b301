/* SPDX-License-Identifier: MIT
 * Which of two comes first, and growing arrays in that order. Of several keys the first that
 * differs decides:
 *
 *	return falling(x->bytes, y->bytes) ?: rising(x->point, y->point);
 */
#ifndef HOST_BASE_ORDER_H
#define HOST_BASE_ORDER_H

#include "host/base/vec.h"

static inline int rising(u64 a, u64 b) { return (a > b) - (a < b); }
static inline int falling(u64 a, u64 b) { return rising(b, a); }
static inline int rising_real(double a, double b) { return (a > b) - (a < b); }
static inline int falling_real(double a, double b) { return rising_real(b, a); }

/* compare is as qsort has it. */
#define vec_sort(vec, compare)                                                                     \
	((vec)->count ? qsort((vec)->data, (vec)->count, sizeof(*(vec)->data), (compare)) : (void)0)

#endif
