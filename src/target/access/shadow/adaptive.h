/* SPDX-License-Identifier: MIT
 * Adaptive recording: memory that is hot is disarmed until the next epoch. Runs in the target.
 *
 * An access after HWR_ADAPTIVE_HITS ones to a unit of a chunk, 64 bytes, disarms the unit. When the
 * next epoch begins it is armed again, so that the last access is known to within one, but now for
 * HWR_ADAPTIVE_AGAIN accesses: what was hot will be hot. Large chunks have larger units; after
 * HWR_ADAPTIVE_HITS_LARGE accesses to the chunk in an epoch each further one disarms its unit.
 *
 * One granule of 8 bytes in HWR_TURNS stays armed instead (of large units: one part in so many),
 * and its accesses count so many times. They take turns, so that each has its share of the
 * program's progress, and sums are estimates without bias; see turns.h. A few units, the controls,
 * always stay armed, and their accesses count once.
 *
 * What a disarmed unit hides must not make a wrong answer. A chunk that was only read so far, or
 * only written, stays armed, for HWR_ADAPTIVE_ONE_SIDED accesses. And until when an access may have
 * been hidden is known: if that is long after the last one that was seen, the record says so. */
#ifndef TARGET_ACCESS_SHADOW_ADAPTIVE_H
#define TARGET_ACCESS_SHADOW_ADAPTIVE_H

#include "target/access/shadow/turns.h"
#include "target/access/heap/chunk.h"

enum {
	HWR_ADAPTIVE_HITS = 16,
	HWR_ADAPTIVE_AGAIN = 1,
	HWR_ADAPTIVE_HITS_LARGE = 64,
	HWR_ADAPTIVE_UNIT = 64,
	HWR_ADAPTIVE_ONE_SIDED = 4096,
	HWR_ADAPTIVE_LARGE =
		65536, /* slots above have large units, which are armed again one by one */
	/* The shadow of a unit. All from HW_SHADOW_ARMED on are armed, and the first byte of a
	 * small unit counts its accesses; when it is hot all its bytes are 0, or one of these: */
	HWR_SHADOW_HOT = HW_SHADOW_ARMED + HWR_ADAPTIVE_HITS,
	HWR_SHADOW_CONTROL = 0xbf,
	HWR_SHADOW_SAMPLED = 0xc0, /* stays armed for others; and the number of its set */
};
_Static_assert(HWR_SHADOW_SAMPLED + HWR_TURNS <= 0x100, "a byte has room for the set");

/* Per large chunk, beside its record. */
struct hwr_adaptive {
	u32 epoch;
	u32 hits; /* in this epoch */
};

static inline struct hwr_adaptive *hwr_chunk_adaptive(const struct hwr_chunk *chunk)
{
	return (struct hwr_adaptive *)(HW_HEAP_CHUNKS + (3ull << 39) +
				       ((u64)chunk - HW_HEAP_CHUNKS) / 8);
}

extern u32 hwr_adaptive_epoch;  /* number of the present one; 0 = this run is not adaptive */
extern u64 hwr_adaptive_moment; /* ticks that are nothing in a program's life: some 20 µs */
extern u32 hwr_adaptive_beat;   /* changes with each turn and each epoch */
extern u8 hwr_adaptive_turn;    /* the shadow of units whose turn it is */
extern u8 hwr_adaptive_next;    /* the same, or of those whose turn is about to begin */

/* Not 0: there is memory to arm (arming.h), and a thread that reports an access had better do some
 * of it. */
extern u8 hwr_adaptive_waits;
void hwr_adaptive_lend(void);

/* Starts epochs of this length; false if it cannot. */
bool hwr_adaptive_start(u64 epoch_ns);

/* The helper thread makes this system call. */
bool hwr_adaptive_needs(u32 number);
/* There are no more epochs, and when this returns no helper; false if there was none. What is
 * disarmed is armed after that. */
bool hwr_adaptive_stop(void);
void hwr_adaptive_arm_all(void);

void hwr_adaptive_begin(u64 address, struct hwr_chunk *chunk);

/* All that was disarmed an epoch ago, or earlier, is armed again: said by the helper. */
void hwr_adaptive_armed(u64 ticks);

/* Until when accesses to this chunk may have been hidden, if the last one that was seen was then:
 * `now` if they may be still. */
