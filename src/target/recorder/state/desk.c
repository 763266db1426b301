/* SPDX-License-Identifier: MIT
 * Large pages for what the recorder uses most. Runs in the target. */
#include "target/recorder/state/desk.h"

#include "format/atomics.h"
#include "target/recorder/state/sys.h"

static u8 *desk;
static u64 desk_used;

static u64 round_up(u64 value, u64 unit) { return (value + unit - 1) & -unit; }

/* Maps too much and returns what lies beside the large pages. */
void *hwr_map_large(size_t bytes)
{
	u64 large = round_up(bytes, HWR_LARGE_PAGE), all = HWR_PAGE + large + HWR_LARGE_PAGE;
	u64 start = (u64)hwr_mmap(all, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	u64 first, at;

	if (hwr_sys_failed((void *)start))
		return NULL;
	at = round_up(start + HWR_PAGE, HWR_LARGE_PAGE);
	first = at - HWR_PAGE;
	if (first > start)
		hwr_munmap((void *)start, first - start);
	if (start + all > at + large)
		hwr_munmap((void *)(at + large), start + all - at - large);
	hwr_madvise((void *)at, large, MADV_HUGEPAGE);
	hwr_own_map((void *)first, HWR_PAGE + large);
	return (void *)at;
}

void hwr_clear_large(void *p, size_t bytes)
{
	hwr_madvise(p, round_up(bytes, HWR_LARGE_PAGE), MADV_DONTNEED);
}

bool hwr_desk_open(void)
{
	desk_used = 0;
	desk = hwr_map_large(HWR_LARGE_PAGE);
	return desk != NULL;
}

void *hwr_desk_take(size_t bytes)
{
	u64 room = round_up(bytes, HW_CACHE_LINE), at = add_relaxed(&desk_used, room);

	/* The counter may run past the end, and does not come around: threads are few. */
	return at + room <= HWR_LARGE_PAGE ? desk + at : hwr_map_private(bytes);
}
