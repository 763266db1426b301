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

/* The smallest i below count for which `holds`, as for all after it; else count. */
#define first_where(i, count, holds)                                                               \
	({                                                                                         \
		u64 low_ = 0, high_ = (count);                                                     \
                                                                                                   \
		while (low_ < high_) {                                                             \
			u64 i = low_ + (high_ - low_) / 2;                                         \
                                                                                                   \
			if (holds)                                                                 \
				high_ = i;                                                         \
			else                                                                       \
				low_ = i + 1;                                                      \
		}                                                                                  \
		low_;                                                                              \
	})

/* compare is as qsort has it. */
#define vec_sort(vec, compare)                                                                     \
	((vec)->count ? qsort((vec)->data, (vec)->count, sizeof(*(vec)->data), (compare)) : (void)0)

#endif
