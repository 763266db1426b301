/* SPDX-License-Identifier: MIT
 * glibc's arenas; see arenas.h.
 * Host. Which thread an arena is for is not recorded: the one that allocates there most often is
 * named. */
#include "study/analysis/resident/arenas.h"

#include "host/base/map.h"
#include "host/base/order.h"
#include "host/base/search.h"
#include "study/analysis/resident/accounting.h"
#include "study/model/each.h"
#include "study/result/field.h"

static const u64 ARENA_BYTES = 64ull << 20;

static bool is_thread_heap(const struct bill *bill, u64 number)
{
	return bill->glibc && bill->heaps.data[number].start % ARENA_BYTES == 0;
}

/* Whether a block is a mapping of its own, in no arena. */
static bool is_alone(const struct bill *bill, const struct chunk *chunk)
{
	struct accounting rules = {.glibc = bill->glibc};

	return accounting_is_mapped_alone(&rules, chunk->page->address[chunk->at],
					  chunk->page->size[chunk->at]);
}

struct page_sums {
	u64 live, pinned, cached, caches;
};

static void add_pages(const struct bill *bill, u64 number, struct page_sums *sums)
{
	const struct bill_heap *heap = &bill->heaps.data[number];

	for (u32 page = heap->first; page < heap->end; page++) {
		u64 used = bill->page_used[page], caches = bill->page_caches[page];

		sums->live += used;
		sums->caches += caches;
		*(used ? &sums->pinned : &sums->cached) += RESIDENT_PAGE - used - caches;
	}
}

struct arenas arenas_find(const struct bill *bill)
{
	struct arenas arenas = {0};
	struct page_sums sums = {0};

	for (u64 i = 0; i < bill->heaps.count; i++)
		if (is_thread_heap(bill, i)) {
			arenas.count++;
			add_pages(bill, i, &sums);
		}
	arenas.free_bytes = sums.pinned + sums.cached;
	return arenas;
}

/* The bucket of a time; behind all if it is later than these. */
static u64 bucket_at(const struct timeline *timeline, u64 ticks)
{
	u64 after = ticks > timeline->start_ticks ? ticks - timeline->start_ticks : 0;
	u64 bucket = after / timeline->width_ticks;

	return bucket <= timeline->current ? bucket : timeline->current + 1ull;
}

/* The most that was live at once of blocks that are not mapped alone: at the ends of the timeline's
 * buckets, and at any time in those in which none that is mapped alone came or went. */
static u64 arenas_peak(const struct bill *bill)
{
	const struct timeline *timeline = &bill->model->timeline;
	u64 steps[TIMELINE_BUCKETS + 1] = {0}; /* sizes may be anything: sums wrap */
	u8 changes[TIMELINE_BUCKETS + 1] = {0};
	u64 most = 0, alone = 0;

	EACH_CHUNK (chunk, bill->model) {
		u64 freed = chunk.page->free_ticks[chunk.at], units, bytes;
		u64 first = bucket_at(timeline, chunk.page->alloc_ticks[chunk.at]);
		u64 end = freed ? bucket_at(timeline, freed) : timeline->current + 1ull;

		if (!is_alone(bill, &chunk))
			continue;
		model_weigh(bill->model, chunk.page->size[chunk.at], &units, &bytes);
		steps[first] += bytes;
		steps[end] -= bytes;
		changes[first] = changes[end] = 1;
	}
	for (u32 i = 0; i <= timeline->current; i++) {
		const struct timeline_bucket *bucket = &timeline->bucket[i];
		u64 bytes = changes[i] ? bucket->last_bytes : bucket->max_bytes;

		alone += steps[i];
		if (bytes > alone && bytes - alone > most)
			most = bytes - alone;
	}
	return most;
}

u64 arenas_excess(const struct bill *bill)
{
	const u64 *bytes = bill->account.bytes;
	u64 live = bytes[PART_REQUESTED] + bytes[PART_SLACK];
	u64 heap = (u64)bill->page_count * RESIDENT_PAGE;
	double slack = bytes[PART_REQUESTED] ? (double)live / (double)bytes[PART_REQUESTED] : 1;
	u64 most = (u64)((double)arenas_peak(bill) * slack);

	return heap > most ? heap - most : 0;
}

/* ---- by arena ---- */

struct glibc_arena {
	u64 start; /* 0 = the main arena */
	struct page_sums sums;
	u64 threads, most,
		thread; /* that allocate there; the one with most blocks, and its number */
};

struct arena_list {
	struct glibc_arena *data; /* the main arena is the first, the others by address */
	u64 count, capacity;
};

