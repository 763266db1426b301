/* SPDX-License-Identifier: MIT
 * What slots.c and the short way of calls (quick.c) share: a thread's own free slots. Runs in the
 * target. */
#ifndef TARGET_ACCESS_PAGES_SLOTS_H
#define TARGET_ACCESS_PAGES_SLOTS_H

#include "target/access/heap/classes.h"

enum {
	HWR_GROUPS = 32,
	HWR_LIBRARY_GROUP = HWR_GROUPS - 1,
	HWR_SITES = 4096,
	HWR_PAGE_CLASS = 27, /* of slots of one page; those below share pages */
	HWR_OWN_MOST = 64,   /* free slots that one of several threads keeps of a class and group */
	HWR_ONE_IN = 64,     /* chunks of a point that shares pages get a page of their own */
	HWR_ALONE_MAX = 4096, /* small chunks with a page of their own, at most */
};

struct hwr_own_slots {
	u32 busy; /* the thread is at them: a signal handler that interrupts it takes others */
	struct hwr_own_list {
		/* 1 + index, linked as in stacks; only `count` of them are in the list */
		u64 first;
		u64 count;
	} list[HWR_PAGE_CLASS + 1][HWR_GROUPS];
};

/* By hash of an allocation point: 1 = its chunks share pages with others, but for one in
 * HWR_ONE_IN; see slots.c. */
extern u8 hwr_site_shares[HWR_SITES] HWR_OWN;

/* small chunks with a page of their own that live */
extern u32 hwr_alone_total HWR_OWN;

/* Whether the next small chunk of the point gets a page of its own; turn: a number that is another
 * one for each chunk. */
static inline bool hwr_gets_own_page(u32 site, u32 turn)
{
	if (load_relaxed(&hwr_alone_total) >= HWR_ALONE_MAX)
		return false;
	return !load_relaxed(&hwr_site_shares[site]) ||
	       turn * 0x9e3779b1u < UINT32_MAX / HWR_ONE_IN;
}

#endif
