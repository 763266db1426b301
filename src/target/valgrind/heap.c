/* SPDX-License-Identifier: GPL-2.0-or-later
 * The malloc family; see heap.h. An allocation is stamped after the real call, a free before it. */
#include "target/valgrind/heap.h"

#include <pub_tool_replacemalloc.h>
#include <pub_tool_tooliface.h>

#include "target/valgrind/access.h"
#include "target/valgrind/context.h"
#include "target/valgrind/pool.h"
#include "target/valgrind/ring.h"
#include "target/valgrind/state.h"

enum { RED_ZONE = 16 }; /* bytes around a block: an access next to it hits no other one */

/* ---- events ---- */

static void put(ThreadId tid, u32 kind, u16 aux, u64 address, u64 size)
{
	u32 stacks = hw_kind_frees(kind) ? HW_RUN_FREE_STACKS : HW_RUN_ALLOC_STACKS;
	Bool paused = hw_kind_frees(kind) && load_relaxed(&hwv_control->paused);

	hwv_put(tid, &(struct hw_record){
			     .ticks = hwv_clock_read(),
			     .address = address,
			     .size = size,
			     .context = hwv_has_flag(stacks) && !paused ? hwv_context_of(tid) : 0,
			     .kind = (u8)kind,
			     .aux = aux,
		     });
}

static void put_part(ThreadId tid, enum hw_access_part part, u64 address, u64 size)
{
	if (hwv_control)
		hwv_put(tid, &(struct hw_record){.ticks = hwv_clock,
						 .address = address,
						 .size = size,
						 .kind = HW_ACCESS,
						 .aux = (u16)part});
}

/* The join of two maps; of one side both are the same. */
static void tell_map(ThreadId tid, u32 part, const struct block *block, const u64 *one,
		     const u64 *other)
{
	u64 words = hwv_map_words(block);

	for (u64 i = 0; i < words; i += 2) {
		u64 first = one[i] | other[i],
		    second = i + 1 < words ? one[i + 1] | other[i + 1] : 0;

		if (first | second)
			put_part(tid, (enum hw_access_part)(part + i / 2), first, second);
	}
}

/* How many bytes, and which, where the numbers leave it open. */
static void tell_coverage(ThreadId tid, const struct block *block, u64 accessed)
{
	const u64 *read = block->covered, *written = read + hwv_map_words(block);
	struct covered covered = hwv_covered_bytes(block);

	put_part(tid, HW_ACCESS_COVERAGE, covered.bytes, 1);
	put_part(tid, HW_ACCESS_SIDES, covered.sides[HW_SIDE_READ], covered.sides[HW_SIDE_WRITTEN]);
	if (block->size > HW_MAP_BYTES)
		return;
	if (hw_access_has_gaps(0, accessed, covered.bytes))
		tell_map(tid, HW_ACCESS_MAP, block, read, written);
	if (hw_access_is_split(covered.sides[HW_SIDE_READ], covered.bytes))
		tell_map(tid, HW_ACCESS_READ_MAP, block, read, read);
	if (hw_access_is_split(covered.sides[HW_SIDE_WRITTEN], covered.bytes))
		tell_map(tid, HW_ACCESS_WRITTEN_MAP, block, written, written);
}

static void tell_accesses(ThreadId tid, const struct block *block)
{
	Addr end = block->address + block->size;
	Addr high = block->high < end ? block->high : end;

	hwv_clock_read();
	put_part(tid, HW_ACCESS_BLOCK, block->address, block->shared ? HW_ACCESS_SHARED : 0);
	if (block->first_ticks) {
		put_part(tid, HW_ACCESS_TIMES, block->first_ticks, block->last_ticks);
		put_part(tid, HW_ACCESS_COUNTS, block->reads, block->writes);
		put_part(tid, HW_ACCESS_BYTES, block->read_bytes, block->written_bytes);
		put_part(tid, HW_ACCESS_RANGE, block->low - block->address, high - block->address);
	}
	if (block->covered)
		tell_coverage(tid, block, high - block->low);
	put_part(tid, HW_ACCESS_END, block->address, 0);
}

static void note_allocation(ThreadId tid, u32 kind, struct block *block)
{
	if (!hwv_wants_allocation())
		return;
	block->held = hwv_pool_inside(tid);
	if (block->held)
		return;
	put(tid, kind, 0, block->address, block->size);
	block->recording = hwv_recording;
}

static void note_failure(ThreadId tid, u32 kind, u64 size)
{
	if (hwv_wants_allocation())
		put(tid, HW_FAILED, (u16)kind, 0, size);
}

/* Also of an address at which no block begins: a wrong call is an event, too. */
static void note_free(ThreadId tid, u32 kind, u16 aux, Addr address, const struct block *block)
{
	if (!hwv_wants_free())
		return;
	if (block && block->held) {
		/* A function passed it on, and somebody else ends it. */
		if (hwv_pool_drop(address))
			put(tid, HW_POOL_FREE, 0, address | HW_POOL_ADDRESS, 0);
		return;
	}
	if (block && block->recording == hwv_recording)
		tell_accesses(tid, block);
	if (hwv_control)
		put(tid, kind, aux, address, 0);
}

/* ---- blocks ---- */

