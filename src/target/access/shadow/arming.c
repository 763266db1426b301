/* SPDX-License-Identifier: MIT
 * Work on the shadow that a thread of the program, or else the helper, does; see arming.h. Runs in
 * the target.
 *
 * Who takes the work has it alone: the state goes from POSTED to TAKEN, and back or to DONE after a
 * slice. A thread that never comes back (its handler jumped away) keeps it; then the helper no
 * longer waits. Should it come back all the same there are two at once: nothing that they write
 * becomes 0, and an entry that both leave out is armed when its page is logged again. */
#include "target/access/shadow/arming.h"

#include "format/ticks.h"
#include "target/access/heap/fill.h"
#include "target/access/shadow/shadow.h"
#include "target/recorder/state/stamp.h"
#include "target/recorder/state/sys.h"

enum { UNIT = HWR_ADAPTIVE_UNIT, SLICE = 256 /* entries: some microseconds */, PACES = 8 };
enum { DONE, POSTED, TAKEN };

static struct {
	u32 state;
	bool sample;
	u32 set;
	u64 number, end;
	u64 spent, lent; /* ticks, of all and of the program's threads */
	u64 pace;
	int cpu;
} work = {.cpu = -1};

/* ---- one entry of the log ---- */

/* What is hot becomes armed for a few accesses. Another thread may write the same bytes at this
 * moment, and one of both is lost: an armed byte becomes another armed byte, or a unit stays armed.
 * Nothing becomes 0. */
static void rearm_line(u8 *shadow)
{
	enum { AGAIN = HWR_SHADOW_HOT - HWR_ADAPTIVE_AGAIN };

	for (u32 i = 0; i < HW_CACHE_LINE; i++)
		shadow[i] = shadow[i] == 0 || shadow[i] >= HWR_SHADOW_CONTROL ? AGAIN : shadow[i];
}

static void rearm_page(u64 page)
{
	u8 *shadow = hw_shadow_of(HW_HEAP_START + page * HWR_PAGE);
	u64 lines = hwr_page_take_lines(page);

	for (u32 line = 0; line < HWR_PAGE / HWR_LINE_BYTES; line++)
		if (lines >> line * 8 & 1)
			rearm_line(shadow + line * HW_CACHE_LINE);
}

/* A freed slot gave its memory back: its shadow is armed by the next chunk. */
static bool lives(u64 address)
{
	u64 offset;
	const struct hwr_chunk *chunk = hwr_heap_find(address, &offset);

	return load_relaxed(&chunk->what) & HWR_CHUNK_LIVE;
}

static void rearm(u64 entry)
{
	struct hwr_unit unit;

	if (entry & HWR_LOG_PAGE) {
		rearm_page(entry & ~HWR_LOG_PAGE);
		return;
	}
	unit = hwr_unit_at(entry);
	if (lives(entry))
		hwr_fill(hw_shadow_of(unit.address), HW_SHADOW_ARMED, unit.bytes / 8);
}

/* What is armed is written as it was: a branch would be foreseen wrong again and again. Who disarms
 * it just then has it armed once more. */
static void sample_line(u64 start, u32 set)
{
	for (u64 unit = start; unit < start + HWR_LINE_BYTES; unit += UNIT) {
		u8 *shadow = hw_shadow_of(hwr_granule_at(unit, set)), state = load_relaxed(shadow);

		store_relaxed(shadow, state ? state : (u8)(HWR_SHADOW_SAMPLED + set));
	}
}

static void sample_page(u64 page, u32 set)
{
	u64 start = HW_HEAP_START + page * HWR_PAGE, lines = hwr_page_lines(page);

	for (u32 line = 0; line < HWR_PAGE / HWR_LINE_BYTES; line++)
		if (lines >> line * 8 & 1)
			sample_line(start + line * HWR_LINE_BYTES, set);
}

