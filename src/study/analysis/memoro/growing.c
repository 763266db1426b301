/* SPDX-License-Identifier: MIT
 * Growing sizes: chunks of a point that take the place of one another, as when a vector moves.
 * Host. At most RUNS_OPEN runs of each point are followed. */
#include "study/analysis/memoro/pass.h"

static void run_count(const struct pass *pass, struct behaviour *sums, const struct open_run *run,
		      u64 replaced_bytes)
{
	struct tally *tally = &sums->hits[INFERENCE_GROWING];
	bool enough = run->steps == pass->growing_steps;

	if (run->steps > sums->growth.steps)
		sums->growth =
			(struct growth_run){run->steps, run->from_bytes, run->size, run->realloc};
	if (run->steps < pass->growing_steps)
		return;
	/* The run as a whole when it has become one, then chunk by chunk. */
	sums->growth_runs += enough;
	tally->chunks += enough ? run->units : run->newest_units;
	tally->bytes += enough ? run->bytes : run->newest_bytes;
	sums->replaced_bytes += enough ? run->bytes - run->newest_bytes : replaced_bytes;
}

/* The run's newest chunk took the place of that of the other one, which is forgotten. */
static void run_extend(struct open_run *run, struct open_run *old, bool by_realloc,
		       const struct pass *pass, struct behaviour *sums)
{
	run->steps = old->steps + 1;
	run->realloc = old->realloc && by_realloc;
	run->from_bytes = old->from_bytes;
	run->bytes = old->bytes + run->newest_bytes;
	run->units = old->units + run->newest_units;
	run->replaces = 0;
	run_count(pass, sums, run, old->newest_bytes);
	old->serial = 0;
}

/* The last chunk of the thread from this point. */
static struct open_run *latest_of(struct open_runs *self, u32 thread)
{
	for (u32 i = 0; i < self->count; i++)
		if (self->runs[i].latest && self->runs[i].thread == thread && self->runs[i].serial)
			return &self->runs[i];
	return NULL;
}

/* The newest of the chunks that a realloc with this stack has just ended. */
static struct open_run *reallocated(struct open_runs *self, const struct seen *chunk)
{
	const struct chunk_page *page = chunk->page;
	struct open_run *found = NULL;

	if (page->kind[chunk->k] != HW_REALLOC)
		return NULL;
	for (u32 i = 0; i < self->count; i++) {
		struct open_run *run = &self->runs[i];

		if (run->serial && run->end_ticks && run->end_ticks <= chunk->born &&
		    run->free_thread == page->alloc_thread[chunk->k] &&
		    run->free_context == page->alloc_context[chunk->k] && chunk->size > run->size &&
		    (!found || run->end_ticks > found->end_ticks))
			found = run;
	}
	return found;
}

/* A free place; else that of the run whose chunk ended first, unless a realloc may be about to
 * return its new place; or of one that lives and was not the last of its thread: they are the least
 * likely to go on. */
static struct open_run *run_place(struct open_runs *self)
{
	struct open_run *ended = NULL, *living = NULL;
	u32 count = 0;

	for (u32 i = 0; i < self->count; i++) {
		struct open_run *run = &self->runs[i];

		if (!run->serial)
			return run;
		count += run->end_ticks != 0;
		if (run->end_ticks && (!ended || run->end_ticks < ended->end_ticks))
			ended = run;
		if (!run->end_ticks &&
		    (!living || run->latest < living->latest ||
		     (run->latest == living->latest && run->serial < living->serial)))
			living = run;
	}
	if (count < 2 && self->count < RUNS_OPEN)
		return &self->runs[self->count++];
	return ended ? ended : living;
}

/* A chunk replaces the last one of its thread from here if that is freed before the thread comes
 * here once more: or each queue of things that become larger would be one that grows. */
void growing_born(struct open_runs *self, const struct pass *pass, struct behaviour *sums,
		  const struct seen *chunk)
{
	u32 thread = chunk->page->alloc_thread[chunk->k];
	struct open_run *last = latest_of(self, thread), *old = reallocated(self, chunk);
	struct open_run next = {.chunk = chunk->number,
				.size = chunk->size,
				.newest_bytes = chunk->bytes,
				.newest_units = chunk->units,
				.from_bytes = chunk->size,
				.bytes = chunk->bytes,
				.units = chunk->units,
				.thread = thread,
				.serial = ++self->serial,
				.latest = true,
				.realloc = true};

	if (last) {
		last->latest = false;
		last->replaces = 0;
	}
	if (old)
		run_extend(&next, old, true, pass, sums);
	else if (last && !last->end_ticks && chunk->size > last->size)
		next.replaces = last->serial;
	*run_place(self) = next;
}

void growing_ended(struct open_runs *self, const struct pass *pass, struct behaviour *sums,
		   const struct seen *chunk)
{
	const struct chunk_page *page = chunk->page;
	struct open_run *ended = NULL;

	for (u32 i = 0; i < self->count && !ended; i++)
		if (self->runs[i].serial && !self->runs[i].end_ticks &&
		    self->runs[i].chunk == chunk->number)
			ended = &self->runs[i];
	if (!ended)
		return;
	for (u32 i = 0; i < self->count && chunk->freed; i++) {
		struct open_run *run = &self->runs[i];

		if (!run->serial || run->replaces != ended->serial)
			continue;
		if (!run->end_ticks || run->end_ticks >= chunk->end) {
			run_extend(run, ended, false, pass, sums);
			return;
		}
	}
	if (!chunk->freed) {
		ended->serial = 0; /* nobody knows by whom: nothing replaces it */
		return;
	}
	ended->end_ticks = chunk->end ? chunk->end : 1;
	ended->free_context = page->free_context[chunk->k];
	ended->free_thread = page->free_thread[chunk->k];
}
