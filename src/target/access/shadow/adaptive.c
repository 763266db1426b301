/* SPDX-License-Identifier: MIT
 * Disarming what is hot; see adaptive.h. Runs in the target, on its threads. */
#include "target/access/shadow/adaptive.h"

#include "target/access/heap/fill.h"
#include "target/recorder/state/state.h"
#include "target/recorder/state/sys.h"

enum {
	UNIT = HWR_ADAPTIVE_UNIT,
	LARGE = HWR_ADAPTIVE_LARGE,
	UNITS_LARGE = 64, /* of a large chunk, unless they would be */
	UNIT_LARGE_MIN = 512,
	UNIT_LARGE_MAX = 4096,
	CONTROL_SHARE = 256, /* one part of 64 bytes in so many is a control */
	LOG_ENTRIES = 1 << 20,
	LOG_MARGIN = 4096, /* for threads that have looked and not yet written */
	ARMED_TIMES = 64,
};

_Static_assert(HWR_PAGE / HWR_LINE_BYTES == sizeof(u64), "a page has a word for its lines");

u32 hwr_adaptive_epoch, hwr_adaptive_beat;
u64 hwr_adaptive_moment;
u8 hwr_adaptive_turn, hwr_adaptive_next, hwr_adaptive_waits;

static u64 *entries; /* 0 = not written yet; a ring */
static u64 entries_head, entries_tail;
static u32 *marks;   /* by page of small units: the epoch in which it was logged */
static u64 *touched; /* by page, too: a byte for each line of its shadow, see hwr_page_lines */
static u32 controls; /* which units are */

/* ---- the log ---- */

/* Address space, of which little is used. */
static void *map_table(u64 bytes)
{
	void *table = hwr_map_private(bytes);

	if (table) {
		add_relaxed(&hwr_reserved_bytes, bytes);
		hwr_madvise(table, bytes, MADV_NOHUGEPAGE);
	}
	return table;
}

bool hwr_log_open(void)
{
	u64 pages = (HWR_ADAPTIVE_SMALL_END - HW_HEAP_START) / HWR_PAGE;

	if (!entries)
		entries = map_table(LOG_ENTRIES * sizeof(*entries));
	if (!marks)
		marks = map_table(pages * sizeof(*marks));
	if (!touched)
		touched = map_table(pages * sizeof(*touched));
	return entries && marks && touched;
}

static bool log_put(u64 entry)
{
	u64 number;

	if (load_relaxed(&entries_head) - load_relaxed(&entries_tail) > LOG_ENTRIES - LOG_MARGIN)
		return false;
	number = add_relaxed(&entries_head, 1);
	store_release(&entries[number % LOG_ENTRIES], entry);
	return true;
}

u64 hwr_log_head(void) { return load_acquire(&entries_head); }

/* Only the helper takes. */
u64 hwr_log_peek(u64 *number)
{
	if (*number < entries_tail)
		*number = entries_tail;
	if (*number >= load_relaxed(&entries_head))
		return 0;
	return load_acquire(&entries[(*number)++ % LOG_ENTRIES]);
}

void hwr_log_drop(u64 end)
{
	while (entries_tail < end && load_relaxed(&entries[entries_tail % LOG_ENTRIES])) {
		store_relaxed(&entries[entries_tail % LOG_ENTRIES], 0);
		store_relaxed(&entries_tail, entries_tail + 1);
	}
}

u64 hwr_page_lines(u64 page) { return load_relaxed(&touched[page]); }

/* A fence, too: who tells of a line after this has it armed an epoch later, by its next entry in
 * the log. */
u64 hwr_page_take_lines(u64 page) { return exchange_seq_cst(&touched[page], 0); }

/* Written after the line itself, and before the epoch is read. */
static void tell_line(u64 address)
{
	u64 offset = address - HW_HEAP_START;
	u8 *bytes = (u8 *)&touched[offset / HWR_PAGE];

	store_release(&bytes[offset % HWR_PAGE / HWR_LINE_BYTES], 1);
	__asm__ volatile("" : : : "memory");
}

/* A page is logged once in an epoch. The shadow was written before. If an epoch begins right now
 * that write may still be on its way; no fence, which would cost more than all the rest of
 * disarming: the helper sees to it. */
static bool log_page(u64 page)
{
	u32 epoch = load_relaxed(&hwr_adaptive_epoch);

	if (likely(load_relaxed(&marks[page]) == epoch))
		return true;
	store_relaxed(&marks[page], epoch); /* two threads may both log it, which does no harm */
	if (log_put(HWR_LOG_PAGE | page))
		return true;
	store_relaxed(&marks[page], 0);
	return false;
}

/* ---- units ---- */

static u64 unit_bytes(u64 slot_bytes)
{
	u64 bytes = slot_bytes / UNITS_LARGE;

	if (slot_bytes <= LARGE)
		return UNIT;
	if (bytes < UNIT_LARGE_MIN)
		return UNIT_LARGE_MIN;
	if (bytes > UNIT_LARGE_MAX)
		return UNIT_LARGE_MAX;
	return 1ull << (63 - __builtin_clzll(bytes));
}

