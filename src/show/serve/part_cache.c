/* SPDX-License-Identifier: MIT
 * Parts of traces by selection. Runs on threads of the server. */
#include "show/serve/part_cache.h"

#include <stdlib.h>
#include <string.h>

void part_cache_init(struct part_cache *self)
{
	pthread_mutex_init(&self->lock, NULL);
	pthread_cond_init(&self->changed, NULL);
}

static bool is_of(const struct part_entry *entry, const struct view_scope *scope, const char *text)
{
	const struct query_window *a = &entry->window, *b = &scope->window;

	return entry->whole == scope->trace && strcmp(entry->text, text) == 0 &&
	       a->from_ns == b->from_ns && a->to_ns == b->to_ns && a->mode == b->mode;
}

static struct part_entry *find(struct part_cache *self, const struct view_scope *scope,
			       const char *text)
{
	for (u32 i = 0; i < PARTS_MAX; i++)
		if (self->entries[i].whole && is_of(&self->entries[i], scope, text))
			return &self->entries[i];
	return NULL;
}

static void clear(struct part_entry *entry)
{
	study_free(entry->part);
	free(entry->text);
	*entry = (struct part_entry){0};
}

void part_cache_release(struct part_cache *self)
{
	for (u32 i = 0; i < PARTS_MAX; i++)
		clear(&self->entries[i]);
	pthread_cond_destroy(&self->changed);
	pthread_mutex_destroy(&self->lock);
}

/* Lets the oldest go that nobody uses, until there is room for one more. */
static void make_room(struct part_cache *self)
{
	for (;;) {
		struct part_entry *oldest = NULL;
		u32 kept = 0;

		for (u32 i = 0; i < PARTS_MAX; i++) {
			struct part_entry *entry = &self->entries[i];

			kept += entry->whole != NULL;
			if (entry->whole && !entry->users &&
			    (!oldest || entry->used < oldest->used))
				oldest = entry;
		}
		if (kept < PARTS_KEPT || !oldest)
			return;
		clear(oldest);
	}
}

/* An entry that is being made by the caller; NULL without memory or if too many are in use. */
static struct part_entry *add(struct part_cache *self, const struct view_scope *scope,
			      const char *text)
{
	make_room(self);
	for (u32 i = 0; i < PARTS_MAX; i++) {
		struct part_entry *entry = &self->entries[i];

		if (entry->whole)
			continue;
		entry->text = strdup(text);
		if (!entry->text)
			return NULL;
		entry->whole = scope->trace;
		entry->window = scope->window;
		entry->users = 1;
		return entry;
	}
	return NULL;
}

/* With the lock, which is let go meanwhile. */
static void make(struct part_cache *self, struct part_entry *entry, const struct view_scope *scope,
		 struct err *err)
{
	struct study *part;

	pthread_mutex_unlock(&self->lock);
	part = view_part_new(scope, err);
	pthread_mutex_lock(&self->lock);
	entry->part = part;
	if (!part)
		clear(entry);
	pthread_cond_broadcast(&self->changed);
}

struct study *part_cache_get(struct part_cache *self, const struct view_scope *scope,
			     const char *text, struct err *err)
{
	struct study *part = NULL;
	struct part_entry *entry;

	if (!text)
		text = "all";
	pthread_mutex_lock(&self->lock);
	/* Who waits for one that cannot be made tries it, too. */
	while ((entry = find(self, scope, text)) && !entry->part)
		pthread_cond_wait(&self->changed, &self->lock);
	if (entry)
		entry->users++;
	else if ((entry = add(self, scope, text)))
		make(self, entry, scope, err);
	else
		err_memory_for(err, "a part of the trace");
	part = entry ? entry->part : NULL;
	if (part)
		entry->used = ++self->gets;
	pthread_mutex_unlock(&self->lock);
	return part;
}

void part_cache_put(struct part_cache *self, struct study *part)
{
	pthread_mutex_lock(&self->lock);
	for (u32 i = 0; part && i < PARTS_MAX; i++)
		if (self->entries[i].part == part)
			self->entries[i].users--;
	pthread_mutex_unlock(&self->lock);
}

void part_cache_forget(struct part_cache *self, const struct study *whole)
{
	pthread_mutex_lock(&self->lock);
	for (u32 i = 0; i < PARTS_MAX; i++)
		if (self->entries[i].whole == whole)
			clear(&self->entries[i]);
	pthread_mutex_unlock(&self->lock);
}
