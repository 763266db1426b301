/* SPDX-License-Identifier: MIT
 * Reads glibc's caches of threads; see tcache.h. Runs on the drain thread. Every pointer is checked
 * before it is followed, and no list is followed further than it says it is long. */
#define _GNU_SOURCE
#include "live/scan/tcache.h"

#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "host/base/order.h"
#include "live/scan/arch/arch.h"

enum {
	HEAD = 8, /* bytes before a block: its size and these: */
	HEAD_BITS = 7,
	HEAD_MAPPED = 2,
	STEP = 16,  /* of sizes */
	LEAST = 32, /* size of the blocks of the first bin, HEAD included */
	SMALL_BINS = 64,
	BINS_MAX = 76,
	CONSTANT_BYTES = BINS_MAX * 10, /* what stands for no cache */
	LINK_SHIFT = 12,                /* links are mixed with the place where they lie */
	LARGE_FIRST = 1 << 10,          /* sizes of the first large bin: below twice that */
	WINDOW_MAX = 1 << 16,           /* of thread-local data, for the pointer to the cache */
	PROBES = 256,                   /* threads whose data is searched for it */
	TRIES = 3,
	READS_MAX = 1 << 18,  /* of caches and blocks, whatever they hold */
	SEARCH_MAX = 1 << 16, /* of them to find the place */
};

/* struct tcache_perthread_struct of glibc, as the size of the block tells it: counts, then the
 * first blocks. */
struct shape {
	u32 block_bytes; /* HEAD included; it may be `spare` more */
	u32 spare;
	u32 bins;
	u32 count_bytes;
	bool counts_room; /* what is counted is how many blocks still fit */
};

static const struct shape shapes[] = {
	{0x250, 16, SMALL_BINS, 1, false}, /* 2.26 to 2.29 */
	{0x290, 16, SMALL_BINS, 2, false}, /* 2.30 to 2.41 */
	{0x300, 32, BINS_MAX, 2, true},    /* from 2.42 on, lazily: at a thread's first free */
};

/* A cache as it was read. */
struct cache {
	const struct shape *shape;
	u64 bytes; /* of the block that it lies in */
	u32 counts[BINS_MAX];
	u64 first[BINS_MAX];
};

struct reading {
	struct tcaches *found;
	struct scan_memory *memory;
	u32 tid;
	u32 reads, reads_max;
	bool full;   /* a limit is reached: nothing more is read */
	bool failed; /* out of memory */
};

/* ---- one cache ---- */

static bool is_heap(const struct mapping *mapping)
{
	return mapping && mapping->readable && mapping->writable && !mapping->shared &&
	       (mapping->kind == MAPPING_HEAP || mapping->kind == MAPPING_ANONYMOUS);
}

/* Whether [address - HEAD, address + bytes) may be in a heap. */
static bool may_be_block(const struct scan_memory *memory, u64 address, u64 bytes)
{
	const struct mapping *mapping =
		address % STEP || !address ? NULL : scan_memory_mapping(memory, address);

	return is_heap(mapping) && address - mapping->start >= STEP &&
	       mapping->end - address >= bytes;
}

