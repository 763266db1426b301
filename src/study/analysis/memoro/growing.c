/* SPDX-License-Identifier: MIT
 * Growing sizes: chunks of a point that take the place of one another, as when a vector moves.
 * Host. At most RUNS_OPEN runs of each point are followed. */
#include "study/analysis/memoro/pass.h"

/* Whether the chunk took the place of the run's newest one: that one, the thread's last from this
 * point, died in the new one's life, as when a vector moves; or the new one is what a realloc of
 * it returned. */
static bool replaces(const struct open_run *run, const struct seen *chunk, bool *by_realloc)
{
	const struct chunk_page *page = chunk->page;

	*by_realloc = page->kind[chunk->k] == HW_REALLOC && run->end_ticks <= chunk->born &&
		      run->free_thread == page->alloc_thread[chunk->k] &&
		      run->free_context == page->alloc_context[chunk->k];
	return run->end_ticks && chunk->size > run->size &&
	       (*by_realloc || (run->latest && run->thread == page->alloc_thread[chunk->k] &&
				run->end_ticks >= chunk->born && run->end_ticks <= chunk->end));
}

/* The run that the chunk continues: of several the one whose newest chunk dies closest to its
 * birth. */
static struct open_run *run_find(struct open_run *runs, const struct seen *chunk, bool *by_realloc)
{
	struct open_run *best = NULL;
	u64 nearest = UINT64_MAX;
	bool realloc;

	for (u32 i = 0; i < RUNS_OPEN; i++) {
		u64 end = runs[i].end_ticks;
		u64 distance = end > chunk->born ? end - chunk->born : chunk->born - end;

		if (!replaces(&runs[i], chunk, &realloc) || (best && distance >= nearest))
			continue;
		best = &runs[i];
		nearest = distance;
		*by_realloc = realloc;
	}
	return best;
}

static void run_count(const struct pass *pass, struct behaviour *self, const struct open_run *run)
{
	struct tally *tally = &self->hits[INFERENCE_GROWING];
	bool enough = run->steps == pass->growing_steps;

	if (run->steps > self->growth.steps)
		self->growth =
			(struct growth_run){run->steps, run->from_bytes, run->size, run->realloc};
	if (run->steps < pass->growing_steps)
		return;
	/* The run as a whole when it has become one, then chunk by chunk. */
	self->growth_runs += enough;
	tally->chunks += enough ? run->units : run->newest_units;
	tally->bytes += enough ? run->bytes : run->newest_bytes;
	self->replaced_bytes += enough ? run->bytes - run->newest_bytes : run->replaced_bytes;
}

/* A step counts if the old chunk was gone when the thread came to this point again: or each queue
 * of things that become larger would be one that grows. */
static void run_settle(const struct pass *pass, struct behaviour *self, struct open_run *runs,
		       struct open_run *run, u64 now)
{
	if (!run->pending)
		return;
	run->pending = false;
	if (run->replaced_end <= now) {
		run_count(pass, self, run);
		for (u32 i = 0; i < RUNS_OPEN; i++)
			if (runs[i].serial == run->before)
				runs[i].end_ticks = 0;
		return;
	}
	run->steps = 0;
	run->realloc = true;
	run->from_bytes = run->size;
	run->bytes = run->newest_bytes;
	run->units = run->newest_units;
}

/* A free slot, else the run whose chunk ended first: it is the least likely to go on. */
static struct open_run *run_slot(const struct pass *pass, struct behaviour *self,
				 struct open_run *runs, u64 now)
{
	struct open_run *oldest = &runs[0];

	for (u32 i = 1; i < RUNS_OPEN; i++)
		if (runs[i].end_ticks < oldest->end_ticks)
			oldest = &runs[i];
	run_settle(pass, self, runs, oldest, now);
	return oldest;
}

static struct open_run extended(const struct open_run *run, bool by_realloc)
{
	struct open_run longer = *run;

	longer.steps++;
	longer.realloc &= by_realloc;
	longer.pending = true;
	longer.before = run->serial;
	longer.replaced_bytes = run->newest_bytes;
	longer.replaced_end = run->end_ticks;
	return longer;
}

void growing_add(const struct pass *pass, struct behaviour *self, struct point_state *state,
		 const struct seen *chunk)
{
	const struct chunk_page *page = chunk->page;
	struct open_run *runs = state->runs, *run,
			next = {.realloc = true, .from_bytes = chunk->size};
	bool by_realloc = false;

	for (u32 i = 0; i < RUNS_OPEN; i++)
		if (runs[i].thread == page->alloc_thread[chunk->k])
			run_settle(pass, self, runs, &runs[i], chunk->born);
	run = run_find(runs, chunk, &by_realloc);
	for (u32 i = 0; i < RUNS_OPEN; i++)
		runs[i].latest &= runs[i].thread != page->alloc_thread[chunk->k];
	if (run) {
		run_settle(pass, self, runs, run, chunk->born);
		next = extended(run, by_realloc);
	}
	next.bytes += chunk->bytes;
	next.units += chunk->units;
	next.size = chunk->size;
	next.newest_bytes = chunk->bytes;
	next.newest_units = chunk->units;
	next.end_ticks = chunk->freed ? chunk->end : 0; /* nothing replaces what is kept */
	next.thread = page->alloc_thread[chunk->k];
	next.free_context = page->free_context[chunk->k];
	next.free_thread = page->free_thread[chunk->k];
	next.latest = true;
	next.serial = (u32)state->seen; /* never 0 */
	*run_slot(pass, self, runs, chunk->born) = next;
}

void growing_close(const struct pass *pass, struct behaviour *self, struct open_run *runs)
{
	for (u32 i = 0; runs && i < RUNS_OPEN; i++)
		run_settle(pass, self, runs, &runs[i], UINT64_MAX);
}
