/* SPDX-License-Identifier: MIT
 * Arming and opening; see units.h. Runs in the target: in signal handlers, and in the helper
 * thread, which has no thread-local storage. */
#include "target/access/pages/units.h"

#include "target/access/heap/classes.h"
#include "target/access/heap/heap.h"
#include "target/access/pages/userfault.h"
#include "target/recorder/state/state.h"
#include "target/recorder/state/sys.h"

enum {
	UNITS_MAX = 1 << 20,
	MAPS_DEFAULT = 65530, /* of vm.max_map_count */
	/* an armed unit splits a mapping in three; half of the maps are the program's */
	MAPS_EACH = 4,
	RUN_MAX = 256,  /* units that are opened together: others wait for them */
	RANGE_RUNS = 8, /* calls of the kernel in one handler: a hit is to stay cheap */
	/* open units between armed ones: to leave them out would take another call */
	BRIDGE_MAX = 32,
};

u64 hwr_unit_start(u64 address, u64 *bytes)
{
	u64 slot_bytes = hwr_classes[hwr_heap_class(address)].slot_bytes, offset;

	if (slot_bytes < HWR_PAGE) {
		*bytes = HWR_PAGE;
		return address & ~(HWR_PAGE - 1);
	}
	hwr_heap_find(address, &offset);
	*bytes = slot_bytes;
	return address - offset;
}

bool hwr_units_open(void)
{
	static bool opened;

	if (!opened)
		opened = hwr_map_at(HW_HEAP_COVERAGE,
				    HWR_HEAP_BYTES / HWR_PAGE * sizeof(struct hwr_unit)) != NULL;
	return opened;
}

u32 hwr_units_limit(void)
{
	char text[24];
	long length = hwr_read_file("/proc/sys/vm/max_map_count", text, sizeof(text));
	u64 maps = 0;

	if (hwr_userfault_on()) /* it splits none */
		return UNITS_MAX;
	for (long i = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++)
		maps = maps * 10 + (u64)(text[i] - '0');
	if (!maps)
		maps = MAPS_DEFAULT;
	maps /= MAPS_EACH;
	return maps < UNITS_MAX ? (u32)maps : UNITS_MAX;
}

static long protect(u64 start, u64 bytes, int protection)
{
	if (unlikely(hwr_userfault_on()))
		return hwr_userfault_protect(start, bytes, protection == PROT_NONE);
	return hwr_ask3(SYS_mprotect, (long)start, (long)bytes, protection);
}

/* The state was `from`, set by the caller, and nobody else changes it. */
static void settle(struct hwr_unit *unit, u32 from, u32 to) { add_acq_rel(&unit->word, to - from); }

/* Opening one unit in the midst of armed ones needs two mappings more. Where there are none, its
 * whole neighbourhood is opened, and its units only look armed from then on. */
static void open_around(u64 start)
{
	u64 region = HW_HEAP_START + ((u64)hwr_heap_class(start) << HWR_CLASS_BITS);

	add_relaxed(&hwr_control->pages.spilt, 1);
	protect(region, 1ull << HWR_CLASS_BITS, PROT_READ | PROT_WRITE);
}

bool hwr_unit_is_open(u64 address)
{
	u64 bytes;

	return !(load_relaxed(&hwr_unit_at(hwr_unit_start(address, &bytes))->word) &
		 HWR_UNIT_STATE);
}

/* The caller has set OPENING. */
static void open_taken(struct hwr_unit *unit, u64 start, u64 bytes)
{
	if (protect(start, bytes, PROT_READ | PROT_WRITE) != 0)
		open_around(start);
	settle(unit, HWR_UNIT_OPENING, HWR_UNIT_OPEN);
	add_relaxed(&hwr_control->pages.armed, (u64)-1);
}

bool hwr_unit_open(u64 address)
{
	u64 bytes, start = hwr_unit_start(address, &bytes);
	struct hwr_unit *unit = hwr_unit_at(start);
	u32 word = load_acquire(&unit->word);

	for (;;) {
		u32 state = word & HWR_UNIT_STATE;

		if (state == HWR_UNIT_OPEN)
			return false;
		/* a forked child: it has the word alone */
		if (unlikely(!load_relaxed(&hwr_token.alive))) {
			hwr_unit_free_child(address);
			return false;
		}
		if (state != HWR_UNIT_ARMED) { /* somebody is at it */
			hwr_yield();
			word = load_acquire(&unit->word);
		} else if (cas_acq_rel(&unit->word, &word,
				       word - HWR_UNIT_ARMED + HWR_UNIT_OPENING)) {
			break;
		}
	}
	open_taken(unit, start, bytes);
	return true;
}

