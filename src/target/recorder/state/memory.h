/* SPDX-License-Identifier: MIT
 * Copying and clearing without calls that a program or a sanitizer may interpose. Runs in the
 * target. */
#ifndef TARGET_RECORDER_STATE_MEMORY_H
#define TARGET_RECORDER_STATE_MEMORY_H

#include "format/types.h"

static inline void hwr_copy(void *to, const void *from, size_t bytes)
{
	u8 *d = to;
	const u8 *s = from;

	while (bytes--) {
		*d++ = *s++;
		__asm__ volatile("" : : : "memory"); /* or the compiler makes it a call of memcpy */
	}
}

static inline void hwr_zero(void *at, size_t bytes)
{
	u64 *word = at;

	for (size_t i = 0; i < bytes / 8; i++) {
		word[i] = 0;
		__asm__ volatile("" : : : "memory");
	}
}

static inline size_t hwr_length(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	return n;
}

static inline bool hwr_same(const void *a, const void *b, size_t bytes)
{
	const u8 *x = a, *y = b;

	while (bytes && *x == *y) {
		x++;
		y++;
		bytes--;
	}
	return bytes == 0;
}

#endif
