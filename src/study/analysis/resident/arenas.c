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

u64 arenas_excess(const struct bill *bill)
{
	const u64 *bytes = bill->account.bytes;
	u64 live = bytes[PART_REQUESTED] + bytes[PART_SLACK];
	u64 heap = live + bytes[PART_PINNED] + bytes[PART_CACHED] + bytes[PART_THREAD_CACHES];
	double slack = bytes[PART_REQUESTED] ? (double)live / (double)bytes[PART_REQUESTED] : 1;
	u64 most = (u64)((double)bill->model->totals.peak_bytes * slack);

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
	struct accounting rules = {.glibc = bill->glibc};

	EACH_CHUNK (chunk, bill->model) {
		u64 address = chunk.page->address[chunk.at], *count;

		if (chunk.page->alloc_ticks[chunk.at] > bill->memory->ticks ||
		    accounting_is_mapped_alone(&rules, address, chunk.page->size[chunk.at]))
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
