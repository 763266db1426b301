/* SPDX-License-Identifier: MIT
 * What chunks can be told apart by: type, module, thread, point, size, severity. Keys are small
 * numbers from 0 on, each with a label. */
#ifndef VIEW_KEYS_H
#define VIEW_KEYS_H

#include "view/timeline.h"

struct view_key {
	const char *label;
	u64 number; /* of the point or thread, lower end of the sizes, step of severity; else 0 */
};

struct view_keys { /* all zero = empty */
	enum view_by by;
	VEC(struct view_key) keys;
	u32 *of_point; /* by point; NULL if the key is not the point's */
	struct arena arena;
};

/* Made once for each trace; NULL and err on failure. */
const struct view_keys *view_keys(struct view_trace *trace, enum view_by by, struct err *err);
void view_keys_free(struct view_keys *self);

/* The key of a chunk. */
static inline u32 view_key_of(const struct view_keys *self, const struct view_scope *scope,
			      const struct view_chunk *chunk)
{
	u64 size = chunk->page->size[chunk->at];

	if (self->of_point)
		return self->of_point[view_point_of(scope, chunk)];
	if (self->by == BY_SIZE)
		return size ? 64 - (u32)__builtin_clzll(size) : 0;
	if (self->by == BY_THREAD)
		return chunk->page->alloc_thread[chunk->at] < self->keys.count
			       ? chunk->page->alloc_thread[chunk->at]
			       : 0;
	return 0;
}

/* The file that the program's own code of a stack is in: without the folder. "" = unknown. */
const char *view_point_module(const struct view_trace *trace, u32 point);

#endif
