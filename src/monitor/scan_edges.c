/* SPDX-License-Identifier: MIT
 * Reads the blocks and resolves what their words point to; see scan_edges.h. Runs on a scan's thread
 * and on threads of its own, one to a slice of the blocks, which share nothing that is written.
 *
 * Most words are no pointers and fall to one comparison. The others are resolved in groups, stage by
 * stage, so that the tables come from memory for a whole group at the same time. */
#define _GNU_SOURCE
#include "monitor/scan_edges.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "format/atomics.h"

enum {
	GROUP = 32,        /* words that are resolved together */
	LARGE = 64 << 10,  /* blocks of this size are read without pages that were never touched */
	GAP = 16 << 10,    /* blocks further apart are not read in one piece */
	SLICE_MIN = 4 << 20, /* bytes that are worth a thread */
};

struct resolving { /* words that are not resolved yet */
	u64 values[GROUP];
	u32 sources[GROUP]; /* the block that each stands in */
	const struct scan_region *regions[GROUP];
	u32 count;
};

struct slice_work {
	struct scan_slice *slice;
	const struct scan_index *index;
	const struct scan_patience *patience;
	struct scan_memory memory; /* a view */
	u64 low, span;             /* of all blocks */
	u32 reading;               /* the block whose words are read */
	u32 block;                 /* that edges are added to; at most the one that is read */
	u32 last_edge;             /* its last start-pointer led there; the block itself = none */
	struct resolving pending;
	pthread_t thread;
	bool started, failed;
	struct err error;
};

int scan_patience_check(const struct scan_patience *self, const struct scan_memory *memory,
			struct err *err)
{
	struct timespec now;

