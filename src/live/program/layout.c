/* SPDX-License-Identifier: MIT
 * The layout of memory; see layout.h. */
#include "live/program/layout.h"

#include <unistd.h>

#include "format/shadow.h"

static u32 bits_of(u64 address) { return 64 - (u32)__builtin_clzll(address); }

/* The stack is the highest thing of a program, just below where its addresses end. */
struct layout layout_of_machine(void)
{
	return (struct layout){(u64)sysconf(_SC_PAGESIZE),
			       bits_of((u64)__builtin_frame_address(0))};
}

u32 layout_heap_bits(void) { return bits_of(HW_HEAP_START + HW_HEAP_BYTES - 1); }

int layout_check(const struct layout *layout, struct err *err)
{
	if (layout->page_bytes != LAYOUT_PAGE)
		return err_set(err, ERR_INPUT,
			       "memory pages have %llu KiB on this machine, but watching a program "
			       "and recording accesses need pages of 4 KiB; use 'heapwise run "
			       "--access off' or '--access valgrind'",
			       (unsigned long long)layout->page_bytes / 1024);
	if (layout->address_bits < layout_heap_bits())
		return err_set(err, ERR_INPUT,
			       "addresses have %u bits on this machine, but watching a program and "
			       "recording accesses need %u; use 'heapwise run --access off' or "
			       "'--access valgrind'",
			       layout->address_bits, layout_heap_bits());
	return 0;
}
