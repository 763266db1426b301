/* SPDX-License-Identifier: MIT
 * Sums of a chunk, and its coverage; see chunks.h. Runs in the target. */
#include "recorder/access/chunks.h"

#include "format/record.h"
#include "recorder/access/access.h"
#include "recorder/access/shadow/adaptive.h"
#include "recorder/memory.h"
#include "recorder/state.h"

static bool coverage_open;

/* ---- coverage ---- */

bool hwr_coverage_open(void)
{
	if (!coverage_open)
		coverage_open = hwr_map_at(HW_HEAP_COVERAGE, HWR_HEAP_BYTES / 8) != NULL;
	return coverage_open;
}

static u8 *coverage_of(u64 address)
{
	return (u8 *)(HW_HEAP_COVERAGE + (address - HW_HEAP_START) / 8);
}

/* The bits of one byte of the map, which are one chunk's: slots are multiples of 16 bytes. */
static void add_bits(u8 *at, u32 bits)
{
	if ((load_relaxed(at) & bits) != bits)
		__atomic_fetch_or(at, (u8)bits, __ATOMIC_RELAXED);
}

void hwr_coverage_add(u64 address, u64 bytes)
{
	u8 *at = coverage_of(address);
	u32 from = address & 7;

	while (from + bytes > 8) {
		add_bits(at++, 0xffu << from & 0xff);
		bytes -= 8 - from;
		from = 0;
	}
	add_bits(at, ((1u << bytes) - 1) << from);
}

u64 hwr_coverage_count(u64 address, u64 bytes)
{
	const u8 *at = coverage_of(address);
	u64 count = 0;

	for (u64 i = 0; i < bytes / 8; i++)
		count += (u64)__builtin_popcount(at[i]);
	if (bytes % 8) /* the program may go beyond what it asked for */
		count += (u64)__builtin_popcount(at[bytes / 8] & ((1u << bytes % 8) - 1));
	return count;
}

u64 hwr_coverage_word(u64 address, u64 bytes, u32 index)
{
	u64 from = 64ull * index, word = 0;

	for (u64 i = 0; i < 8 && from + 8 * i < bytes; i++)
		word |= (u64)*coverage_of(address + from + 8 * i) << 8 * i;
	return bytes - from < 64 ? word & ((1ull << (bytes - from)) - 1) : word;
}

static void coverage_clear(u64 address, u64 bytes)
{
	hwr_zero(coverage_of(address), bytes / 8 & ~7ull);
	for (u64 i = bytes / 8 & ~7ull; i < (bytes + 7) / 8; i++)
		coverage_of(address)[i] = 0;
}

/* ---- chunks ---- */

void hwr_chunk_begins(u64 address, struct hwr_chunk *chunk, u64 before)
{
	if (coverage_open && before & HWR_CHUNK_USED)
		coverage_clear(address, hwr_classes[hwr_heap_class(address)].slot_bytes);
	hwr_adaptive_begin(address, chunk);
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

/* Where a compiler may have left out the read before a write or the write after a read, "never read" and
 * "never written" are not known. */
static bool may_hide(const struct hwr_sums *sums)
{
	return load_relaxed(&HW_BOARD->module_flags) & HW_MODULE_MERGES &&
	       (!sums->reads ^ !sums->writes);
}

bool hwr_chunk_sums(u64 address, const struct hwr_chunk *chunk, struct hwr_sums *sums)
{
	u64 what = load_acquire(&chunk->what);
	u64 size = what >> HWR_CHUNK_SIZE_SHIFT;

	if ((what & (HWR_CHUNK_LIVE | HWR_CHUNK_MEASURED)) != (HWR_CHUNK_LIVE | HWR_CHUNK_MEASURED))
		return false;
	*sums = (struct hwr_sums){
		.first = chunk->first,
		.last = chunk->last,
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
		sums->covered = hwr_coverage_count(address, size);
	if (what & HWR_CHUNK_ESTIMATED)
		sums->flags |= HW_ACCESS_ESTIMATED;
	if (what & HWR_CHUNK_PLAIN || may_hide(sums))
		sums->flags |= HW_ACCESS_LOWER_BOUND;
	saturate(&sums->reads, hwr_control->access_max, &sums->flags);
	saturate(&sums->writes, hwr_control->access_max, &sums->flags);
	return true;
}