	if (memory->gone)
		return err_set(err, ERR_SYSTEM, "the process was killed meanwhile");
	if (self->cancel && load_relaxed(self->cancel) != self->cancel_seen)
		return err_set(err, ERR_SYSTEM, "it was interrupted");
	if (!self->deadline_ns)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if ((u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec < self->deadline_ns)
		return 0;
	return err_set(err, ERR_SYSTEM, "it took too long");
}

/* ---- words ----------------------------------------------------------------------------------- */

/* All edges of the blocks before are there. */
static void block_begin(struct slice_work *w, u32 block)
{
	w->block = block;
	w->last_edge = block;
	w->slice->starts[block - w->slice->first_block] = w->slice->words.count;
}

static void edge_add(struct slice_work *w, u32 number, u64 offset)
{
	struct scan_slice *slice = w->slice;

	if (number == w->block || (number == w->last_edge && !offset))
		return;
	if (!vec_reserve(&slice->words, 3)) {
		w->failed = true;
		return;
	}
	if (!offset) {
		w->last_edge = number;
		slice->words.data[slice->words.count++] = number;
		return;
	}
	slice->words.data[slice->words.count++] = number | EDGE_INSIDE;
	slice->words.data[slice->words.count++] = (u32)offset;
	slice->words.data[slice->words.count++] = (u32)(offset >> 32);
}

static void resolve(struct slice_work *w)
{
	struct resolving *p = &w->pending;
	const struct scan_index *index = w->index;

	for (u32 i = 0; i < p->count; i++) {
		const struct scan_region *region = scan_region_of(index, p->values[i]);

		p->regions[i] = region;
		if (region)
			__builtin_prefetch(scan_granule(index, region, p->values[i]));
	}
	for (u32 i = 0; i < p->count; i++) {
		const struct scan_region *region = p->regions[i];

		if (region)
			__builtin_prefetch(
				&index->blocks.data[region->first +
						    *scan_granule(index, region, p->values[i])]);
	}
	for (u32 i = 0; i < p->count; i++) {
		u32 number = p->regions[i] ? scan_region_find(index, p->regions[i], p->values[i])
					   : NO_BLOCK;

		while (w->block < p->sources[i])
			block_begin(w, w->block + 1);
		if (number != NO_BLOCK)
			edge_add(w, number, p->values[i] - index->blocks.data[number].address);
	}
	p->count = 0;
}

static void words_take(void *data, u64 address, const u64 *words, u64 count)
{
	struct slice_work *w = data;
	struct resolving *p = &w->pending;

	(void)address;
	for (u64 i = 0; i < count; i++) {
		if (likely(words[i] - w->low >= w->span))
			continue;
		p->values[p->count] = words[i];
		p->sources[p->count++] = w->reading;
		if (p->count == GROUP)
			resolve(w);
	}
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static const struct scan_block *block_at(const struct slice_work *w, u32 number)
{
	return &w->index->blocks.data[number];
}

/* The small blocks from `first` on that are read in one piece; the end of it in *end. */
static u32 piece_end(const struct slice_work *w, u32 first, u64 *end)
{
	u64 start = block_at(w, first)->address & -(u64)SCAN_PAGE;
	u32 next = first;

	for (*end = start; next < w->slice->end_block; next++) {
		const struct scan_block *block = block_at(w, next);
		u64 block_end = block->address + block->size;

		if (block->size >= LARGE || block_end > start + SCAN_BUFFER - SCAN_PAGE ||
		    (next > first && block->address > *end + GAP))
			break;
		if (block_end > *end)
			*end = block_end;
	}
	return next;
}

static void piece_search(struct slice_work *w, u32 first, u32 next, u64 end)
{
	u64 start = block_at(w, first)->address & -(u64)SCAN_PAGE;

	scan_memory_pages(&w->memory, start, (end - start + SCAN_PAGE - 1) / SCAN_PAGE);
	for (u32 i = first; i < next; i++) {
		const struct scan_block *block = block_at(w, i);
		u64 from = (block->address + 7) & ~7ull;
		u64 to = (block->address + block->size) & ~7ull;

		w->reading = i;
		if (from < to)
			words_take(w, from,
				   (const u64 *)(const void *)(w->memory.buffer + (from - start)),
				   (to - from) / 8);
	}
}

static void *slice_search(void *argument)
{
	struct slice_work *w = argument;
	u32 block = w->slice->first_block;

	block_begin(w, block);
	while (block < w->slice->end_block) {
		u64 end;
		u32 next = piece_end(w, block, &end);

		if (next > block) {
			piece_search(w, block, next, end);
		} else {
			const struct scan_block *large = block_at(w, block);

			w->reading = block;
			scan_memory_each_word(&w->memory, large->address,
					      large->address + large->size, words_take, w);
			next = block + 1;
		}
		block = next;
		if (w->failed)
			err_set(&w->error, ERR_MEMORY, "out of memory");
		if (w->failed || scan_patience_check(w->patience, &w->memory, &w->error) < 0)
			return NULL;
	}
	resolve(w);
	while (w->block < block)
		block_begin(w, w->block + 1);
	return NULL;
}

/* ---- slices ---------------------------------------------------------------------------------- */

static u32 slices_wanted(const struct scan_index *index)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	u64 wanted = scan_index_span(index) / SLICE_MIN + 1;

	if (cpus > 0 && wanted > (u64)cpus)
		wanted = (u64)cpus;
	return wanted < SCAN_SLICES ? (u32)wanted : SCAN_SLICES;
}

/* Cuts the blocks into slices of about as many bytes. */
static bool slices_cut(struct scan_edges *self, const struct scan_index *index)
{
	u64 bytes = 0, seen = 0;
	u32 wanted = slices_wanted(index), block = 0, blocks = (u32)index->blocks.count;

	for (u32 i = 0; i < blocks; i++)
		bytes += index->blocks.data[i].size;
	for (self->count = 0; self->count < wanted; self->count++) {
		struct scan_slice *slice = &self->slices[self->count];

		slice->first_block = block;
		while (block < blocks && (self->count + 1 == wanted ||
					  seen < bytes / wanted * (self->count + 1)))
			seen += index->blocks.data[block++].size;
		slice->end_block = block;
		slice->starts = calloc((u64)block - slice->first_block + 1, sizeof(u64));
		if (!slice->starts)
			return false;
	}
	return true;
}

static int slice_start(struct slice_work *w, const struct scan_memory *memory, bool on_a_thread)
{
	if (scan_memory_view(&w->memory, memory, &w->error) < 0)
		return w->error.code;
	w->started = on_a_thread && pthread_create(&w->thread, NULL, slice_search, w) == 0;
	return 0;
}

int scan_edges_find(struct scan_edges *self, const struct scan_memory *memory,
		    const struct scan_index *index, const struct scan_patience *patience,
		    struct err *err)
{
	struct slice_work work[SCAN_SLICES] = {0};
	u64 last = index->regions.count;
	int status = 0;

	*self = (struct scan_edges){0};
	if (!slices_cut(self, index))
		return err_set(err, ERR_MEMORY, "out of memory");
	for (u32 i = self->count; i-- > 0;) {
		struct slice_work *w = &work[i];

		w->slice = &self->slices[i];
		w->index = index;
		w->patience = patience;
		w->low = last ? index->regions.data[0].start : 0;
		w->span = last ? index->regions.data[last - 1].end - w->low : 0;
		/* The first slice is this thread's own, and so is one whose thread does not start. */
		if (slice_start(w, memory, i > 0) == 0 && !w->started)
			slice_search(w);
	}
	for (u32 i = 0; i < self->count; i++) {
		if (work[i].started)
			pthread_join(work[i].thread, NULL);
		if (work[i].error.code && status == 0)
			status = err_set(err, work[i].error.code, "%s", work[i].error.text);
		scan_memory_close_view(&work[i].memory);
	}
	return status;
}

void scan_edges_release(struct scan_edges *self)
{
	for (u32 i = 0; i < SCAN_SLICES; i++) {
		free(self->slices[i].starts);
		vec_release(&self->slices[i].words);
	}
	*self = (struct scan_edges){0};
}