struct hwr_unit hwr_unit_at(u64 address)
{
	u64 slot_bytes = hwr_classes[hwr_heap_class(address)].slot_bytes;
	u64 bytes = unit_bytes(slot_bytes), offset;
	struct hwr_unit unit;

	hwr_heap_find(address, &offset);
	unit.address = address - offset % bytes;
	offset -= offset % bytes;
	unit.bytes = bytes < slot_bytes - offset ? bytes : slot_bytes - offset;
	return unit;
}

static u64 scatter(u64 number) { return number * 0x9e3779b97f4a7c15ull >> 32; }

bool hwr_page_has(u64 address, u32 set)
{
	u64 page = (address - HW_HEAP_START) / HWR_PAGE;

	return (u32)scatter(page) % (HWR_TURNS / HWR_PAGE_SETS) == set / HWR_PAGE_SETS;
}

void hwr_controls_change(void) { store_relaxed(&controls, load_relaxed(&controls) + 1); }

/* One part of 64 bytes in each area. */
static u64 control_at(u64 area)
{
	u64 number = scatter(area + load_relaxed(&controls)) % CONTROL_SHARE;

	return (area * CONTROL_SHARE + number) * UNIT;
}

/* A small unit is a control if it begins in such a part. */
static bool is_control(const struct hwr_unit *unit)
{
	return unit->address / UNIT * UNIT == control_at(unit->address / (CONTROL_SHARE * UNIT));
}

/* ---- disarming ---- */

/* The granule of a small unit, if there is one, whose turn it is stays armed. */
static void keep_granule(const struct hwr_unit *unit, u32 state)
{
	u32 set = state - HWR_SHADOW_SAMPLED;
	u64 end = unit->address + unit->bytes;

	for (u64 line = unit->address / UNIT * UNIT; line < end; line += UNIT) {
		u64 at = hwr_granule_at(line, set);

		if (at >= unit->address && at < end && hwr_page_has(line, set))
			store_relaxed(hw_shadow_of(at), (u8)state);
	}
}

static void clear_small(const struct hwr_unit *unit)
{
	u32 turn = load_relaxed(&hwr_adaptive_turn), next = load_relaxed(&hwr_adaptive_next);

	hwr_fill(hw_shadow_of(unit->address), 0, unit->bytes / 8);
	keep_granule(unit, turn);
	if (next != turn)
		keep_granule(unit, next);
}

/* The part of a large one, as well. */
static void keep_part(const struct hwr_unit *unit, u32 state)
{
	u32 set = state - HWR_SHADOW_SAMPLED;
	struct hwr_unit part = hwr_unit_part(unit, set);

	if (hwr_page_has(unit->address, set))
		hwr_fill(hw_shadow_of(part.address), state, part.bytes / 8);
}

/* Of a large unit only some bytes are a control. */
static void keep_controls(const struct hwr_unit *unit)
{
	enum { AREA = CONTROL_SHARE * UNIT };
	u64 end = unit->address + unit->bytes;

	for (u64 area = unit->address / AREA; area * AREA < end; area++) {
		u64 at = control_at(area);

		if (at >= unit->address && at + UNIT <= end)
			hwr_fill(hw_shadow_of(at), HWR_SHADOW_CONTROL, UNIT / 8);
	}
}

/* A unit may reach into the next page. */
static bool disarm_small(const struct hwr_unit *unit)
{
	u64 last = unit->address + unit->bytes - 1;
	u64 page = (unit->address - HW_HEAP_START) / HWR_PAGE;
	u64 last_page = (last - HW_HEAP_START) / HWR_PAGE;

	if (unlikely(is_control(unit)))
		hwr_fill(hw_shadow_of(unit->address), HWR_SHADOW_CONTROL, unit->bytes / 8);
	else
		clear_small(unit);
	tell_line(unit->address);
	tell_line(last);
	return log_page(page) && (likely(page == last_page) || log_page(last_page));
}

static __attribute__((noinline)) bool disarm_large(const struct hwr_unit *unit)
{
	hwr_fill(hw_shadow_of(unit->address), 0, unit->bytes / 8);
	keep_part(unit, load_relaxed(&hwr_adaptive_turn));
	keep_part(unit, load_relaxed(&hwr_adaptive_next));
	keep_controls(unit);
	return log_put(unit->address);
}

static void mark_estimated(struct hwr_chunk *chunk)
{
	if (!(load_relaxed(&chunk->what) & HWR_CHUNK_ESTIMATED))
		or_relaxed(&chunk->what, HWR_CHUNK_ESTIMATED);
}

/* Whether the next access may be the first one of its sort. Not for ever: that would cost as much
 * as exact recording does. */
