/* SPDX-License-Identifier: MIT
 * The path of an access: what instrumented code calls when it touches armed memory. Runs in the
 * target, a thousand times as often as anything else here. No system call but the clock's, no lock,
 * errno untouched. */
#include "format/arch/tag.h"
#include "format/record.h"
#include "target/access/heap/asks.h"
#include "target/access/shadow/adaptive.h"
#include "target/access/shadow/chunks.h"
#include "target/access/shadow/clock.h"
#include "target/access/shadow/shadow.h"
#include "target/access/shadow/sites.h"
#include "target/recorder/state/access.h"

enum { WITH_COVERAGE = 1, WITH_ADAPTIVE = 2 };

static u32 extras; /* of this run */
static bool listening;
u64 hwr_shadow_short;

/* Owner and others meet here; it happens once per byte of a chunk at most. While a chunk has only
 * its owner no atomics are needed. Another one's first access may come just then, and what it adds
 * be lost; it is added again by its next access there. */
static void widen(struct hwr_chunk *chunk, u64 low, u64 high)
{
	u64 span = load_relaxed(&chunk->span);
	u64 wider;

	do {
		u64 old_low = span & 0xffffffff, old_high = span >> 32;

		wider = (low < old_low ? low : old_low) | (high > old_high ? high : old_high) << 32;
		if (wider == span)
			return;
		if (!(load_relaxed(&chunk->what) & HWR_CHUNK_SHARED)) {
			store_relaxed(&chunk->span, wider);
			return;
		}
	} while (!cas_acq_rel(&chunk->span, &span, wider));
}

static inline void add_span(struct hwr_chunk *chunk, u64 address, u64 offset, u64 bytes)
{
	u32 shift = hwr_classes[hwr_heap_class(address)].unit_shift;
	u64 low = offset >> shift, high = ((offset + bytes - 1) >> shift) + 1;
	u64 span = load_relaxed(&chunk->span);

	if (unlikely(low < (span & 0xffffffff) || high > span >> 32))
		widen(chunk, low, high);
}

static inline void add_own(struct hwr_chunk *chunk, u64 times, u64 bytes, bool write)
{
	if (write) {
		chunk->writes += times;
		chunk->written_bytes += times * bytes;
	} else {
		chunk->reads += times;
		chunk->read_bytes += times * bytes;
	}
}

static void add_others(struct hwr_chunk *chunk, u64 times, u64 bytes, bool write)
{
	struct hwr_chunk_others *others = hwr_chunk_others(chunk);

	add_relaxed(write ? &others->writes : &others->reads, times);
	add_relaxed(write ? &others->written_bytes : &others->read_bytes, times * bytes);
	if (!(load_relaxed(&chunk->what) & HWR_CHUNK_SHARED))
		or_release(&chunk->what, HWR_CHUNK_SHARED);
}

/* Not the owner's alone: the first access, one of a chunk with several threads, or one of a chunk
 * that has ended. False in the last case. A time that this thread has read before may be older than
 * the chunk, or than what another thread did with it. */
static __attribute__((noinline)) bool add_strange(struct hwr_chunk *chunk, u64 times, u64 bytes,
						  bool write, u64 *now)
{
	u64 what = load_relaxed(&chunk->what);

	if (!(what & HWR_CHUNK_LIVE))
		return false;
	if (*now < load_relaxed(&chunk->last))
		*now = hwr_clock_read();
	while (!(what & HWR_CHUNK_OWNER)) {
		if (!cas_acq_rel(&chunk->what, &what, what | hwr_clock.thread))
			continue;
		store_relaxed(&chunk->first, *now);
		add_own(chunk, times, bytes, write);
		return true;
	}
	if ((what & HWR_CHUNK_OWNER) == hwr_clock.thread)
		add_own(chunk, times, bytes, write);
	else
		add_others(chunk, times, bytes, write);
	return true;
}

/* Accesses by the chunk's owner, while nobody else has accessed it, are the usual ones. */
static inline bool is_usual(const struct hwr_chunk *chunk)
{
	return (load_relaxed(&chunk->what) & (HWR_CHUNK_OWNER | HWR_CHUNK_SHARED)) ==
	       hwr_clock.thread;
}

/* Accesses may go beyond the chunk's slot: only what is inside counts. */
static inline u64 bytes_inside(u64 address, u64 offset, u64 bytes)
{
	u64 room = hwr_classes[hwr_heap_class(address)].slot_bytes - offset;

	return bytes < room ? bytes : room;
}

