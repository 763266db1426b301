/* SPDX-License-Identifier: MIT
 * From what is known of a chunk to records in the ring. Runs in the target. */
#include <link.h>

#include "target/access/heap/asks.h"
#include "target/access/heap/heap.h"
#include "target/access/shadow/chunks.h"
#include "target/recorder/hooks/call.h"
#include "target/recorder/state/access.h"
#include "target/recorder/state/caller.h"
#include "target/recorder/state/event.h"
#include "target/recorder/state/loader.h"
#include "target/recorder/state/objects.h"
#include "target/recorder/state/state.h"
#include "target/recorder/state/sys.h"
#include "target/recorder/unwind/modules.h"

/* What a realloc of this thread has ended; see hwr_chunk_put_aside. */
static __thread struct {
	u64 address; /* 0 = nothing */
	bool known;
	struct hwr_sums sums;
	struct hwr_maps maps;
} aside __attribute__((tls_model("initial-exec")));

void hwr_chunk_put_aside(u64 address, struct hwr_chunk *chunk)
{
	aside.known = hwr_chunk_sums(address, chunk, &aside.sums, &aside.maps);
	aside.address = address;
}

void hwr_access_aside_forget(void) { aside.address = 0; }

/* What is recorded of a chunk. */
struct row {
	struct hwr_thread *t;
	u64 ticks;
	const struct hwr_sums *sums;
	const struct hwr_maps *maps;
};

static inline void put_part(const struct row *row, u32 part, u64 address, u64 size)
{
	hwr_note_put(row->t, row->ticks, HW_ACCESS, part, address, size, 0);
}

/* The join of two maps; of one side both are the same. */
static void put_map(const struct row *row, u32 part, const u64 *one, const u64 *other)
{
	u32 words = (u32)(row->sums->size + 63) / 64;

	for (u32 i = 0; i < words; i += 2) {
		u64 first = one[i] | other[i],
		    second = i + 1 < words ? one[i + 1] | other[i + 1] : 0;

		if (first | second)
			put_part(row, part + i / 2, first, second);
	}
}

static void put_coverage(const struct row *row)
{
	const struct hwr_sums *sums = row->sums;
	const u64 *read = row->maps->sides[HW_SIDE_READ];
	const u64 *written = row->maps->sides[HW_SIDE_WRITTEN];

	put_part(row, HW_ACCESS_COVERAGE, sums->covered, 1);
	put_part(row, HW_ACCESS_SIDES, sums->sides[HW_SIDE_READ], sums->sides[HW_SIDE_WRITTEN]);
	if (sums->size > HW_MAP_BYTES)
		return;
	if (hw_access_has_gaps(sums->low, sums->high, sums->covered))
		put_map(row, HW_ACCESS_MAP, read, written);
	if (hw_access_is_split(sums->sides[HW_SIDE_READ], sums->covered))
		put_map(row, HW_ACCESS_READ_MAP, read, read);
	if (hw_access_is_split(sums->sides[HW_SIDE_WRITTEN], sums->covered))
		put_map(row, HW_ACCESS_WRITTEN_MAP, written, written);
}

static void put_parts(const struct row *row, u64 address)
{
	const struct hwr_sums *sums = row->sums;

	add_relaxed(&hwr_control->access_heap, sums->reads + sums->writes);
	put_part(row, HW_ACCESS_BLOCK, address, sums->flags);
	if (sums->first) {
		put_part(row, HW_ACCESS_TIMES, sums->first, sums->last);
		put_part(row, HW_ACCESS_COUNTS, sums->reads, sums->writes);
		put_part(row, HW_ACCESS_BYTES, sums->read_bytes, sums->written_bytes);
		put_part(row, HW_ACCESS_RANGE, sums->low, sums->high);
	}
	if (sums->covered != UINT64_MAX)
		put_coverage(row);
	put_part(row, HW_ACCESS_END, address, 0);
}

void hwr_access_end(struct hwr_thread *t, u64 address, u64 ticks)
{
	struct hwr_chunk *chunk;
	struct hwr_sums sums;
	struct hwr_maps maps;
	u64 offset;

	if (aside.address == address) {
		aside.address = 0;
		if (aside.known)
			put_parts(&(struct row){t, ticks, &aside.sums, &aside.maps}, address);
		return;
	}
	if (!hwr_heap_has(address) || !hwr_heap_is_armed())
		return;
	chunk = hwr_heap_find(address, &offset);
	if (!offset && hwr_chunk_sums(address, chunk, &sums, &maps))
		put_parts(&(struct row){t, ticks, &sums, &maps}, address);
}

/* ---- the end of the process ---- */

static void put_live(void *self, u64 address, struct hwr_chunk *chunk)
{
	struct hwr_thread *t = self;
	struct hwr_sums sums;
	struct hwr_maps maps;

	if (hwr_chunk_sums(address, chunk, &sums, &maps))
		put_parts(&(struct row){t, hw_ticks(), &sums, &maps}, address);
}

/* All that are loaded, so that the monitor can tell which of them are not instrumented. */
static void tell_modules(void)
{
	struct hwr_module_at module;

	if (!hwr_loader() || hwr_loader()->r_state != RT_CONSISTENT)
		return; /* another thread changes the list */
	for (const struct link_map *map = hwr_loader()->r_map; map; map = map->l_next)
		if (hwr_module_at((u64)map->l_ld, &module))
			hwr_modules_list(&module);
}

void hwr_access_leave(void)
{
	static u32 left; /* pid that has done it: a forked child may end in its turn */
	struct hwr_call call = {.caller = HWR_CALLER()};

	if (!hwr_heap_is_armed() || !load_relaxed(&hwr_token.alive) || hwr_getpid() != hwr_pid ||
	    load_relaxed(&left) == hwr_pid)
		return;
	hwr_call_begin(&call);
	if (!call.t)
		return;
	store_relaxed(&left, hwr_pid);
	hwr_note_begin(call.t, &call.caller);
	tell_modules();
	hwr_heap_each(put_live, call.t);
	hwr_note_end(call.t);
}
