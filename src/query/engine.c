/* SPDX-License-Identifier: MIT
 * The engine's life, and the questions that callers ask.
 * Host. */
#include "query/engine.h"

#include <pthread.h>
#include <string.h>

struct query_engine {
	pthread_mutex_t lock;
	u32 count;
	struct query_trace traces[QUERY_TRACES];
};

struct query_engine *query_engine_new(const struct query_trace *traces, u32 count)
{
	struct query_engine *self = calloc(1, sizeof *self);

	if (!self)
		return NULL;
	pthread_mutex_init(&self->lock, NULL);
	self->count = count < QUERY_TRACES ? count : QUERY_TRACES;
	memcpy(self->traces, traces, self->count * sizeof *traces);
	return self;
}

void query_engine_free(struct query_engine *self)
{
	if (!self)
		return;
	pthread_mutex_destroy(&self->lock);
	free(self);
}

static bool in_window(const struct query_window *window, const struct tick_clock *clock,
		      const struct chunk_page *page, u32 at)
{
	bool freed = page->end[at] == CHUNK_FREED || page->end[at] == CHUNK_IMPLIED;
	u64 alloc = tick_clock_ns(clock, page->alloc_ticks[at]);
	u64 ended = tick_clock_ns(clock, page->free_ticks[at]);

	if (page->end[at] == CHUNK_ABSENT)
		return false;
	if (window->mode == WINDOW_ALLOC)
		return alloc >= window->from_ns && alloc <= window->to_ns;
	if (window->mode == WINDOW_FREE)
		return freed && ended >= window->from_ns && ended <= window->to_ns;
	return alloc <= window->to_ns && (!freed || ended >= window->from_ns);
}

int query_select(struct query_engine *self, const char *text, const struct query_window *window,
		 struct selection *out, struct query_error *error)
{
	const struct model *model = self->traces[0].model;
	struct query_window all = {.to_ns = UINT64_MAX};
	bool windowed = window && window->to_ns;

	if (strcmp(text, "all") != 0)
		return query_error_set(error, ERR_USAGE, 0, (u32)strlen(text), "only all for now");
	if (!selection_init(out, model))
		return query_error_set(error, ERR_MEMORY, 0, 0, "out of memory");
	for (u64 chunk = 0; chunk < model->chunks.count; chunk++) {
		const struct chunk_page *page = chunk_at(&model->chunks, chunk);

		if (page && in_window(windowed ? window : &all, &model->clock, page,
				      (u32)(chunk % CHUNK_PAGE)))
			out->words[chunk / 64] |= 1ull << (chunk % 64);
	}
	selection_count(out, model);
	if (!windowed) {
		free(out->words);
		out->words = NULL;
	}
	return 0;
}