/* What lies behind a heap of threads is not in it. */
static u64 arena_of(const struct bill *bill, const struct arena_list *list, u64 address)
{
	u64 next = bisect(i, bill->heaps.count, bill->heaps.data[i].start <= address);
	u64 start = next ? bill->heaps.data[next - 1].start : 0;
	u64 at = bisect(i, list->count, list->data[i].start < start);

	return at < list->count && list->data[at].start == start && address - start < ARENA_BYTES
		       ? at
		       : 0;
}

static bool list_arenas(const struct bill *bill, struct arena_list *list)
{
	if (!vec_push(list, (struct glibc_arena){0}))
		return false;
	for (u64 i = 0; i < bill->heaps.count; i++) {
		u64 at = 0;

		if (is_thread_heap(bill, i)) {
			at = list->count;
			if (!vec_push(list,
				      ((struct glibc_arena){.start = bill->heaps.data[i].start})))
				return false;
		}
		add_pages(bill, i, &list->data[at].sums);
	}
	return true;
}

/* Blocks by arena and thread, up to the look. Those that are mapped alone are in none. */
static bool count_blocks(const struct bill *bill, const struct arena_list *list, struct map *blocks)
{
	EACH_CHUNK (chunk, bill->model) {
		u64 address = chunk.page->address[chunk.at], *count;

		if (chunk.page->alloc_ticks[chunk.at] > bill->memory->ticks ||
		    is_alone(bill, &chunk))
			continue;
		count = map_at(blocks, arena_of(bill, list, address) << 32 |
					       chunk.page->alloc_thread[chunk.at]);
		if (!count)
			return false;
		++*count;
	}
	return true;
}

static void find_threads(const struct arena_list *list, const struct map *blocks)
{
	u64 at = 0, key, count;

	while (map_next(blocks, &at, &key, &count)) {
		struct glibc_arena *arena = &list->data[key >> 32];

		arena->threads++;
		if (count > arena->most || (count == arena->most && (u32)key < arena->thread)) {
			arena->most = count;
			arena->thread = (u32)key;
		}
	}
}

static const struct result_column columns[] = {
	COLUMN("start", NULL, VALUE_ADDRESS, "address of its heap; 0: the main arena"),
	COLUMN("pinned_bytes", "pinned", VALUE_BYTES, "free bytes of pages with live blocks"),
	COLUMN("cached_bytes", "cached", VALUE_BYTES, "bytes of free pages"),
	COLUMN("thread_caches_bytes", "thread caches", VALUE_BYTES,
	       "free blocks that the C library keeps for each thread"),
	COLUMN("live_bytes", "live", VALUE_BYTES, "live blocks, headers and rounding included"),
	COLUMN("threads", "threads", VALUE_COUNT, "threads that have allocated there"),
	COLUMN("tid", "thread", VALUE_ID, "the one with most allocations there"),
	COLUMN("name", "name", VALUE_TEXT, "its name"),
};

static void add_row(struct result *table, const struct model *model,
		    const struct glibc_arena *arena)
{
	const struct model_thread *thread = arena->threads && arena->thread < model->threads.count
						    ? &model->threads.data[arena->thread]
						    : NULL;

	result_row(table, value_number(arena->start), value_number(arena->sums.pinned),
		   value_number(arena->sums.cached), value_number(arena->sums.caches),
		   value_number(arena->sums.live), value_number(arena->threads),
		   thread ? value_number(thread->tid) : value_unknown(),
		   value_text(thread ? thread->name : ""));
}

static int by_free(const void *a, const void *b)
{
	const struct glibc_arena *x = a, *y = b;

	return falling(x->sums.pinned + x->sums.cached, y->sums.pinned + y->sums.cached)
		       ?: rising(x->start, y->start);
}

struct result *arenas_table(const struct bill *bill, u64 top, struct err *err)
{
	struct result *table = result_table("arenas", "Arenas", columns);
	struct arena_list list = {0};
	struct map blocks = {0};
	bool many = arenas_find(bill).count > 0, good = table != NULL;
	u64 shown = 0;

	if (good && many) {
		good = list_arenas(bill, &list) && count_blocks(bill, &list, &blocks);
		find_threads(&list, &blocks);
		vec_sort(&list, by_free);
	}
	while (good && shown < result_top(list.count, top))
		add_row(table, bill->model, &list.data[shown++]);
	if (table) {
		table->hidden_in_text = !many;
		result_add_more(table, list.count, shown);
	}
	vec_release(&list);
	map_release(&blocks);
	return result_made_if(good, table, err, "the resident memory");
}