static const struct shape *shape_of(u64 head)
{
	u64 bytes = head & ~(u64)HEAD_BITS;

	for (u32 i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (!(head & HEAD_MAPPED) && bytes - shapes[i].block_bytes <= shapes[i].spare)
			return &shapes[i];
	return NULL;
}

/* Whether so many more caches or blocks may be read. */
static bool room_for(struct reading *self, u32 count)
{
	self->full |= self->found->blocks.count + count > TCACHE_BLOCKS_MAX ||
		      self->reads + count > self->reads_max;
	self->reads += count;
	return !self->full;
}

static bool cache_read(struct reading *self, u64 address, struct cache *cache)
{
	u8 bytes[BINS_MAX * (sizeof(u64) + sizeof(u16))];
	u64 head, lists;

	if (!may_be_block(self->memory, address, LEAST) || !room_for(self, 1) ||
	    !scan_memory_read(self->memory, address - HEAD, &head, sizeof head))
		return false;
	cache->shape = shape_of(head);
	cache->bytes = (head & ~(u64)HEAD_BITS) - HEAD;
	if (!cache->shape || !may_be_block(self->memory, address, cache->bytes))
		return false;
	lists = cache->shape->bins * cache->shape->count_bytes;
	if (!scan_memory_read(self->memory, address, bytes,
			      lists + cache->shape->bins * sizeof(u64)))
		return false;
	for (u32 bin = 0; bin < cache->shape->bins; bin++) {
		u16 wide;

		memcpy(&wide, bytes + bin * sizeof wide, sizeof wide);
		cache->counts[bin] = cache->shape->count_bytes == 1 ? bytes[bin] : wide;
		memcpy(&cache->first[bin], bytes + lists + bin * sizeof(u64), sizeof(u64));
	}
	return true;
}

/* Large bins, which a tunable turns on, have the sizes up to the next power of two; 2.43 also keeps
 * blocks there that are mapped alone. */
static bool fits_bin(u64 head, u32 bin)
{
	u64 bytes = head & ~(u64)HEAD_BITS, first = LARGE_FIRST;

	if (bin < SMALL_BINS)
		return !(head & HEAD_MAPPED) && bytes == LEAST + (u64)bin * STEP;
	first <<= bin - SMALL_BINS;
	return bytes >= first && bytes < 2 * first && bytes >= LEAST + SMALL_BINS * STEP &&
	       bytes % STEP == 0;
}

/* The lists of a cache, as far as they were followed. */
struct lists {
	const struct cache *cache;
	bool plain;       /* links are as they are, before glibc 2.32 */
	u64 at[BINS_MAX]; /* the next block, 0 = it has ended */
	u64 length[BINS_MAX];
	u64 all; /* room and length of one that has ended; 0 = none has */
};

/* A list must be as long as the cache says; or, where what still fits is counted, all must come to
 * the same with their room. */
static bool length_fits(struct lists *self, u32 bin)
{
	u64 counted = self->cache->counts[bin], length = self->length[bin];
	bool ended = !self->at[bin];

	if (!self->cache->shape->counts_room)
		return ended ? length == counted : length < counted;
	if (ended && !self->all)
		self->all = counted + length;
	return ended ? self->all && counted + length == self->all
		     : !self->all || counted + length < self->all;
}

/* Adds the next block of a list, of which the head and the link were read. */
static bool block_take(struct reading *self, struct lists *lists, u32 bin, const u64 words[2])
{
	struct stream_cached row = {.address = lists->at[bin], .tid = self->tid};

	if (!fits_bin(words[0], bin))
		return false;
	row.bytes = (u32)(words[0] & ~(u64)HEAD_BITS);
	if (!may_be_block(self->memory, row.address, row.bytes - HEAD))
		return false;
	if (!vec_push(&self->found->blocks, row))
		return !(self->failed = true);
	lists->at[bin] = lists->plain ? words[1] : words[1] ^ row.address >> LINK_SHIFT;
	lists->length[bin]++;
	return true;
}

/* Reads the head and the link of so many blocks: by one system call, where nothing is protected. */
static bool blocks_read(struct reading *self, const struct iovec *remote, u32 count, u64 words[][2])
{
	struct iovec local = {words, count * sizeof *words};
	i64 got = process_vm_readv((pid_t)self->memory->tid, &local, 1, remote, count, 0);

	for (u32 i = got > 0 ? (u32)((u64)got / sizeof *words) : 0; i < count; i++)
		if (!scan_memory_read(self->memory, (u64)(uintptr_t)remote[i].iov_base, words[i],
				      sizeof *words))
			return false;
	return true;
}

/* Takes a block of each list that has not ended, and says of how many. */
static bool lists_step(struct reading *self, struct lists *lists, u32 *count)
{
	struct iovec remote[BINS_MAX] = {0};
	u64 words[BINS_MAX][2];
	u32 bins[BINS_MAX];

	*count = 0;
	for (u32 bin = 0; bin < lists->cache->shape->bins; bin++) {
		if (!length_fits(lists, bin))
			return false;
		if (!lists->at[bin])
			continue;
		if (!may_be_block(self->memory, lists->at[bin], LEAST - HEAD))
			return false;
		bins[*count] = bin;
		remote[(*count)++] =
			(struct iovec){(void *)(uintptr_t)(lists->at[bin] - HEAD), sizeof *words};
	}
	if (*count && (!room_for(self, *count) || !blocks_read(self, remote, *count, words)))
		return false;
	for (u32 i = 0; i < *count; i++)
		if (!block_take(self, lists, bins[i], words[i]))
			return false;
	return true;
}

static bool lists_follow(struct reading *self, const struct cache *cache, bool plain)
{
	struct lists lists = {.cache = cache, .plain = plain};
	u32 count = 1;

	memcpy(lists.at, cache->first, cache->shape->bins * sizeof(u64));
	while (count)
		if (!lists_step(self, &lists, &count))
			return false;
	return true;
}

/* Adds what the cache at the address holds; false, and nothing is added, if there is none. */
static bool cache_take(struct reading *self, u64 address)
{
	u64 before = self->found->blocks.count;
	struct cache cache;

	if (!cache_read(self, address, &cache))
		return false;
	for (u32 plain = 0; plain < 2 && !self->failed && !self->full; plain++) {
		if (lists_follow(self, &cache, plain))
			return true;
		self->found->blocks.count = before;
	}
	return false;
}

/* ---- where it is ---- */

/* What was there. */
enum certainty {
	PLACE_UNKNOWN,
	PLACE_OF_NONE,  /* what stands for no cache */
	PLACE_OF_EMPTY, /* a cache without blocks, or any zeroed block */
	PLACE_CERTAIN,  /* a cache with blocks */
};

struct place {
	u64 from_thread; /* the pointer's address less the thread pointer */
	enum certainty certainty;
};

/* In 2.43 the pointer of a thread without a cache leads to a constant in the library: zeros, as
 * long as a cache. */
static bool is_constant(struct reading *self, u64 address)
{
	const struct mapping *mapping =
		address % sizeof(u64) ? NULL : scan_memory_mapping(self->memory, address);
	u8 bytes[CONSTANT_BYTES], any = 0;

	if (!mapping || mapping->kind != MAPPING_FILE || mapping->writable || !mapping->readable ||
	    !strstr(mapping->path, "/libc.so") || mapping->end - address < sizeof bytes ||
	    !scan_memory_read(self->memory, address, bytes, sizeof bytes))
		return false;
	for (u32 i = 0; i < sizeof bytes; i++)
		any |= bytes[i];
	return !any;
}

/* Which place the pointer makes of where it lies. */
static enum certainty certainty_of(struct reading *self, u64 pointer)
{
	u64 before = self->found->blocks.count;
	bool any;

	if (!cache_take(self, pointer))
		return is_constant(self, pointer) ? PLACE_OF_NONE : PLACE_UNKNOWN;
	any = self->found->blocks.count > before;
	self->found->blocks.count = before;
	return any ? PLACE_CERTAIN : PLACE_OF_EMPTY;
}

/* Searches a thread's data for a pointer to its cache, from the thread pointer on: what is further
 * away may be the thread's stack, which has copies. One without blocks may be any zeroed block. */
static void place_search(struct reading *self, u64 pointer, struct place *place)
{
	const struct mapping *mapping =
		scan_memory_mapping(self->memory, pointer - !SCAN_TLS_ABOVE);
	const u64 *words = (const u64 *)(const void *)self->memory->buffer;
	u64 count, start, pages;

	if (!mapping || pointer % sizeof(u64))
		return;
	count = (SCAN_TLS_ABOVE ? mapping->end - pointer : pointer - mapping->start) / sizeof(u64);
	count = count < WINDOW_MAX / sizeof(u64) ? count : WINDOW_MAX / sizeof(u64);
	start = SCAN_TLS_ABOVE ? pointer : pointer - count * sizeof(u64);
	pages = (start % SCAN_PAGE + count * sizeof(u64) + SCAN_PAGE - 1) / SCAN_PAGE;
	scan_memory_pages(self->memory, start - start % SCAN_PAGE, pages);
	words += start % SCAN_PAGE / sizeof(u64);
	for (u64 i = 0; i < count && place->certainty < PLACE_CERTAIN && !self->full; i++) {
		u64 at = SCAN_TLS_ABOVE ? i : count - 1 - i;
		enum certainty certainty = certainty_of(self, words[at]);

		if (certainty > place->certainty)
			*place = (struct place){start + at * sizeof(u64) - pointer, certainty};
	}
}

/* One that is not certain is taken only if no thread has a certain one. */
static struct place place_find(struct reading *self, const struct tcache_thread *threads, u64 count)
{
	struct place place = {0};

	self->reads_max = SEARCH_MAX;
	for (u64 i = 0; i < count && i < PROBES && place.certainty < PLACE_CERTAIN &&
			!self->failed && !self->full;
	     i++)
		place_search(self, threads[i].thread_pointer, &place);
	self->reads = 0;
	self->reads_max = READS_MAX;
	self->full = false;
	return place;
}

/* ---- all of them ---- */

static int by_pointer(const void *a, const void *b)
{
	const struct tcache_thread *x = a, *y = b;

	return rising(x->thread_pointer, y->thread_pointer) ?: falling(x->tid, y->tid);
}

static int by_address(const void *a, const void *b)
{
	const struct stream_cached *x = a, *y = b;

	return rising(x->address, y->address) ?: rising(x->tid, y->tid);
}

static bool has_ended(const struct scan_memory *memory, const struct tcache_thread *thread)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%u/task/%u", memory->pid, thread->tid);
	return access(path, F_OK) != 0;
}

