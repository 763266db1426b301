/* SPDX-License-Identifier: MIT
 * What chunks can be told apart by: type, module, thread, point, size, severity, colour. Keys are
 * small numbers from 0 on, each with a label. */
#ifndef STUDY_LAYOUT_KEYS_H
#define STUDY_LAYOUT_KEYS_H

#include "study/layout/scope.h"

/* Made once for each trace; NULL and err on failure. */
const struct view_keys *view_keys(struct study *trace, enum view_by by, struct err *err);

/* Finds the colours for a scope that was made by the same text, unless they are there. */
int view_scope_add_colors(struct view_scope *self, const char *text, struct query_error *error);

/* view_keys, or the scope's own colours; NULL and err on failure. */
const struct view_keys *view_scope_keys(const struct view_scope *scope, enum view_by by,
					struct err *err);

u32 view_key_of_type(const struct view_keys *self, u64 chunk);

/* The key of a chunk. */
static inline u32 view_key_of(const struct view_keys *self, const struct view_scope *scope,
			      const struct view_chunk *chunk)
{
	u64 size = chunk->page->size[chunk->at];

	if (self->of_chunk)
		return self->of_chunk[chunk->number];
	if (self->of_point) {
		u32 key = self->of_point[view_point_of(scope, chunk).index];

		return likely(key != VIEW_VARIES) ? key : view_key_of_type(self, chunk->number);
	}
	if (self->by == BY_SIZE)
		return size ? 64 - (u32)__builtin_clzll(size) : 0;
	if (self->by == BY_THREAD)
		return chunk->page->alloc_thread[chunk->at] < self->keys.count
			       ? chunk->page->alloc_thread[chunk->at]
			       : 0;
	return 0;
}

/* The file that the program's own code of a stack is in: without the folder. "" = unknown. */
const char *view_point_module(const struct study *trace, struct point_id point);

#endif