/* Lines with a control stay as they are. */
static void sample_large(u64 address, u32 set)
{
	struct hwr_unit unit = hwr_unit_at(address), part = hwr_unit_part(&unit, set);

	for (u64 line = part.address; line < part.address + part.bytes; line += UNIT) {
		u64 *shadow = (u64 *)hw_shadow_of(line);

		if (load_relaxed(shadow) == 0)
			store_relaxed(shadow, (HWR_SHADOW_SAMPLED + set) * 0x0101010101010101u);
	}
}

static void sample(u64 entry, u32 set)
{
	u64 page = entry & ~HWR_LOG_PAGE;

	if (entry & HWR_LOG_PAGE) {
		if (hwr_page_has(HW_HEAP_START + page * HWR_PAGE, set))
			sample_page(page, set);
	} else if (hwr_page_has(entry, set) && lives(entry)) {
		sample_large(entry, set);
	}
}

/* ---- the work ---- */

/* So many entries; true when there are no more, or one is not written yet. */
static bool go_on(u64 most)
{
	for (; most && work.number < work.end; most--) {
		u64 next = work.number, entry = hwr_log_peek(&next);

		if (!entry)
			return true;
		if (work.sample)
			sample(entry, work.set);
		else
			rearm(entry);
		work.number = next;
	}
	return work.number >= work.end;
}

static void post(bool sample, u32 set, u64 first, u64 end)
{
	work.sample = sample;
	work.set = set;
	work.number = first;
	work.end = end;
	/* First: who is about to lend a hand for the last work may do all of this one, and says
	 * that nothing waits. */
	store_relaxed(&hwr_adaptive_waits, 1);
	store_release(&work.state, POSTED);
}

void hwr_arming_post_rearm(u64 first, u64 end) { post(false, 0, first, end); }
void hwr_arming_post_sample(u64 first, u32 set) { post(true, set, first, hwr_log_head()); }

static bool take(void)
{
	u32 posted = POSTED;

	return load_relaxed(&work.state) == POSTED && cas_acq_rel(&work.state, &posted, TAKEN);
}

static void give_back(bool done)
{
	if (done)
		store_relaxed(&hwr_adaptive_waits, 0);
	store_release(&work.state, done ? DONE : POSTED);
}

/* The mean of some turns; an interrupt in the midst counts for little. A tick may be long: parts of
 * it count. */
static void measure_pace(void)
{
	u64 now = hwr_shadow_pace() * HWR_ARMING_PACE, before = work.pace;

	if (before)
		now = before - before / PACES + (now < 2 * before ? now : 2 * before) / PACES;
	store_relaxed(&work.pace, now);
}

/* Of what was taken. */
static void work_on(u64 most, bool lent)
{
	u64 start = hw_ticks(), took;
	bool done = go_on(most);

	took = hw_ticks() - start;
	work.spent += took;
	if (lent) {
		if (done)
			measure_pace();
		store_relaxed(&work.lent, work.lent + hw_ticks() - start);
	}
	give_back(done);
}

void hwr_adaptive_lend(void)
{
	if (!take())
		return;
	store_relaxed(&work.cpu, hwr_stamp_cpu());
	work_on(SLICE, true);
}

bool hwr_arming_is_done(void) { return load_acquire(&work.state) == DONE; }

bool hwr_arming_finish(void)
{
	if (take())
		work_on(UINT64_MAX, false);
	return hwr_arming_is_done();
}

u64 hwr_arming_reached(void) { return work.number; }
u64 hwr_arming_spent(void) { return load_relaxed(&work.spent); }
u64 hwr_arming_lent(void) { return load_relaxed(&work.lent); }
u64 hwr_arming_pace(void) { return load_relaxed(&work.pace); }
int hwr_arming_cpu(void) { return load_relaxed(&work.cpu); }

void hwr_arming_reset(void)
{
	store_relaxed(&work.state, DONE);
	store_relaxed(&work.pace, 0);
	store_relaxed(&work.cpu, -1);
	store_relaxed(&hwr_adaptive_waits, 0);
}
