/* SPDX-License-Identifier: MIT
 * The heap's chunks, and what is known of each; see heap.h. Runs in the target, on the path of
 * every access and allocator call. */
#ifndef TARGET_ACCESS_HEAP_CHUNK_H
#define TARGET_ACCESS_HEAP_CHUNK_H

#include "format/atomics.h"
#include "format/shadow.h"
#include "target/recorder/state/own.h"

enum {
	HWR_CLASS_BITS = 36,  /* of a region: 64 GiB */
	HWR_CLASSES = 124,    /* 16, 32, 48, 64, then four to a doubling, up to the whole region */
	HWR_CLASS_HUGE = 104, /* from here on slots are larger than 2 GiB */
	HWR_CLASS_SHIFT = 3,  /* of the classes below */
};
/* slots up to this stay armed; of larger ones only what is asked for is */
enum { HWR_ARMED_WHOLE = 32768 };
#define HWR_HEAP_BYTES ((u64)HWR_CLASSES << HWR_CLASS_BITS)
_Static_assert(HWR_HEAP_BYTES == HW_HEAP_BYTES, "the monitor knows the heap's place");

#define HWR_CHUNK_OWNER 0xffffull
#define HWR_CHUNK_LIVE (1ull << 16)
#define HWR_CHUNK_SHARED (1ull << 17)    /* its others are not all 0 */
#define HWR_CHUNK_MEASURED (1ull << 18)  /* it was armed when it began */
#define HWR_CHUNK_PLAIN (1ull << 19)     /* allocated by code that is not instrumented */
#define HWR_CHUNK_CLEAN (1ull << 20)     /* free, and all its bytes are 0 */
#define HWR_CHUNK_USED (1ull << 21)      /* the slot was handed out before */
#define HWR_CHUNK_ESTIMATED (1ull << 22) /* not each access was seen */
enum { HWR_CHUNK_SIZE_SHIFT = 24 };
#define HWR_SPAN_NONE 0xffffffffull

#ifdef HWR_PAGES

/* What is known of a chunk where pages are monitored. Two to a cache line: each allocator call goes
 * there. */
struct hwr_chunk {
	u64 what;  /* HWR_CHUNK_*: flags, the size */
	u64 last;  /* ticks of its birth */
	u64 first; /* of a free slot: 1 + index of the next one, 0 = none */
	/* which record is that of its birth, if it may be taken back: see access/pages/access.c;
	 * else 0 */
	u64 birth;
};
_Static_assert(sizeof(struct hwr_chunk) == 32, "two chunks' records are one cache line");

/* For the next chunk of the slot. */
static inline void hwr_chunk_clear(struct hwr_chunk *chunk)
{
	chunk->last = 0;
	store_relaxed(&chunk->birth, 0);
}

/* It ends: what it was. Nobody else changes that; two threads that free one chunk at a time are not
 * told apart, as in libc. */
static inline u64 hwr_chunk_end(struct hwr_chunk *chunk)
{
	u64 what = load_relaxed(&chunk->what);

	store_relaxed(&chunk->what, HWR_CHUNK_USED);
	return what;
}

#else

/* What is known of a chunk: one cache line. A slot has it for life, and each chunk in its turn. */
struct hwr_chunk {
	u64 what; /* HWR_CHUNK_*: the owner, flags, the size */
	u64 last; /* ticks of the last access; before the first, those of the allocation */
	/* By the owner, who alone writes them; see hwr_chunk_others. An access adds to a pair of
	 * them at once. */
	u64 reads, read_bytes;
	u64 writes, written_bytes;
	/* ticks of the first access; of a free slot: 1 + index of the next one, 0 = none */
	u64 first;
	u64 span; /* lowest accessed unit, and above bit 32 the end of the highest; by cas */
};
_Static_assert(sizeof(struct hwr_chunk) == 64, "a chunk's record is one cache line");

