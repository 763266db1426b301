/* SPDX-License-Identifier: MIT
 * What the tables of library functions share. Runs in the target. */
#ifndef TARGET_ACCESS_RANGES_RANGES_H
#define TARGET_ACCESS_RANGES_RANGES_H

#include "format/arch/tag.h"
#include "target/recorder/state/access.h"
#include "target/recorder/state/real.h"
#include "target/access/shadow/shadow.h"
#include "target/access/heap/chunk.h"

/* A text, or its first bytes, is read. */
void hwr_range_text(const char *s, size_t most);

/* The length of a text, with its end; at most so many bytes. */
size_t hwr_text_bytes(const char *s, size_t most);

/* Whether it is in the heap, whatever tag the pointer has. */
static inline bool hwr_range_in_heap(const void *p) { return hwr_heap_has(hw_untagged((u64)p)); }

static inline void hwr_range(const void *p, size_t bytes, bool write)
{
	u64 address = hw_untagged((u64)p);

	if (hwr_heap_has(address) && hwr_shadow_sees(address, bytes))
		hwr_access_range(address, bytes, write);
}

static inline void hwr_range_once(const void *p, size_t bytes, bool write)
{
	if (hwr_range_in_heap(p) && !hwr_access_told(hw_untagged((u64)p), bytes, write))
		hwr_range(p, bytes, write);
}

#endif
