/* SPDX-License-Identifier: MIT
 * Pages of the live-chunk table. Runs on the host. Never moves a page. */
#include "trace/chunks.h"

#include <stdlib.h>

#include "base/vec.h"

bool chunks_grow(struct chunks *chunks)
{
	struct chunk_page *page = chunks->spare;

	if (chunks->pages_count == chunks->pages_capacity &&
	    !vec_grow((void **)(void *)&chunks->pages, &chunks->pages_capacity,
		      chunks->pages_count, 1, sizeof(*chunks->pages)))
		return false;
	if (!page)
		page = calloc(1, sizeof(*page)); /* a dropped page has no bit set either */
	if (!page)
		return false;
	chunks->spare = NULL;
	chunks->pages[chunks->pages_count++] = page;
	return true;
}

void chunks_drop_page(struct chunks *chunks, u64 number)
{
	struct chunk_page *page = chunks->pages[number];

	if (number + 1 == chunks->pages_count && chunks->next & (CHUNK_PAGE - 1))
		return; /* more chunks will be born in it */
	chunks->pages[number] = NULL;
	if (chunks->spare)
		free(page);
	else
		chunks->spare = page;
}

void chunks_reset(struct chunks *chunks)
{
	for (u64 i = 0; i < chunks->pages_count; i++)
		free(chunks->pages[i]);
	chunks->pages_count = 0;
	chunks->next = 0;
}

void chunks_release(struct chunks *chunks)
{
	chunks_reset(chunks);
	free(chunks->pages);
	free(chunks->spare);
	*chunks = (struct chunks){0};
}
