/* SPDX-License-Identifier: MIT
 * Chunks that realloc made of others.
 * Host. Reads the columns only; pages in which nothing can be found are passed over. */
#include "study/layout/realloc.h"

/* One end of a chunk, by which the other chunk of a call is found. */
struct realloc_call {
	u64 ticks;
	u32 thread, context;
};

static bool is_end_of(const struct chunk_page *page, u32 k, const struct realloc_call *call)
{
	return page->end[k] == CHUNK_FREED && page->free_ticks[k] <= call->ticks &&
	       page->free_thread[k] == call->thread && page->free_context[k] == call->context;
}

/* The latest chunk that this thread ended from there, up to then. */
static u64 last_ended(const struct chunk_table *chunks, u64 before, const struct realloc_call *call)
{
	u64 best = REALLOC_NONE, best_ticks = 0;

	for (u64 i = before / CHUNK_PAGE + 1; i-- > 0;) {
		const struct chunk_page *page = chunks->pages.data[i];
		const struct chunk_zone *zone = chunk_zone(chunks, i);
		u64 first = i * CHUNK_PAGE;
		u32 count = before - first < CHUNK_PAGE ? (u32)(before - first) : CHUNK_PAGE;

		if (!page || (zone && (zone->free_first > call->ticks ||
				       (best != REALLOC_NONE && zone->free_last < best_ticks))))
			continue;
		for (u32 k = count; k-- > 0;)
			if (is_end_of(page, k, call) &&
			    (best == REALLOC_NONE || page->free_ticks[k] > best_ticks)) {
				best = first + k;
				best_ticks = page->free_ticks[k];
			}
	}
	return best;
}

static bool is_begun_by(const struct chunk_page *page, u32 k, const struct realloc_call *call)
{
	return page->kind[k] == HW_REALLOC && page->alloc_context[k] == call->context;
}

/* The first chunk after `chunk` that the thread allocated, from a moment on. At that very moment it
 * may also have allocated others before the call: stamps that are estimates can be equal. */
static u64 next_allocated(const struct chunk_table *chunks, u64 chunk,
			  const struct realloc_call *call)
{
	for (u64 i = chunk + 1; i < chunks->count; i++) {
		const struct chunk_page *page = chunk_at(chunks, i);
		const struct chunk_zone *zone = chunk_zone(chunks, i / CHUNK_PAGE);
		u32 k = (u32)(i % CHUNK_PAGE);

		if (!page || (k == 0 && zone && zone->alloc_last < call->ticks)) {
			i |= CHUNK_PAGE - 1;
			continue;
		}
		if (page->end[k] != CHUNK_ABSENT && page->alloc_thread[k] == call->thread &&
		    (page->alloc_ticks[k] > call->ticks ||
		     (page->alloc_ticks[k] == call->ticks && is_begun_by(page, k, call))))
			return i;
	}
	return REALLOC_NONE;
}

u64 view_realloc_after(const struct study *trace, u64 chunk)
{
	const struct chunk_table *chunks = &trace->model->chunks;
	const struct chunk_page *page = chunk_at(chunks, chunk);
	u32 k = (u32)(chunk % CHUNK_PAGE);
	struct realloc_call call;
	u64 next;

	if (page->end[k] != CHUNK_FREED || !page->free_context[k])
		return REALLOC_NONE;
	call = (struct realloc_call){page->free_ticks[k], page->free_thread[k],
				     page->free_context[k]};
	next = next_allocated(chunks, chunk, &call);
	if (next == REALLOC_NONE)
		return REALLOC_NONE;
	return is_begun_by(chunk_at(chunks, next), (u32)(next % CHUNK_PAGE), &call) ? next
										    : REALLOC_NONE;
}

u64 view_realloc_before(const struct study *trace, u64 chunk)
{
	const struct chunk_table *chunks = &trace->model->chunks;
	const struct chunk_page *page = chunk_at(chunks, chunk);
	u32 k = (u32)(chunk % CHUNK_PAGE);
	struct realloc_call call;
	u64 before;

	if (page->kind[k] != HW_REALLOC || !page->alloc_context[k] || !chunk)
		return REALLOC_NONE;
	call = (struct realloc_call){page->alloc_ticks[k], page->alloc_thread[k],
				     page->alloc_context[k]};
	before = last_ended(chunks, chunk, &call);
	/* It may be that of a call before this one, which was given no block. */
	return before != REALLOC_NONE && view_realloc_after(trace, before) == chunk ? before
										    : REALLOC_NONE;
}

void view_realloc_chain(const struct study *trace, u64 chunk, struct realloc_chain *chain)
{
	u64 before[REALLOC_SIDE_MAX], at = chunk;
	u32 count = 0;

	*chain = (struct realloc_chain){0};
	while (count < REALLOC_SIDE_MAX && (at = view_realloc_before(trace, at)) != REALLOC_NONE)
		before[count++] = at;
	chain->cut = count == REALLOC_SIDE_MAX;
	while (count)
		chain->chunks[chain->count++] = before[--count];
	chain->own = chain->count;
	for (at = chunk; at != REALLOC_NONE && chain->count - chain->own <= REALLOC_SIDE_MAX;
	     at = view_realloc_after(trace, at))
		chain->chunks[chain->count++] = at;
	chain->cut |= at != REALLOC_NONE;
}