/* Keeps one thread of those that had the same memory, and none that has ended: its memory may be
 * gone, or kept for the next one. If all seem to have ended, then their numbers are those of a
 * namespace of their own. */
static u64 drop_former(const struct scan_memory *memory, struct tcache_thread *threads, u64 count)
{
	u64 known = 0, living = 0, kept = 0;

	for (u64 i = 0; i < count; i++)
		if (threads[i].thread_pointer)
			threads[known++] = threads[i];
	for (u64 i = 0; i < known; i++) {
		struct tcache_thread thread = threads[i];

		if (has_ended(memory, &thread))
			continue;
		threads[i] = threads[living];
		threads[living++] = thread;
	}
	count = living ? living : known;
	qsort(threads, count, sizeof *threads, by_pointer);
	for (u64 i = 0; i < count; i++)
		if (!kept || threads[kept - 1].thread_pointer != threads[i].thread_pointer)
			threads[kept++] = threads[i];
	return kept;
}

/* It has none yet, or none any more: then newer versions have a constant there. */
static bool is_none(const struct scan_memory *memory, u64 cache)
{
	const struct mapping *mapping = cache ? scan_memory_mapping(memory, cache) : NULL;

	return !cache || (mapping && mapping->kind == MAPPING_FILE && !mapping->writable);
}

