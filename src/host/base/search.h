/* SPDX-License-Identifier: MIT
 * Searching in what is sorted.
 *
 *	u64 first = bisect(at, count, rows[at].address < address);
 */
#ifndef HOST_BASE_SEARCH_H
#define HOST_BASE_SEARCH_H

#include "format/types.h"

/* How many of the elements 0 … count - 1 come first: `comes_first` is an expression of their
 * number, `at`, which holds for these and for none after them. */
#define bisect(at, count, comes_first)                                                             \
	({                                                                                         \
		u64 low_ = 0, high_ = (count);                                                     \
                                                                                                   \
		while (low_ < high_) {                                                             \
			u64 at = low_ + (high_ - low_) / 2;                                        \
                                                                                                   \
			if (comes_first)                                                           \
				low_ = at + 1;                                                     \
			else                                                                       \
				high_ = at;                                                        \
		}                                                                                  \
		low_;                                                                              \
	})

#endif