u64 hwr_adaptive_hidden_until(u64 address, const struct hwr_chunk *chunk, u64 last, u64 now);

/* The class of 65536 bytes is the last one with small units. */
#define HWR_ADAPTIVE_SMALL_END (HW_HEAP_START + (44ull << HWR_CLASS_BITS))

static inline bool hwr_adaptive_is_hot_large(const struct hwr_chunk *chunk)
{
	struct hwr_adaptive *adaptive = hwr_chunk_adaptive(chunk);
	u32 epoch = load_relaxed(&hwr_adaptive_epoch);

	if (unlikely(adaptive->epoch != epoch)) {
		adaptive->epoch = epoch;
		adaptive->hits = 1;
		return false;
	}
	return ++adaptive->hits > HWR_ADAPTIVE_HITS_LARGE;
}

/* Counts an access to memory that is armed and not found hot yet. What is counted lies in the line
 * of the shadow that the program has just read; so a program that accesses very much memory, and
 * none of it often, misses the cache no more than in exact mode. */
static inline bool hwr_adaptive_is_hot(u64 address, u64 offset, const struct hwr_chunk *chunk)
{
	if (likely(address < HWR_ADAPTIVE_SMALL_END)) {
		u8 *count = hw_shadow_of(address - offset % HWR_ADAPTIVE_UNIT);
		u32 hits = load_relaxed(count);

		if (unlikely((u8)(hits - HW_SHADOW_ARMED) >= HWR_ADAPTIVE_HITS - 1))
			return true;
		store_relaxed(count, (u8)(hits + 1));
		return false;
	}
	return hwr_adaptive_is_hot_large(chunk);
}

/* The unit at an address is hot: it is disarmed, unless it is its turn. */
void hwr_adaptive_hot(u64 address, u64 offset, struct hwr_chunk *chunk);

/* An access to what was armed for a turn that is over; state: its shadow. */
void hwr_adaptive_stale(u64 address, u32 state);

/* ---- between disarming and arming again ---- */

/* The unit that an address is in. */
struct hwr_unit {
	u64 address, bytes;
};
struct hwr_unit hwr_unit_at(u64 address);

/* Each granule of a small unit has a set of its own: where few places of a unit take most accesses
 * of a program, their counts hang on the turns of several sets, and none of these slows the program
 * much. A page has granules of HWR_PAGE_SETS sets only, so that few pages have to do with any one;
 * each of its lines has one of each. Large units, which are within a page, have as many parts
 * instead: what is left armed after a turn is disarmed by few accesses. */
enum { HWR_PAGE_SETS = 8, HWR_GRANULE = 8 };
_Static_assert(HWR_PAGE_SETS *HWR_GRANULE == HWR_ADAPTIVE_UNIT, "a line has one of each");
bool hwr_page_has(u64 address, u32 set);
/* The granule of this line that is in the set, if the page has it. Neighbours of a line have other
 * places. */
static inline u64 hwr_granule_at(u64 line, u32 set)
{
	return line + (set - line / HWR_ADAPTIVE_UNIT) % HWR_PAGE_SETS * HWR_GRANULE;
}
/* The part of this large unit that is in the set, if the page has it. */
static inline struct hwr_unit hwr_unit_part(const struct hwr_unit *unit, u32 set)
{
	u64 bytes = unit->bytes / HWR_PAGE_SETS;
	u64 number = (set - unit->address / unit->bytes) % HWR_PAGE_SETS;

	return (struct hwr_unit){unit->address + number * bytes, bytes};
}

/* What was disarmed and waits: numbers of pages of small units, marked HWR_LOG_PAGE, and addresses
 * of large units. In the order in which they came; 0 = there is none any more. */
#define HWR_LOG_PAGE (1ull << 63)
bool hwr_log_open(void);
u64 hwr_log_head(void);        /* the number of the next */
u64 hwr_log_peek(u64 *number); /* from this on, 0 = from the first */
void hwr_log_drop(u64 end);    /* all below this number */

/* Lines of a logged page's shadow in which something was disarmed since they were taken: a byte of
 * 1 for each, so that the helper leaves the others in the caches of the program's CPU. */
enum { HWR_LINE_BYTES = HW_CACHE_LINE * 8 };
u64 hwr_page_lines(u64 page);
u64 hwr_page_take_lines(u64 page);

/* Other controls, from now on. */
void hwr_controls_change(void);

#endif
