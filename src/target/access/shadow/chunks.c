/* SPDX-License-Identifier: MIT
 * Sums of a chunk, and its coverage; see chunks.h. Runs in the target. */
#include "target/access/shadow/chunks.h"

#include "format/ticks.h"
#include "target/access/heap/asks.h"
#include "target/access/heap/heap.h"
#include "target/access/shadow/adaptive.h"
#include "target/access/shadow/clock.h"
#include "target/recorder/state/memory.h"
#include "target/recorder/state/state.h"

static bool coverage_open;

/* ---- coverage ---- */

bool hwr_coverage_open(void)
{
	if (!coverage_open)
		coverage_open = hwr_map_at(HW_HEAP_COVERAGE, HWR_HEAP_BYTES / 4) != NULL;
	return coverage_open;
}

/* Of each 8 bytes of the heap a byte of those that were read and, behind it, one of those that were
 * written: an access finds both in one place, and a chunk's are cleared at once. */
static u8 *coverage_of(u64 address)
{
	return (u8 *)(HW_HEAP_COVERAGE + (address - HW_HEAP_START) / 8 * HW_SIDES);
}

/* The bits of one byte of the map, which are one chunk's: slots are multiples of 16 bytes. */
static void add_bits(u8 *at, u32 bits)
{
	if ((load_relaxed(at) & bits) != bits)
		or_relaxed(at, (u8)bits);
}

void hwr_coverage_add(u64 address, u64 bytes, bool write)
{
	u8 *at = coverage_of(address) + (write ? HW_SIDE_WRITTEN : HW_SIDE_READ);
	u32 from = address & 7;

	for (; from + bytes > 8; at += HW_SIDES) {
		add_bits(at, 0xffu << from & 0xff);
		bytes -= 8 - from;
		from = 0;
	}
	add_bits(at, ((1u << bytes) - 1) << from);
}

static u64 count_bits(u64 word) { return (u64)__builtin_popcountll(word); }

/* Of a chunk that is too large for maps. */
static void coverage_count(u64 address, struct hwr_sums *sums)
{
	const u8 *at = coverage_of(address);

	for (u64 i = 0; i < (sums->size + 7) / 8; i++, at += HW_SIDES) {
		u64 left = sums->size - 8 * i; /* the program may go beyond what it asked for */
		u32 mask = left < 8 ? (1u << left) - 1 : 0xff;
		u32 read = load_relaxed(&at[HW_SIDE_READ]) & mask;
		u32 written = load_relaxed(&at[HW_SIDE_WRITTEN]) & mask;

		sums->sides[HW_SIDE_READ] += count_bits(read);
		sums->sides[HW_SIDE_WRITTEN] += count_bits(written);
		sums->covered += count_bits(read | written);
	}
}

/* Word `index` of the map of one side. */
static u64 coverage_word(u64 address, u64 bytes, u32 index, u32 side)
{
	u64 from = 64ull * index, word = 0;

	for (u64 i = 0; i < 8 && from + 8 * i < bytes; i++)
		word |= (u64)load_relaxed(coverage_of(address + from + 8 * i) + side) << 8 * i;
	return bytes - from < 64 ? word & ((1ull << (bytes - from)) - 1) : word;
}

/* What is told is counted in the copy: other threads may still access the chunk. */
static void coverage_copy(u64 address, struct hwr_sums *sums, struct hwr_maps *maps)
{
	for (u32 i = 0; i < (sums->size + 63) / 64; i++) {
		u64 read = coverage_word(address, sums->size, i, HW_SIDE_READ);
		u64 written = coverage_word(address, sums->size, i, HW_SIDE_WRITTEN);

		maps->sides[HW_SIDE_READ][i] = read;
		maps->sides[HW_SIDE_WRITTEN][i] = written;
		sums->sides[HW_SIDE_READ] += count_bits(read);
		sums->sides[HW_SIDE_WRITTEN] += count_bits(written);
		sums->covered += count_bits(read | written);
	}
}

static void coverage_read(u64 address, struct hwr_sums *sums, struct hwr_maps *maps)
{
	sums->covered = 0;
	if (sums->size <= HW_MAP_BYTES)
		coverage_copy(address, sums, maps);
	else
		coverage_count(address, sums);
}

static void coverage_clear(u64 address, u64 bytes)
{
	hwr_zero(coverage_of(address), bytes / 8 * HW_SIDES & ~7ull);
	for (u64 i = bytes / 8 * HW_SIDES & ~7ull; i < (bytes + 7) / 8 * HW_SIDES; i++)
		coverage_of(address)[i] = 0;
}

/* ---- chunks ---- */

