/* SPDX-License-Identifier: MIT
 * Slots of programs whose memory is monitored page-wise; see heap/classes.h. Runs in the target.
 *
 * Which chunks share a page decides what a hit on it tells. Small chunks share pages with others of their
 * class and (by hash) their allocation point, and none lies across a page's end. A few of each point get
 * a page of their own: as long as fewer than QUOTA of them live, each new chunk of the point does, so that
 * what a point leaks is soon among them; beyond that a random one in ONE_IN, while there are less
 * than ALONE_MAX in all. Chunks above HW_UNIT_SMALL share no page with any.
 * A slot on a page that is armed is spared as long as there are others: a birth there would open the page, and nobody would know any
 * more how long the chunks beside it were not touched.
 * What the C library allocates for itself (buffers of files, folders, threads) it also hands to the kernel
 * by itself, which no hook sees: such chunks are kept open. */
#include "recorder/access/pages/pages.h"
#include "recorder/access/pages/units.h"
#include "recorder/heap/slots.h"
#include "recorder/state.h"
#include "recorder/sys.h"

enum {
	GROUPS = 32,
	LIBRARY_GROUP = GROUPS - 1,
	SITES = 4096,
	QUOTA = 16,
	ONE_IN = 64,
	ALONE_MAX = 4096,
	SPARED_PART = 4,   /* at most a fourth of a class's slots are spared, and */
	SPARED_PAGES = 4,  /* so many pages of them */
	SPARED_AT_ONCE = 16,
};

static struct hwr_slots stacks[HWR_CLASSES][GROUPS];
static struct hwr_slots spared[HWR_CLASSES][GROUPS]; /* free, too; their pages were armed when somebody looked */
static u64 spared_count[HWR_CLASSES];
static u64 used[HWR_CLASSES]; /* pages, or slots of a page and more, that were handed out */
static u32 alone[SITES];      /* live chunks with a page of their own, by hash of their point */
static u32 alone_total;
static u32 page_class;        /* of slots of one page */

static bool is_small(u32 number) { return hwr_classes[number].slot_bytes < HWR_PAGE; }

/* ---- which class ---- */

u32 hwr_class_plain(size_t size)
{
	u32 number = hwr_class_of(size);

	return size > HW_UNIT_SMALL && number < HWR_CLASSES ? hwr_class_aligned(number, HWR_PAGE) : number;
}

static bool gets_own_page(u32 site)
{
	if (load_relaxed(&alone_total) >= ALONE_MAX)
		return false;
	return load_relaxed(&alone[site]) < QUOTA ||
	       ++hwr_pages_site.turn * 0x9e3779b1u < UINT32_MAX / ONE_IN;
}

u32 hwr_class_for(size_t size)
{
	hwr_pages_site.alone = false;
	if (size > HW_UNIT_SMALL || hwr_pages_site.library || !gets_own_page(hwr_pages_site.number % SITES))
		return hwr_class_plain(size);
	if (!page_class)
		page_class = hwr_class_of(HWR_PAGE);
	hwr_pages_site.alone = true;
	return page_class;
}

bool hwr_slot_fits(u32 number, size_t size)
{
	u64 bytes = hwr_classes[number].slot_bytes;

	if (size > bytes)
		return false;
	return bytes == HWR_PAGE || hwr_class_plain(size) == number;
}

/* ---- slots ---- */

/* The first slot of a new page; the others become free ones. Slots across its borders are never used. */
static u64 take_page(u32 number, u32 group)
{
	u64 bytes = hwr_classes[number].slot_bytes;
	u64 page = add_relaxed(&used[number], 1), first, end;

	if (page >= (1ull << HWR_CLASS_BITS) / HWR_PAGE)
		return 0;
	first = (page * HWR_PAGE + bytes - 1) / bytes;
	end = (page + 1) * HWR_PAGE / bytes;
	store_relaxed(&hwr_unit_at(hwr_slot_address(number, first))->group, (u16)group);
	if (group == LIBRARY_GROUP)
		hwr_unit_keep(hwr_slot_address(number, first));
	for (u64 i = first + 1; i + 1 < end; i++)
		store_relaxed(&hwr_slot_record(number, i)->first, i + 2);
	if (end - first > 1)
		hwr_slots_push(number, &stacks[number][group], first + 1, end - 1);
	return first + 1;
}

