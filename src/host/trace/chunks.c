/* SPDX-License-Identifier: MIT
 * Pages of the live-chunk table. Runs on the host. Never moves a page. */
#include "host/trace/chunks.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/vec.h"

/* A page is packed when a quarter of it is live, and again each time that half of that is gone. */
enum { PACK_FIRST = CHUNK_PAGE / 4, PACK_LAST = 16 };

static void page_free(struct chunk_page *page)
{
	if (!page)
		return;
	free(page->cells);
	free(page->packed);
	free(page);
}

static struct chunk_page *page_new(void)
{
	struct chunk_page *page = calloc(1, sizeof(*page));

	if (!page)
		return NULL;
	page->cells = malloc(CHUNK_PAGE * sizeof(*page->cells));
	page->pack_at = PACK_FIRST;
	if (page->cells)
		return page;
	page_free(page);
	return NULL;
}

/* Leaves only the cells of live chunks. Without memory the page stays as it is. */
static void page_pack(struct chunk_page *page)
{
	struct chunk_cell *cells = malloc(page->live_count * sizeof(*cells));
	struct chunk_rank *rank = malloc(sizeof(*rank));
	u32 count = 0;

	page->pack_at = page->live_count > PACK_LAST ? page->live_count / 2 : 0;
	if (!cells || !rank) {
		free(cells);
		free(rank);
		return;
	}
	for (u32 word = 0; word < CHUNK_WORDS; word++) {
		rank->before[word] = (u16)count;
		for (u64 left = page->live[word]; left; left &= left - 1)
			cells[count++] =
				page->cells[chunk_cell_at(page,
							  word * 64 + (u32)__builtin_ctzll(left))];
	}
	memcpy(rank->kept, page->live, sizeof(rank->kept));
	free(page->cells);
	free(page->packed);
	page->cells = cells;
	page->packed = rank;
}

/* More chunks will be born in the last page. */
static bool is_open(const struct chunks *chunks, u64 number)
{
	return number + 1 == chunks->pages_count && chunks->next & (CHUNK_PAGE - 1);
}

bool chunks_grow(struct chunks *chunks)
{
	struct chunk_page *page = chunks->spare;

	if (chunks->pages_count == chunks->pages_capacity &&
	    !vec_grow((void **)(void *)&chunks->pages, &chunks->pages_capacity, chunks->pages_count,
		      1, sizeof(*chunks->pages)))
		return false;
	if (!page)
		page = page_new();
	if (!page)
		return false;
	chunks->spare = NULL;
	if (chunks->pages_count)
		chunks_shrink(chunks, chunks->pages_count - 1); /* it may have waited for this */
	chunks->pages[chunks->pages_count++] = page;
	return true;
}

static void drop_page(struct chunks *chunks, u64 number)
{
	struct chunk_page *page = chunks->pages[number];

	chunks->pages[number] = NULL;
	if (chunks->spare || page->packed) {
		page_free(page);
		return;
	}
	page->pack_at = PACK_FIRST; /* it has no bit set, as a new one */
	chunks->spare = page;
}

void chunks_shrink(struct chunks *chunks, u64 number)
{
	struct chunk_page *page = chunks->pages[number];

	if (!page || is_open(chunks, number) || page->live_count > page->pack_at)
		return;
	if (page->live_count == 0)
		drop_page(chunks, number);
	else
		page_pack(page);
}

void chunks_reset(struct chunks *chunks)
{
	for (u64 i = 0; i < chunks->pages_count; i++)
		page_free(chunks->pages[i]);
	chunks->pages_count = 0;
	chunks->next = 0;
}

void chunks_release(struct chunks *chunks)
{
	chunks_reset(chunks);
	free(chunks->pages);
	page_free(chunks->spare);
	*chunks = (struct chunks){0};
}
