/* SPDX-License-Identifier: MIT
 * Which bytes of a small chunk were accessed: HW_MAP_WORDS words, bit i of word w for byte 64 w +
 * i. Bytes beyond HW_MAP_BYTES have no bit. Other maps may have any number of words. */
#ifndef HOST_BASE_BYTEMAP_H
#define HOST_BASE_BYTEMAP_H

#include "host/base/strbuf.h"
#include "format/record.h"

/* Sets the bits of [from, end), which the map has. */
void bytemap_set(u64 *map, u64 from, u64 end);

static inline bool bytemap_has(const u64 *map, u64 at) { return map[at / 64] >> (at % 64) & 1; }

/* The first byte from `from` on whose bit is set, or is not; `end` if there is none before it. */
u64 bytemap_next(const u64 *map, u64 from, u64 end, bool set);

/* How many of the first `end` bits are set. */
u64 bytemap_count(const u64 *map, u64 end);

/* Adds the ranges of the bytes below `end` whose bits are set, or are not: "0-3,8,16-1023". At most
 * `most` ranges, then "…"; 0 = all. */
void bytemap_add_ranges(struct strbuf *out, const u64 *map, u64 end, bool set, u32 most);

#endif