/* An access that stands for so many, at the time of this thread's clock. */
static inline struct hwr_chunk *add(u64 address, u64 *offset, u64 times, u64 bytes, bool write)
{
	struct hwr_chunk *chunk = hwr_heap_find(address, offset);
	u64 now = hwr_clock.now;

	bytes = bytes_inside(address, *offset, bytes);
	if (likely(is_usual(chunk)))
		add_own(chunk, times, bytes, write);
	else if (!add_strange(chunk, times, bytes, write, &now))
		return NULL;
	store_relaxed(&chunk->last, now);
	add_span(chunk, address, *offset, bytes);
	return chunk;
}

/* Any access. */
static __attribute__((noinline)) void record_any(u64 address, u64 bytes, bool write, u32 with)
{
	struct hwr_chunk *chunk;
	u64 offset;

	hwr_clock_now(); /* first: gives the thread its number */
	chunk = add(address, &offset, 1, bytes, write);
	if (!chunk)
		return;
	if (with & WITH_COVERAGE)
		hwr_coverage_add(address, bytes, write);
	if (with & WITH_ADAPTIVE && hwr_adaptive_is_hot(address, offset, chunk))
		hwr_adaptive_hot(address, offset, chunk);
}

static __attribute__((noinline)) void hot(u64 address)
{
	u64 offset;
	struct hwr_chunk *chunk = hwr_heap_find(address, &offset);

	hwr_adaptive_hot(address, offset, chunk);
}

/* Adds a usual access, within bytes that were accessed before; else false. */
static inline bool add_usual(u64 address, u64 times, u64 bytes, bool write,
			     const struct hwr_clock *clock)
{
	u64 offset, span;
	struct hwr_chunk *chunk = hwr_heap_find_usual(address, &offset);

	span = load_relaxed(&chunk->span);
	if (unlikely(!is_usual(chunk) || offset < (u32)span || offset + bytes > span >> 32))
		return false;
	store_relaxed(&chunk->last, clock->now);
	add_own(chunk, times, bytes, write);
	return true;
}

/* The beat has changed, or the thread has no time yet. */
static inline bool is_out_of_time(const struct hwr_clock *clock)
{
	return !clock->now || load_relaxed(clock->beat) != clock->beat_seen;
}

/* An access to hot memory that is armed all the same, as its turn or as a control. It does not use
 * the clock up. */
static __attribute__((noinline)) void record_sampled(u64 address, u64 bytes, bool write, u32 with,
						     u64 times)
{
	struct hwr_clock *clock = &hwr_clock;
	u64 *served, offset;

	if (unlikely(is_out_of_time(clock)))
		hwr_clock_read();
	served = times == 1 ? &clock->served->controls : &clock->served->hits;
	store_relaxed(served, load_relaxed(served) + 1);
	if (with & WITH_COVERAGE)
		hwr_coverage_add(address, bytes, write);
	if (unlikely(hwr_heap_is_huge(address)) || !add_usual(address, times, bytes, write, clock))
		add(address, &offset, times, bytes, write);
}

/* The usual one of those. */
static inline __attribute__((always_inline)) bool add_sampled(u64 address, u64 bytes, bool write)
{
	struct hwr_clock *clock = &hwr_clock;

	if (unlikely(is_out_of_time(clock) || hwr_heap_is_huge(address)) ||
	    !add_usual(address, HWR_TURNS, bytes, write, clock))
		return false;
	store_relaxed(&clock->served->hits, load_relaxed(&clock->served->hits) + 1);
	return true;
}

static inline __attribute__((always_inline)) void record_hot_now(u64 address, u64 bytes, bool write,
								 u32 with)
{
	u32 state = load_relaxed(hw_shadow_of(address));

	if (likely(state == load_relaxed(&hwr_adaptive_turn))) {
		if (with & WITH_COVERAGE || !add_sampled(address, bytes, write))
			record_sampled(address, bytes, write, with, HWR_TURNS);
	} else if (state == HWR_SHADOW_CONTROL) {
		record_sampled(address, bytes, write, with, 1);
	} else if (state && state != load_relaxed(&hwr_adaptive_next)) {
		hwr_adaptive_stale(address, state);
	}
}

static __attribute__((noinline)) void record_hot_lending(u64 address, u64 bytes, bool write,
							 u32 with)
{
	hwr_adaptive_lend();
	record_hot_now(address, bytes, write, with);
}

static inline __attribute__((always_inline)) void record_hot(u64 address, u64 bytes, bool write,
							     u32 with)
{
	if (unlikely(load_relaxed(&hwr_adaptive_waits)))
		record_hot_lending(address, bytes, write, with);
	else
		record_hot_now(address, bytes, write, with);
}

