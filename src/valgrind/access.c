/* SPDX-License-Identifier: GPL-2.0-or-later
 * Notes accesses; see access.h. */
#include "valgrind/access.h"

#include <pub_tool_tooliface.h>

#include "format/ticks.h"
#include "valgrind/session.h"

u64 hwv_clock, hwv_clock_limit;
u32 hwv_running;
u64 hwv_checked;

u64 hwv_clock_read(void)
{
	u64 ticks = hw_ticks();

	hwv_clock = ticks > hwv_clock ? ticks : hwv_clock + 1;
	hwv_clock_limit = hwv_clock + CLOCK_EVERY;
	return hwv_clock;
}

static inline u64 clock_step(void)
{
	if (unlikely(++hwv_clock >= hwv_clock_limit))
		return hwv_clock_read();
	return hwv_clock;
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

/* The block that an access to the address belongs to. */
static inline struct block *block_hit(Addr address)
{
	struct block *block = hwv_owner(address);

	hwv_checked++;
	return block && address - block->address < block->size ? block : NULL;
}

static __attribute__((noinline)) void touch_unusual(struct block *block, u64 from, u64 end,
						    enum hw_access_side side)
{
	if (!block->first_ticks) {
		block->first_ticks = block->last_ticks;
		block->thread = hwv_running;
	}
	if (from < block->low)
		block->low = from;
	if (end > block->high)
		block->high = end;
	if (block->thread != hwv_running)
		block->shared = 1;
	if (block->covered)
		bits_set(block->covered + side * hwv_map_words(block), from,
			 end < block->size ? end : block->size);
	else if (!block->shared)
		block->usual = hwv_running;
}

/* Mostly the thread is the one that has always accessed the block, and its bytes are known. */
static inline void block_touch(struct block *block, u64 from, u64 bytes,
			       enum hw_access_side side)
{
	u64 end = from + bytes;

	block->last_ticks = clock_step();
	if (unlikely(block->usual != hwv_running || from < block->low || end > block->high))
		touch_unusual(block, from, end, side);
}

static inline void note_read(Addr address, UWord bytes)
{
	struct block *block = block_hit(address);

	if (!block)
		return;
	block->reads++;
	block->read_bytes += bytes;
	block_touch(block, address - block->address, bytes, HW_SIDE_READ);
}

static inline void note_write(Addr address, UWord bytes)
{
	struct block *block = block_hit(address);

	if (!block)
		return;
	block->writes++;
	block->written_bytes += bytes;
	block_touch(block, address - block->address, bytes, HW_SIDE_WRITTEN);
}

VG_REGPARM(2) void hwv_read(Addr address, UWord bytes) { note_read(address, bytes); }

VG_REGPARM(2) void hwv_write(Addr address, UWord bytes) { note_write(address, bytes); }

VG_REGPARM(3) void hwv_read_two(Addr first, Addr second, UWord bytes)
{
	note_read(first, (u32)bytes);
	note_read(second, bytes >> HWV_SECOND);
}

VG_REGPARM(3) void hwv_write_two(Addr first, Addr second, UWord bytes)
{
	note_write(first, (u32)bytes);
	note_write(second, bytes >> HWV_SECOND);
}

VG_REGPARM(2) void hwv_modify(Addr address, UWord bytes)
{
	note_read(address, bytes);
	note_write(address, bytes);
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
	hwv_read(address, bytes);
}

/* The string may be wrong and never end: no byte behind its block is looked at. */
static void system_reads_string(CorePart part, ThreadId tid, const HChar *what, Addr address)
{
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
	hwv_write(address, bytes);
}

void hwv_access_init(void)
{
	hwv_clock_read();
	VG_(track_pre_mem_read)(system_reads);
	VG_(track_pre_mem_read_asciiz)(system_reads_string);
	VG_(track_post_mem_write)(system_wrote);
}
