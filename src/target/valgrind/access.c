/* SPDX-License-Identifier: GPL-2.0-or-later
 * Notes accesses; see access.h. */
#include "target/valgrind/access.h"

#include <pub_tool_tooliface.h>

#include "format/arch/tag.h"
#include "format/ticks.h"
#include "target/valgrind/ring.h"
#include "target/valgrind/state.h"

u64 hwv_clock, hwv_clock_limit;
u32 hwv_running;
u64 hwv_missed;

u64 hwv_clock_read(void)
{
	u64 ticks = hw_ticks();

	hwv_clock = ticks > hwv_clock ? ticks : hwv_clock + 1;
	hwv_clock_limit = hwv_clock + CLOCK_EVERY;
	return hwv_clock;
}

static inline u64 clock_step(u64 accesses)
{
	u64 clock = hwv_clock += accesses;

	return likely(clock < hwv_clock_limit) ? clock : hwv_clock_read();
}

/* ---- coverage ---- */

/* Sets the bits [from, end) of a bitmap. */
static void bits_set(u64 *bits, u64 from, u64 end)
{
	u64 first = from / 64, last = (end - 1) / 64;
	u64 head = ~0ull << from % 64, tail = ~0ull >> (63 - (end - 1) % 64);

	if (first == last) {
		bits[first] |= head & tail;
		return;
	}
	bits[first] |= head;
	for (u64 i = first + 1; i < last; i++)
		bits[i] = ~0ull;
	bits[last] |= tail;
}

struct covered hwv_covered_bytes(const struct block *block)
{
	const u64 *read = block->covered, *written = read + hwv_map_words(block);
	struct covered count = {0};

	for (u64 i = 0; i < hwv_map_words(block); i++) {
		count.bytes += (u64)__builtin_popcountll(read[i] | written[i]);
		count.sides[HW_SIDE_READ] += (u64)__builtin_popcountll(read[i]);
		count.sides[HW_SIDE_WRITTEN] += (u64)__builtin_popcountll(written[i]);
	}
	return count;
}

/* ---- accesses ---- */

static inline void count(struct block *block, u64 accesses, u64 bytes, enum hw_access_side side,
			 u64 ticks)
{
	if (side == HW_SIDE_WRITTEN) {
		block->writes += accesses;
		block->written_bytes += bytes;
	} else {
		block->reads += accesses;
		block->read_bytes += bytes;
	}
	block->last_ticks = ticks;
}

/* By the thread that has always accessed the block, and to bytes that are known. */
static inline Bool is_usual(const struct block *block, Addr address, u64 bytes)
{
	return likely(address >= block->low) && likely(address + bytes <= block->high) &&
	       likely(block->usual == hwv_running);
}

static void touch(struct block *block, Addr address, u64 bytes, enum hw_access_side side)
{
	u64 from = address - block->address, end = from + bytes;

	if (!block->first_ticks) {
		block->first_ticks = block->last_ticks;
		block->thread = hwv_running;
	}
	if (address < block->low)
		block->low = address;
	if (address + bytes > block->high)
		block->high = address + bytes;
	if (block->thread != hwv_running)
		block->shared = 1;
	if (block->covered)
		bits_set(block->covered + side * hwv_map_words(block), from,
			 end < block->size ? end : block->size);
	else
		block->usual = block->shared ? 0 : hwv_running;
}

/* Any access. Returns its block, NULL if there is none. */
static struct block *note(Addr pointer, u64 bytes, enum hw_access_side side, u64 ticks)
{
	Addr address = hw_untagged(pointer);
	struct block *block = hwv_owner(address);
	Bool usual = block && is_usual(block, address, bytes);

	if (!usual && (!block || address - block->address >= block->size)) {
		hwv_missed++;
		return NULL;
	}
	count(block, 1, bytes, side, ticks);
	if (!usual)
		touch(block, address, bytes, side);
	return block;
}

/* One by one. ticks: when the last of them is. */
static __attribute__((noinline)) void note_parts(Addr address, struct site *site,
						 enum hw_access_side side, u64 ticks)
{
	ticks -= site->accesses;
	for (u64 i = 0; i < site->accesses; i++) {
		const struct part *part = &site->parts[i];
		struct block *block = note(address + part->offset, part->bytes, side, ++ticks);

		if (block)
			site->block = block;
	}
}

static inline Bool site_is_usual(const struct site *site, Addr address)
{
	return is_usual(site->block, address, site->reach);
}

/* Another block than last time, as of a list that is followed; or none, as of variables of the
 * program, which are most of these. */
