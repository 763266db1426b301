/* SPDX-License-Identifier: MIT
 * Units of page monitoring. Runs in the target.
 *
 * A unit is what is protected as a whole: the page that small chunks of one class share, or the
 * slot of a larger one. While it is armed nobody can touch it without a fault, which opens it and
 * is recorded as a hit, once, whoever else faults at the same moment. Each unit has one word, of
 * which everything changes by cas; only who has set ARMING or OPENING may change the protection.
 * A unit with pins stays open: the kernel, which gets EFAULT where a program gets a signal, may be
 * using it. One that is kept is never armed: it holds a stack, a lock, or what libc hands to the
 * kernel by itself. */
#ifndef TARGET_ACCESS_PAGES_UNITS_H
#define TARGET_ACCESS_PAGES_UNITS_H

#include "target/access/heap/chunk.h"

enum {
	/* hwr_unit.word */
	HWR_UNIT_OPEN = 0,
	HWR_UNIT_ARMED = 1,
	HWR_UNIT_ARMING = 2,
	HWR_UNIT_OPENING = 3,
	HWR_UNIT_STATE = 3, /* mask */
	HWR_UNIT_KEPT = 4,
	HWR_UNIT_PIN = 8, /* one; pins are all bits from here on */
};

struct hwr_unit {
	u32 word;
	u16 group; /* of a page of small slots: the stack that its slots return to */
	/* how often it may be opened with its neighbours, see hwr_units_open_range; who changes it
	 * may lose a change */
	u16 credits;
};

enum { HWR_CREDITS = 7 }; /* of a unit that was hit */

/* Where the units' table is: an entry for each page of the heap, of which a larger slot uses the
 * first. */
static inline struct hwr_unit *hwr_unit_at(u64 start)
{
	return (struct hwr_unit *)HW_HEAP_COVERAGE + (start - HW_HEAP_START) / 4096;
}

/* The unit that an address of the heap lies in: its first byte, and how many it has. */
u64 hwr_unit_start(u64 address, u64 *bytes);

/* Reserves the table; false: nothing can be monitored. */
bool hwr_units_open(void);

/* True if the caller has opened it, false if it was open. */
bool hwr_unit_open(u64 address);
/* The same, but false also if somebody else is at it: for whom others wait for while they open. */
bool hwr_unit_try_open(u64 address);
/* A look at it: it may be armed a moment later. */
bool hwr_unit_is_open(u64 address);

/* Units that lie beside each other and change together: one call of the kernel is most of what it
 * costs. */
struct hwr_run {
	u64 start, end, step; /* step: of one; empty while start == end */
	u64 armed;            /* opening: so many of them; the others are open already */
};

/* Arming, by the helper alone. False: the unit does not follow those of the run, which must be
 * armed before. Else its *result: HW_COMMAND_DONE (it is armed), _BUSY or _FULL, or HWR_RUN_MEMBER:
 * as hwr_run_arm says. */
enum { HWR_RUN_MEMBER = 0xffff };
bool hwr_run_add(struct hwr_run *run, u64 address, u32 *result);
u32 hwr_run_arm(struct hwr_run *run);

/* From now on it is open until it is unpinned as often; true if the caller has opened it. */
bool hwr_unit_pin(u64 address);
void hwr_unit_unpin(u64 address);

/* Opens it for good: until the slot is another chunk's. */
void hwr_unit_keep(u64 address);

/* A new chunk in a slot of its own: what was said of the last one is void. */
void hwr_unit_renew(u64 address);

/* In a forked child, which has no helper: opens it and forgets what was in progress. False: it is
 * not because of us that it cannot be touched. */
bool hwr_unit_free_child(u64 address);

/* Opens those that are armed of the units from start to end, which are `bytes` each, and have a
 * credit, which each pays with; tells of each that it did. Only what was hit of late has credits:
 * memory that nobody touches stays armed amid what is swept. */
u64 hwr_units_open_range(u64 start, u64 end, u64 bytes, void (*told)(void *data, u64 unit),
			 void *data);

/* Opens all that are armed, neighbours together, and counts the time. child: as hwr_unit_free_child
 * does. */
void hwr_units_open_all(bool child);

/* How many may be armed at a time. */
u32 hwr_units_limit(void);

#endif
