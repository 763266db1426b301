/* SPDX-License-Identifier: MIT
 * Filling memory without a call of memset, which programs and the recorder itself interpose.
 * Runs in the target. */
#ifndef TARGET_ACCESS_HEAP_FILL_H
#define TARGET_ACCESS_HEAP_FILL_H

#include "format/types.h"

static inline void hwr_fill(u8 *at, u32 byte, u64 bytes)
{
	u64 word = (byte & 0xff) * 0x0101010101010101ull;

	for (; bytes && ((u64)at & 7); bytes--)
		*at++ = (u8)byte;
	for (; bytes >= 8; bytes -= 8, at += 8) {
		*(u64 *)at = word;
		__asm__ volatile("" : : : "memory"); /* or the compiler makes it a call of memset */
	}
	for (; bytes; bytes--) {
		*at++ = (u8)byte;
		__asm__ volatile("" : : : "memory");
	}
}

#endif
