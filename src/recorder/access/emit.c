/* SPDX-License-Identifier: MIT
 * From what is known of a chunk to records in the ring. Runs in the target. */
#include <link.h>

#include "recorder/access/access.h"
#include "recorder/access/chunks.h"
#include "recorder/note.h"
#include "recorder/sys.h"
#include "recorder/unwind/cfi.h"

extern struct r_debug _r_debug __attribute__((weak));

/* What a realloc of this thread has ended; see hwr_chunk_put_aside. */
static __thread struct {
	u64 address; /* 0 = nothing */
	bool known;
	struct hwr_sums sums;
	u64 map[HW_MAP_WORDS]; /* if has_map(&sums) */
} aside __attribute__((tls_model("initial-exec")));

static bool has_map(const struct hwr_sums *sums)
{
	return sums->covered != UINT64_MAX && sums->size <= HW_MAP_BYTES &&
	       hw_access_has_gaps(sums->low, sums->high, sums->covered);
}

/* Words that the chunk's size has. */
static u32 map_words(const struct hwr_sums *sums) { return (u32)(sums->size + 63) / 64; }

void hwr_chunk_put_aside(u64 address, struct hwr_chunk *chunk)
{
	aside.known = hwr_chunk_sums(address, chunk, &aside.sums);
	if (aside.known && has_map(&aside.sums))
		for (u32 i = 0; i < map_words(&aside.sums); i++)
			aside.map[i] = hwr_coverage_word(address, aside.sums.size, i);
	aside.address = address;
}

void hwr_access_aside_forget(void) { aside.address = 0; }

static void put_part(struct hwr_thread *t, u64 ticks, u32 part, u64 address, u64 size)
{
	hwr_note_put(t, ticks, HW_ACCESS, part, address, size, 0);
}

/* kept: the map's words; NULL = they are still in the coverage of the heap. */
static void put_map(struct hwr_thread *t, u64 ticks, u64 address, const struct hwr_sums *sums,
		    const u64 *kept)
{
	u32 words = has_map(sums) ? map_words(sums) : 0;

	for (u32 i = 0; i < words; i += 2) {
		u64 pair[2] = {0, 0};

		for (u32 k = i; k < i + 2 && k < words; k++)
			pair[k - i] = kept ? kept[k] : hwr_coverage_word(address, sums->size, k);
		if (pair[0] | pair[1])
			put_part(t, ticks, HW_ACCESS_MAP + i / 2, pair[0], pair[1]);
	}
}

static void put_parts(struct hwr_thread *t, u64 ticks, u64 address, const struct hwr_sums *sums,
		      const u64 *map)
{
	add_relaxed(&hwr_control->access_heap, sums->reads + sums->writes);
	put_part(t, ticks, HW_ACCESS_BLOCK, address, sums->flags);
	if (sums->first) {
		put_part(t, ticks, HW_ACCESS_TIMES, sums->first, sums->last);
		put_part(t, ticks, HW_ACCESS_COUNTS, sums->reads, sums->writes);
		put_part(t, ticks, HW_ACCESS_BYTES, sums->read_bytes, sums->written_bytes);
		put_part(t, ticks, HW_ACCESS_RANGE, sums->low, sums->high);
	}
	if (sums->covered != UINT64_MAX)
		put_part(t, ticks, HW_ACCESS_COVERAGE, sums->covered, 1);
	put_map(t, ticks, address, sums, map);
	put_part(t, ticks, HW_ACCESS_END, address, 0);
}

void hwr_access_end(struct hwr_thread *t, u64 address, u64 ticks)
{
	struct hwr_chunk *chunk;
	struct hwr_sums sums;
	u64 offset;

	if (aside.address == address) {
		aside.address = 0;
		if (aside.known)
			put_parts(t, ticks, address, &aside.sums, aside.map);
		return;
	}
	if (!hwr_heap_has(address) || !hwr_heap_is_armed())
		return;
	chunk = hwr_heap_find(address, &offset);
	if (!offset && hwr_chunk_sums(address, chunk, &sums))
		put_parts(t, ticks, address, &sums, NULL);
}

/* ---- the end of the process ---- */

static void put_live(void *self, u64 address, struct hwr_chunk *chunk)
{
	struct hwr_thread *t = self;
	struct hwr_sums sums;

	if (hwr_chunk_sums(address, chunk, &sums))
		put_parts(t, hw_ticks(), address, &sums, NULL);
}

/* All that are loaded, so that the monitor can tell which of them are not instrumented. */
static void tell_modules(void)
{
	struct hwr_module_at module;

	if (!&_r_debug || _r_debug.r_state != RT_CONSISTENT)
		return; /* another thread changes the list */
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		if (hwr_module_at((u64)map->l_ld, &module))
			hwr_modules_saw(&module);
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