static bool is_open(u32 number, u64 found) { return hwr_unit_is_open(hwr_slot_address(number, found - 1)); }

/* Memory for which others would do must not pile up. */
static bool may_spare(u32 number)
{
	u64 pages = load_relaxed(&used[number]) / SPARED_PART + SPARED_PAGES;

	return load_relaxed(&spared_count[number]) < pages * (HWR_PAGE / hwr_classes[number].slot_bytes);
}

static void spare(u32 number, u32 group, u64 found)
{
	hwr_slots_push(number, &spared[number][group], found - 1, found - 1);
	add_relaxed(&spared_count[number], 1);
}

/* One whose page has been opened meanwhile, 0 if the first is not such a one. */
static u64 take_spared(u32 number, u32 group)
{
	u64 found = hwr_slots_pop(number, &spared[number][group]);

	if (!found)
		return 0;
	add_relaxed(&spared_count[number], (u64)-1);
	if (is_open(number, found) || !may_spare(number))
		return found;
	spare(number, group, found);
	return 0;
}

static u64 take_small(u32 number)
{
	u32 group = hwr_pages_site.library ? LIBRARY_GROUP : hwr_pages_site.number % LIBRARY_GROUP;
	u64 found = hwr_slots_pop(number, &stacks[number][group]);

	for (u32 i = 0; found && !is_open(number, found) && i < SPARED_AT_ONCE && may_spare(number); i++) {
		spare(number, group, found);
		found = hwr_slots_pop(number, &stacks[number][group]);
	}
	if (!found)
		found = take_spared(number, group);
	return found ? found : take_page(number, group);
}

static u64 take_large(u32 number)
{
	u64 found = hwr_slots_pop(number, &stacks[number][0]);

	if (found)
		return found;
	found = add_relaxed(&used[number], 1);
	return found < (1ull << HWR_CLASS_BITS) / hwr_classes[number].slot_bytes ? found + 1 : 0;
}

/* A chunk with a page of its own that is small: the page's group is 1 + its site. */
static void count_alone(u64 address)
{
	u32 site = hwr_pages_site.number % SITES;

	hwr_unit_at(address)->group = (u16)(hwr_pages_site.alone ? site + 1 : 0);
	if (!hwr_pages_site.alone)
		return;
	hwr_pages_site.alone = false;
	add_relaxed(&alone[site], 1);
	add_relaxed(&alone_total, 1);
}

u64 hwr_slot_take(u32 number)
{
	u64 found = is_small(number) ? take_small(number) : take_large(number), address;

	if (!found)
		return 0;
	address = hwr_slot_address(number, found - 1);
	if (!is_small(number)) {
		hwr_unit_renew(address);
		if (hwr_pages_site.library)
			hwr_unit_keep(address);
		count_alone(address);
	}
	hwr_pages_open(address);
	return address;
}

void hwr_slot_give(u32 number, u64 address)
{
	u64 start = HW_HEAP_START + ((u64)number << HWR_CLASS_BITS);
	u64 index = (address - start) / hwr_classes[number].slot_bytes;
	u32 group = load_relaxed(&hwr_unit_at(address)->group);

	if (!is_small(number)) {
		if (group) {
			add_relaxed(&alone[group - 1], (u32)-1);
			add_relaxed(&alone_total, (u32)-1);
		}
		group = 0;
	}
	hwr_slots_push(number, &stacks[number][group], index, index);
	hwr_pages_call_ends(HWR_TIMES_END);
}

u64 hwr_slots_used(u32 number)
{
	u64 count = load_relaxed(&used[number]);

	return is_small(number) ? count * HWR_PAGE / hwr_classes[number].slot_bytes : count;
}
