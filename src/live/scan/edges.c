/* SPDX-License-Identifier: MIT
 * Reads the blocks and resolves what their words point to; see edges.h. Runs on a scan's thread
 * and on threads of its own, one to a slice of the blocks, which share nothing that is written.
 *
 * Most words are no pointers and fall to one comparison. Of the others a filter tells most of those
 * that are no block's start; the rest is resolved in groups, stage by stage, so that the tables
 * come from memory for a whole group at the same time. */
#define _GNU_SOURCE
#include "live/scan/edges.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/arch/tag.h"
#include "host/base/huge.h"

enum {
	GROUP = SCAN_GROUP,  /* words that are resolved together */
	SLICE_MIN = 4 << 20, /* bytes that are worth a thread */
	PART_SHIFT = 12,
	PARTS_MAX = 1 << 25,
	RECENT = 64, /* blocks that were found last, by the words' bits above RECENT_SHIFT */
	RECENT_SHIFT = 11,
	INSIDE_PATIENCE = 1 << 20, /* words between two looks at the clock */
};

struct resolving { /* words that are not resolved yet */
	u64 values[GROUP];
	u32 sources[GROUP]; /* the block that each stands in */
	u32 blocks[GROUP];  /* that each leads to */
	u32 count;
};

/* A set of numbers by one bit each: what is in it is found, and little else. */
struct filter {
	u64 *bits;
	u32 shift;
};

enum { AREA_BITS = 21 }; /* blocks are in few areas of this size */

struct slice_work {
	struct scan_slice *slice;
	const struct scan_index *index;
	const struct filter *starts, *areas; /* of all blocks */
	const struct filter *parts;          /* of the memory of those that are not reachable yet */
	u32 part_shift;
	const u8 *classes;
	const struct scan_edges *edges; /* all slices */
	struct scan_memory memory;      /* a view; for pointers to the middle without a buffer */
	u64 low, span;                  /* of all blocks */
	const struct mapping *mapping;  /* that the last block's first word led to */
	u32 reading;                    /* the block whose words are read */
	u64 own_start, own_bytes;       /* of it: pointers to itself tell nothing */
	u32 block;                      /* that edges are added to; at most the one that is read */
	u32 last_edge;                  /* its last pointer led there; the block itself = none */
	struct resolving pending;
	pthread_t thread;
	bool keep; /* pointers in the slice */
	bool started, failed;
	struct err error;
};

/* ---- filters --------------------------------------------------------------------------------- */

static inline u64 filter_bit(const struct filter *self, u64 number)
{
	return number * 0x9e3779b97f4a7c15ull >> self->shift;
}

static inline bool filter_has(const struct filter *self, u64 number)
{
	u64 bit = filter_bit(self, number);

	return self->bits[bit / 64] >> (bit % 64) & 1;
}

static inline void filter_prefetch(const struct filter *self, u64 number)
{
	__builtin_prefetch(&self->bits[filter_bit(self, number) / 64]);
}

static inline void filter_add(struct filter *self, u64 number)
{
	u64 bit = filter_bit(self, number);

	self->bits[bit / 64] |= (u64)1 << (bit % 64);
}

/* For so many numbers; 16 bits for each, so that few others seem to be there. */
static bool filter_make(struct filter *self, u64 count)
{
	u32 bits = 16;

	while (bits < 32 && (u64)1 << bits < count * 16)
		bits++;
	self->shift = 64 - bits;
	self->bits = calloc(((u64)1 << bits) / 64, sizeof(u64));
	huge_ask(self->bits, ((u64)1 << bits) / 8);
	return self->bits != NULL;
}