/* What somebody else is opening right now is left to him. */
static bool is_taken(struct hwr_unit *unit)
{
	u32 word = load_acquire(&unit->word);

	while ((word & HWR_UNIT_STATE) == HWR_UNIT_ARMED)
		if (cas_acq_rel(&unit->word, &word, word - HWR_UNIT_ARMED + HWR_UNIT_OPENING))
			return true;
	return false;
}

bool hwr_unit_try_open(u64 address)
{
	u64 bytes, start = hwr_unit_start(address, &bytes);
	struct hwr_unit *unit = hwr_unit_at(start);

	if (!is_taken(unit))
		return false;
	open_taken(unit, start, bytes);
	return true;
}

bool hwr_run_add(struct hwr_run *run, u64 address, u32 *result)
{
	u64 bytes, start = hwr_unit_start(address, &bytes);
	struct hwr_unit *unit = hwr_unit_at(start);
	struct hw_pages *pages = &hwr_control->pages;
	u64 members = run->step ? (run->end - run->start) / run->step : 0;
	u32 word = HWR_UNIT_OPEN; /* without pins */

	*result = HW_COMMAND_DONE;
	if ((load_acquire(&unit->word) & HWR_UNIT_STATE) == HWR_UNIT_ARMED)
		return true;
	if (members && (start != run->end || bytes != run->step || members >= RUN_MAX))
		return false;
	*result = HW_COMMAND_FULL;
	if (load_relaxed(&pages->armed) + members >= pages->units_max)
		return true;
	*result = HW_COMMAND_BUSY;
	if (!cas_acq_rel(&unit->word, &word, HWR_UNIT_ARMING))
		return true;
	if (!members)
		*run = (struct hwr_run){.start = start, .end = start, .step = bytes};
	run->end = start + bytes;
	*result = HWR_RUN_MEMBER;
	return true;
}

u32 hwr_run_arm(struct hwr_run *run)
{
	struct hw_pages *pages = &hwr_control->pages;
	u64 count = 0;
	bool done;

	if (run->start == run->end)
		return HW_COMMAND_DONE;
	done = protect(run->start, run->end - run->start, PROT_NONE) == 0;
	for (u64 at = run->start; at < run->end; at += run->step, count++)
		settle(hwr_unit_at(at), HWR_UNIT_ARMING, done ? HWR_UNIT_ARMED : HWR_UNIT_OPEN);
	if (!done)
		return HW_COMMAND_FULL;
	add_relaxed(&pages->armed, count);
	add_relaxed(&pages->arms, count);
	return HW_COMMAND_DONE;
}

bool hwr_unit_pin(u64 address)
{
	u64 bytes;

	add_acq_rel(&hwr_unit_at(hwr_unit_start(address, &bytes))->word, HWR_UNIT_PIN);
	return hwr_unit_open(address);
}

void hwr_unit_unpin(u64 address)
{
	u64 bytes;

	add_acq_rel(&hwr_unit_at(hwr_unit_start(address, &bytes))->word, (u32)-HWR_UNIT_PIN);
}

void hwr_unit_keep(u64 address)
{
	u64 bytes;
	struct hwr_unit *unit = hwr_unit_at(hwr_unit_start(address, &bytes));

	if (likely(load_relaxed(&unit->word) & HWR_UNIT_KEPT))
		return;
	or_acq_rel(&unit->word, HWR_UNIT_KEPT);
	hwr_unit_open(address);
}

/* Pins may be left over from a child of vfork that has become another program. */
void hwr_unit_renew(u64 address)
{
	u64 bytes;
	struct hwr_unit *unit = hwr_unit_at(hwr_unit_start(address, &bytes));
	u32 word = load_relaxed(&unit->word);

	store_relaxed(&unit->credits, 0);
	while (unlikely(word & ~(u32)HWR_UNIT_STATE) &&
	       !cas_acq_rel(&unit->word, &word, word & HWR_UNIT_STATE))
		;
}

