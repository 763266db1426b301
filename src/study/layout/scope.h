/* SPDX-License-Identifier: MIT
 * Which part of a trace a view is about: the chunks that a query selects in a window of time, and
 * what they come to by allocation point. */
#ifndef STUDY_LAYOUT_SCOPE_H
#define STUDY_LAYOUT_SCOPE_H

#include "study/layout/by.h"
#include "study/open/study.h"

struct view_scope {
	struct study *trace;
	struct selection selection; /* words NULL: all chunks */
	struct query_window window; /* to_ns 0 = the whole run */
	/* As it was selected. Whoever narrows the selection gives it other words: the next two do
	 * not count then. */
	const u64 *own_words;
	bool plain; /* no query: all chunks, or those that lived in the window */
	u64 key;    /* of query and window; 0 = what was made of the scope is not to be kept */
	struct view_colors *colors; /* that the query gave, NULL = not asked for */
	/* Asked between steps that take time: true = nobody wants the answer any more. May be
	 * NULL. */
	bool (*cancelled)(void *data);
	void *cancel_data;
};

/* Selects; window as in query_select, text NULL = "all". Released by the caller in any case. */
int view_scope_init(struct view_scope *self, struct study *trace, const char *text,
		    const struct query_window *window, struct query_error *error);
void view_scope_release(struct view_scope *self);

static inline bool view_is_all(const struct view_scope *self) { return !self->selection.words; }

/* Whether what is live at a moment of the scope's time is what is live then at all, so that it can
 * be had from the order of events. */
static inline bool view_has_order(const struct view_scope *self)
{
	return self->trace->model->order.count &&
	       (view_is_all(self) || (self->plain && self->selection.words == self->own_words));
}

enum { VIEW_PICK = 64, VIEW_REST = 1 << 16 };

/* For passes over the events, which lead to chunks anywhere: lets go of what has gathered now and
 * then. */
static inline void view_pass_events(const struct view_scope *self, u64 event)
{
	if (unlikely(event % VIEW_REST < VIEW_PICK))
		model_rest(self->trace->model);
}

/* Those of the events [first, first + count), count up to VIEW_PICK, whose chunks are selected; how
 * many. What is known of them is on its way from memory then: frees come from anywhere. */
static inline u32 view_pick(const struct view_scope *self, u64 first, u64 count, u32 *codes)
{
	const struct model *model = self->trace->model;
	u32 picked = 0;

	for (u64 i = first; i < first + count; i++) {
		codes[picked] = model->order.codes[i];
		picked += selection_has(&self->selection, codes[picked] >> 1);
	}
	for (u32 i = 0; i < picked; i++)
		__builtin_prefetch(&chunk_at(&model->chunks, codes[i] >> 1)
					    ->size[(codes[i] >> 1) % CHUNK_PAGE]);
	return picked;
}

/* ERR_USAGE in err if it was cancelled; asked once per page of chunks. */
int view_check(const struct view_scope *self, struct err *err);

/* A chunk of the scope. */
struct view_chunk {
	u64 number;
	const struct chunk_page *page;
	u32 at;
};

/* The chunk of a number, whether it is of the scope or not. */
static inline struct view_chunk view_chunk_at(const struct view_scope *self, u64 number)
{
	return (struct view_chunk){number, chunk_at(&self->trace->model->chunks, number),
				   (u32)(number % CHUNK_PAGE)};
}

/* Goes over the chunks of the scope, in order of their numbers: start with *at = 0. False at the
 * end. */
static inline bool view_next(const struct view_scope *self, u64 *at, struct view_chunk *chunk)
{
	const struct chunk_table *table = &self->trace->model->chunks;
	const u64 *words = self->selection.words;

	for (u64 i = *at; i < table->count; i++) {
		if (words) {
			u64 rest = words[i / 64] >> (i % 64);

			if (!rest) {
				i |= 63;
				continue;
			}
			i += (u64)__builtin_ctzll(rest);
		}
		chunk->page = chunk_at(table, i);
		chunk->at = (u32)(i % CHUNK_PAGE);
		if (unlikely(!chunk->page)) {
			i |= CHUNK_PAGE - 1;
			continue;
		}
		if (chunk->page->end[chunk->at] == CHUNK_ABSENT)
			continue;
		chunk->number = i;
		*at = i + 1;
		return true;
	}
	return false;
}

static inline bool view_is_freed(const struct view_chunk *chunk)
{
	u8 end = chunk->page->end[chunk->at];

	return end == CHUNK_FREED || end == CHUNK_IMPLIED;
}

/* Stamps may be estimates: a chunk that does not end after its birth is live at no moment. */
static inline bool view_is_ever_live(const struct view_chunk *chunk)
{
	return !view_is_freed(chunk) ||
	       chunk->page->free_ticks[chunk->at] > chunk->page->alloc_ticks[chunk->at];
}

static inline bool view_is_kept(const struct view_chunk *chunk)
{
	u8 end = chunk->page->end[chunk->at];

	return end == CHUNK_KEPT || end == CHUNK_LIVE;
}

/* Whether it is live once all events before `limit_ticks` have happened. */
static inline bool view_is_live(const struct view_chunk *chunk, u64 limit_ticks)
{
	return chunk->page->alloc_ticks[chunk->at] < limit_ticks &&
	       !(view_is_freed(chunk) && chunk->page->free_ticks[chunk->at] < limit_ticks);
}

/* Whether no chunk of the page can be. */
static inline bool view_page_is_dead(const struct view_scope *self, u64 page, u64 limit_ticks)
{
	const struct chunk_zone *zone = chunk_zone(&self->trace->model->chunks, page);

	return zone && (zone->alloc_first >= limit_ticks ||
			(!zone->unfreed && zone->free_last < limit_ticks));
}

/* How long it lived, to the end of the run if it was never freed. */
static inline u64 view_life_ticks(const struct view_scope *self, const struct view_chunk *chunk)
{
	u64 born = chunk->page->alloc_ticks[chunk->at];
	u64 died = view_is_freed(chunk) ? chunk->page->free_ticks[chunk->at]
					: self->trace->model->last_ticks;

	return died > born ? died - born : 0;
}

static inline struct point_id view_point_of(const struct view_scope *self,
					    const struct view_chunk *chunk)
{
	return model_point_of(self->trace->model, chunk->page->alloc_context[chunk->at]);
}

/* What a chunk stands for, as model_weigh tells it. */
static inline void view_weigh_chunk(const struct view_scope *self, const struct view_chunk *chunk,
				    u64 *units, u64 *bytes)
{
	*units = 1;
	*bytes = chunk->page->size[chunk->at];
	if (unlikely(self->trace->model->count_shift))
		model_weigh(self->trace->model, *bytes, units, bytes);
}

#endif