/* The usual access: by the chunk's only thread, within bytes that were accessed before, at a time
 * that is known. It calls nothing but as its last act, so that it needs no frame. */
static inline __attribute__((always_inline)) void record(u64 address, u64 bytes, bool write,
							 u32 with)
{
	struct hwr_clock *clock = &hwr_clock;
	struct hwr_chunk *chunk;
	u64 offset, span;

	/* Above counts of accesses; or 0: it reaches over from a unit that is disarmed. */
	if (with & WITH_ADAPTIVE &&
	    (signed char)load_relaxed(hw_shadow_of(address)) >= (signed char)HWR_SHADOW_CONTROL) {
		record_hot(address, bytes, write, with);
		return;
	}
	if (unlikely(hwr_heap_is_huge(address) || !hwr_clock_serves(clock))) {
		record_any(address, bytes, write, with);
		return;
	}
	chunk = hwr_heap_find_usual(address, &offset);
	span = load_relaxed(&chunk->span);
	if (unlikely(!is_usual(chunk) || offset < (u32)span || offset + bytes > span >> 32)) {
		record_any(address, bytes, write, with);
		return;
	}
	clock->hits_left--;
	store_relaxed(&chunk->last, clock->now);
	if (with & WITH_COVERAGE)
		hwr_coverage_add(address, bytes, write);
	add_own(chunk, 1, bytes, write);
	if (with & WITH_ADAPTIVE && unlikely(hwr_adaptive_is_hot(address, offset, chunk)))
		hot(address);
}

/* For who does not look the chunk up. Accesses to bytes that are known to be accessed are inside:
 * the usual ones need not ask. */
static __attribute__((noinline)) u64 bytes_of_slot(u64 address, u64 bytes)
{
	u64 offset;

	hwr_heap_find(address, &offset);
	return bytes_inside(address, offset, bytes);
}

/* Long ones tell of many units. */
void hwr_access_range(u64 address, u64 bytes, bool write)
{
	address = hw_untagged(address);
	if (!hwr_heap_has(address) || !bytes || !load_relaxed(&listening) ||
	    !hwr_shadow_sees(address, bytes))
		return;
	hwr_clock.told[write].address = 0;
	if (extras & WITH_COVERAGE || bytes >> 32)
		bytes = bytes_of_slot(address, bytes);
	if (extras & WITH_COVERAGE)
		record_any(address, bytes, write, WITH_COVERAGE);
	else if (extras & WITH_ADAPTIVE && bytes <= HWR_ADAPTIVE_UNIT)
		record(address, bytes, write, WITH_ADAPTIVE);
	else
		record(address, bytes, write, 0);
}

bool hwr_access_told(u64 address, u64 bytes, bool write)
{
	if (hwr_clock.told[write].address != address || hwr_clock.told[write].bytes != bytes)
		return false;
	hwr_clock.told[write].address = 0;
	return true;
}

void hwr_access_realloc(u64 from, u64 to, u64 bytes)
{
	hwr_access_range(from, bytes, false);
	hwr_access_range(to, bytes, true);
}

/* ---- reports ---- */

/* clang tells an access of unusual size twice: by its first byte, then by its last one. */
static inline bool is_echo(u64 address, u64 bytes)
{
	struct hwr_clock *clock = &hwr_clock;

	if (clock->echo_address == address && clock->echo_bytes == bytes) {
		clock->echo_address = 0;
		return true;
	}
	clock->echo_address = address + bytes - 1;
	clock->echo_bytes = bytes;
	return false;
}

static inline __attribute__((always_inline)) void record_n(u64 address, u64 bytes, bool write,
							   u32 with)
{
	if (!hwr_heap_has(address) || !bytes || (bytes > 1 && is_echo(address, bytes)))
		return;
	hwr_clock.told[write].address = address;
	hwr_clock.told[write].bytes = bytes;
	record(address, with & WITH_COVERAGE ? bytes_of_slot(address, bytes) : bytes, write, with);
}

/* A store that was not found to be one yet. */
static __attribute__((noinline)) void record_update(u64 address, u64 bytes, u32 with, u64 site)
{
	if (hwr_site_updates(site))
		record(address, bytes, false, with);
	record(address, bytes, true, with);
}

/* An atomic operation is reported as a store, and is a read as well. */
static inline __attribute__((always_inline)) void record_store(u64 address, u64 bytes, u32 with,
							       u64 site)
{
	if (unlikely(!hwr_site_is_plain(site)))
		record_update(address, bytes, with, site);
	else
		record(address, bytes, true, with);
}