static bool filters_fill(struct filter *starts, struct filter *areas,
			 const struct scan_index *index)
{
	if (!filter_make(starts, index->blocks.count) || !filter_make(areas, 0))
		return false;
	for (u64 i = 0; i < index->blocks.count; i++)
		filter_add(starts, index->blocks.data[i].address);
	for (u64 i = 0; i < index->regions.count; i++) {
		const struct scan_region *region = &index->regions.data[i];

		/* with what points to its end */
		for (u64 area = region->start >> AREA_BITS; area <= region->end >> AREA_BITS;
		     area++)
			filter_add(areas, area);
	}
	return true;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* All edges of the blocks before are there. */
static void block_begin(struct slice_work *w, u32 block)
{
	w->block = block;
	w->last_edge = block;
	w->slice->starts[block - w->slice->first_block] = w->slice->words.count;
}

static void edge_add(struct slice_work *w, u32 number)
{
	if (number == w->block || number == w->last_edge)
		return;
	w->last_edge = number;
	w->failed |= !vec_push(&w->slice->words, number);
}

static void inside_add(struct slice_work *w, u64 value, u32 source)
{
	w->failed |= !vec_push(&w->slice->values, value) || !vec_push(&w->slice->sources, source);
}

/* Keeps the words that may point to a start, and puts the others aside. Without branches: nobody
 * can guess. */
static bool starts_keep(struct slice_work *w)
{
	struct resolving *p = &w->pending;
	struct scan_slice *slice = w->slice;
	u64 *values;
	u32 *sources, kept = 0, aside = 0;

	if (!vec_reserve(&slice->values, GROUP) || !vec_reserve(&slice->sources, GROUP))
		return false;
	values = slice->values.data + slice->values.count;
	sources = slice->sources.data + slice->sources.count;
	for (u32 i = 0; i < p->count; i++) {
		u64 value = p->values[i];
		u32 source = p->sources[i];
		bool start = filter_has(w->starts, value);

		values[aside] = value;
		sources[aside] = source;
		aside += !start;
		p->values[kept] = value;
		p->sources[kept] = source;
		kept += start;
	}
	slice->values.count += aside;
	slice->sources.count += aside;
	p->count = kept;
	return true;
}

static void resolve(struct slice_work *w)
{
	struct resolving *p = &w->pending;
	const struct scan_index *index = w->index;

	for (u32 i = 0; i < p->count; i++)
		filter_prefetch(w->starts, p->values[i]);
	if (!starts_keep(w)) {
		w->failed = true;
		p->count = 0;
	}
	scan_index_find_all(index, p->values, p->blocks, p->count);
	for (u32 i = 0; i < p->count; i++) {
		u32 number = p->blocks[i];

		while (w->block < p->sources[i])
			block_begin(w, w->block + 1);
		if (number == NO_BLOCK)
			continue;
		if (p->values[i] == index->blocks.data[number].address)
			edge_add(w, number);
		else
			inside_add(w, p->values[i], p->sources[i]);
	}
	p->count = 0;
}

/* A pointer out of the heap that may lead to a table of functions, in the first word of the block
 * that is read. */
static void first_word_note(struct slice_work *w, u64 word)
{
	const struct mapping *mapping = w->mapping;

	if (word % 8 || word < SCAN_PAGE || word >> 48)
		return;
	if (!mapping || word - mapping->start >= mapping->end - mapping->start)
		mapping = w->mapping = scan_memory_mapping(&w->memory, word);
	w->slice->objects[w->reading - w->slice->first_block] =
		mapping && mapping->kind == MAPPING_FILE;
}

/* What may be a pointer is kept, and the numbers beside it. */
static inline void word_keep(struct slice_work *w, const struct scan_words *here, u64 i, u64 value)
{
	w->failed |= !scan_pointers_add(&w->slice->pointers, here->address + i * 8, value) ||
		     !scan_numbers_beside(&w->slice->numbers, here, i);
}

static inline void words_sift(struct slice_work *w, const struct scan_words *here, bool keep)
{
	struct resolving *p = &w->pending;

	for (u64 i = 0; i < here->count; i++) {
		u64 value = hw_untagged(here->words[i]);

		if (likely(value - w->low >= w->span) || value - w->own_start < w->own_bytes ||
		    !filter_has(w->areas, value >> AREA_BITS))
			continue;
		if (keep)
			word_keep(w, here, i, value);
		p->values[p->count] = value;
		p->sources[p->count++] = w->reading;
		if (p->count == GROUP)
			resolve(w);
	}
}

/* One copy of the loop for each, so that who does not keep them does not pay for it. */
static void words_take(void *data, u64 address, const u64 *words, u64 count)
{
	struct slice_work *w = data;
	struct scan_words here = {address, words, count};

	if (w->keep) {
		w->failed |= !scan_numbers_begin(&w->slice->numbers, &here);
		words_sift(w, &here, true);
		scan_numbers_end(&w->slice->numbers, &here);
	} else {
		words_sift(w, &here, false);
	}
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static const struct scan_block *block_at(const struct slice_work *w, u32 number)
{
	return &w->index->blocks.data[number];
}

static void reading_set(struct slice_work *w, u32 number)
{
	w->reading = number;
	w->own_start = block_at(w, number)->address;
	w->own_bytes = block_at(w, number)->size;
}

static void piece_search(struct slice_work *w, u32 first, u32 next, u64 end)
{
	u64 start = block_at(w, first)->address & -(u64)SCAN_PAGE;

	scan_memory_pages(&w->memory, start, (end - start + SCAN_PAGE - 1) / SCAN_PAGE);
	for (u32 i = first; i < next; i++) {
		const struct scan_block *block = block_at(w, i);
		u64 from = (block->address + 7) & ~7ull;
		u64 to = (block->address + block->size) & ~7ull;

		reading_set(w, i);
		if (from < to && from == block->address)
			first_word_note(w, *(const u64 *)(const void *)(w->memory.buffer +
									(from - start)));
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
		u32 next = scan_index_piece(w->index, block, w->slice->end_block, &end);

		if (next > block) {
			piece_search(w, block, next, end);
		} else {
			const struct scan_block *large = block_at(w, block);

			reading_set(w, block);
			/* there are few of them */
			w->slice->objects[block - w->slice->first_block] = 1;
			scan_memory_each_word(&w->memory, large->address,
					      large->address + large->size, words_take, w);
			next = block + 1;
		}
		block = next;
		if (w->failed || scan_memory_check(&w->memory, &w->error) < 0)
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
		while (block < blocks &&
		       (self->count + 1 == wanted || seen < bytes / wanted * (self->count + 1)))
			seen += index->blocks.data[block++].size;
		slice->end_block = block;
		slice->starts = calloc((u64)block - slice->first_block + 1, sizeof(u64));
		slice->objects = calloc((u64)block - slice->first_block + 1, 1);
		if (!slice->starts || !slice->objects)
			return false;
	}
	return true;
}

/* Runs it for each slice, the first on this thread, as is one whose thread does not start. */
static int slices_run(struct scan_edges *self, struct slice_work *work, void *(*run)(void *),
		      struct err *err)
{
	int status = 0;

	for (u32 i = self->count; i-- > 0;) {
		work[i].started =
			i > 0 && pthread_create(&work[i].thread, NULL, run, &work[i]) == 0;
		if (!work[i].started)
			run(&work[i]);
	}
	for (u32 i = 0; i < self->count; i++) {
		if (work[i].started)
			pthread_join(work[i].thread, NULL);
		if (work[i].failed && !work[i].error.code)
			err_memory(&work[i].error);
		if (work[i].error.code && status == 0)
			status = err_set(err, work[i].error.code, "%s", work[i].error.text);
	}
	return status;
}

int scan_edges_find(struct scan_edges *self, const struct scan_memory *memory,
		    const struct scan_index *index, bool keep, struct err *err)
{
	struct slice_work work[SCAN_SLICES] = {0};
	struct filter starts = {0}, areas = {0};
	u64 last = index->regions.count;
	bool good;
	int status;

	*self = (struct scan_edges){0};
	good = slices_cut(self, index) && filters_fill(&starts, &areas, index);
	for (u32 i = 0; i < self->count && good; i++) {
		struct slice_work *w = &work[i];

		w->slice = &self->slices[i];
		w->index = index;
		w->starts = &starts;
		w->areas = &areas;
		w->low = last ? index->regions.data[0].start : 0;
		w->span = last ? index->regions.data[last - 1].end - w->low + 1 : 0;
		w->keep = keep;
		w->slice->pointers.low = w->low;
		w->slice->numbers.most = index->bytes;
		good = scan_memory_view(&w->memory, memory, err) == 0;
	}
	status = good ? slices_run(self, work, slice_search, err) : err_memory(err);
	for (u32 i = 0; i < self->count; i++)
		scan_memory_close_view(&work[i].memory);
	free(starts.bits);
	free(areas.bits);
	return status;
}

struct recent {
	u64 start, bytes;
	u32 block;
	u32 source; /* of the last pointer to it that was kept */
};

/* ---- pointers to the middle ------------------------------------------------------------------ */

static bool slice_sort_inside(struct scan_slice *slice)
{
	u32 blocks = slice->end_block - slice->first_block;
	u64 at = 0;

	if (!slice->inside.count)
		return true;
	slice->inside_starts = calloc((u64)blocks + 1, sizeof(u64));
	if (!slice->inside_starts ||
	    !scan_sort(slice->inside.data, slice->inside.count, sizeof(struct scan_inside)))
		return false;
	for (u32 i = 0; i <= blocks; i++) {
		slice->inside_starts[i] = at;
		while (at < slice->inside.count &&
		       slice->inside.data[at].source == slice->first_block + (u64)i)
			at++;
	}
	return true;
}

/* The block that a word points into. Words that point into the same blocks stand together: they are
 * tried first. */
static inline struct recent *find_inside(const struct slice_work *w, struct recent *recent,
					 u64 value)
{
	struct recent *last = &recent[value >> RECENT_SHIFT & (RECENT - 1)];

	if (likely(value - last->start < last->bytes))
		return last;
	*last = (struct recent){.block = scan_index_find(w->index, value), .source = NO_BLOCK};
	if (last->block != NO_BLOCK) {
		last->start = w->index->blocks.data[last->block].address;
		last->bytes = scan_block_extent(&w->index->blocks.data[last->block]);
	}
	return last;
}

/* Whether a pointer so far behind a block's start may be of one of the forms that count like one to
 * the start. */
static bool may_be_usual(const struct slice_work *w, u32 block, u64 offset)
{
	const struct scan_slice *slice = scan_slice_of(w->edges, block);

	return offset == 8 || offset == 24 || slice->objects[block - slice->first_block];
}

static void *slice_look_inside(void *argument)
{
	struct slice_work *w = argument;
	struct scan_slice *slice = w->slice;
	struct recent recent[RECENT] = {0};

	for (u64 i = 0; i < slice->values.count; i++) {
		struct scan_inside inside = {.source = slice->sources.data[i],
					     .value = slice->values.data[i]};
		struct recent *at;

		if (unlikely(i % INSIDE_PATIENCE == 0) &&
		    scan_memory_check(&w->memory, &w->error) < 0)
			return NULL;
		if (!filter_has(w->parts, inside.value >> w->part_shift))
			continue;
		at = find_inside(w, recent, inside.value);
		inside.block = at->block;
		if (inside.block == NO_BLOCK || inside.block == inside.source ||
		    w->classes[inside.block] == CLASS_REACHABLE ||
		    (at->source == inside.source &&
		     !may_be_usual(w, inside.block, inside.value - at->start)))
			continue;
		at->source = (u32)inside.source;
		w->failed |= !vec_push(&slice->inside, inside);
	}
	vec_release(&slice->values);
	vec_release(&slice->sources);
	w->failed |= !slice_sort_inside(slice);
	return NULL;
}

/* Memory is told apart in pages, or in larger parts where that would be too many. */
static u64 block_parts(const struct scan_block *block, u32 shift)
{
	return ((block->address + scan_block_extent(block) - 1) >> shift) -
	       (block->address >> shift) + 1;
}

/* How many parts the blocks that are not reachable yet have. */
static u64 parts_count(const struct scan_index *index, const u8 *classes, u32 shift)
{
	u64 count = 0;

	for (u64 i = 0; i < index->blocks.count; i++)
		if (classes[i] != CLASS_REACHABLE)
			count += block_parts(&index->blocks.data[i], shift);
	return count;
}

static bool parts_fill(struct filter *parts, const struct scan_index *index, const u8 *classes,
		       u32 shift)
{
	if (!filter_make(parts, parts_count(index, classes, shift)))
		return false;
	for (u64 i = 0; i < index->blocks.count; i++) {
		const struct scan_block *block = &index->blocks.data[i];

		if (classes[i] == CLASS_REACHABLE)
			continue;
		for (u64 k = 0; k < block_parts(block, shift); k++)
			filter_add(parts, (block->address >> shift) + k);
	}
	return true;
}

int scan_edges_look_inside(struct scan_edges *self, const struct scan_memory *memory,
			   const struct scan_index *index, const u8 *classes, struct err *err)
{
	struct slice_work work[SCAN_SLICES] = {0};
	struct filter parts = {0};
	u32 shift = PART_SHIFT;
	int status;

	if (!parts_count(index, classes, shift))
		return 0;
	while (parts_count(index, classes, shift) > PARTS_MAX && shift < 63)
		shift++;
	if (!parts_fill(&parts, index, classes, shift))
		return err_memory(err);
	for (u32 i = 0; i < self->count; i++) {
		work[i].slice = &self->slices[i];
		work[i].edges = self;
		work[i].index = index;
		work[i].memory = *memory;
		work[i].parts = &parts;
		work[i].part_shift = shift;
		work[i].classes = classes;
	}
	status = slices_run(self, work, slice_look_inside, err);
	free(parts.bits);
	return status;
}

void scan_edges_release(struct scan_edges *self)
{
	for (u32 i = 0; i < SCAN_SLICES; i++) {
		free(self->slices[i].starts);
		vec_release(&self->slices[i].words);
		vec_release(&self->slices[i].values);
		vec_release(&self->slices[i].sources);
		vec_release(&self->slices[i].inside);
		free(self->slices[i].inside_starts);
		free(self->slices[i].objects);
		vec_release(&self->slices[i].pointers.words);
		vec_release(&self->slices[i].numbers.kept.words);
	}
	*self = (struct scan_edges){0};
}