static void *allocate(ThreadId tid, u32 kind, SizeT size, SizeT alignment)
{
	void *p = (SSizeT)size < 0 ? NULL : VG_(cli_malloc)(alignment, size);

	if (!p) {
		if (!hwv_pool_inside(tid))
			note_failure(tid, kind, size);
		return NULL;
	}
	if (kind == HW_CALLOC)
		VG_(memset)(p, 0, size);
	note_allocation(tid, kind, hwv_block_new((Addr)p, size));
	return p;
}

static void release(ThreadId tid, u32 kind, void *p)
{
	struct block *block = hwv_block_at((Addr)p);

	note_free(tid, kind, 0, (Addr)p, block);
	if (!block)
		return;
	hwv_block_free(block);
	VG_(cli_free)(p);
}

static void *reallocate(ThreadId tid, void *old, SizeT size)
{
	struct block *block = hwv_block_at((Addr)old), *grown;
	Bool held = block && block->held && !hwv_pool_has((Addr)old);
	void *p;

	if (!old)
		return allocate(tid, HW_REALLOC, size, VG_(clo_alignment));
	if (!size || !block) {
		release(tid, HW_REALLOC_FREE, old);
		return NULL;
	}
	p = (SSizeT)size < 0 ? NULL : VG_(cli_realloc)(old, size);
	if (!p) {
		note_failure(tid, HW_REALLOC, size);
		return NULL;
	}
	note_free(tid, HW_REALLOC_FREE, !hwv_control || !load_relaxed(&hwv_control->paused),
		  (Addr)old, block);
	hwv_block_free(block);
	grown = hwv_block_new((Addr)p, size);
	if (held)
		grown->held = 1;
	else
		note_allocation(tid, HW_REALLOC, grown);
	return p;
}

/* ---- what Valgrind calls ---- */

static void *do_malloc(ThreadId tid, SizeT size)
{
	return allocate(tid, HW_MALLOC, size, VG_(clo_alignment));
}

static void *do_new(ThreadId tid, SizeT size)
{
	return allocate(tid, HW_NEW, size, VG_(clo_alignment));
}

static void *do_new_array(ThreadId tid, SizeT size)
{
	return allocate(tid, HW_NEW_ARRAY, size, VG_(clo_alignment));
}

/* Later versions of Valgrind also pass the alignment that was asked for. */
#ifdef HWV_ASKED_ALIGNMENT
#define ASKED_ALIGNMENT , SizeT asked
#define IGNORE_ASKED (void)asked
#else
#define ASKED_ALIGNMENT
#define IGNORE_ASKED (void)0
#endif

static void *do_new_aligned(ThreadId tid, SizeT size, SizeT alignment ASKED_ALIGNMENT)
{
	IGNORE_ASKED;
	return allocate(tid, HW_NEW, size, alignment);
}

static void *do_new_array_aligned(ThreadId tid, SizeT size, SizeT alignment ASKED_ALIGNMENT)
{
	IGNORE_ASKED;
	return allocate(tid, HW_NEW_ARRAY, size, alignment);
}

static void *do_memalign(ThreadId tid, SizeT alignment ASKED_ALIGNMENT, SizeT size)
{
	IGNORE_ASKED;
	return allocate(tid, HW_MEMALIGN, size, alignment);
}

static void *do_calloc(ThreadId tid, SizeT count, SizeT size)
{
	return allocate(tid, HW_CALLOC, count * size, VG_(clo_alignment)); /* the caller checks */
}

static void do_free(ThreadId tid, void *p) { release(tid, HW_FREE, p); }
static void do_delete(ThreadId tid, void *p) { release(tid, HW_DELETE, p); }
static void do_delete_array(ThreadId tid, void *p) { release(tid, HW_DELETE_ARRAY, p); }

static void do_delete_aligned(ThreadId tid, void *p, SizeT alignment)
{
	(void)alignment;
	release(tid, HW_DELETE, p);
}

static void do_delete_array_aligned(ThreadId tid, void *p, SizeT alignment)
{
	(void)alignment;
	release(tid, HW_DELETE_ARRAY, p);
}

static SizeT do_usable_size(ThreadId tid, void *p)
{
	const struct block *block = hwv_block_at((Addr)p);

	(void)tid;
	return block ? block->size : 0;
}

void hwv_heap_init(void)
{
	VG_(needs_malloc_replacement)
	(do_malloc, do_new, do_new_aligned, do_new_array, do_new_array_aligned, do_memalign,
	 do_calloc, do_free, do_delete, do_delete_aligned, do_delete_array, do_delete_array_aligned,
	 reallocate, do_usable_size, RED_ZONE);
}

/* ---- the end ---- */

static ThreadId teller;
static u64 live_accesses;

static void tell_if_known(struct block *block)
{
	live_accesses += block->reads + block->writes;
	if (hwv_control && block->recording == hwv_recording)
		tell_accesses(teller, block);
}

void hwv_heap_tell_accesses(ThreadId tid)
{
	if (!hwv_control || !hwv_wants_free())
		return;
	teller = tid;
	live_accesses = 0;
	hwv_blocks_each(tell_if_known);
	store_relaxed(&hwv_control->access_checked, hwv_missed + hwv_gone_accesses + live_accesses);
	store_relaxed(&hwv_control->access_heap, hwv_gone_accesses + live_accesses);
}
