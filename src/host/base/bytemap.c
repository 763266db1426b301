/* SPDX-License-Identifier: MIT
 * Maps of bytes; see bytemap.h.
 * Host. */
#include "host/base/bytemap.h"

/* The bits below n, n at most 64. */
static u64 low_bits(u64 n) { return n < 64 ? (1ull << n) - 1 : ~0ull; }

void bytemap_set(u64 *map, u64 from, u64 end)
{
	for (u64 word = from / 64; word * 64 < end; word++) {
		u64 first = word * 64;

		map[word] |= low_bits(end - first) & ~(from > first ? low_bits(from - first) : 0);
	}
}

u64 bytemap_next(const u64 *map, u64 from, u64 end, bool set)
{
	for (u64 at = from; at < end; at = (at / 64 + 1) * 64) {
		u64 word = (set ? map[at / 64] : ~map[at / 64]) >> at % 64;

		if (word) {
			at += (u64)__builtin_ctzll(word);
			return at < end ? at : end;
		}
	}
	return end;
}

u64 bytemap_count(const u64 *map, u64 end)
{
	u64 count = 0;

	for (u64 word = 0; word * 64 < end; word++)
		count += (u64)__builtin_popcountll(map[word] & low_bits(end - word * 64));
	return count;
}

void bytemap_add_ranges(struct strbuf *out, const u64 *map, u64 end, bool set, u32 most)
{
	u64 next;
	u32 ranges = 0;

	for (u64 at = bytemap_next(map, 0, end, set); at < end;
	     at = bytemap_next(map, next, end, set)) {
		if (most && ranges == most) {
			strbuf_add(out, ",…");
			return;
		}
		next = bytemap_next(map, at, end, !set);
		strbuf_addf(out, "%s%llu", ranges++ ? "," : "", (unsigned long long)at);
		if (next - at > 1)
			strbuf_addf(out, "-%llu", (unsigned long long)next - 1);
	}
}