static void thread_read(struct reading *self, const struct tcache_thread *thread,
			const struct place *place)
{
	u64 cache;

	self->tid = thread->tid;
	for (u32 i = 0; i < TRIES && place->certainty && !self->failed && !self->full; i++) {
		if (!scan_memory_read(self->memory, thread->thread_pointer + place->from_thread,
				      &cache, sizeof cache))
			break;
		if (is_none(self->memory, cache) || cache_take(self, cache)) {
			self->found->read++;
			return;
		}
	}
	self->found->unread += !has_ended(self->memory, thread);
}

/* What is in two lists is in neither for sure; the first one has it. */
static void sort_blocks(struct tcaches *self)
{
	u64 kept = 0;

	vec_sort(&self->blocks, by_address);
	for (u64 i = 0; i < self->blocks.count; i++) {
		const struct stream_cached *last = kept ? &self->blocks.data[kept - 1] : NULL;

		if (!last || last->address + last->bytes <= self->blocks.data[i].address)
			self->blocks.data[kept++] = self->blocks.data[i];
	}
	self->blocks.count = kept;
}

bool tcaches_read(struct tcaches *self, struct scan_memory *memory, struct tcache_thread *threads,
		  u64 count)
{
	struct reading reading = {.found = self, .memory = memory};
	struct place place;

	count = drop_former(memory, threads, count);
	place = place_find(&reading, threads, count);
	for (u64 i = 0; i < count && !reading.failed; i++)
		thread_read(&reading, &threads[i], &place);
	sort_blocks(self);
	return !reading.failed;
}

void tcaches_release(struct tcaches *self) { vec_release(&self->blocks); }