#define DEFINE_SIZE(set, with, bytes)                                                              \
	static void set##_load##bytes(u64 address, u64 n __attribute__((unused)))                  \
	{                                                                                          \
		record(address, bytes, false, with);                                               \
	}                                                                                          \
	static void set##_store##bytes(u64 address, u64 n __attribute__((unused)))                 \
	{                                                                                          \
		record_store(address, bytes, with, (u64)__builtin_return_address(0));              \
	}

/* One set of functions for each combination of what a run wants, so that no access asks. */
#define DEFINE_SET(set, with)                                                                      \
	DEFINE_SIZE(set, with, 1)                                                                  \
	DEFINE_SIZE(set, with, 2)                                                                  \
	DEFINE_SIZE(set, with, 4)                                                                  \
	DEFINE_SIZE(set, with, 8)                                                                  \
	DEFINE_SIZE(set, with, 16)                                                                 \
	static void set##_load_n(u64 address, u64 n) { record_n(address, n, false, with); }        \
	static void set##_store_n(u64 address, u64 n) { record_n(address, n, true, with); }        \
	static void (*const set[HW_REPORT_COUNT])(u64, u64) = {                                    \
		set##_load1,  set##_load2,   set##_load4,  set##_load8,                            \
		set##_load16, set##_store1,  set##_store2, set##_store4,                           \
		set##_store8, set##_store16, set##_load_n, set##_store_n,                          \
	};

DEFINE_SET(exact, 0)
DEFINE_SET(exact_covered, WITH_COVERAGE)
DEFINE_SET(adaptive, WITH_ADAPTIVE)
DEFINE_SET(adaptive_covered, WITH_ADAPTIVE | WITH_COVERAGE)

/* Reports of a unit that stays armed for others, when all that they need is in the nearest cache
 * and the CPU foresees each. */
u64 hwr_shadow_reports_cost(u64 chunk)
{
	enum { CALLS = HWR_SHADOW_REPORTS, TIMES = 8 };
	u64 least = ~0ull;

	store_relaxed(hw_shadow_of(chunk), hwr_adaptive_turn);
	for (u32 i = 0; i < TIMES; i++) {
		u64 start = hw_ticks(), took;

		for (u32 call = 0; call < CALLS; call++) {
			void (*volatile report)(u64, u64) = adaptive[call % 2 ? 3 : 8];

			report(chunk, 0);
		}
		took = hw_ticks() - start;
		least = took < least ? took : least;
	}
	return least;
}

/* What a report does, to memory of its own. */
static struct {
	u8 shadow[8], turn;
	u64 factor, owner, now, hits;
	struct {
		u64 owner, span, last, count, bytes;
	} chunk[2];
} pretended = {.factor = 0x9e3779b97f4a7c15u};

static void pretend(u64 address, u64 bytes)
{
	u64 slot = address * pretended.factor >> 63, offset = address & 7;

	if (load_relaxed(&pretended.shadow[offset]) != load_relaxed(&pretended.turn) ||
	    load_relaxed(&pretended.chunk[slot].owner) != pretended.owner ||
	    offset < load_relaxed(&pretended.chunk[slot].span))
		return;
	store_relaxed(&pretended.chunk[slot].last, pretended.now);
	store_relaxed(&pretended.chunk[slot].count, pretended.chunk[slot].count + HWR_TURNS);
	store_relaxed(&pretended.chunk[slot].bytes,
		      pretended.chunk[slot].bytes + HWR_TURNS * bytes);
	store_relaxed(&pretended.hits, pretended.hits + 1);
}

u64 hwr_shadow_pace(void)
{
	enum { WARM = 8, CALLS = 64 };
	u64 start = 0;

	for (u64 call = 0; call < WARM + CALLS; call++) {
		void (*volatile report)(u64, u64) = pretend;

		if (call == WARM)
			start = hw_ticks();
		report(call & 7, 8);
	}
	return hw_ticks() - start;
}

void hwr_shadow_listen(u32 mode, bool coverage)
{
	void (*const *sets[])(u64, u64) = {exact, exact_covered, adaptive, adaptive_covered};

	extras = (coverage ? WITH_COVERAGE : 0) | (mode == HW_ACCESS_ADAPTIVE ? WITH_ADAPTIVE : 0);
	store_relaxed(&hwr_shadow_short, extras & WITH_ADAPTIVE ? HWR_ADAPTIVE_UNIT : 0);
	for (u32 i = 0; i < HW_REPORT_COUNT; i++)
		store_relaxed(&HW_BOARD->report[i], sets[extras][i]);
	store_relaxed(&listening, true);
}
