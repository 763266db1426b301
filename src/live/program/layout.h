/* SPDX-License-Identifier: MIT
 * How the machine lays out memory, and what of Heapwise depends on it: Heapwise's own heap, on
 * which accesses are recorded and programs watched, lies at fixed addresses and is protected in
 * pages of 4 KiB. */
#ifndef LIVE_PROGRAM_LAYOUT_H
#define LIVE_PROGRAM_LAYOUT_H

#include "host/base/err.h"
#include "format/types.h"

enum { LAYOUT_PAGE = 4096 };

struct layout {
	u64 page_bytes;
	u32 address_bits; /* of what a program gets without asking for more */
};

struct layout layout_of_machine(void);

/* Bits that the heap's addresses have. */
u32 layout_heap_bits(void);

/* Whether that heap can be had there; if not why, and what can be done. */
int layout_check(const struct layout *layout, struct err *err);

#endif