static __attribute__((noinline)) void note_elsewhere(Addr pointer, struct site *site,
						     enum hw_access_side side, u64 ticks)
{
	Addr address = hw_untagged(pointer);
	struct block *block = hwv_owner(address);

	if (block && is_usual(block, address, site->reach)) {
		site->block = block;
		count(block, site->accesses, site->bytes, side, ticks);
	} else if (!block && site->accesses == 1) {
		hwv_missed++;
	} else {
		note_parts(pointer, site, side, ticks);
	}
}

static inline __attribute__((always_inline)) void note_site(Addr address, struct site *site,
							    enum hw_access_side side, u64 ticks)
{
	if (site_is_usual(site, address))
		count(site->block, site->accesses, site->bytes, side, ticks);
	else
		note_elsewhere(address, site, side, ticks);
}

static __attribute__((noinline)) void note_each(Addr first, Addr second, struct site *sites,
						enum hw_access_side side,
						enum hw_access_side second_side, u64 ticks)
{
	note_site(first, &sites[0], side, ticks - sites[1].accesses);
	note_site(second, &sites[1], second_side, ticks);
}

/* Counts of one sort and one block are added at once: the CPU would wait for the first sum. */
static inline __attribute__((always_inline)) void note_two(Addr first, Addr second,
							   struct site *sites,
							   enum hw_access_side side,
							   enum hw_access_side second_side)
{
	struct block *block = sites[0].block, *other = sites[1].block;
	u64 accesses = sites[0].accesses + sites[1].accesses, ticks = clock_step(accesses);

	if (unlikely(!site_is_usual(&sites[0], first)) ||
	    unlikely(!site_is_usual(&sites[1], second))) {
		note_each(first, second, sites, side, second_side, ticks);
	} else if (side == second_side && block == other) {
		count(block, accesses, sites[0].bytes + sites[1].bytes, side, ticks);
	} else {
		count(block, sites[0].accesses, sites[0].bytes, side, ticks - sites[1].accesses);
		count(other, sites[1].accesses, sites[1].bytes, second_side, ticks);
	}
}

VG_REGPARM(2) void hwv_read(Addr address, struct site *site)
{
	note_site(address, site, HW_SIDE_READ, clock_step(site->accesses));
}

VG_REGPARM(2) void hwv_write(Addr address, struct site *site)
{
	note_site(address, site, HW_SIDE_WRITTEN, clock_step(site->accesses));
}

VG_REGPARM(3) void hwv_read_read(Addr first, Addr second, struct site *sites)
{
	note_two(first, second, sites, HW_SIDE_READ, HW_SIDE_READ);
}

VG_REGPARM(3) void hwv_read_write(Addr first, Addr second, struct site *sites)
{
	note_two(first, second, sites, HW_SIDE_READ, HW_SIDE_WRITTEN);
}

VG_REGPARM(3) void hwv_write_write(Addr first, Addr second, struct site *sites)
{
	note_two(first, second, sites, HW_SIDE_WRITTEN, HW_SIDE_WRITTEN);
}

/* ---- system calls ---- */

/* Of memory that the core itself looks at (arguments in memory, code to be translated) nothing is
 * noted: the system call's own accesses come beside it. */
static void system_reads(CorePart part, ThreadId tid, const HChar *what, Addr address, SizeT bytes)
{
	(void)what;
	if (part != Vg_CoreSysCall || !bytes)
		return;
	hwv_running = hwv_thread_number(tid);
	note(address, bytes, HW_SIDE_READ, clock_step(1));
}

/* The string may be wrong and never end: no byte behind its block is looked at. */
static void system_reads_string(CorePart part, ThreadId tid, const HChar *what, Addr pointer)
{
	Addr address = hw_untagged(pointer);
	const struct block *block = hwv_owner(address);
	u64 bytes = 0, room;

	if (!block || address - block->address >= block->size)
		return;
	room = block->address + block->size - address;
	while (bytes < room && ((const HChar *)address)[bytes])
		bytes++;
	system_reads(part, tid, what, address, bytes < room ? bytes + 1 : room);
}

static void system_wrote(CorePart part, ThreadId tid, Addr address, SizeT bytes)
{
	if (part != Vg_CoreSysCall || !bytes)
		return;
	hwv_running = hwv_thread_number(tid);
	note(address, bytes, HW_SIDE_WRITTEN, clock_step(1));
}

void hwv_access_init(void)
{
	hwv_clock_read();
	VG_(track_pre_mem_read)(system_reads);
	VG_(track_pre_mem_read_asciiz)(system_reads_string);
	VG_(track_post_mem_write)(system_wrote);
}
