/* SPDX-License-Identifier: MIT
 * Slots of programs whose memory is monitored page-wise; see heap/classes.h. Runs in the target.
 *
 * Which chunks share a page decides what a hit on it tells. Small chunks share pages with others of
 * their class and (by hash) their allocation point, and none lies across a page's end. A few of
 * each point get a page of their own: as long as fewer than QUOTA of them live, each new chunk of
 * the point does, so that what a point leaks is soon among them; beyond that, and where those have
 * ended young of late, a random one in HWR_ONE_IN, while there are less than HWR_ALONE_MAX in all.
 * If a tool asks for it (HW_RUN_OWN_PAGES) each one does, up to that number.
 * Chunks above HW_UNIT_SMALL share no page with any. A slot on a page that is armed is spared as
 * long as there are others: a birth there would open the page, and nobody would know any more how
 * long the chunks beside it were not touched. Each thread keeps free slots for itself, which it
 * takes and gives without atomic operations: some, or all, if it is the only one. Who inherits its
 * slot of the recorder inherits them. What the C library allocates for itself (buffers of files,
 * folders, threads) it also hands to the kernel by itself, which no hook sees: such chunks are kept
 * open. */
#include "target/access/heap/slots.h"
#include "target/access/pages/births.h"
#include "target/access/pages/pages.h"
#include "target/access/pages/slots.h"
#include "target/access/pages/units.h"
#include "target/recorder/state/sys.h"
#include "target/recorder/state/thread.h"

enum {
	QUOTA = 16,
	SPARED_PART = 4,  /* at most a fourth of a class's slots are spared, and */
	SPARED_PAGES = 4, /* so many pages of them */
	SPARED_AT_ONCE = 16,
	OWN_PART = 32,   /* of HWR_OWN_MOST: given back at once, or taken */
	YOUNG = 16384,   /* who ends within so many records of the thread since its birth */
	YOUNG_MANY = 32, /* of these, one after the other, are the rule at their point */
};

static struct hwr_slots stacks[HWR_CLASSES][HWR_GROUPS];
/* free, too; their pages were armed when somebody looked */
static struct hwr_slots spared[HWR_CLASSES][HWR_GROUPS];
static u64 spared_count[HWR_CLASSES];
static u64 used[HWR_CLASSES]; /* pages, or slots of a page and more, that were handed out */
static u32 alone[HWR_SITES];  /* live chunks with a page of their own, by hash of their point */
u32 hwr_alone_total;
/* how many of these ended young, one after the other; who changes it may lose a change */
static u8 young[HWR_SITES];
u8 hwr_site_shares[HWR_SITES];

static bool is_small(u32 number) { return number < HWR_PAGE_CLASS; }

/* ---- which class ---- */

u32 hwr_class_plain(size_t size)
{
	u32 number = hwr_class_of(size);

	/* as in libc, no two chunks begin within 32 bytes: the monitor finds them faster so */
	number += !number;
	return size > HW_UNIT_SMALL && number < HWR_CLASSES ? hwr_class_aligned(number, HWR_PAGE)
							    : number;
}

u32 hwr_class_for(size_t size)
{
	hwr_pages_site.alone = false;
	if (size > HW_UNIT_SMALL || hwr_pages_site.library ||
	    !hwr_gets_own_page(hwr_pages_site.number % HWR_SITES, ++hwr_pages_site.turn))
		return hwr_class_plain(size);
	hwr_pages_site.alone = true;
	return HWR_PAGE_CLASS;
}

bool hwr_slot_fits(u32 number, size_t size)
{
	u64 bytes = hwr_classes[number].slot_bytes;

	if (size > bytes)
		return false;
	return bytes == HWR_PAGE || hwr_class_plain(size) == number;
}

/* ---- slots ---- */

/* The first slot of a new page; the others become free ones. Slots across its borders are never
 * used. */
