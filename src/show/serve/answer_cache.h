/* SPDX-License-Identifier: MIT
 * Answers that were given, by their tags: what is asked again is not computed again. The least
 * recently used ones go first. */
#ifndef SHOW_SERVE_ANSWER_CACHE_H
#define SHOW_SERVE_ANSWER_CACHE_H

#include <pthread.h>

#include "host/base/map.h"
#include "show/serve/request.h"

enum { CACHE_BYTES = 64 << 20, CACHE_ANSWER_BYTES = 8 << 20 };

struct cache_entry;

struct answer_cache { /* all zero, and then answer_cache_init */
	pthread_mutex_t lock;
	struct map by_tag; /* hash → entry */
	struct cache_entry *newest, *oldest;
	u64 bytes;
};

void answer_cache_init(struct answer_cache *self);
void answer_cache_release(struct answer_cache *self);

/* A copy of what was answered; false if it is not there. */
bool answer_cache_find(struct answer_cache *self, struct answer *answer);
/* Keeps a copy, unless it is large or no answer. */
void answer_cache_keep(struct answer_cache *self, const struct answer *answer);

#endif