void hwr_chunk_begins(u64 address, struct hwr_chunk *chunk, u64 before)
{
	if (coverage_open && before & HWR_CHUNK_USED)
		coverage_clear(address, hwr_classes[hwr_heap_class(address)].slot_bytes);
	hwr_adaptive_begin(address, chunk);
}

/* When a last access was at the latest that has the time of this reading of the counter. In exact
 * mode it serves few accesses; in adaptive mode the thread may have accessed hot memory alone for
 * long, and had no reason to read it again. */
static u64 read_again(u64 last, u64 now)
{
	u64 next = hwr_clock_next(last), until = next ? next : now;

	return until - last > hwr_adaptive_moment ? until : last;
}

/* What adaptive recording may have hidden: the first access of one sort, and a last one. A last
 * access is right if it is off by less than a sixteenth of the time since the first. */
static u32 hidden(u64 address, const struct hwr_chunk *chunk, bool estimated,
		  const struct hwr_sums *sums)
{
	u64 now = hw_ticks(), until = read_again(sums->last, now);
	u32 flags = 0;

	if (estimated) {
		u64 armed = hwr_adaptive_hidden_until(address, chunk, sums->last, now);

		until = armed > until ? armed : until;
		flags |= HW_ACCESS_ESTIMATED |
			 (!sums->reads || !sums->writes ? HW_ACCESS_UNSIDED : 0);
	}
	return until > sums->last && until - sums->last > (now - sums->first) / 16
		       ? flags | HW_ACCESS_LATER
		       : flags;
}

static void saturate(u64 *count, u64 most, u32 *flags)
{
	if (!most || *count <= most)
		return;
	*count = most;
	*flags |= HW_ACCESS_SATURATED;
}

static void span_read(const struct hwr_chunk *chunk, u64 size, u32 unit_shift,
		      struct hwr_sums *sums)
{
	u64 span = load_relaxed(&chunk->span);

	sums->low = sums->high = 0;
	if (span == HWR_SPAN_NONE)
		return;
	sums->low = (span & 0xffffffff) << unit_shift;
	sums->high = (span >> 32) << unit_shift;
	if (sums->high > size) /* the program goes beyond what it asked for, or the unit does */
		sums->high = size;
	if (sums->low > sums->high)
		sums->low = sums->high;
}

/* Where a compiler may have left out the read before a write or the write after a read, "never
 * read" and "never written" are not known. */
static bool may_hide(const struct hwr_sums *sums)
{
	if (!(load_relaxed(&HW_BOARD->module_flags) & HW_MODULE_MERGES))
		return false;
	if (!load_relaxed(&hwr_control->access_merges))
		store_relaxed(&hwr_control->access_merges, 1);
	return !sums->reads ^ !sums->writes;
}

bool hwr_chunk_sums(u64 address, const struct hwr_chunk *chunk, struct hwr_sums *sums,
		    struct hwr_maps *maps)
{
	u64 what = load_acquire(&chunk->what);
	u64 size = what >> HWR_CHUNK_SIZE_SHIFT;

	if ((what & (HWR_CHUNK_LIVE | HWR_CHUNK_MEASURED)) != (HWR_CHUNK_LIVE | HWR_CHUNK_MEASURED))
		return false;
	*sums = (struct hwr_sums){
		.first = chunk->first,
		/* two threads at once */
		.last = chunk->last > chunk->first ? chunk->last : chunk->first,
		.reads = chunk->reads,
		.writes = chunk->writes,
		.read_bytes = chunk->read_bytes,
		.written_bytes = chunk->written_bytes,
		.covered = UINT64_MAX,
	};
	span_read(chunk, size, hwr_classes[hwr_heap_class(address)].unit_shift, sums);
	if (what & HWR_CHUNK_SHARED) {
		const struct hwr_chunk_others *others = hwr_chunk_others(chunk);

		sums->flags |= HW_ACCESS_SHARED;
		sums->reads += load_relaxed(&others->reads);
		sums->writes += load_relaxed(&others->writes);
		sums->read_bytes += load_relaxed(&others->read_bytes);
		sums->written_bytes += load_relaxed(&others->written_bytes);
	}
	sums->size = size;
	if (coverage_open)
		coverage_read(address, sums, maps);
	if (sums->first && load_relaxed(&hwr_adaptive_epoch))
		sums->flags |= hidden(address, chunk, what & HWR_CHUNK_ESTIMATED, sums);
	if (may_hide(sums))
		sums->flags |= HW_ACCESS_UNSIDED;
	if (what & HWR_CHUNK_PLAIN)
		sums->flags |= HW_ACCESS_LOWER_BOUND;
	saturate(&sums->reads, hwr_control->access_max, &sums->flags);
	saturate(&sums->writes, hwr_control->access_max, &sums->flags);
	return true;
}