/* Accesses by other threads than the owner, the first thread that accessed the chunk. They are
 * added atomically, the owner's are not: none is lost, and a chunk of one thread costs no
 * atomics. */
struct hwr_chunk_others {
	u64 reads, writes;
	u64 read_bytes, written_bytes;
};

static inline struct hwr_chunk_others *hwr_chunk_others(const struct hwr_chunk *chunk)
{
	/* Half as large, behind the records; see heap.c. */
	return (struct hwr_chunk_others *)(HW_HEAP_CHUNKS + (1ull << 40) +
					   ((u64)chunk - HW_HEAP_CHUNKS) / 2);
}

static inline void hwr_chunk_clear(struct hwr_chunk *chunk)
{
	chunk->first = chunk->last = 0;
	chunk->reads = chunk->writes = 0;
	chunk->read_bytes = chunk->written_bytes = 0;
	chunk->span = HWR_SPAN_NONE;
	if (chunk->what & HWR_CHUNK_SHARED)
		*hwr_chunk_others(chunk) = (struct hwr_chunk_others){0};
}

/* It ends: what it was. Owned by nobody: a late access finds that the chunk does not live and
 * leaves it alone. */
static inline u64 hwr_chunk_end(struct hwr_chunk *chunk)
{
	return exchange_acq_rel(&chunk->what, HWR_CHUNK_USED);
}

#endif

struct hwr_class {
	u64 inverse; /* 2^64 / (slot_bytes >> shift), rounded up */
	u64 chunks;  /* address of the records */
	u64 slot_bytes;
	u32 shift;
	u32 unit_shift; /* of spans: 4 GiB must fit 32 bits */
};
extern struct hwr_class hwr_classes[HWR_CLASSES];

/* Whether the address may be a chunk's. */
/* 0 until the heap is there: a program with an allocator of its own may have memory in its
 * place. */
extern u64 hwr_heap_extent HWR_OWN;
static inline bool hwr_heap_has(u64 address)
{
	return address - HW_HEAP_START < load_relaxed(&hwr_heap_extent);
}

static inline u32 hwr_heap_class(u64 address)
{
	return (u32)((address - HW_HEAP_START) >> HWR_CLASS_BITS);
}

/* The record of the slot that an address of the heap is in, and the address's place in the slot.
 * The shift makes the division exact for huge slots, too: they are 2 to 14 times a power of two. */
static inline struct hwr_chunk *hwr_heap_find(u64 address, u64 *offset)
{
	const struct hwr_class *class = &hwr_classes[hwr_heap_class(address)];
	u64 at = (address - HW_HEAP_START) & ((1ull << HWR_CLASS_BITS) - 1);
	u64 index = (u64)(((unsigned __int128)(at >> class->shift) * class->inverse) >> 64);

	*offset = at - index * class->slot_bytes;
	return (struct hwr_chunk *)class->chunks + index;
}

/* The same for an address below the huge classes, with less to compute. The quotient is exact: an
 * address has 33 bits after the shift, and the divisor at most 28. */
static inline bool hwr_heap_is_huge(u64 address)
{
	return address >= HW_HEAP_START + ((u64)HWR_CLASS_HUGE << HWR_CLASS_BITS);
}

static inline struct hwr_chunk *hwr_heap_find_usual(u64 address, u64 *offset)
{
	const struct hwr_class *class = &hwr_classes[hwr_heap_class(address)];
	u64 at = address & ((1ull << HWR_CLASS_BITS) - 1);
	u64 index = (u64)(((unsigned __int128)(at >> HWR_CLASS_SHIFT) * class->inverse) >> 64);

	*offset = at - index * class->slot_bytes;
	return (struct hwr_chunk *)class->chunks + index;
}

static inline u64 hwr_chunk_size(const struct hwr_chunk *chunk)
{
	return load_relaxed(&chunk->what) >> HWR_CHUNK_SIZE_SHIFT;
}

#endif
