/* SPDX-License-Identifier: MIT
 * What /proc/PID/pagemap is asked about pages. */
#ifndef LIVE_SCAN_QUESTION_H
#define LIVE_SCAN_QUESTION_H

#include <sys/ioctl.h>

#include "format/types.h"

/* Kernels since 6.7 tell where pages are without a word for each that is not: some programs reserve
 * terabytes. Their header, for systems that do not have it. */
struct pages_found {
	u64 start, end, categories;
};
struct pages_question {
	u64 size, flags, start, end, walk_end, found, found_count, pages_max;
	u64 inverted, all_of, any_of, wanted;
};
#define PAGES_ASK _IOWR('f', 16, struct pages_question)
enum {
	PAGES_PRESENT = 1 << 3,
	PAGES_SWAPPED = 1 << 4,
	PAGES_ZERO = 1 << 5,
	PAGES_GUARD = 1 << 8, /* since 6.15 */
};

#endif