static u64 take_page(u32 number, u32 group)
{
	u64 bytes = hwr_classes[number].slot_bytes;
	u64 page = add_relaxed(&used[number], 1), first, end;

	if (page >= (1ull << HWR_CLASS_BITS) / HWR_PAGE)
		return 0;
	first = (page * HWR_PAGE + bytes - 1) / bytes;
	end = (page + 1) * HWR_PAGE / bytes;
	store_relaxed(&hwr_unit_at(hwr_slot_address(number, first))->group, (u16)group);
	if (group == HWR_LIBRARY_GROUP)
		hwr_unit_keep(hwr_slot_address(number, first));
	for (u64 i = first + 1; i + 1 < end; i++)
		store_relaxed(&hwr_slot_record(number, i)->first, i + 2);
	if (end - first > 1)
		hwr_slots_push(number, &stacks[number][group], first + 1, end - 1);
	return first + 1;
}

/* Of a class of small slots, whose unit is the page. */
static bool is_open(u32 number, u64 found)
{
	return !(load_relaxed(&hwr_unit_at(hwr_slot_address(number, found - 1))->word) &
		 HWR_UNIT_STATE);
}

/* Memory for which others would do must not pile up. */
static bool may_spare(u32 number)
{
	u64 pages = load_relaxed(&used[number]) / SPARED_PART + SPARED_PAGES;

	return load_relaxed(&spared_count[number]) <
	       pages * (HWR_PAGE / hwr_classes[number].slot_bytes);
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

/* ---- a thread's own ---- */

void hwr_own_slots_open(struct hwr_thread *t)
{
	if (!t->own_slots)
		t->own_slots = hwr_map_private(sizeof(*t->own_slots));
	else
		t->own_slots->busy = 0; /* of the thread before, which may have ended anywhere */
}

/* The calling thread's, which may not touch them again before own_leave; NULL: it has none, uses
 * them already, or hwr_self may be another's, whose thread-local storage it shares. */
static inline struct hwr_own_slots *own_enter(void)
{
	struct hwr_thread *t = hwr_self;
	struct hwr_own_slots *own =
		t && hwr_thread_is(t, (u64)__builtin_frame_address(0)) ? t->own_slots : NULL;

	if (unlikely(!own || own->busy))
		return NULL;
	own->busy = 1;
	__asm__ volatile("" : : : "memory");
	return own;
}

static inline void own_leave(struct hwr_own_slots *own)
{
	__asm__ volatile("" : : : "memory");
	own->busy = 0;
}

static u64 pop(u32 number, u32 group)
{
	struct hwr_own_slots *own = own_enter();
	struct hwr_own_list *list;
	u64 found;
	u32 count = 0;

	if (!own)
		return hwr_slots_pop(number, &stacks[number][group]);
	list = &own->list[number][group];
	if (!list->count) {
		list->first = hwr_slots_pop_some(number, &stacks[number][group], OWN_PART, &count);
		list->count = count;
	}
	found = list->first;
	if (found) {
		list->first = --list->count
				      ? load_relaxed(&hwr_slot_record(number, found - 1)->first)
				      : 0;
		/* The record of the next one, which was freed long ago, must be there when it is
		 * taken. */
		__builtin_prefetch(hwr_slot_record(number, list->first - !!list->first), 1);
	}
	own_leave(own);
	return found;
}

static void give_back(u32 number, u32 group, struct hwr_own_list *list)
{
	u64 first = list->first - 1, last = first;

	for (u32 i = 1; i < OWN_PART; i++)
		last = load_relaxed(&hwr_slot_record(number, last)->first) - 1;
	list->first = load_relaxed(&hwr_slot_record(number, last)->first);
	list->count -= OWN_PART;
	hwr_slots_push(number, &stacks[number][group], first, last);
}

static void push(u32 number, u32 group, u64 index)
{
	struct hwr_own_slots *own = own_enter();
	struct hwr_own_list *list;

	if (!own) {
		hwr_slots_push(number, &stacks[number][group], index, index);
		return;
	}
	list = &own->list[number][group];
	if (unlikely(list->count >= HWR_OWN_MOST) && load_relaxed(&hwr_threads_many))
		give_back(number, group, list);
	store_relaxed(&hwr_slot_record(number, index)->first, list->first);
	list->first = index + 1;
	list->count++;
	own_leave(own);
}

static u64 take_small(u32 number)
{
	u32 group = hwr_pages_site.library ? HWR_LIBRARY_GROUP
					   : hwr_pages_site.number % HWR_LIBRARY_GROUP;
	u64 found = pop(number, group);

	for (u32 i = 0; found && !is_open(number, found) && i < SPARED_AT_ONCE && may_spare(number);
	     i++) {
		spare(number, group, found);
		found = pop(number, group);
	}
	if (!found)
		found = take_spared(number, group);
	return found ? found : take_page(number, group);
}

static u64 take_large(u32 number)
{
	u64 found = number == HWR_PAGE_CLASS ? pop(number, 0)
					     : hwr_slots_pop(number, &stacks[number][0]);

	if (found)
		return found;
	found = add_relaxed(&used[number], 1);
	return found < (1ull << HWR_CLASS_BITS) / hwr_classes[number].slot_bytes ? found + 1 : 0;
}

/* Atomic only where there are threads. Who comes in between, a signal handler or the second thread,
 * may have one not counted. */
static void count_add(u32 *count)
{
	if (load_relaxed(&hwr_threads_many))
		add_relaxed(count, 1);
	else
		store_relaxed(count, load_relaxed(count) + 1);
}

static void count_take(u32 *count)
{
	u32 before = load_relaxed(count);

	if (load_relaxed(&hwr_threads_many))
		add_relaxed(count, (u32)-1);
	else if (before)
		store_relaxed(count, before - 1);
}

static void site_look(u32 site)
{
	u8 shares =
		!(hwr_control && hwr_control->flags & HW_RUN_OWN_PAGES) &&
		(load_relaxed(&alone[site]) >= QUOTA || load_relaxed(&young[site]) >= YOUNG_MANY);

	if (load_relaxed(&hwr_site_shares[site]) != shares)
		store_relaxed(&hwr_site_shares[site], shares);
}

/* A chunk with a page of its own that is small: the page's group is 1 + its site. */
static void count_alone(struct hwr_unit *unit)
{
	u32 site = hwr_pages_site.number % HWR_SITES;

	unit->group = (u16)(hwr_pages_site.alone ? site + 1 : 0);
	if (!hwr_pages_site.alone)
		return;
	hwr_pages_site.alone = false;
	count_add(&alone[site]);
	count_add(&hwr_alone_total);
	site_look(site);
}

u64 hwr_slot_take(u32 number)
{
	struct hwr_unit *unit;
	u64 found, address;

	if (likely(is_small(number))) {
		found = take_small(number);
		if (!found)
			return 0;
		address = hwr_slot_address(number, found - 1);
		if (unlikely(!is_open(number, found)))
			hwr_pages_open(address);
		return found;
	}
	found = take_large(number);
	if (!found)
		return 0;
	address = hwr_slot_address(number, found - 1);
	unit = hwr_unit_at(address);
	if (unlikely(load_relaxed(&unit->credits) || load_relaxed(&unit->word)))
		hwr_unit_renew(address);
	if (hwr_pages_site.library)
		hwr_unit_keep(address);
	count_alone(unit);
	if (unlikely(load_relaxed(&unit->word) & HWR_UNIT_STATE))
		hwr_pages_open(address);
	return found;
}

static void count_young(u32 site, const struct hwr_chunk *chunk)
{
	u8 before = load_relaxed(&young[site]),
	   after = hwr_birth_age(chunk->birth, hwr_self) >= YOUNG ? 0
								  : before + (before < YOUNG_MANY);

	if (after != before)
		store_relaxed(&young[site], after);
}

static void give_large(u32 number, u64 index, u32 group)
{
	if (group) {
		count_young(group - 1, hwr_slot_record(number, index));
		count_take(&alone[group - 1]);
		count_take(&hwr_alone_total);
		site_look(group - 1);
	}
	if (number == HWR_PAGE_CLASS)
		push(number, 0, index);
	else
		hwr_slots_push(number, &stacks[number][0], index, index);
}

void hwr_slot_give(u32 number, u64 index)
{
	u32 group = load_relaxed(&hwr_unit_at(hwr_slot_address(number, index))->group);

	if (likely(is_small(number)))
		push(number, group, index);
	else
		give_large(number, index, group);
	hwr_pages_call_ends(HWR_TIMES_END);
}

u64 hwr_slots_used(u32 number)
{
	u64 count = load_relaxed(&used[number]);

	return is_small(number) ? count * HWR_PAGE / hwr_classes[number].slot_bytes : count;
}
