/* SPDX-License-Identifier: MIT
 * Parts of traces that were asked for, so that all views of one selection share what was found. The
 * least recently used ones go first; one that somebody looks at stays.
 *
 *	struct study *part = part_cache_get(&cache, &scope, text, &err);
 *	...
 *	part_cache_put(&cache, part);
 */
#ifndef SHOW_SERVE_PART_CACHE_H
#define SHOW_SERVE_PART_CACHE_H

#include <pthread.h>

#include "study/layout/part.h"

enum { PARTS_KEPT = 4, PARTS_MAX = 64 };

struct part_entry {
	const struct study *whole; /* NULL = free */
	char *text;
	struct query_window window;
	struct study *part; /* NULL = being made */
	u32 users;
	u64 used; /* the last time, counted in gets */
};

struct part_cache { /* all zero, and then part_cache_init */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct part_entry entries[PARTS_MAX];
	u64 gets;
};

void part_cache_init(struct part_cache *self);
void part_cache_release(struct part_cache *self);

/* The part of the scope, whose selection is that of the text (NULL = all). NULL and err on
 * failure. */
struct study *part_cache_get(struct part_cache *self, const struct view_scope *scope,
			     const char *text, struct err *err);
void part_cache_put(struct part_cache *self, struct study *part);

/* The trace will be gone, and nobody looks at parts of it. */
void part_cache_forget(struct part_cache *self, const struct study *whole);

#endif
