/* SPDX-License-Identifier: MIT
 * LEB128 numbers and zigzag, as the trace file uses them. Readers are bounded. */
#ifndef FORMAT_VARINT_H
#define FORMAT_VARINT_H

#include "types.h"

enum { HW_VARINT_MAX = 10 };

/* Writes value at p, which has room for HW_VARINT_MAX bytes; returns the end. */
static inline u8 *hw_varint_put(u8 *p, u64 value)
{
	while (value >= 0x80) {
		*p++ = (u8)value | 0x80;
		value >>= 7;
	}
	*p++ = (u8)value;
	return p;
}

#define HW_VARINT_SHORT ((u64)1 << 28)

/* The same of a value below HW_VARINT_SHORT, without a branch; returns the number of bytes. Writes
 * 4 bytes, whatever it returns. */
static inline u32 hw_varint_put_short(u8 *p, u32 value)
{
	u32 more = (31 - (u32)__builtin_clz(value | 1)) * 37 >> 8; /* a seventh, for 0 to 27 */
	u32 v = (value & 0x3fff) | (value & 0x0fffc000) << 2;

	v = (v & 0x007f007f) | (v & 0x3f803f80) << 1;
	v |= 0x80808080 & (((u32)1 << 8 * more) - 1);
	__builtin_memcpy(p, &v, sizeof(v));
	return more + 1;
}

/* Reads a number at p; returns the byte after it, or NULL if it does not end before `end`. */
static inline const u8 *hw_varint_get(const u8 *p, const u8 *end, u64 *value)
{
	u64 v = 0;

	for (u32 shift = 0; p < end && shift < 64; shift += 7) {
		u8 byte = *p++;

		v |= (u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*value = v;
			return p;
		}
	}
	return NULL;
}

static inline u64 hw_zigzag(i64 v) { return ((u64)v << 1) ^ (u64)(v >> 63); }
static inline i64 hw_unzigzag(u64 v) { return (i64)(v >> 1) ^ -(i64)(v & 1); }

#endif