static bool is_one_sided(const struct hwr_chunk *chunk)
{
	u64 reads = chunk->reads, writes = chunk->writes;

	if (likely(reads && writes))
		return false;
	if (load_relaxed(&chunk->what) & HWR_CHUNK_SHARED) {
		reads += load_relaxed(&hwr_chunk_others(chunk)->reads);
		writes += load_relaxed(&hwr_chunk_others(chunk)->writes);
	}
	return (!reads || !writes) && reads + writes < HWR_ADAPTIVE_ONE_SIDED;
}

void hwr_adaptive_hot(u64 address, u64 offset, struct hwr_chunk *chunk)
{
	u64 slot_bytes = hwr_classes[hwr_heap_class(address)].slot_bytes;
	u64 bytes = unit_bytes(slot_bytes);
	u64 begin = offset & ~(bytes - 1);
	struct hwr_unit unit = {address - (offset - begin),
				bytes < slot_bytes - begin ? bytes : slot_bytes - begin};

	if (is_one_sided(chunk))
		return;
	mark_estimated(chunk);
	/* Disarmed before it is logged: the helper must come after us. */
	if (likely(slot_bytes <= LARGE) ? disarm_small(&unit) : disarm_large(&unit))
		return;
	hwr_fill(hw_shadow_of(unit.address), HW_SHADOW_ARMED, unit.bytes / 8);
}

/* The unit is logged, and when it is armed again just now it stays so: nothing else may become
 * 0. */
static __attribute__((noinline)) void disarm_part(u64 address, u32 state)
{
	u64 slot_bytes = hwr_classes[hwr_heap_class(address)].slot_bytes;
	u64 bytes = unit_bytes(slot_bytes) / HWR_PAGE_SETS;
	u64 start = address / bytes * bytes; /* slots of large chunks are whole pages */

	for (u64 line = start; line < start + bytes; line += UNIT) {
		u64 was = state * 0x0101010101010101u;

		cas_acq_rel((u64 *)hw_shadow_of(line), &was, 0);
	}
}

/* Of a small unit the granule alone is disarmed: the rest of it is, and there are many. */
void hwr_adaptive_stale(u64 address, u32 state)
{
	u64 offset;

	mark_estimated(hwr_heap_find(address, &offset));
	if (unlikely(address >= HWR_ADAPTIVE_SMALL_END)) {
		disarm_part(address, state);
		return;
	}
	store_relaxed(hw_shadow_of(address), 0);
	/* As for units: disarmed before it is logged. */
	tell_line(address);
	if (!log_page((address - HW_HEAP_START) / HWR_PAGE))
		store_relaxed(hw_shadow_of(address), HW_SHADOW_ARMED);
}

void hwr_adaptive_begin(u64 address, struct hwr_chunk *chunk)
{
	u64 slot_bytes = hwr_classes[hwr_heap_class(address)].slot_bytes;

	if (!load_relaxed(&hwr_adaptive_epoch))
		return;
	if (slot_bytes > LARGE)
		*hwr_chunk_adaptive(chunk) = (struct hwr_adaptive){0, 0};
	/* Of the last chunk some units may be hot, or granules of one. */
	if (slot_bytes <= HWR_ARMED_WHOLE)
		hwr_fill(hw_shadow_of(address), HW_SHADOW_ARMED, slot_bytes / 8);
}

/* ---- what was hidden ---- */

static u64 armed_at[ARMED_TIMES], armed_count; /* a ring; the helper writes */
static u64 armed_longest;                      /* of all times between one and the next but one */

void hwr_adaptive_armed(u64 ticks)
{
	u64 count = armed_count, before = count > 1 ? armed_at[(count - 2) % ARMED_TIMES] : 0;

	if (before && ticks - before > armed_longest)
		store_relaxed(&armed_longest, ticks - before);
	store_relaxed(&armed_at[count % ARMED_TIMES], ticks);
	store_release(&armed_count, count + 1);
}

/* The second time after `last`: what was disarmed while the first one began is armed by the
 * next. */
static u64 armed_after(u64 last, u64 now)
{
	u64 count = load_acquire(&armed_count),
	    oldest = count > ARMED_TIMES ? count - ARMED_TIMES : 0, at = count;

	while (at > oldest && load_relaxed(&armed_at[(at - 1) % ARMED_TIMES]) > last)
		at--;
	if (at + 1 >= count)
		return now;
	return at > oldest ? load_relaxed(&armed_at[(at + 1) % ARMED_TIMES])
			   : last + load_relaxed(&armed_longest);
}

static bool has_disarmed(u64 address, u64 size)
{
	const u8 *shadow = hw_shadow_of(address);

	for (u64 i = 0; i < (size + 7) / 8; i++)
		if (!load_relaxed(&shadow[i]))
			return true;
	return false;
}

u64 hwr_adaptive_hidden_until(u64 address, const struct hwr_chunk *chunk, u64 last, u64 now)
{
	u64 until = armed_after(last, now);

	/* The shadow of a large chunk is long, and all its units are armed again at those times. */
	if (hwr_classes[hwr_heap_class(address)].slot_bytes <= LARGE &&
	    has_disarmed(address, hwr_chunk_size(chunk)))
		return now;
	return until < now ? until : now;
}