bool hwr_unit_free_child(u64 address)
{
	u64 bytes, start = hwr_unit_start(address, &bytes);
	struct hwr_unit *unit = hwr_unit_at(start);
	u32 word = load_relaxed(&unit->word);

	if ((word & HWR_UNIT_STATE) == HWR_UNIT_OPEN)
		return !(word & HWR_UNIT_KEPT) &&
		       protect(start, bytes, PROT_READ | PROT_WRITE) == 0;
	store_relaxed(&unit->word, word & ~(u32)HWR_UNIT_STATE);
	if (protect(start, bytes, PROT_READ | PROT_WRITE) != 0)
		protect(HW_HEAP_START, HWR_HEAP_BYTES, PROT_READ | PROT_WRITE);
	return true;
}

static u64 run_open(struct hwr_run *run)
{
	u64 count = run->armed;

	if (run->start == run->end)
		return 0;
	if (protect(run->start, run->end - run->start, PROT_READ | PROT_WRITE) != 0)
		open_around(run->start);
	for (; run->start < run->end; run->start += run->step)
		settle(hwr_unit_at(run->start), HWR_UNIT_OPENING, HWR_UNIT_OPEN);
	add_relaxed(&hwr_control->pages.armed, (u64)-count);
	run->armed = 0;
	return count;
}

u64 hwr_units_open_range(u64 start, u64 end, u64 bytes, void (*told)(void *data, u64 unit),
			 void *data)
{
	struct hwr_run run = {.start = start, .end = start, .step = bytes};
	u32 runs = 0;
	u64 count = 0;

	for (u64 at = start; at < end && runs < RANGE_RUNS; at += bytes) {
		struct hwr_unit *unit = hwr_unit_at(at);
		u16 credits = load_relaxed(&unit->credits);

		if (!credits || !is_taken(unit))
			continue;
		store_relaxed(&unit->credits, (u16)(credits - 1));
		if (run.end != at) {
			count += run_open(&run);
			run.start = at;
			runs++;
		}
		run.end = at + bytes;
		run.armed++;
		told(data, at);
	}
	return count + run_open(&run);
}

/* The open units from the run's end on join it, up to `to`: they are taken, so that nobody arms or
 * keeps them meanwhile. False if one of them cannot be, or there are too many. */
static bool bridge(struct hwr_run *run, u64 to)
{
	if (run->start == run->end)
		return false;
	if (to - run->end > BRIDGE_MAX * run->step || (to - run->start) / run->step >= RUN_MAX)
		return false;
	for (; run->end < to; run->end += run->step) {
		struct hwr_unit *unit = hwr_unit_at(run->end);
		u32 word = load_relaxed(&unit->word);

		if (word & (HWR_UNIT_STATE | HWR_UNIT_KEPT) ||
		    !cas_acq_rel(&unit->word, &word, word + HWR_UNIT_OPENING))
			return false;
	}
	return true;
}

static u64 open_class(u32 number, bool child)
{
	u64 bytes = hwr_classes[number].slot_bytes, count = 0;
	u64 start = HW_HEAP_START + ((u64)number << HWR_CLASS_BITS);
	u64 end = start + hwr_slots_used(number) * bytes;
	struct hwr_run run = {.start = start,
			      .end = start,
			      .step = bytes < HWR_PAGE ? HWR_PAGE : bytes};

	for (u64 at = start; at < end; at += run.step) {
		struct hwr_unit *unit = hwr_unit_at(at);

		if (likely(!(load_acquire(&unit->word) & HWR_UNIT_STATE)))
			continue;
		if (child) {
			hwr_unit_free_child(at);
			continue;
		}
		if (!is_taken(unit))
			continue;
		if (!bridge(&run, at)) {
			count += run_open(&run);
			run.start = at;
		}
		run.end = at + run.step;
		run.armed++;
	}
	return count + run_open(&run);
}

void hwr_units_open_all(bool child)
{
	u64 start = hwr_cpu_ns(CLOCK_THREAD_CPUTIME_ID), count = 0, all = ~0ull, mask = 0;

	/* No handler of the program may run meanwhile: it would wait for what this thread is
	 * opening. */
	if (!child)
		hwr_ask6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&mask, 8, 0, 0);
	for (u32 number = 0; number < HWR_CLASSES; number++)
		count += open_class(number, child);
	if (child)
		return;
	hwr_ask6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, 8, 0, 0);
	add_relaxed(&hwr_control->pages.open_units, count);
	add_relaxed(&hwr_control->pages.open_ns, hwr_cpu_ns(CLOCK_THREAD_CPUTIME_ID) - start);
}
